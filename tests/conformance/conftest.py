"""Cases that need node control run a real gateway and real agents; those of the API use its client."""

from tests.api.conftest import api  # noqa: F401
from tests.nodes.fixtures import agents, bench, calm, fleets, gateway, hasty, watchful  # noqa: F401
