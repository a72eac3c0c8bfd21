"""Which passwords are refused: short, known, made from a known one, like the person."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from console.accounts.passwords import BreachedPasswordValidator
from console.tenants.models import User

ADA = User(email="ada.lovelace@example.test")


@pytest.mark.parametrize(
    "wrong",
    ["short", "123456789012345", "password1234!", "P@ssw0rd2026!!", "dragon1234567", "ada.lovelace@example"],
)
def test_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(wrong, ADA)


@pytest.mark.parametrize(
    "right", ["a long pass phrase 1", "quite another phrase 2", "四个字的密码和更多的字符", "vHq8-2kd0-11xz"]
)
def test_accepted(right: str) -> None:
    assert validate_password(right, ADA) is None  # nothing is raised


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_a_list_of_ones_own_is_found_by_halves(tmp_path: Path, count: int) -> None:
    """Every line of it, the first and the last too, and nothing else; upper or lower case, with counts or without."""
    words = [f"stolen phrase {number}" for number in range(count)]
    digests = sorted(hashlib.sha1(word.encode()).hexdigest().upper() for word in words)
    for text in ("".join(f"{each}:12\n" for each in digests), "\n".join(each.lower() for each in digests)):
        path = tmp_path / "list.txt"
        path.write_text(text)
        validator = BreachedPasswordValidator(str(path))
        for word in words:
            with pytest.raises(ValidationError) as refusal:
                validator.validate(word)
            assert refusal.value.code == "password_breached"
        for number in range(50):
            validator.validate(f"another phrase {number}")


def test_a_list_that_is_not_there_refuses_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        BreachedPasswordValidator(str(tmp_path / "none")).validate("a long pass phrase 1")


def test_length_is_a_setting(settings: Any) -> None:
    lengths = [rule for rule in settings.AUTH_PASSWORD_VALIDATORS if "MinimumLength" in rule["NAME"]]
    assert lengths[0]["OPTIONS"]["min_length"] == 12
