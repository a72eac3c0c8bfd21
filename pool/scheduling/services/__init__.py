"""Every write of this room, one function an action."""

from pool.scheduling.dry_run import dry_run
from pool.scheduling.services.budgets import lift_budget, set_budget
from pool.scheduling.services.commands import ask_done, claim_commands, command_done
from pool.scheduling.services.control import cancel_job, clone_job, requeue_job, retry_job, set_priority
from pool.scheduling.services.gangs import lock_gangs
from pool.scheduling.services.lifecycle import end_member, replica_ended, replica_started, replicas_lost, start_member
from pool.scheduling.services.placement import Placement, commit_refusals
from pool.scheduling.services.queues import QueueLimits, create_queue, edit_queue, move_queue, set_queue_state
from pool.scheduling.services.release import Member, ask_members, members_of
from pool.scheduling.services.reservations import Wanted, cancel, reserve, reserve_purchase
from pool.scheduling.services.sharing import RuleSet, set_rules, set_weight
from pool.scheduling.services.stopping import expire_jobs
from pool.scheduling.services.submit import submit_job

__all__ = [
    "Member",
    "Placement",
    "QueueLimits",
    "RuleSet",
    "Wanted",
    "ask_done",
    "ask_members",
    "cancel",
    "cancel_job",
    "claim_commands",
    "clone_job",
    "command_done",
    "commit_refusals",
    "create_queue",
    "dry_run",
    "edit_queue",
    "end_member",
    "expire_jobs",
    "lift_budget",
    "lock_gangs",
    "members_of",
    "move_queue",
    "replica_ended",
    "replica_started",
    "replicas_lost",
    "requeue_job",
    "reserve",
    "reserve_purchase",
    "retry_job",
    "set_budget",
    "set_priority",
    "set_queue_state",
    "set_rules",
    "set_weight",
    "start_member",
    "submit_job",
]
