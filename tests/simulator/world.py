"""The control plane in one process on a virtual clock: the real services and scheduler around a model agent.

Every step is drawn from one seed, so that a failure is replayed by its seed and plan.
"""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from console.audit import services as audit
from console.common import lease
from console.common.actor import system
from console.common.errors import WeirError
from pool.agent.protocol import State
from pool.inventory.services import remember
from pool.nodes import services as nodes
from pool.nodes.models import Agent
from pool.nodes.services import News, StaleSession
from pool.scheduling import services
from pool.scheduling.models import Job, NodeCommand
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories
from tests.simulator.agent import ModelAgent
from tests.simulator.faults import Crash, Faults

START = datetime(2026, 3, 31, 15, 59, 40, tzinfo=UTC)  # 20 s before a month ends in Shanghai
LEASE_S, STALE_S, LOST_S = 5, 15, 35
CARD_MIB = 40_960


class World:
    def __init__(self, seed: int, faults: Faults) -> None:
        self.random = random.Random(seed)
        self.faults = faults
        self.now = START
        self.calm = False
        self.wakes: list[tuple[list[int], list[int], bool]] = []
        self.scheduler: Scheduler | None = None
        self.generation = 0
        self.claims = 0
        self.accepted: set[int] = set()
        self.tenants = [factories.make_tenant(f"t{seed}-{n}", trust_group="one") for n in range(2)]
        self.agents = [self._join(f"n{n}", n) for n in range(2)]

    def clock(self) -> datetime:
        return self.now

    # -- what the product sends

    def publish(self, to: str, data: bytes) -> None:
        """Stands for Valkey: a message may be lost."""

        def deliver() -> None:
            if to == "scheduler" and self.random.random() < 0.8:
                jobs, nodes, queues = orjson.loads(data)
                self.wakes.append((jobs, nodes, queues))

        self.faults.around("publish", deliver)

    # -- the processes

    def act(self, label: str, work: Callable[[], Any], on_crash: Callable[[], None] = lambda: None) -> Any:
        """One step of one process; a Crash ends that process and nothing else."""
        self.faults.label = label
        try:
            return work()
        except Crash:
            audit.forget_heads()  # what the process knew is gone with it
            on_crash()
        except (WeirError, StaleSession):
            return None  # refused: what a client or an old connection meets
        finally:
            self.faults.label = ""
        return None

    def tick(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        steps: list[Callable[[], None]] = [self.schedule, self.gateway, self.deliver, self.watch]
        self.random.shuffle(steps)
        for step in steps:
            self.now += timedelta(microseconds=self.random.randrange(1, 2000))
            step()

    def schedule(self) -> None:
        if self.scheduler is None:
            holder = f"scheduler-{self.generation}"
            ttl = timedelta(seconds=LEASE_S)
            epoch = self.act("lease", lambda: lease.acquire(lease_name(), holder, ttl, self.now))
            if epoch is None:
                return
            self.generation += 1
            self.scheduler = Scheduler(epoch, self.clock)
        scheduler = self.scheduler
        holder = f"scheduler-{self.generation - 1}"

        def run() -> None:
            ttl = timedelta(seconds=LEASE_S)
            if lease.acquire(lease_name(), holder, ttl, self.now) != scheduler.epoch:
                self._scheduler_died()
                return
            if self.wakes and self.random.random() < 0.7:
                scheduler.react(*self.wakes.pop())
            else:
                scheduler.sweep()

        self.act("schedule", run, self._scheduler_died)

    def gateway(self) -> None:
        for agent in self.agents:
            agent.fence(self.now)
            if agent.silent_until and self.now < agent.silent_until:
                agent.connected = False
                continue
            if not agent.connected:
                self.act("connect", lambda agent=agent: self._connect(agent), self._gateway_died)
            if agent.connected:
                self.act("report", lambda agent=agent: self._report(agent), self._gateway_died)
            for message in agent.news(self.now) if agent.connected else []:
                label = message["type"]
                self.act(label, lambda agent=agent, message=message: self._tell(agent, message), self._gateway_died)

    def deliver(self) -> None:
        here = {agent.node_id: agent for agent in self.agents if agent.connected}
        if not here:
            return
        self.claims += 1
        claim = f"claim-{self.claims}"
        commands = self.act("claim", lambda: services.claim_commands(list(here), claim, self.now), self._gateway_died)
        for command in commands or []:
            agent = here[command.node_id]
            if agent.connected:
                self.act(
                    command.kind,
                    lambda agent=agent, command=command: self._carry_out(agent, command),
                    self._gateway_died,
                )

    def watch(self) -> None:
        """The gateway's watch over silent nodes."""
        mine = [agent.node_id for agent in self.agents if agent.connected]
        for silent in nodes.silent_nodes(self.now, LOST_S, mine):
            self.act(
                "lose",
                lambda silent=silent: nodes.lose_node(silent, silent.last_report_at, self.now),
                self._gateway_died,
            )

    # -- what people do

    def submit(self, **spec: Any) -> None:
        tenant = self.random.choice(self.tenants)
        body = {"tenant": tenant.slug, "name": "sim", "command": ["work"], **spec}
        job = self.act("submit", lambda: services.submit_job(system("client"), body))
        if job is not None:
            self.accepted.add(job.pk)

    def on_some_job(self, label: str, work: Callable[[Any, Job], Any]) -> None:
        jobs = list(Job.objects.order_by("pk"))
        if jobs:
            self.act(label, lambda: work(system("client"), self.random.choice(jobs)))

    # -- inside

    def _join(self, name: str, number: int) -> ModelAgent:
        node = factories.make_node(name, devices=2, model="A100-40GB", mig=number == 1, reachable=False)
        remember(START, nodes=[node.pk])
        agent = ModelAgent(name, node_id=node.pk)
        Agent.objects.create(node=node, credential_digest="0" * 64)
        return agent

    def _connect(self, agent: ModelAgent) -> None:
        """As open_session does once the node is let in."""
        from django.db import transaction
        from django.db.models import F

        with transaction.atomic():
            rows = Agent.objects.filter(node_id=agent.node_id)
            rows.update(session=F("session") + 1, connected=True, last_report_at=self.now)
            NodeCommand.objects.filter(node_id=agent.node_id, state="sent").update(claim_until=self.now)
            nodes.set_reachable([agent.node_id], True)
            number = rows.get().session
        agent.session, agent.connected = number, True
        agent.renew(self.now)

    def _report(self, agent: ModelAgent) -> None:
        """A report: proof of life, a longer lease, and the two lists made one."""
        if not Agent.objects.filter(node_id=agent.node_id, session=agent.session).exists():
            agent.connected = False
            return
        proof = self.now
        nodes.flush_reports([(proof, agent.node_id, agent.session)])
        agent.renew(self.now)
        states = {
            replica: State.RUNNING if process.running(self.now) else State.EXITED
            for replica, process in agent.processes.items()
        }
        difference = nodes.compare({agent.node_id: states})[agent.node_id]
        for replica in difference.unknown:
            agent.stop({"replica": replica}, self.now)
        for replica in difference.missing:
            nodes.lose_replica(agent.node_id, agent.session, replica, proof, self.now, "missing")

    def _tell(self, agent: ModelAgent, message: dict[str, Any]) -> None:
        news = News(agent.node_id, agent.session, message, self.now, None)
        self.faults.around("news", lambda: nodes.apply_news([news]))
        if self.random.random() < 0.9:  # the confirmation may be lost, then the agent says it again
            agent.confirmed(message)

    def _carry_out(self, agent: ModelAgent, command: NodeCommand) -> None:
        carry = agent.start if command.kind == "start" else agent.stop
        self.faults.around("call", lambda: carry(command.payload, self.now))
        message = {"type": "ack", "command": command.public_id, "ok": True, "detail": ""}
        nodes.apply_news([News(agent.node_id, agent.session, message, self.now, None)])

    def _scheduler_died(self) -> None:
        self.scheduler = None

    def _gateway_died(self) -> None:
        """All connections go with it; agents dial in again."""
        for agent in self.agents:
            agent.connected = False
