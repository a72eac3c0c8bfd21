"""Builds one frame a layer and tick. Synchronous: it runs in a thread of its own."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
import redis
from django.conf import settings

from pool.nodes import telemetry
from pool.nodes.heatmap import codec, layout, planes, store
from pool.nodes.heatmap.counters import Counters, FleetChanged
from pool.nodes.heatmap.gather import gather
from pool.nodes.models import PoolSample
from pool.scheduling.models import Job
from pool.scheduling.states import JOB_ACTIVE, JobState

_LAYOUT_SECONDS = 300  # a name or a rack that was edited in place shows after this long
_SAMPLE_SECONDS = 60


@dataclass(slots=True)
class _Sent:
    sequence: int
    layout: int
    values: codec.Values


class Builder:
    """Keeps what was sent last, per layer; nothing of it must survive a restart."""

    def __init__(self, valkey: redis.Redis) -> None:
        self._valkey = valkey
        self._counters: Counters | None = None
        self._layout_until = 0.0
        self._sent: dict[str, _Sent] = {}
        self._sampled = 0

    def tick(self, now: float) -> list[tuple[str, bytes]]:
        """[(Channels group, frame)] for the layers that someone looks at. `now`: unix seconds."""
        counters = self._current(now)
        fleet = counters.layout
        keys = telemetry.keys(fleet.node_ids.tolist())
        blobs: list[Any] = self._valkey.mget(keys) if keys else []
        table, received = gather(blobs, fleet.first, fleet.count)
        stale_after = float(settings.WEIR_REPORT_SECONDS * settings.WEIR_STALE_REPORTS)
        values = planes.build(
            table,
            received,
            counters.share,
            counters.marks,
            counters.tenant,
            fleet.power_limit,
            now=now,
            stale_after=stale_after,
        )
        summary = planes.summarise(table, received, counters.share, values["marks"], now=now, stale_after=stale_after)
        self._sample(summary, now)
        return self._publish(values, summary, now)

    def _current(self, now: float) -> Counters:
        """Counters over the present fleet, refreshed."""
        counters = self._counters
        if counters is None or now >= self._layout_until:
            counters = self._read_layout(now)
        try:
            counters.refresh()
        except FleetChanged:
            counters = self._read_layout(now, anew=True)
            counters.refresh()
        return counters

    def _read_layout(self, now: float, anew: bool = False) -> Counters:
        """The counters that are held, if the layout is what it was; else empty ones over the new layout."""
        fleet = layout.read()
        self._layout_until = now + _LAYOUT_SECONDS
        if anew or self._counters is None or fleet.version != self._counters.layout.version:
            self._counters = Counters(fleet)
        return self._counters

    def _publish(self, values: dict[str, codec.Values], summary: planes.Summary, now: float) -> list[tuple[str, bytes]]:
        frames = []
        pipe = self._valkey.pipeline(transaction=False)
        for layer in store.wanted(self._valkey):
            full, sent = self._encode(layer, values[layer], now)
            pipe.set(store.frame_key(layer), full, ex=store.FRAME_SECONDS)
            if sent is not None:
                frames.append((codec.group(layer), sent))
        assert self._counters is not None
        pipe.set(store.LAYOUT, self._counters.layout.document, ex=store.FRAME_SECONDS)
        pipe.set(store.SUMMARY, orjson.dumps(summary.as_dict()), ex=store.FRAME_SECONDS)
        pipe.execute()
        return frames

    def _encode(self, layer: str, values: codec.Values, now: float) -> tuple[bytes, bytes | None]:
        """(full frame to keep for newcomers, frame to send now: of marks only when they changed)."""
        assert self._counters is not None
        version = self._counters.layout.version
        table = len(self._counters.tenants) if layer == "tenant" else 0
        last = self._sent.get(layer)
        facts: dict[str, Any]
        # from the clock, so that it rises across restarts and take-overs too
        sequence = max(int(now), last.sequence + 1) if last else int(now)
        same = last is not None and last.layout == version and np.array_equal(last.values, values)
        if layer == "marks" and last is not None and same:
            # the value layer is the sign of life; marks that repeat themselves would double the messages
            facts = {"sequence": last.sequence, "layout": version, "time": now}
            return codec.encode_full(layer, values, **facts), None
        facts = {"sequence": sequence, "layout": version, "time": now, "table": table}
        full = codec.encode_full(layer, values, **facts)
        self._sent[layer] = _Sent(sequence, version, values)
        if last is None or last.layout != version or len(last.values) != len(values):
            return full, full
        delta = codec.encode_delta(layer, last.values, values, base=last.sequence, **facts)
        return full, delta or full

    def _sample(self, summary: planes.Summary, now: float) -> None:
        """The row of the minute, once: a second builder of the same minute finds it there."""
        minute = int(now) // _SAMPLE_SECONDS * _SAMPLE_SECONDS
        if minute == self._sampled:
            return
        PoolSample.objects.get_or_create(
            at=datetime.fromtimestamp(minute, UTC),
            defaults={
                "devices": summary.devices,
                "reporting": summary.reporting,
                "share_bp": summary.share_bp,
                "utilisation_bp": summary.utilisation_bp,
                "memory_bp": summary.memory_bp,
                "power_w": summary.power_w,
                "queued_jobs": Job.objects.filter(state=JobState.QUEUED).count(),
                "running_jobs": Job.objects.filter(state__in=JOB_ACTIVE).count(),
            },
        )
        self._sampled = minute
