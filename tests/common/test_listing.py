"""Keyset pages: complete, in order, stable, and a cursor that tells nothing."""

import base64

import pytest

from console.common.errors import InvalidInput
from console.common.listing import keyset, page_of
from console.common.sealed import seal_text
from console.tenants.models import Tenant


@pytest.fixture
def rows(db: None) -> list[int]:
    return [Tenant.objects.create(slug=f"t{number}", name="t").pk for number in range(7)][::-1]


def walk(size: int) -> list[int]:
    seen, cursor = [], ""
    while True:
        page = keyset(Tenant.objects.all(), cursor, size)
        seen += [row.pk for row in page.rows]
        if not page.after:
            return seen
        cursor = page.after


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8])
def test_every_row_once_in_order(rows: list[int], size: int) -> None:
    assert walk(size) == rows


def test_back_is_the_page_before(rows: list[int]) -> None:
    first = keyset(Tenant.objects.all(), size=3)
    second = keyset(Tenant.objects.all(), first.after, 3)
    back = keyset(Tenant.objects.all(), second.before, 3)
    assert [row.pk for row in back.rows] == [row.pk for row in first.rows]
    assert (first.before, back.before) == ("", "")
    assert back.after


def test_a_row_added_meanwhile_shifts_nothing(rows: list[int]) -> None:
    first = keyset(Tenant.objects.all(), size=3)
    Tenant.objects.create(slug="late", name="t")
    second = keyset(Tenant.objects.all(), first.after, 3)
    assert [row.pk for row in second.rows] == rows[3:6]


def test_a_cursor_shows_no_row_number(rows: list[int]) -> None:
    far = 9_123_456_789  # long enough that sealed bytes do not hold it by chance
    for number in range(2):
        Tenant.objects.create(pk=far + number, slug=f"far-{number}", name="t")
    cursors = {keyset(Tenant.objects.all(), size=1).after for _ in range(2)}
    assert len(cursors) == 2
    plain = base64.urlsafe_b64decode(next(iter(cursors)) + "==")
    assert str(far + 1).encode() not in plain
    assert (far + 1).to_bytes(8, "big") not in plain


@pytest.mark.parametrize("cursor", ["x", "", "ü", "a" * 500])
def test_a_foreign_cursor_is_refused(rows: list[int], cursor: str) -> None:
    if not cursor:
        assert page_of(Tenant.objects.all(), {"after": ""}).rows
        return
    with pytest.raises(InvalidInput) as refusal:
        keyset(Tenant.objects.all(), cursor)
    assert refusal.value.errors[0].field == "cursor"


def test_a_value_sealed_for_another_purpose_is_refused(rows: list[int]) -> None:
    with pytest.raises(InvalidInput):
        keyset(Tenant.objects.all(), seal_text("idempotent answer", "after:1"))
