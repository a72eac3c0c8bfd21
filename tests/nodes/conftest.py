from tests.nodes.fixtures import agents, bench, calm, fleets, gateway, hasty  # noqa: F401
