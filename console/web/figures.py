"""Charts as plain JSON for plotly.js: {"data": [...], "layout": {...}}. static/js/charts.js draws them.

Colours are names of design tokens in braces ("{accent}"): the browser puts the theme's own in. Times are ISO 8601
in the person's zone, without offset, because plotly shows what it is given.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from pool.nodes.models import PoolSample
from pool.nodes.readings import Point
from pool.scheduling.models import FragmentationSample

Figure = dict[str, Any]
WHOLE_BP = 10_000
_SHORTEST = timedelta(minutes=10)
_SAMPLE_GAP_S = 900  # of samples that come every five minutes
_DAYS = timedelta(days=2)
_GAP_S = 180  # a longer silence is drawn as a gap, not as a straight line over it


def pool_use(samples: Sequence[PoolSample]) -> Figure:
    """Allocated share and mean utilisation of the pool, in percent."""
    times = [sample.at for sample in samples]
    allocated = [100 * sample.share_bp / (sample.devices * WHOLE_BP) if sample.devices else None for sample in samples]
    used = [None if sample.utilisation_bp is None else sample.utilisation_bp / 100 for sample in samples]
    return figure(
        [
            line(_("Allocated"), times, allocated, "accent", unit="%", fill=True),
            line(_("GPU utilisation"), times, used, "warn", unit="%", dash="dot"),
        ],
        y={"range": [0, 100], "ticksuffix": " %", "nticks": 5},
    )


def queue_depth(samples: Sequence[PoolSample]) -> Figure:
    """Jobs that wait and jobs that run."""
    times = [sample.at for sample in samples]
    return figure(
        [
            line(_("Queued"), times, [sample.queued_jobs for sample in samples], "warn", fill=True, shape="hv"),
            line(
                _("Running"),
                times,
                [sample.running_jobs for sample in samples],
                "accent",
                shape="hv",
                dash="dot",
            ),
        ],
        y={"rangemode": "tozero", "nticks": 5, "tickformat": ",d"},
    )


def fragmentation(samples: Sequence[FragmentationSample]) -> Figure:
    """Free capacity that is of no use, in percent of the pool, and how many cards it strands."""
    times = [sample.at for sample in samples]
    lost = [100 * sample.stranded_bp / sample.capacity_bp if sample.capacity_bp else None for sample in samples]
    drawn = figure(
        [
            line(_("Of no use to any work"), times, lost, "warn", unit="%", fill=True, gap_s=_SAMPLE_GAP_S),
            line(
                _("Of no use, mean over the classes"),
                times,
                [sample.spread_bp / 100 for sample in samples],
                "accent",
                unit="%",
                gap_s=_SAMPLE_GAP_S,
            ),
            {
                **line(
                    _("Stranded devices"),
                    times,
                    [sample.stranded_devices for sample in samples],
                    "muted",
                    shape="hv",
                    dash="dot",
                    gap_s=_SAMPLE_GAP_S,
                ),
                "yaxis": "y2",
            },
        ],
        y={"rangemode": "tozero", "ticksuffix": " %", "nticks": 5},
    )
    drawn["layout"]["yaxis2"] = {
        **_axis(),
        "overlaying": "y",
        "side": "right",
        "rangemode": "tozero",
        "showgrid": False,
        "nticks": 5,
        "tickformat": ",d",
    }
    drawn["layout"]["margin"]["r"] = 48
    return drawn


def device_use(points: Sequence[Point]) -> Figure:
    """Utilisation and memory of one card, in percent."""
    times = [point.at for point in points]
    return figure(
        [
            line(
                _("Utilisation"),
                times,
                [p.utilisation_bp / 100 for p in points],
                "accent",
                unit="%",
                fill=True,
            ),
            line(_("Memory"), times, [p.memory_bp / 100 for p in points], "warn", unit="%", dash="dot"),
        ],
        y={"range": [0, 100], "ticksuffix": " %", "nticks": 5},
    )


def device_heat(points: Sequence[Point], limit_w: int) -> Figure:
    """Power and temperature of one card, each on its own axis."""
    times = [point.at for point in points]
    heat = figure(
        [
            line(_("Power"), times, [p.power_w for p in points], "accent", unit="W", fill=True),
            {
                **line(_("Temperature"), times, [p.temperature_c for p in points], "bad", unit="°C", dash="dot"),
                "yaxis": "y2",
            },
        ],
        y={"range": [0, max(limit_w, 1) * 1.05], "ticksuffix": " W", "nticks": 5},
    )
    heat["layout"]["yaxis2"] = {
        **_axis(),
        "overlaying": "y",
        "side": "right",
        "range": [20, 104],
        "tickmode": "array",
        "tickvals": [25, 50, 75, 100],
        "ticktext": ["25 °C", "50 °C", "75 °C", "100 °C"],  # plotly adds no suffix to marks of one's own
        "showgrid": False,
    }
    heat["layout"]["margin"]["r"] = 48
    return heat


def _span(times: Sequence[str]) -> Figure:
    """A history of minutes stands at the end of ten: marks less than a minute apart would all read the same."""
    if not times:
        return {}
    first, last = datetime.fromisoformat(times[0]), datetime.fromisoformat(times[-1])
    if last - first >= _SHORTEST:
        return {}
    return {"range": [(last - _SHORTEST).isoformat(), last.isoformat()], "dtick": 120_000}


def figure(lines: list[Figure], y: Figure) -> Figure:
    """A chart over time; `y`: what its axis has beyond the common look."""
    layout = {
        "height": 190,
        "margin": {"l": 46, "r": 10, "t": 6, "b": 26},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "{font}", "size": 11.5, "color": "{muted}"},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"color": "{ink}"}},
        "hovermode": "x unified",
        "hoverlabel": {
            "bgcolor": "{card}",
            "bordercolor": "{line}",
            "font": {"color": "{ink}", "family": "{font}"},
        },
        "xaxis": {
            **_axis(),
            "type": "date",
            "tickformat": _ticks(lines),
            "hoverformat": "%m-%d %H:%M",
            "nticks": 7,
            **_span(lines[0]["x"] if lines else ()),
        },
        "yaxis": {**_axis(), **y},
        "dragmode": "zoom",
    }
    return {"data": lines, "layout": layout}


def _ticks(lines: list[Figure]) -> str:
    times = [each["x"] for each in lines if each["x"]]
    if not times:
        return "%H:%M"
    first, last = (datetime.fromisoformat(end) for end in (min(x[0] for x in times), max(x[-1] for x in times)))
    return "%m-%d" if last - first > _DAYS else "%H:%M"


def _axis() -> Figure:
    return {"gridcolor": "{line}", "zerolinecolor": "{line}", "linecolor": "{line}", "fixedrange": False}


def line(
    name: str,
    times: Sequence[datetime],
    values: Sequence[float | None],
    colour: str,
    *,
    unit: str = "",
    fill: bool = False,
    dash: str = "solid",
    shape: str = "linear",
    gap_s: int = _GAP_S,
) -> Figure:
    """`gap_s`: a longer silence between two points is a gap."""
    x, y = _with_gaps(times, values, gap_s)
    drawn: Figure = {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "connectgaps": False,
        "line": {"color": "{" + colour + "}", "width": 1.6, "dash": dash, "shape": shape},
        "hovertemplate": f"%{{y:,.1f}} {unit}" if unit else "%{y:,d}",
    }
    if fill:
        drawn |= {"fill": "tozeroy", "fillcolor": "{wash}"}
    return drawn


def _with_gaps(
    times: Sequence[datetime], values: Sequence[float | None], gap_s: int
) -> tuple[list[str], list[float | None]]:
    x: list[str] = []
    y: list[float | None] = []
    before: datetime | None = None
    for at, value in zip(times, values, strict=True):
        if before is not None and (at - before).total_seconds() > gap_s:
            x.append(_local(before))
            y.append(None)
        x.append(_local(at))
        y.append(None if value is None else round(value, 2))
        before = at
    return x, y


def _local(moment: datetime) -> str:
    return timezone.localtime(moment).strftime("%Y-%m-%dT%H:%M:%S")
