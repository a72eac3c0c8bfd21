"""GET /healthz: open to probes, and tells nothing but up or down."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client


@pytest.mark.django_db
def test_all_well(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"database": "ok", "valkey": "ok"})
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_valkey_down(client: Client, settings: Any, tmp_path: Path) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"database": "ok", "valkey": "down"})


@pytest.mark.django_db
def test_only_reading_is_allowed(client: Client) -> None:
    assert client.post("/healthz").status_code == 405
