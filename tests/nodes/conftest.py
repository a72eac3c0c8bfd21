from tests.nodes.fixtures import agents, bench, calm, fleets, gateway, hasty, watchful  # noqa: F401
