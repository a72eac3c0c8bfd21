"""Every word that the heatmap's module says, translated here: the module itself speaks no language."""

from django.utils.translation import gettext as _


def texts() -> dict[str, str]:
    """Keys as static/js/heatmap*.js names them; %(name)s is filled in there. Ranges are "low|high"."""
    return {
        "layer_utilisation": _("Utilisation"),
        "layer_memory": _("Memory"),
        "layer_allocation": _("Allocated"),
        "layer_temperature": _("Temperature"),
        "layer_power": _("Power"),
        "layer_tenant": _("Tenant"),
        "range_utilisation": "0 %|100 %",
        "range_memory": "0 %|100 %",
        "range_allocation": "0 %|100 %",
        "range_temperature": "≤ 25 °C|≥ 95 °C",
        "range_power": _("0 W|limit of the card"),
        "mark_fault": _("fault"),
        "mark_cordon": _("cordoned"),
        "mark_drain": _("draining"),
        "mark_unreachable": _("unreachable"),
        "mark_mig": "MIG",
        "no_data": _("no data yet"),
        "stale": _("no news"),
        "free": _("free"),
        "several": _("several tenants"),
        "no_rack": _("no rack"),
        "no_switch": _("no switch"),
        "no_model": _("no model"),
        "all_sites": _("All sites"),
        "zoom_to": _("Zoom to %(name)s"),
        "gpus": _("%(n)s GPUs"),
        "updated": _("updated %(n)s s ago"),
        "loading": _("loading…"),
        "reconnecting": _("connection lost, trying again;"),
        "ended": _("Your session has ended. Sign in again."),
    }
