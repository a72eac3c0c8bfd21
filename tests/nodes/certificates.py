"""Certificates of a test's own: an authority, and what it signs. Real X.509, made with the `cryptography` package."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    certificate: Path
    key: Path


class Authority:
    """Signs for `names` (host names or addresses); its own certificate lies in `path`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = (x509.BasicConstraints(ca=True, path_length=0), True)
        certificate = self._sign(self._subject, self._key.public_key(), [constraints])
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *names: str, until: timedelta = DAY) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        alternatives = (x509.SubjectAlternativeName([_general_name(each) for each in names or (name,)]), False)
        certificate = self._sign(subject, key.public_key(), [alternatives], until)
        pair = Pair(self.folder / f"{self.name}-{name}.pem", self.folder / f"{self.name}-{name}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        pair.key.write_bytes(key.private_bytes(*form))
        return pair

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        extensions: list[tuple[x509.ExtensionType, bool]],
        until: timedelta = DAY,
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * DAY)
            .not_valid_after(now + until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256())


def _general_name(text: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(text)) if text[0].isdigit() else x509.DNSName(text)
