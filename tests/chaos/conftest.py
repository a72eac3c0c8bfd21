from tests.embedded.conftest import database_url

__all__ = ["database_url"]
