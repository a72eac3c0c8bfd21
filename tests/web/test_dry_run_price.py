"""What the dry run says of the price: exact where it is placed, from to where it is not, named where there is none."""

import pytest
from django.utils.html import strip_tags

from billing.catalog.services import set_price
from console.common.actor import system
from tests import factories
from tests.web.conftest import As

CHECK = "/jobs/submit/check/"
HX = {"HX-Request": "true"}
WHOLE = {"name": "train", "command": "true", "gpu_mode": "whole", "gpus": "2"}


@pytest.fixture(autouse=True)
def fleet(db: None) -> None:
    """One card to place on; two kinds of nodes that do not answer."""
    factories.make_node("n-01", devices=1)
    for name, model in (("h-01", "H100-80GB"), ("t-01", "T4"), ("a-01", "A100-40GB")):
        factories.make_node(name, devices=8, model=model, reachable=False)


def priced(model: str, isolation: str, price: str) -> None:
    set_price(system("test"), model_name=model, isolation=isolation, per_card_hour=price)


def test_what_waits_costs_from_the_cheapest_to_the_dearest_model(as_: As) -> None:
    priced("H100-80GB", "exclusive", "30")
    priced("T4", "exclusive", "2.5")
    text = as_("member_a").post(CHECK, WHOLE, headers=HX).content.decode()
    assert "¥ 5.00 – ¥ 60.00" in strip_tags(text)
    assert "by the model it gets" in text
    assert "No price is set for A100-40GB (Exclusive)" in text
    chosen = as_("member_a").post(CHECK, WHOLE | {"models": ["T4"]}, headers=HX).content.decode()
    assert "¥ 5.00" in chosen
    assert "¥ 60.00" not in chosen
    assert "No price is set" not in chosen


def test_without_any_price_none_is_shown_and_the_models_are_named(as_: As) -> None:
    text = as_("member_a").post(CHECK, WHOLE, headers=HX).content.decode()
    assert "No price is set for A100-40GB (Exclusive), H100-80GB (Exclusive), T4 (Exclusive)" in text
    assert "*" not in text
    assert "¥" not in text
    assert 'class="price"' not in text


def test_a_mig_profile_is_priced_as_its_part_of_the_models_that_have_it(as_: As) -> None:
    priced("H100-80GB", "mig", "70")
    priced("A100-40GB", "mig", "7")
    for name, model in (("h-02", "H100-80GB"), ("a-02", "A100-40GB")):
        factories.make_node(name, devices=1, model=model, mig=True, reachable=False)
    sent = {"name": "train", "command": "true", "gpu_mode": "mig"}
    both = as_("member_a").post(CHECK, sent | {"mig_profile": "1g.10gb"}, headers=HX).content.decode()
    assert "¥ 1.00 – ¥ 10.00" in strip_tags(both)
    one = as_("member_a").post(CHECK, sent | {"mig_profile": "1g.5gb"}, headers=HX).content.decode()
    assert "¥ 1.00 per hour" in strip_tags(one)
    assert "No price is set" not in one


def test_where_it_is_placed_the_price_is_that_of_the_place(as_: As) -> None:
    priced("H100-80GB", "exclusive", "30")
    text = as_("member_a").post(CHECK, WHOLE | {"gpus": "1"}, headers=HX).content.decode()
    assert "¥ 30.00" in text
    assert "No price is set" not in text
