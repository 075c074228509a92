"""The work queue of a run: what is to be built and judged next, and that each candidate ends exactly once.

It knows nothing of Ray. Members of the cluster may vanish with what they hold: that goes back to its front, and an
answer that comes later, from one that was taken for lost, finds its candidate settled and is dropped.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from kernelgauge.errors import MachineError
from kernelgauge.execution.local import Task
from kernelgauge.execution.order import Order

LOSSES = 3
"""So many machines may be lost over one candidate: it may be what kills them."""

State = Literal["asking", "to build", "building", "to judge", "judging", "done"]


@dataclass(eq=False)
class Item:
    """One candidate on its way."""

    task: Task
    order: Order | None = None
    like: tuple[str, ...] = ()
    """What it shares with others that need the same reference."""
    state: State = "asking"
    shipment: Any = None
    """What a builder made of it."""
    losses: int = 0


class WorkQueue:
    """Candidates of one run by how far they have come."""

    def __init__(self) -> None:
        self._under_way: set[Item] = set()
        self._to_build: deque[Item] = deque()
        self._to_judge: deque[Item] = deque()

    def __len__(self) -> int:
        """How many have begun and have not ended."""
        return len(self._under_way)

    def __iter__(self) -> Iterator[Item]:
        return iter(list(self._under_way))

    def counts(self) -> Counter[str]:
        """How many are in each state."""
        return Counter(item.state for item in self._under_way)

    def begin(self, task: Task) -> Item:
        """A task was taken on; it is asked for its order now."""
        item = Item(task)
        self._under_way.add(item)
        return item

    def ordered(self, item: Item, order: Order) -> None:
        """What it is has become known."""
        protocol = order.protocol
        item.order = order
        item.like = (order.problem.key, order.problem.digest, protocol.digest, protocol.kernel_policy)

    def to_build(self, item: Item) -> None:
        item.state = "to build"
        self._to_build.append(item)

    def to_judge(self, item: Item) -> None:
        item.state = "to judge"
        self._to_judge.append(item)

    def next_to_build(self, languages: Iterable[str]) -> Item | None:
        """The oldest that a builder of these languages can build."""
        known = set(languages)
        for item in self._to_build:
            assert item.order is not None and item.order.candidate is not None
            if item.order.candidate.backend in known:
                self._to_build.remove(item)
                item.state = "building"
                return item
        return None

    def next_to_judge(self, like: Item | None) -> Item | None:
        """The oldest of the problem that its judge has at hand, or else the oldest."""
        chosen = next((item for item in self._to_judge if like and item.like == like.like), None)
        chosen = chosen or next(iter(self._to_judge), None)
        if chosen is not None:
            self._to_judge.remove(chosen)
            chosen.state = "judging"
        return chosen

    def built(self, item: Item, shipment: Any) -> None:
        """A builder has answered; None: the judge builds."""
        item.shipment = shipment
        self.to_judge(item)

    def leave_unbuilt(self, but: Collection[str] = ()) -> None:
        """Nobody builds ahead any more, but for these languages: whoever judges does."""
        left = list(self._to_build)
        self._to_build.clear()
        for item in left:
            assert item.order is not None and item.order.candidate is not None
            (self.to_build if item.order.candidate.backend in but else self.to_judge)(item)

    def lost(self, item: Item) -> MachineError | None:
        """Its machine is gone. It goes to the front of its line; or has an error, where it took too many with it."""
        item.losses += 1
        if item.losses >= LOSSES:
            return MachineError(f"problem {item.task.problem}: {item.losses} machines were lost that had it")
        line = self._to_build if item.state == "building" else self._to_judge
        item.state = "to build" if item.state == "building" else "to judge"
        line.appendleft(item)
        return None

    def end(self, item: Item) -> bool:
        """It has its answer; False if it had one before, which stands."""
        if item.state == "done":
            return False
        if item.state in ("to build", "to judge"):
            (self._to_build if item.state == "to build" else self._to_judge).remove(item)
        item.state = "done"
        self._under_way.discard(item)
        return True
