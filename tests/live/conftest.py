"""A running server and signed-in people."""

from collections.abc import Iterator

import pytest

from tests.live.server import running


@pytest.fixture
def host(transactional_db: None, live: object) -> Iterator[str]:
    """ "localhost:port" of the real server, over an empty Valkey."""
    with running() as address:
        yield address
