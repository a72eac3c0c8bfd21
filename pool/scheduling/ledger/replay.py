"""Makes a decision again from what was recorded, and compares: the same outcome to the last bit, or what differs."""

from dataclasses import dataclass, replace
from typing import Any

from pool.engine.alternatives import alternatives
from pool.engine.decide import decide
from pool.engine.part import part_of
from pool.engine.preempt import Plan, Roster, plan
from pool.engine.sharing import Barred, Books, Tree
from pool.engine.types import Placed, Policy, ScoreParts
from pool.scheduling.ledger.codec import digest_of
from pool.scheduling.ledger.inputs import amounts_of
from pool.scheduling.ledger.plans import Recorded, read_plan
from pool.scheduling.ledger.rebuild import Lost, Scene, base_of, place_of, scene_at
from pool.scheduling.ledger.version import engine_version
from pool.scheduling.limits import Limit, first_biting
from pool.scheduling.models import Decision, DefragMove, LedgerBase, LedgerPlan, Preemption
from pool.scheduling.preemption.maker import QUIET
from pool.scheduling.preemption.pledges import read_placed


@dataclass(frozen=True, slots=True)
class Replay:
    """`recorded` and `again`: digests of the outcome then and now. `pool`: digest of the whole state that was decided
    on. `engine`: the version that decided; `here`: the one that replays. `others`: the best nodes by score, the chosen
    one among them, of a single replica."""

    public_id: str
    snapshot: str
    pool: str
    recorded: str
    again: str
    engine: str
    here: str
    outcome: Any
    others: tuple[ScoreParts, ...] = ()

    @property
    def same(self) -> bool:
        return self.recorded == self.again

    @property
    def same_engine(self) -> bool:
        return self.engine == self.here


def replay(public_id: str) -> Replay:
    """Of a decision (dec_...) or a preemption (pre_...). Raises Lost where what was recorded is not there any more."""
    if public_id.startswith("pre_"):
        return _of_preemption(public_id)
    decision = Decision.objects.select_related("job__tenant").filter(public_id=public_id).first()
    if decision is None:
        raise Lost("unknown", f"there is no decision {public_id}")
    return replay_decision(decision)


def replay_decision(decision: Decision) -> Replay:
    """The job and its tenant are read if they are not loaded."""
    told = decision.inputs
    if not decision.digest:
        raise Lost("before", f"{decision.public_id} was made before there was a ledger")
    if "preemption" in told:
        return _of_kept_place(decision)
    pk, changes = place_of(decision.snapshot)
    base = base_of(pk)
    scene = scene_at(base, changes)
    if "move" in told:
        return _result(decision.public_id, decision.snapshot, decision.digest, base, scene, _moved(decision), ())
    others: tuple[ScoreParts, ...] = ()
    if "limits" in told:
        limits = [Limit(*values) for values in told["limits"]]
        outcome: Any = first_biting(limits, told["asked"])
    elif "tree" in told:
        outcome = _barred(decision, scene)
    else:
        outcome, others = _decided(decision, scene)
    return _result(decision.public_id, decision.snapshot, decision.digest, base, scene, outcome, others)


def _decided(decision: Decision, scene: Scene) -> tuple[Any, tuple[ScoreParts, ...]]:
    number = decision.inputs["request"]
    if number not in scene.requests:
        raise Lost("torn", f"request {number} is not in the chain")
    job = replace(scene.requests[number], key=decision.job_id)
    cards = decision.inputs.get("within")
    fleet = part_of(scene.fleet, frozenset(cards)) if cards else scene.fleet
    outcome = decide(fleet, job, Policy(explain=decision.inputs["explain"]))
    return outcome, alternatives(fleet, job, Policy()) if isinstance(outcome, Placed) else ()


def _barred(decision: Decision, scene: Scene) -> Barred | None:
    told = decision.inputs
    if told["tree"] not in scene.trees:
        raise Lost("torn", f"tree {told['tree']} is not in the chain")
    books = Books(Tree(*scene.trees[told["tree"]]))
    for leaf, *amounts in told["held"]:
        books.add(leaf, amounts_of(amounts))
    return books.bars(told["leaf"], amounts_of(told["asks"]))


def _of_kept_place(decision: Decision) -> Replay:
    """Where it went was decided when room was made for it: the plan is made again."""
    found = _of_preemption(decision.inputs["preemption"])
    replicas = found.outcome.placed.replicas if isinstance(found.outcome, Plan) else None
    return Replay(
        decision.public_id,
        decision.snapshot,
        found.pool,
        decision.digest,
        digest_of(replicas),
        found.engine,
        found.here,
        found.outcome,
    )


def _moved(decision: Decision) -> Any:
    """Where the plan of moves said: a worker made it on a state of its own, which is not in the chain."""
    plan = decision.inputs["move"]
    move = DefragMove.objects.filter(step__plan__public_id=plan, job=decision.job_id).first()
    if move is None:
        raise Lost("pruned", f"the plan {plan} is no longer kept")
    return read_placed(decision.job_id, move.target).replicas


def _of_preemption(public_id: str) -> Replay:
    row = Preemption.objects.filter(public_id=public_id).first()
    if row is None:
        raise Lost("unknown", f"there is no preemption {public_id}")
    kept = LedgerPlan.objects.filter(preemption=row).select_related("base").first()
    if kept is None:
        raise Lost("pruned", f"what {public_id} was planned on is no longer kept")
    recorded, roster = _told(kept)
    pk, changes = place_of(recorded.mark)
    base = base_of(pk)
    scene = scene_at(base, changes)
    outcome = plan(
        scene.fleet,
        recorded.shares(),
        recorded.books(),
        roster,
        recorded.asking,
        recorded.now_s,
        recorded.rules,
        QUIET,
    )
    return _result(public_id, recorded.mark, kept.digest, base, scene, outcome, ())


def _told(kept: LedgerPlan) -> tuple[Recorded, Roster]:
    """A plan, and who ran then: the plans of the chain before it say what changed."""
    roster, recorded = Roster(), None
    for number, row in enumerate(kept.base.plans.filter(number__lte=kept.number).order_by("number")):
        if row.number != number:
            raise Lost("torn", f"chain {kept.base_id}: plan {number} is missing")
        recorded = read_plan(bytes(row.content))
        for key in recorded.left:
            roster.remove(key)
        for job in recorded.joined:
            roster.add(job)
    if recorded is None:
        raise Lost("torn", f"chain {kept.base_id} has no plans")
    return recorded, roster


def _result(
    public_id: str,
    snapshot: str,
    recorded: str,
    base: LedgerBase,
    scene: Scene,
    outcome: Any,
    others: tuple[ScoreParts, ...],
) -> Replay:
    return Replay(
        public_id,
        snapshot,
        scene.fleet.snapshot_id,
        recorded,
        digest_of(outcome),
        base.engine,
        engine_version(),
        outcome,
        others,
    )
