"""The trusted side of one evaluation: inputs, expected outputs, and the reference in a worker of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from kernelgauge.checks.accumulation import Variances
from kernelgauge.checks.memory_plan import USUAL, MemoryPlan
from kernelgauge.checks.numerics import Distance, distances
from kernelgauge.config import PUBLIC_SEED, Protocol
from kernelgauge.errors import MachineError, ProblemError, ReferenceTooLarge
from kernelgauge.evaluation.failures import Failure, WorkerKilled
from kernelgauge.evaluation.sides.clearing import Clearing
from kernelgauge.evaluation.sides.honest_errors import HonestErrors
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.evaluation.sides.oracle import OracleProcess
from kernelgauge.evaluation.sides.prefork import PreforkPool
from kernelgauge.evaluation.sides.problem_process import ReferenceRaised, reserved
from kernelgauge.evaluation.sides.right_answers import RightAnswers
from kernelgauge.evaluation.sides.seeds import Seeds
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import NotVaried, Outcome, Problem
from kernelgauge.wire.initialisers import Randomise
from kernelgauge.wire.messages import Claim, TensorSpec
from kernelgauge.wire.regions import Region, lay_out, size_of


class Reference:
    """A problem ready to judge against: draws inputs, knows the right outputs, runs the reference as a `Side`.

    Args:
        frugal: have the oracle keep no memory that a candidate could need.

    Raises (from `open` and every method):
        ProblemError: the reference itself fails; a candidate cannot be judged against it.
    """

    def __init__(
        self,
        zygote: Zygote,
        problem: Problem,
        protocol: Protocol,
        device: str,
        prefork_pool: PreforkPool | None = None,
        plan: MemoryPlan = USUAL,
        frugal: bool = False,
    ):
        self._zygote = zygote
        self.plan = plan
        self.frugal = frugal
        self._prefork_pool = prefork_pool or PreforkPool(zygote)
        self.problem = problem
        self.protocol = protocol
        self.device = device
        self._lasting_notes = [plan.note] if plan.note else []
        self._begin()
        self.weight_seed = Seeds(protocol.parameters.seed == "secret").next()
        # Published weights replace whatever an initialiser drew.
        drawn = protocol.parameters.initialisation == "randomised" and problem.sizes != "pretrained"
        self.randomise: Randomise | None = problem.parameters.model_dump() if drawn else None
        self.math = protocol.tolerance.math
        self.precise = protocol.tolerance.rule == "oracle"
        self.rounding_decides = False
        """Whether inputs that differ by rounding have answers far apart: then nobody knows the right one."""
        self.init: Any = None
        self.arguments: list[Any] = []
        self.call_seed = 0
        self.last_claim = Claim(event="done")
        self.expected: list[TensorSpec] = []
        self.complete = False
        """Whether oracle and own side are there, ready for the next call."""
        self.timed = False
        """Whether its own side has been timed: then the next pair gets a fresh one."""
        self._oracle = OracleProcess(zygote, problem, device, self._prefork_pool, self._make_room, plan)
        self.side = self._new_side()

    def _begin(self) -> None:
        """What begins anew with each pair of processes: what had no room in one may have it in the next."""
        self.notes = list(self._lasting_notes)
        self.input_seeds = Seeds(self.protocol.inputs.seeds == "secret")
        self.honest = HonestErrors(self)
        self.answers = RightAnswers(self)
        self.clearing = Clearing(self)

    def _new_side(self) -> Side:
        source = Source(self.problem.source, "Model", "torch")
        return Side(self._zygote, source, self.device, trusted=True, prefork_pool=self._prefork_pool, plan=self.plan)

    def open(self, beside: Callable[[Reference], None] | None = None) -> None:
        """Start oracle and reference worker, and learn shapes from a first draw.

        Args:
            beside: what else can be done as soon as the constructor's arguments are known, in a thread of its own.
        """
        self.side.start()
        self.init = self._oracle.start(self.math, self.frugal)
        self._all_at_once(self._open_oracle, self._learn_outputs, beside)

    def renew(self, beside: Callable[[Reference], None] | None = None) -> None:
        """Be ready for another pair of processes: a fresh one for its own side, unless that was never timed.

        The oracle stays, with its parameters and what it has learnt: it is not timed.

        Args:
            beside: as for `open`.
        """
        self._begin()
        self.input_seeds.next()  # that of the draw in `open`: published ones count as if this were the first pair
        self._oracle.goes_on()
        if not self.timed:
            self.side.goes_on()
            if beside is not None:
                beside(self)
            return
        self.complete = self.timed = False
        slowest_s = self.side.slowest_s
        self.side.close()
        self.side = self._new_side()
        self.side.slowest_s = slowest_s  # until it has been called itself
        self.side.start()
        self._all_at_once(lambda: None, self._attach_side, beside)

    def _all_at_once(
        self, oracle: Callable[[], None], side: Callable[[], None], beside: Callable[[Reference], None] | None
    ) -> None:
        """A large model takes seconds to construct: the oracle's, its own side's and the candidate's together."""
        pool = ThreadPoolExecutor(2, thread_name_prefix="kernelgauge")
        own = pool.submit(self._open_side)
        other = pool.submit(beside, self) if beside else None
        pool.shutdown(wait=False)  # whoever is interrupted here closes both sides, and so ends what is waited for
        oracle()
        own.result()
        with self.blamed(self.side):
            side()
        self._lasting_notes = list(self.notes)
        self.complete = True
        if other is not None:
            other.result()

    @property
    def not_varied(self) -> NotVaried:
        """Arguments that are the same in every call of an evaluation, once it is open."""
        anew = any(variant != "own" for variant in self.protocol.inputs.variants)
        forward = (name for name, domain in self._oracle.alike.items() if domain == "fixed" or not anew)
        return NotVaried(constructor=self._oracle.constructor, forward=tuple(forward))

    def _open_oracle(self) -> None:
        self._construct_oracle()
        self._oracle.attach_inputs()
        if self.precise:
            try:
                self._oracle.learn_truth()
            except ReferenceRaised as error:  # it cannot do float64
                self.without_float64(f"no float64 oracle ({error})")
            else:
                self._oracle.attach_truth()

    def _open_side(self) -> None:
        with self.blamed(self.side):
            self.side.open(self.init, self.weight_seed, self.randomise, self.math)

    def _reference_failed(self, failure: Failure) -> ProblemError:
        kind = ReferenceTooLarge if failure.outcome is Outcome.OUT_OF_MEMORY else ProblemError
        return kind(f"problem {self.problem.key}: the reference fails: {failure.reason}")

    def _construct_oracle(self) -> None:
        self._oracle.construct(self.init, self.weight_seed, self.randomise, self.precise)

    def without_float64(self, why: str) -> None:
        """Have eager stand in for the float64 oracle from now on, and say why."""
        self.notes.append(f"{why}: eager in working precision stands in")
        self.precise = False
        self._construct_oracle()

    def _attach_side(self) -> None:
        reserved(self.problem, lambda: self.side.attach(self.master.size, self.expected))

    def _learn_outputs(self) -> None:
        """One call of the reference without an output region: shapes and dtypes in the working precision."""
        reserved(self.problem, lambda: self.side.attach_inputs(self.master.size))
        self.draw("own")
        self.side.stage(self.arguments, self.master, self.call_seed)
        claim = self.side.call().claim
        if not claim.tensors:
            raise ProblemError(
                f"problem {self.problem.key}: forward returns no tensor, so there is nothing to compare"
            )
        shapes = [(spec.shape, spec.dtype) for spec in claim.tensors]
        self.expected = lay_out(shapes)
        reserved(self.problem, lambda: self.side.attach_outputs(self.expected))
        if self.precise:
            self.answers.hold_against_float64()

    def draw(self, variant: str) -> None:
        """Draw the inputs of the next call into `master`."""
        self.answers.unused = self.clearing.changed_inputs = None
        self.honest.inputs_changed()
        self.arguments = self._oracle.draw(self.input_seeds.next(), variant)
        self.call_seed = self.input_seeds.next() if self.protocol.inputs.seeds == "secret" else PUBLIC_SEED

    def recall(self, inputs: torch.Tensor, seed: int) -> None:
        """Put back the inputs of an earlier call with the same arguments: what `draw` left in `master`, its seed."""
        self.clearing.changed_inputs = None
        self.honest.inputs_changed()
        self.master.bytes.copy_(inputs)
        self.call_seed = seed

    def truth(self, beside: Callable[[], object] | None = None, keep: bool = True) -> list[torch.Tensor]:
        """The right outputs for the inputs just drawn, in float64; the next call of this overwrites them.

        Args:
            beside: what to do meanwhile.
            keep: the candidate's outputs, which may be in the way.
        """
        with self.cleared(keep):
            return self._oracle.truth(self.call_seed, beside)

    def answer(self) -> list[torch.Tensor]:
        """What eager PyTorch answers in the working precision, from the reference's own worker.

        As with `truth`, `imitate` and `given`, these are views of a region: the next call overwrites them.
        """
        with self.blamed(self.side):
            self.side.stage(self.arguments, self.master, self.call_seed)
            self.last_claim = self.side.call().claim
        return self.side.buffers.snapshot()

    @contextmanager
    def blamed(self, side: Side) -> Iterator[None]:
        """While open, what goes wrong on the reference's own side is the problem's fault, not a candidate's."""
        try:
            yield
        except Failure as failure:
            if side is self.side:
                raise self._reference_failed(failure) from failure
            raise
        except WorkerKilled as killed:
            if side is self.side:
                raise MachineError(f"the reference's worker: {killed}") from killed
            raise

    def imitate(self, shortcut: str) -> tuple[list[torch.Tensor], bool]:
        """The answer of somebody who cuts one corner, for the inputs just drawn; see `Oracle.imitate`.

        Also whether that changed any parameter.
        """
        specs = self._oracle.truth_specs if self.precise else self.expected
        with self.cleared():
            return self._oracle.imitate(self.call_seed, shortcut, specs)

    def err(self, noise: int, variances: Variances = "usual") -> tuple[list[Distance], bool]:
        """How far honest float32 arithmetic could be from `truth` for the inputs just drawn; see `Oracle.err`."""
        with self.cleared():
            return self._oracle.err(self.call_seed, noise, variances)

    @property
    def takes_variances(self) -> bool:
        """Whether an operator of its forward takes a variance."""
        return self._oracle.takes_variances

    @property
    def takes_products(self) -> bool:
        """Whether an operator of its forward is a product that tensor cores can do."""
        return self._oracle.takes_products

    def forget_shortcuts(self) -> None:
        """Give back the memory that `imitate` has taken."""
        self._oracle.forget_shortcuts()

    def inputs_kept_by(self, candidate: Side) -> bool:
        """Whether a candidate has left its inputs as they were, or the reference itself has not."""
        if candidate.buffers.inputs_equal(self.master):
            return True
        if self.clearing.changed_inputs is not None:
            return self.clearing.changed_inputs
        return not self.side.buffers.inputs_equal(self.master)

    @property
    def bytes_per_call(self) -> int:
        """Bytes of the inputs and outputs of one call."""
        return size_of(self.expected) + self.master.size

    @property
    def master(self) -> Region:
        """Where the inputs drawn last are; no side can reach it."""
        return self._oracle.inputs

    def given(self) -> list[torch.Tensor]:
        """The tensors among the inputs just drawn."""
        specs = [TensorSpec(**argument["tensor"]) for argument in self.arguments if "tensor" in argument]
        return self.master.tensors(specs)

    def eager_distances(self, answer: list[torch.Tensor], truth: list[torch.Tensor]) -> list[Distance]:
        """Eager's own error per output; zero where eager itself stands in for the oracle."""
        return distances(answer, truth) if self.precise else [Distance(0.0, 0.0) for _ in answer]

    def state(self) -> bytes:
        """The reference's parameters as `torch.save` writes them, for candidates that construct in another order."""
        return self._oracle.state()

    def alive(self) -> bool:
        """Whether its processes are there, its own side's too unless that was timed."""
        return self._oracle.alive() and (self.timed or self.side.process.alive())

    def rest(self) -> None:
        """Stop the oracle until it is asked again."""
        self._oracle.rest()

    def _make_room(self) -> bool:
        """Have the reference's own worker give back what memory it keeps; False if it has run nothing yet."""
        return self.clearing.trim()

    def cleared(self, keep: bool = True) -> AbstractContextManager[None]:
        """Leave the oracle, while open, all memory that nobody needs meanwhile; see `Clearing.cleared`."""
        return self.clearing.cleared(keep)

    def end(self) -> None:
        """Have both processes end, without waiting: with a GPU open, each takes a tenth of a second."""
        self.side.end()
        self._oracle.end()

    def close(self) -> None:
        """End both processes and give their memory back."""
        self.answers.unused = None
        self.end()
        self.side.close()
        self._oracle.close()

    def __enter__(self) -> Reference:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
