"""Calls to an address that a person has named: never to ourselves or into our own network, never over plain HTTP.

The names are looked up before the connection, and the address that it came to is looked at again before a byte is
sent: a name that changes its mind in between gains nothing. Redirects go the same way. `WEIR_OUTBOUND_PRIVATE` lifts
both rules, for an installation whose providers live in its own network.
"""

import ipaddress
import socket
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError
from urllib3.poolmanager import PoolManager

SECONDS = 5.0
MOST_BYTES = 1 << 20
_REDIRECTS = 3
# their last bits hold an IPv4 address that may be anyone's: NAT64 and 6to4
_WRAPPED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2002::/16"))


class Refused(requests.RequestException):
    """An address or an answer that we do not take."""


def fault_of(url: str) -> str:
    """Why a URL may not be called, in words; "" where nothing is wrong with it as far as it can be seen from here."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "is not an address of the web"
    if parts.scheme not in {"https", "http"} or not host or parts.username or parts.password or port == 0:
        return "must be an address such as https://login.example.com"
    if settings.WEIR_OUTBOUND_PRIVATE:
        return ""
    if parts.scheme != "https":
        return "must begin with https://"
    return "" if _may_be_public(host) else "must not be an address of this machine or of a private network"


def session() -> requests.Session:
    """For one exchange. No proxy of the environment, no cookies kept, at most three redirects, 1 MiB and 5 s each."""
    made = requests.Session()
    made.trust_env = False
    made.max_redirects = _REDIRECTS
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Adapter())
    return made


def is_public(address: str) -> bool:
    """Of an IP address in its text form."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if any(found in network for network in _WRAPPED):
            return False
    return found.is_global and not found.is_multicast


def _may_be_public(host: str) -> bool:
    """A name may be; whether it is shows when it is called."""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # 127.1, 0x7f000001, 2130706433: numbers that the resolver takes for addresses
        return not host.rpartition(".")[2][:1].isdigit()
    return is_public(host)


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **more: Any) -> None:
        self.poolmanager = _Pools(num_pools=connections, maxsize=maxsize, block=block, **more)

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:  # type: ignore[override]
        fault = fault_of(str(request.url))
        if fault:
            raise Refused(f"{urlsplit(str(request.url)).hostname}: the address {fault}", request=request)
        more["stream"] = True
        more["timeout"] = SECONDS
        response = super().send(request, **more)
        body = response.raw.read(MOST_BYTES + 1, decode_content=True)
        if len(body) > MOST_BYTES:
            response.close()
            raise Refused("the answer is larger than 1 MiB", request=request)
        response._content = body
        response._content_consumed = True
        return response


class _Guarded:
    """Before a connection class of urllib3."""

    host: str
    port: int

    def _new_conn(self) -> socket.socket:
        for found in _addresses(self.host, self.port):
            _check(self, self.host, found)
        made: socket.socket = super()._new_conn()  # type: ignore[misc]
        try:
            _check(self, self.host, str(made.getpeername()[0]))
        except NewConnectionError:
            made.close()
            raise
        return made


def _addresses(host: str, port: int) -> list[str]:
    try:
        return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except OSError:
        return []  # urllib3 says so in its own words


def _check(connection: Any, host: str, address: str) -> None:
    if not settings.WEIR_OUTBOUND_PRIVATE and not is_public(address):
        raise NewConnectionError(connection, f"{host} is an address of this machine or of a private network")


class _Http(_Guarded, HTTPConnection):
    pass


class _Https(_Guarded, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _Https


class _Pools(PoolManager):
    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
