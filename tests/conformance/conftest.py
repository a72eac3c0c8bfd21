"""Cases that need node control run a real gateway and real agents."""

from tests.nodes.fixtures import agents, bench, calm, fleets, gateway, hasty  # noqa: F401
