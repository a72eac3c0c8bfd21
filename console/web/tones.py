"""How a state looks: an icon and a tone. The word is always shown, so colour never carries it alone."""

from dataclasses import dataclass

OK, WARN, BAD, QUIET, ACCENT = "ok", "warn", "bad", "quiet", "accent"


@dataclass(frozen=True, slots=True)
class Tone:
    tone: str
    icon: str


# by the value stored for a state; the vocabulary of jobs, replicas, nodes, devices, queues, invoices is shared
TONES: dict[str, Tone] = {
    "queued": Tone(QUIET, "clock"),
    "pending": Tone(QUIET, "clock"),
    "assigned": Tone(ACCENT, "loader"),
    "starting": Tone(ACCENT, "loader"),
    "running": Tone(OK, "circle-play"),
    "stopping": Tone(WARN, "circle-stop"),
    "stopped": Tone(QUIET, "circle-stop"),
    "succeeded": Tone(OK, "circle-check"),
    "failed": Tone(BAD, "circle-x"),
    "cancelled": Tone(QUIET, "ban"),
    "expired": Tone(WARN, "hourglass"),
    "lost": Tone(BAD, "unplug"),
    "ready": Tone(OK, "circle-check"),
    "cordoned": Tone(WARN, "circle-pause"),
    "draining": Tone(WARN, "circle-dashed"),
    "faulty": Tone(BAD, "triangle-alert"),
    "unreachable": Tone(BAD, "unplug"),
    "retired": Tone(QUIET, "unplug"),
    "open": Tone(OK, "circle-check"),
    "held": Tone(WARN, "circle-pause"),
    "closed": Tone(QUIET, "ban"),
    "started": Tone(OK, "circle-check"),
    "dropped": Tone(QUIET, "ban"),
    "wanted": Tone(QUIET, "loader"),
    "empty": Tone(QUIET, "circle-check"),
    "proposed": Tone(ACCENT, "circle-dot"),
    "planned": Tone(QUIET, "clock"),
    "moving": Tone(ACCENT, "loader"),
    "moved": Tone(OK, "circle-check"),
    "done": Tone(OK, "circle-check"),
    "active": Tone(OK, "circle-check"),
    "suspended": Tone(WARN, "circle-pause"),
    "revoked": Tone(QUIET, "ban"),
    "draft": Tone(QUIET, "circle-dashed"),
    "issued": Tone(ACCENT, "file-text"),
    "paid": Tone(OK, "circle-check"),
    "ok": Tone(OK, "circle-check"),
    "executed": Tone(OK, "circle-check"),
    "refused": Tone(QUIET, "ban"),
    "withdrawn": Tone(QUIET, "ban"),
    "denied": Tone(BAD, "ban"),
    "error": Tone(BAD, "circle-x"),
}
UNKNOWN = Tone(QUIET, "circle-dot")


def tone_of(state: str) -> Tone:
    return TONES.get(state, UNKNOWN)
