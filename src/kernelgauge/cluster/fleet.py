"""Who is at work on the cluster: one judge for each GPU, builders beside them; they come and go with their nodes.

Ray restarts nothing here. A member is pinned to the node it was begun on and dies with it; what it held goes back to
the queue, and a node that comes gets members of its own.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import ray
from ray.exceptions import ActorUnavailableError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from kernelgauge.cluster.builder import BuildActor
from kernelgauge.cluster.judge import JudgeActor
from kernelgauge.cluster.node import NodeFacts, refusal, without_walls
from kernelgauge.cluster.options import ClusterOptions
from kernelgauge.config import Limits

JUDGE = "judge"
"""The resource that a node without a GPU declares for each judge it is to have."""
_ACCELERATOR = "accelerator_type:"
# Of a resource that only says what a node is.
_A_TRACE = 0.001
_LOOK_SECONDS = 2.0
_PING_SECONDS = 60.0
_CLOSING_SECONDS = 5.0
_BUILDERS_FOR_A_JUDGE = 8
# A member that died on a node that lives is begun again after so long, twice as long after each further death.
_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 300.0
AT_ONCE = 2
"""Candidates in a judge's hands: while one is judged, the next travels."""


@dataclass(eq=False)
class Member:
    """A judge or a builder."""

    kind: Literal["judge", "builder"]
    actor: Any
    node: str
    host: str
    facts: NodeFacts | None = None
    """None until it is ready."""
    calls: dict[Any, Any] = field(default_factory=dict)
    """What it was asked and has not answered: reference to item."""
    last: Any = None
    """The item it was given last."""
    busy_since: float = 0.0
    doubtful_since: float | None = None
    """Since when it has not answered, though nobody says that it is dead."""


