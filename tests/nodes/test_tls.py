"""Agents over TLS with certificates of the test's own: who checks whom, and that no token is told to a stranger."""

import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pool.inventory.models import Node
from pool.nodes.models import JoinToken
from pool.nodes.options import GatewayOptions
from tests.nodes.certificates import Authority, Pair
from tests.nodes.running import AgentProcess, GatewayThread, running, wait_for
from tests.nodes.work import reaches

Agents = Callable[..., AgentProcess]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "ours")


@pytest.fixture
def stranger(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "strangers")


@pytest.fixture
def serve(transactional_db: None, live: Any) -> Iterator[Callable[..., GatewayThread]]:
    """Starts a gateway that shows `pair`; with `client_ca` it asks for a certificate of the agent's too."""
    open_now = []

    def start(pair: Pair, client_ca: Path | None = None) -> GatewayThread:
        thread = running(tls_certificate=pair.certificate, tls_key=pair.key, tls_client_ca=client_ca)
        open_now.append(thread)
        return thread.__enter__()

    yield start
    for thread in open_now:
        thread.__exit__(None, None, None)


def port(gateway: GatewayThread) -> str:
    return gateway.address.rpartition(":")[2]


def stays_out(agents: Agents, server: str, *options: str, because: str) -> None:
    """The agent tries, says why it does not get in, tries again, and has used up no token meanwhile."""
    agent = agents(server, "gpu-1", *options, wait=False)
    wait_for(lambda: agent.log().count("no connection to") >= 2, f"two refusals in {agent.log()}")
    assert because in agent.log()
    assert agent.process is not None
    assert agent.process.poll() is None, "it goes on trying"
    assert not Node.objects.exists()
    assert set(JoinToken.objects.values_list("uses_left", flat=True)) == {1000}


def test_an_agent_joins_over_tls_with_the_authority_pinned(
    serve: Callable[..., GatewayThread], agents: Agents, authority: Authority, bench: Any
) -> None:
    gateway = serve(authority.issue("localhost", "localhost", "127.0.0.1"))
    agents(f"localhost:{port(gateway)}", "gpu-1", "--tls-ca", str(authority.path))
    agents(f"127.0.0.1:{port(gateway)}", "gpu-2", "--tls-ca", str(authority.path))
    job = bench.shell("exit 0")
    reaches(job, "succeeded")  # commands, news and output go the same way
    with socket.create_connection(("127.0.0.1", int(port(gateway)))) as raw:
        context = ssl.create_default_context(cafile=authority.path)
        with context.wrap_socket(raw, server_hostname="localhost") as wrapped:
            assert wrapped.version() == "TLSv1.3"


def test_a_certificate_of_another_authority_is_refused(
    serve: Callable[..., GatewayThread], agents: Agents, authority: Authority, stranger: Authority
) -> None:
    gateway = serve(stranger.issue("localhost", "localhost", "127.0.0.1"))
    stays_out(
        agents, gateway.address, "--tls-ca", str(authority.path), because="certificate verify failed: unable to get"
    )


def test_without_a_pinned_authority_the_systems_are_asked_and_do_not_know_ours(
    serve: Callable[..., GatewayThread], agents: Agents, authority: Authority
) -> None:
    gateway = serve(authority.issue("localhost", "localhost", "127.0.0.1"))
    stays_out(agents, gateway.address, "--tls", because="certificate verify failed")


def test_a_certificate_for_another_name_is_refused(
    serve: Callable[..., GatewayThread], agents: Agents, authority: Authority
) -> None:
    gateway = serve(authority.issue("weir.example", "weir.example"))
    stays_out(agents, gateway.address, "--tls-ca", str(authority.path), because="IP address mismatch")


def test_a_certificate_that_is_over_is_refused(
    serve: Callable[..., GatewayThread], agents: Agents, authority: Authority
) -> None:
    gateway = serve(authority.issue("old", "127.0.0.1", until=-timedelta(hours=1)))
    stays_out(agents, gateway.address, "--tls-ca", str(authority.path), because="certificate has expired")


def test_a_gateway_without_tls_is_told_nothing(gateway: GatewayThread, agents: Agents, authority: Authority) -> None:
    agent = agents(gateway.address, "gpu-1", "--tls-ca", str(authority.path), wait=False)
    wait_for(lambda: agent.log().count("no connection to") >= 2, "two refusals")
    assert not Node.objects.exists()
    assert JoinToken.objects.get().uses_left == 1000


def test_an_agent_without_tls_does_not_get_in(
    serve: Callable[..., GatewayThread], agents: Agents, authority: Authority
) -> None:
    gateway = serve(authority.issue("localhost", "127.0.0.1"))
    agent = agents(gateway.address, "gpu-1", wait=False)
    wait_for(lambda: agent.log().count("no connection to") >= 2, "two refusals")
    assert not Node.objects.exists()


def test_a_gateway_that_asks_for_certificates_lets_only_those_of_its_authority_in(
    serve: Callable[..., GatewayThread], agents: Agents, authority: Authority, stranger: Authority
) -> None:
    gateway = serve(authority.issue("localhost", "127.0.0.1"), client_ca=authority.path)
    pinned = ("--tls-ca", str(authority.path))
    bad = stranger.issue("gpu-bad")
    nothing = agents(gateway.address, "gpu-none", *pinned, wait=False)
    wrong = agents(
        gateway.address, "gpu-bad", *pinned, "--tls-cert", str(bad.certificate), "--tls-key", str(bad.key), wait=False
    )
    for agent in (nothing, wrong):
        wait_for(lambda agent=agent: agent.log().count("no connection to") >= 2, f"refused twice: {agent.log()}")  # type: ignore[misc]
    assert not Node.objects.exists()
    good = authority.issue("gpu-1")
    agents(gateway.address, "gpu-1", *pinned, "--tls-cert", str(good.certificate), "--tls-key", str(good.key))
    assert set(Node.objects.values_list("name", flat=True)) == {"gpu-1"}


def test_files_that_do_not_work_are_said_at_the_start(tmp_path: Path, authority: Authority) -> None:
    pair = authority.issue("localhost")
    other = authority.issue("other")
    for certificate, key in ((tmp_path / "none.pem", pair.key), (pair.key, pair.key), (pair.certificate, other.key)):
        options = GatewayOptions("127.0.0.1", 0, tls_certificate=certificate, tls_key=key)
        with pytest.raises((OSError, ssl.SSLError)):
            options.tls()
