"""Settings of node control as one plain value."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """Seconds, bytes. `lease_s`: an agent that got no answer for so long has ended all work by itself; `skew_s`
    later the server gives its devices away. `stale_reports`: with more reports missed a node takes no new work.
    """

    host: str
    port: int
    report_s: float = 5.0
    stale_reports: int = 3
    lease_s: float = 30.0
    skew_s: float = 5.0
    log_bytes: int = 4 << 20
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None

    @property
    def stale_s(self) -> float:
        return self.report_s * self.stale_reports

    @property
    def lost_s(self) -> float:
        return self.lease_s + self.skew_s

    @property
    def floor_lag_s(self) -> float:
        """By how much the durable time of the last report may lag behind the true one: see Life.may_renew."""
        return self.lease_s / 3 + self.report_s

    def tls(self) -> ssl.SSLContext | None:
        """Raises OSError or ssl.SSLError for files that do not work."""
        if self.tls_certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.tls_client_ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.tls_certificate, self.tls_key)
        if self.tls_client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def from_settings() -> GatewayOptions:
    def path(name: str) -> Path | None:
        value = getattr(settings, name, "")
        return Path(value) if value else None

    return GatewayOptions(
        host=settings.WEIR_GATEWAY_HOST,
        port=settings.WEIR_GATEWAY_PORT,
        report_s=float(settings.WEIR_REPORT_SECONDS),
        stale_reports=int(settings.WEIR_STALE_REPORTS),
        lease_s=settings.WEIR_NODE_LEASE_SECONDS,
        skew_s=settings.WEIR_NODE_SKEW_SECONDS,
        log_bytes=settings.WEIR_LOG_BYTES,
        tls_certificate=path("WEIR_GATEWAY_TLS_CERT"),
        tls_key=path("WEIR_GATEWAY_TLS_KEY"),
        tls_client_ca=path("WEIR_GATEWAY_TLS_CLIENT_CA"),
    )