class Fleet:
    """Members by node, kept as the cluster and the options allow.

    Args:
        device: `cpu` or `cuda`.
        hardware: what earlier figures of the run come from; empty where there are none.
        tell: told in a sentence who joins, is lost or is refused.
    """

    def __init__(
        self,
        options: ClusterOptions,
        device: str,
        limits: Limits,
        threads: int | None,
        timed: bool,
        hardware: str,
        tell: Callable[[str], None],
    ):
        self._options, self._device, self._tell = options, device, tell
        self._limits, self._threads, self._timed, self._hardware = limits, threads, timed, hardware
        self.members: list[Member] = []
        self.first: NodeFacts | None = None
        """The first judge that was accepted: all others must be like it."""
        self.nodes: list[dict[str, Any]] = []
        self.refused: dict[str, str] = {}
        """By node, why nothing is judged or built there."""
        self._answers: dict[Any, Member] = {}
        self._deaths: Counter[tuple[str, str]] = Counter()
        self._rests: dict[tuple[str, str], float] = {}
        self._looked = -_LOOK_SECONDS
        self._requested = False
        self._builders_begun = False
        self.last_judge = time.monotonic()
        """When there was a judge last, or when waiting began."""

    def ready(self, kind: str) -> list[Member]:
        """Those that can be given work."""
        return [each for each in self.members if each.kind == kind and each.facts and each.doubtful_since is None]

    def builds(self) -> bool:
        """Whether there are builders, or will be."""
        if not self._builders_begun:
            return self._options.builds != 0
        return any(each.kind == "builder" for each in self.members)

    def coming(self, kind: str) -> int:
        """How many were begun and are not ready."""
        return sum(each.kind == kind and each.facts is None for each in self.members)

    def hopeless(self) -> bool:
        """Whether every node that could judge is refused, and no autoscaler was asked for others."""
        return bool(self.refused) and not self._options.judges and not any(map(self._judges_of, self.nodes))

    def references(self) -> list[Any]:
        """Everything that members owe an answer to."""
        return [*self._answers, *(call for member in self.members for call in member.calls)]

    def tend(self) -> list[Member]:
        """Begin members where nodes came, and return those whose nodes are gone, or who do not answer any more."""
        now = time.monotonic()
        if self.ready("judge"):
            self.last_judge = now
        if now - self._looked < _LOOK_SECONDS:
            return []
        self._looked = now
        self.nodes = self.alive()
        alive = {node["NodeID"] for node in self.nodes}
        gone = [each for each in self.members if each.node not in alive or self._silent(each, now)]
        self._begin_judges(now)
        self._begin_builders(now)
        return gone

    def alive(self) -> list[dict[str, Any]]:
        """The nodes that Ray knows to live."""
        return [node for node in ray.nodes() if node["Alive"]]

    def settle(self, reference: Any) -> Member | None:
        """A member said what it is, or that it is there. Returns it if it is lost."""
        member = self._answers.pop(reference, None)
        if member is None or member not in self.members:
            return None
        try:
            said = ray.get(reference)
        except ActorUnavailableError:
            return None if self._doubt(member) else member
        except RayError as error:
            if member.facts is None:
                self._tell(f"{member.host}: a {member.kind} did not start: {_first_line(error)}")
            return member
        member.doubtful_since = None
        if member.facts is None:
            self._join(member, said)
        return None

    def doubt(self, member: Member) -> bool:
        """It could not be reached; whether it may be there still. It gets no work until it says so."""
        return member in self.members and self._doubt(member)

    def drop(self, member: Member) -> list[Any]:
        """A member is lost; returns the items that it held."""
        if member not in self.members:
            return []
        self.members.remove(member)
        self._answers = {reference: each for reference, each in self._answers.items() if each is not member}
        place = (member.node, member.kind)
        self._deaths[place] += 1
        pause = min(_LONGEST_PAUSE_SECONDS, _PAUSE_SECONDS * 2 ** (self._deaths[place] - 1))
        self._rests[place] = time.monotonic() + pause
        held = list(member.calls.values())
        member.calls.clear()
        if member.facts is not None:
            back = f"; {len(held)} {'candidate goes' if len(held) == 1 else 'candidates go'} back to the queue"
            self._tell(f"{member.host}: a {member.kind} was lost{back if held else ''}")
        with suppress(RayError):
            ray.kill(member.actor)
        return held

    def close(self) -> None:
        """End all members: told first, so that no process of theirs stays, and then made to."""
        told = [each.actor.close.remote() for each in self.members if each.facts]
        if told:
            with suppress(RayError):
                ray.wait(told, num_returns=len(told), timeout=_CLOSING_SECONDS)
        for each in self.members:
            with suppress(RayError):
                ray.kill(each.actor)
        self.members.clear()
        self._answers.clear()
        if self._requested:
            self._request([])

    def _join(self, member: Member, facts: NodeFacts) -> None:
        if why := self._refusal(member, facts):
            self.refused[member.node] = why
            self._tell(f"{member.host} is refused: it {why}")
            self.members.remove(member)
            with suppress(RayError):
                ray.kill(member.actor)
            return
        if member.kind == "judge" and self.first is None:
            self.first, self._looked = facts, -_LOOK_SECONDS  # builders are begun at once
        member.facts = facts
        self._deaths.pop((member.node, member.kind), None)
        self._tell(f"{member.host}: a {member.kind} is ready")

    def _refusal(self, member: Member, facts: NodeFacts) -> str:
        if member.kind == "builder":
            return without_walls(facts, self._options)
        return refusal(facts, self._options, self.first, self._hardware)

    def _doubt(self, member: Member) -> bool:
        now = time.monotonic()
        member.doubtful_since = member.doubtful_since or now
        if now - member.doubtful_since > _PING_SECONDS:
            return False
        self._answers[member.actor.ping.remote() if member.facts else self._facts_call(member)] = member
        return True

    def _silent(self, member: Member, now: float) -> bool:
        return member.doubtful_since is not None and now - member.doubtful_since > _PING_SECONDS

    def _begin_judges(self, now: float) -> None:
        left = (self._options.judges or 10**6) - sum(each.kind == "judge" for each in self.members)
        for node in self.nodes:
            for _ in range(self._missing(node, "judge", self._judges_of(node), now)):
                if left <= 0:
                    return
                self._begin("judge", node)
                left -= 1
        if self._options.judges and not self._requested:
            self._request([self._wants()] * self._options.judges)
            self._requested = True

    def _begin_builders(self, now: float) -> None:
        """Once it is known what they build for."""
        if self.first is None:
            return
        self._builders_begun = True
        judges = sum(each.kind == "judge" for each in self.members)
        wanted = self._options.builds if self._options.builds is not None else _BUILDERS_FOR_A_JUDGE * judges
        left = wanted - sum(each.kind == "builder" for each in self.members)
        for node in self.nodes:
            there = node["Resources"]
            cores = int(there.get("CPU", 0)) - self._judges_of(node)
            most = min(cores, int(there.get("memory", 0) / (self._options.build_gb * 1e9)))
            most = 0 if node["NodeID"] in self.refused else most
            for _ in range(self._missing(node, "builder", most, now)):
                if left <= 0:
                    return
                self._begin("builder", node)
                left -= 1

    def _judges_of(self, node: dict[str, Any]) -> int:
        there = node["Resources"]
        return 0 if node["NodeID"] in self.refused else judges_on(there, self._device, self._options.model)

    def _missing(self, node: dict[str, Any], kind: str, most: int, now: float) -> int:
        if self._rests.get((node["NodeID"], kind), 0.0) > now:
            return 0
        there = [each for each in self.members if each.kind == kind and each.node == node["NodeID"]]
        return most - len(there)

    def _begin(self, kind: Literal["judge", "builder"], node: dict[str, Any]) -> None:
        pinned = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        member = Member(kind, None, node["NodeID"], node["NodeManagerHostname"])
        if kind == "judge":
            wants = dict(self._wants(node["Resources"]))
            on = {"num_gpus": wants.pop("GPU", 0), "num_cpus": wants.pop("CPU", 0), "resources": wants}
            device = "cpu" if self._device == "cpu" else "cuda:0"
            made = ray.remote(JudgeActor).options(**on, max_concurrency=AT_ONCE + 2, scheduling_strategy=pinned)
            member.actor = made.remote(device, self._limits, self._threads, self._timed)
        else:
            assert self.first is not None
            on = {"num_cpus": 1, "memory": int(self._options.build_gb * 1e9)}
            made = ray.remote(BuildActor).options(**on, max_concurrency=3, scheduling_strategy=pinned)
            member.actor = made.remote(self._limits, self._threads, self.first.architecture)
        self.members.append(member)
        self._answers[self._facts_call(member)] = member

    def _facts_call(self, member: Member) -> Any:
        facts = member.actor.facts
        return facts.remote() if member.kind == "judge" else facts.remote(self._device)

    def _wants(self, there: dict[str, float] | None = None) -> dict[str, float]:
        """The resources of one judge, with the kind of GPU where nodes say it."""
        if self._device == "cpu":
            return {JUDGE: 1}
        kinds = accelerators([there]) if there else ([self._options.model] if self._options.model else [])
        return {"GPU": 1, "CPU": 1} | {f"{_ACCELERATOR}{kind}": _A_TRACE for kind in kinds}

    def _request(self, bundles: list[dict[str, float]]) -> None:
        """Ask an autoscaler for nodes, where there is one; nothing otherwise."""
        from ray.autoscaler.sdk import request_resources

        with suppress(RayError):
            request_resources(bundles=bundles)


def accelerators(resources: list[dict[str, float]]) -> list[str]:
    """The kinds of GPU that nodes say they have: `H100`."""
    named = (name.removeprefix(_ACCELERATOR) for each in resources for name in each if name.startswith(_ACCELERATOR))
    return sorted(set(named))


def judges_on(resources: dict[str, float], device: str, model: str) -> int:
    """How many judges a node with these resources has; none where it says that its GPU is another model."""
    if device == "cpu":
        return int(resources.get(JUDGE, 0))
    kinds = accelerators([resources])
    other = (
        model and kinds and not any(model.lower() in kind.lower() or kind.lower() in model.lower() for kind in kinds)
    )
    return 0 if other else int(resources.get("GPU", 0))


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
