"""What people type into the submit form."""

import pytest
from django.core.exceptions import ValidationError

from console.common.pairs import pairs
from pool.scheduling.pages import units


@pytest.mark.parametrize(
    ("text", "value"),
    [("1/8", "0.125"), ("25 %", "0.25"), ("0.5", "0.5"), ("1/16", "0.0625"), ("1", "1"), ("100%", "1")],
)
def test_share(text: str, value: str) -> None:
    assert units.share(text) == value


@pytest.mark.parametrize("text", ["", "0", "2", "-1/2", "1/0", "nan", "inf", "x", "1e999", "150 %", "1/2/3"])
def test_share_refuses(text: str) -> None:
    with pytest.raises(ValidationError):
        units.share(text)


@pytest.mark.parametrize(
    ("text", "mib"), [("4096", 4096), ("16 GiB", 16_384), ("16g", 16_384), ("0.5 TiB", 524_288), ("10 MiB", 10)]
)
def test_mebibytes(text: str, mib: int) -> None:
    assert units.mebibytes(text) == mib


@pytest.mark.parametrize("text", ["0", "-1", "0.3", "12 kg", "1e9", "99999999999 GiB"])
def test_mebibytes_refuses(text: str) -> None:
    with pytest.raises(ValidationError):
        units.mebibytes(text)


def test_sizes_take_one_for_all_or_one_a_device() -> None:
    assert units.sizes("") is None
    assert units.sizes("16 GiB") == 16_384
    assert units.sizes("4096, 8 GiB") == [4096, 8192]


def test_pairs_name_the_line_that_is_wrong() -> None:
    assert pairs("A=1\n\nB=x=y") == {"A": "1", "B": "x=y"}
    with pytest.raises(ValidationError, match="Line 2"):
        pairs("A=1\nB")
    with pytest.raises(ValidationError, match="A again"):
        pairs("A=1\nA=2")
