"""Readers of roles and of what each replica asks for."""

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from console.common.errors import FieldError
from pool.scheduling.spec.conditions import levels, selector
from pool.scheduling.spec.fields import Reader
from pool.scheduling.spec.model import MAX_DEVICES, MAX_MIB, MAX_REPLICAS, WHOLE_BP, DeviceAsk, RoleSpec

ISOLATIONS: Final = ("auto", "exclusive", "mig", "vgpu")
MOST_ROLES: Final = 16
_OF_DEVICES: Final = (
    "gpus",
    "gpu_fraction",
    "gpu_cores_percent",
    "gpu_memory_mib",
    "mig_profile",
    "isolation",
    "models",
    "vendors",
    "preference",
    "gpu_selector",
    "bandwidth_sensitive",
)
RESOURCES: Final = (
    *_OF_DEVICES,
    "devices",
    "cpu_milli",
    "memory_mib",
    "replicas",
    "min_replicas",
    "max_replicas",
)


def read_roles(reader: Reader, errors: list[FieldError]) -> tuple[RoleSpec, ...]:
    """The roles of a request; without any, the request itself is the only one."""
    if not reader.has("roles"):
        # topology levels that stand beside the resources of the only role are the job's
        role = _role(Reader(reader.data, "", errors), "worker", ("", ""))
        reader.known.update(RESOURCES)
        return (role,)
    given = reader.data["roles"]
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_ROLES:
        given = None
    if given is None or not all(isinstance(role, Mapping) for role in given):
        reader.fail("roles", _("must be a list of 1 to 16 objects"))
        return ()
    for name in RESOURCES:
        if name in reader.data:
            reader.known.add(name)
            reader.fail(name, _("belongs into each role when roles are given"))
    roles: list[RoleSpec] = []
    for index, item in enumerate(given):
        child = Reader(item, f"roles[{index}].", errors)
        name = child.text("name", "", 40)
        if not name or name in {role.name for role in roles}:
            child.fail("name", _("must be given and differ from the other roles"))
        roles.append(_role(child, name, levels(child, "node")))
        child.unknown()
    return tuple(roles)


def _role(reader: Reader, name: str, at: tuple[str, str]) -> RoleSpec:
    replicas = reader.integer("replicas", 1, 1, MAX_REPLICAS)
    # of the only role the job's own minimum decides, where it is given
    usual = 0 if not reader.path and reader.has("min_member") else replicas
    asks = _asks(reader)
    devices = _no_devices(reader, sum(ask.devices for ask in asks)) if asks is not None else read_devices(reader)
    return RoleSpec(
        name=name,
        replicas=replicas,
        min_replicas=reader.integer("min_replicas", usual, 0, replicas),
        max_replicas=reader.integer("max_replicas", replicas, replicas, MAX_REPLICAS),
        cpu_milli=reader.integer("cpu_milli", 0, 0, 10**7),
        host_memory_mib=reader.integer("memory_mib", 0, 0, MAX_MIB),
        asks=asks or (),
        required_topology_level=at[0],
        preferred_topology_level=at[1],
        **devices,
    )


def _asks(reader: Reader) -> tuple[DeviceAsk, ...] | None:
    """Devices that differ; None where the request does not name them one by one."""
    if not reader.has("devices"):
        return None
    given = reader.data["devices"]
    good = isinstance(given, list) and 1 <= len(given) <= MAX_DEVICES and all(isinstance(one, Mapping) for one in given)
    if not good:
        reader.fail("devices", _("must be a list of 1 to %(most)s objects") % {"most": MAX_DEVICES})
        return ()
    found: list[DeviceAsk] = []
    for index, item in enumerate(given):
        child = Reader(item, f"{reader.path}devices[{index}].", reader.errors)
        ask = DeviceAsk(**read_devices(child))
        if ask.devices < 1:
            child.fail("gpus", _("must be at least 1"))
        if ask.preference:
            child.fail("preference", _("cannot rank models of devices that differ: name models in each"))
        child.unknown()
        found.append(ask)
    if sum(ask.devices for ask in found) > MAX_DEVICES:
        reader.fail("devices", _("must be at most %(most)s in all") % {"most": MAX_DEVICES})
    return tuple(found)


def _no_devices(reader: Reader, total: int) -> dict[str, Any]:
    for name in _OF_DEVICES:
        if reader.has(name):
            reader.fail(name, _("belongs into each of the devices when devices are given"))
    return {"devices": min(total, MAX_DEVICES)}


def read_devices(reader: Reader) -> dict[str, Any]:
    """The fields of a DeviceAsk: of a role, or of one of its unequal devices."""
    devices = reader.integer("gpus", 1, 0, MAX_DEVICES)
    isolation = reader.choice("isolation", "auto", ISOLATIONS)
    profile = reader.text("mig_profile", "", 40)
    share, cores = _share(reader, devices, profile, isolation)
    return {
        "devices": devices,
        "share_bp": share,
        "gpu_cores_percent": cores,
        "memory_mib": _memory(reader, devices),
        "mig_profile": profile,
        "isolation": "mig" if profile else isolation,
        "models": reader.texts("models"),
        "vendors": tuple(vendor.lower() for vendor in reader.texts("vendors", 32)),
        "preference": _preference(reader),
        "gpu_selector": selector(reader, "gpu_selector"),
        "bandwidth_sensitive": reader.boolean("bandwidth_sensitive"),
    }


def _preference(reader: Reader) -> tuple[str, ...]:
    found = reader.texts("preference")
    if found and len(found) != len(reader.data["preference"]):
        reader.fail("preference", _("names a model or vendor twice"))
    return found


def _share(reader: Reader, devices: int, profile: str, isolation: str) -> tuple[int, int]:
    """(share in bp, compute in percent where it is said apart from it, else 0)."""
    fraction = reader.share_bp("gpu_fraction")
    percent = reader.integer("gpu_cores_percent", 0, 1, 100)
    if profile and (fraction is not None or percent):
        reader.fail("mig_profile", _("already says the share: leave out gpu_fraction and gpu_cores_percent"))
    if profile and isolation not in {"auto", "mig"}:
        reader.fail("isolation", _("must be mig or auto when mig_profile is given"))
    if profile and devices == 0:
        reader.fail("gpus", _("must be at least 1 when mig_profile is given"))
    apart = percent if fraction is not None else 0
    share = fraction or percent * 100 or WHOLE_BP
    whole = share == WHOLE_BP and not apart
    if isolation == "exclusive" and not whole:
        reader.fail("isolation", _("exclusive means whole cards: leave out the fraction, or choose vgpu, mig or auto"))
    if isolation == "mig" and whole and not profile:
        reader.fail("mig_profile", _("must be given, or a gpu_fraction below 1, when isolation is mig"))
    return share, apart


def _memory(reader: Reader, devices: int) -> tuple[int, ...]:
    name = "gpu_memory_mib"
    if not reader.has(name):
        return ()
    value = reader.data[name]
    items = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int) or not 1 <= item <= MAX_MIB:
            reader.fail(name, _("must be whole MiB of at least 1, or a list with one number per device"))
            return ()
    if isinstance(value, list) and len(items) != devices:
        reader.fail(name, _("must have one number per device: %(devices)s") % {"devices": devices})
        return ()
    return tuple(items)
