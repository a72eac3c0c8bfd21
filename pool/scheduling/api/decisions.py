"""What the scheduler decided, on what, and the same again."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.common.api.params import Filters
from console.common.api.views import ApiView, ListView
from console.common.errors import NotAllowed
from console.common.exports import Column
from pool.scheduling import queries
from pool.scheduling.api.rows import DecisionRow
from pool.scheduling.ledger.rebuild import Lost
from pool.scheduling.ledger.replay import replay_decision
from pool.scheduling.models import Decision
from pool.scheduling.telling import reasons_for


class DecisionFilters(Filters):
    placed = serializers.BooleanField(required=False, allow_null=True, default=None)
    job = serializers.CharField(required=False, max_length=40)


class DecisionOfJob(DecisionRow):
    job = serializers.CharField(source="job.public_id")

    class Meta(DecisionRow.Meta):
        fields = ["job", *DecisionRow.Meta.fields]


class ReplayRow(serializers.Serializer[Any]):
    """`verdict`: same (bit for bit), differs, or lost: what was recorded is no longer all there (`why`)."""

    verdict = serializers.ChoiceField(choices=["same", "differs", "lost"])
    why = serializers.CharField(help_text="why it cannot be made again; empty otherwise")
    recorded = serializers.CharField(help_text="digest of the outcome then")
    again = serializers.CharField(help_text="digest of the outcome now")
    pool = serializers.CharField(help_text="digest of the state of the pool that it was made on")
    engine = serializers.CharField(help_text="version of the engine that decided")
    here = serializers.CharField(help_text="version of the engine that made it again")


class Decisions(ListView):
    """Decisions about jobs of your tenants, newest first."""

    room = "jobs"
    filters = DecisionFilters
    row = DecisionOfJob
    columns = [
        Column("id", "public_id"),
        Column("job", "job.public_id"),
        Column("at (UTC)", "at", "time"),
        Column("placed", "placed", "bool"),
        Column("duration_us", "duration_us", "number"),
        Column("digest", "digest"),
    ]
    file_name = "decisions"

    def rows(self, wanted: dict[str, Any]) -> QuerySet[Decision]:
        told = Column("reasons", lambda row: reasons_for(self.actor, row.reasons))
        self.columns = [*Decisions.columns, told]
        rows = queries.all_decisions_for(self.actor)
        if wanted.get("placed") is not None:
            rows = rows.filter(placed=wanted["placed"])
        return rows.filter(job__public_id=wanted["job"]) if "job" in wanted else rows


class DecisionPage(ApiView):
    room = "jobs"

    @extend_schema(responses={200: DecisionOfJob}, operation_id="decisions_retrieve")
    def get(self, request: Request, public_id: str) -> Response:
        """One decision: its reasons, by which rule the job came, and the shares before and after."""
        decision = queries.decision_for(self.actor, public_id)
        return Response(DecisionOfJob(decision, context={"actor": self.actor}).data)


class Replay(ApiView):
    room = "jobs"

    @extend_schema(responses={200: ReplayRow}, operation_id="decisions_replay")
    def get(self, request: Request, public_id: str) -> Response:
        """Make a decision again from what was recorded, and compare. For those who see all work: it takes the whole
        pool as it was. The same as `manage.py replay_decision ID`."""
        if not self.actor.sees_all_work:
            raise NotAllowed(_("only those who see all work may make a decision again: it takes the whole pool"))
        decision = queries.decision_for(self.actor, public_id)
        try:
            found = replay_decision(decision)
        except Lost as lost:
            return Response(ReplayRow({"verdict": "lost", "why": str(lost), **_NOTHING}).data)
        verdict = "same" if found.same else "differs"
        told = {name: getattr(found, name) for name in _NOTHING}
        return Response(ReplayRow({"verdict": verdict, "why": "", **told}).data)


_NOTHING = dict.fromkeys(("recorded", "again", "pool", "engine", "here"), "")
