"""The task `kernelgauge/kernelbench`: the parameters and defaults of KernelBench's own Inspect task, and ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import ChatMessageUser, GenerateConfig
from pydantic import ValidationError

from kernelgauge import __version__
from kernelgauge.backends.registry import backend_named
from kernelgauge.config import Protocol, first_complaint
from kernelgauge.errors import BackendMissing, UsageError
from kernelgauge.generation.prompts.prompt import Asked, Prompts, backend_for
from kernelgauge.judging import device_of, sizes_of
from kernelgauge.models.asking.agent import REACT, budget_of_agent, working_agent
from kernelgauge.models.asking.solver import search
from kernelgauge.models.asking.start import Start
from kernelgauge.models.asking.workbench import at_hand
from kernelgauge.models.judging.judge import judge_of
from kernelgauge.models.judging.scorer import kernel
from kernelgauge.models.setting import TaskSetting
from kernelgauge.models.usage import one_sentence
from kernelgauge.problems.catalogue import entry, select
from kernelgauge.problems.loader import check_sizes
from kernelgauge.schema import Budget, Generation, Problem, RunHeader
from kernelgauge.search.registry import described, strategy_named

SPLITS = ("level_1", "level_2", "level_3", "level_4")
_USUAL_SPLITS: Sequence[str] = SPLITS[:3]


class _Usual(int):
    """A count that nobody asked for: v0.1's own, which no other protocol is to take."""


class _UsualName(str):
    """A name that nobody asked for."""


@task
def kernelbench(
    splits: str | Sequence[str] = _USUAL_SPLITS,
    limit: int | None = None,
    option: str = "one_shot",
    precision: str = _UsualName("fp32"),
    include_hardware: bool = False,
    gpu_name: str | None = None,
    backend: str | None = None,
    check_kernel: bool = True,
    max_regenerations: int = 10,
    num_correct_trials: int = _Usual(5),
    num_perf_trials: int = _Usual(100),
    measure_performance: bool = True,
    timing_method: str | None = None,
    verbose: bool = False,
    build_dir: str | None = None,
    device: str | int | None = None,
    p: float = 1.0,
    temperature: float = 0.0,
    protocol: str = "strict",
    sizes: str | None = None,
    suite: str | None = None,
    kernel_policy: str | None = None,
    problems: str | Sequence[str] | None = None,
    math: str | None = None,
    templates: str | None = None,
    out: str | None = None,
    jobs: int | None = None,
    gpu_memory_gb: float | None = None,
    strategy: str | Sequence[str] = "sample",
    start: str | None = None,
    budget: str | Sequence[str] | dict[str, Any] | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
) -> Task:
    """Write kernels that are faster than PyTorch.

    Args:
        splits: levels, `level_1` to `level_4`, which needs the extra `level4`; of an imported suite all by default.
        limit: only the first so many problems.
        option: worked examples in the prompt: `zero_shot`, `one_shot`, `few_shot`.
        precision: type of parameters and float inputs: `fp32`, `fp16`, `bf16`.
        include_hardware: whether the prompt describes the GPU, and what helps there.
        gpu_name: the GPU that it then describes, such as `H100`; default: the one found here.
        backend: kernel language; default: `cuda` on a GPU, `cpp` on a CPU.
        check_kernel: whether an answer that cannot be right is refused before any evaluation, and asked for again.
        max_regenerations: how often.
        num_correct_trials: checked calls; `strict` takes it for the least, and has eight of its own. Where it is not
            given, a protocol from a file keeps its own number.
        num_perf_trials: timed calls; `strict` stops by itself, and takes it for the least upper limit. Where it is
            not given, a protocol from a file keeps its own number.
        measure_performance: whether right candidates are timed.
        timing_method: timer, such as `cuda_event` or `host_time`; default: the protocol's.
        verbose: whether the explanation of a score holds the whole build log and all samples.
        build_dir: folder of the build cache.
        device: `cpu`, `cuda`, or one GPU by number; default: every GPU where there is one.
        p: threshold of the headline figure fast_p.
        temperature: of the model; models that have none ignore it.
        protocol: `strict`, `quick`, `v0.1`, or a `.toml` file.
        sizes: `full`, `medium`, `small`, `odd`; default: full on a GPU, medium on a CPU.
        suite: an imported suite; default: the built-in one.
        kernel_policy: what counts as a kernel; default: what the protocol says.
        problems: names such as `1/19,2/14`; default: all of the splits. Where both are given, those in both.
        math: arithmetic of both sides: `torch`, `ieee`, `tf32`, `fp16`, `bf16`; default: the protocol's.
        templates: folder whose files take the place of the prompt's templates.
        out: run folder that records are appended to; one that exists goes on.
        jobs: candidates built and (on a CPU) checked at once; default: one on a CPU, else as many as there are cores.
        gpu_memory_gb: judge as if the GPU had only so much memory.
        strategy: what is asked after an answer: `sample`, `refine`, `evolve`, `tree`, with parameters such as
            `refine,turns=5,feedback=G+E+P`; or `react`, an agent with tools.
        start: whose candidates `refine`, `evolve` or `tree` begin with: `inductor`, `folder:DIR`, `run:DIR`.
        budget: what a sample of a problem may cost, such as `calls=20,tokens=200000,evaluations=20,seconds=600`.
        budget_tokens: what all calls together may read and write; beyond that, nobody is asked.
        budget_usd: what they may cost in dollars.
    """
    options = dict(locals())
    with one_sentence():
        try:
            return benchmark(**options)
        except ValidationError as error:
            raise UsageError(f"an argument of the task is wrong: {first_complaint(error)}") from error


def benchmark(
    *,
    splits: str | Sequence[str],
    limit: int | None,
    option: str,
    include_hardware: bool,
    gpu_name: str | None,
    backend: str | None,
    check_kernel: bool,
    max_regenerations: int,
    verbose: bool,
    device: str | int | None,
    p: float,
    temperature: float,
    sizes: str | None,
    suite: str | None,
    problems: str | Sequence[str] | None,
    templates: str | None,
    strategy: str | Sequence[str],
    start: str | None,
    budget: str | Sequence[str] | dict[str, Any] | None,
    **judging: Any,
) -> Task:
    """The task behind `kernelbench`, whose arguments it takes. Raises UsageError for a wrong one."""
    _check_numbers(limit, p, temperature, max_regenerations)
    where = device_of(device)
    given: dict[str, Any] = {
        name: None if isinstance(value, _Usual | _UsualName) else value for name, value in judging.items()
    }
    setting = TaskSetting(device=where, sizes=sizes_of(sizes, where), **given)
    strategy = ",".join(_listed(strategy))
    protocol = setting.chosen_protocol()
    asked = Asked(
        backend=backend or backend_for(where),
        option=option,
        protocol=protocol,
        device=where,
        include_hardware=include_hardware,
        gpu_name=gpu_name,
        templates=Path(templates) if templates else None,
    )
    language = backend_named(asked.backend)
    if reason := language.elsewhere(where) or language.missing(where):
        raise BackendMissing(reason)
    chosen = [setting.problem(name) for name in named(splits, suite, problems)[:limit]]
    if not chosen:
        raise UsageError("there are no such problems")
    if sizes is not None:
        check_sizes([problem.key for problem in chosen], setting.sizes)
    again = max_regenerations if check_kernel else 0
    as_agent = strategy == REACT
    each = budget_of_agent(budget_of(budget)) if as_agent else budget_of(budget)
    named_strategy = REACT if as_agent else described(strategy_named(strategy, regenerations=again))
    generation = _generation(asked, temperature, again).model_copy(
        update={"strategy": named_strategy, "budget": each, "start": _start_name(start, named_strategy, suite)}
    )
    limits = each.model_dump(exclude_none=True)
    header = _header(setting, protocol, chosen, generation)
    judge_of(setting).expect(header)
    return Task(
        dataset=_dataset(chosen, asked, setting, {"p": p, "verbose": verbose}),
        setup=at_hand(templates, limits, header.model_dump(mode="json")),
        solver=working_agent(templates)
        if as_agent
        else search(asked.backend, strategy, check_kernel, max_regenerations, templates, limits, start, suite),
        scorer=kernel(),
        config=GenerateConfig(temperature=temperature),
        # One candidate that could not be judged must not end an evaluation of hours.
        continue_on_fail=True,
        headline_metric=HeadlineMetric(
            scorer="kernel", metric=f"fast_{p:g}" if setting.measure_performance else "correct"
        ),
        version=__version__,
    )


def _start_name(start: str | None, strategy: str, suite: str | None) -> str:
    """The same in every folder; empty where there is none. Raises UsageError: the strategy goes on from none."""
    if not start:
        return ""
    if (name := strategy.partition(",")[0]) in (REACT, "sample"):
        raise UsageError(f"the strategy {name} goes on from no candidate: with a start, use refine, evolve or tree")
    return Start(start, suite).name


def _check_numbers(limit: int | None, p: float, temperature: float, regenerations: int) -> None:
    """Raises UsageError for one that means nothing."""
    if limit is not None and not (isinstance(limit, int) and limit >= 1):
        raise UsageError(f"limit is {limit!r}: it is a number of problems, and at least 1")
    if not (isinstance(regenerations, int) and regenerations >= 0):
        raise UsageError(f"max_regenerations is {regenerations!r}: it is a number of tries, and at least 0")
    for name, value in (("p", p), ("temperature", temperature)):
        if not (isinstance(value, int | float) and 0 <= value < math.inf):
            raise UsageError(f"{name} is {value!r}: it is a number, and at least 0")


def named(splits: str | Sequence[str], suite: str | None, problems: str | Sequence[str] | None) -> list[str]:
    """Keys of the problems of these levels, or of those named, and of those in both where both are given.

    Own files stand for themselves, and have no level.

    Raises UsageError for an unknown split, level, problem or suite.
    """
    from kernelgauge.problems.loader import is_own_file, load_problem

    if problems is not None:
        names = _listed(problems)
        own = [load_problem(name).key for name in names if is_own_file(name)]
        found = select(names=[name for name in names if not is_own_file(name)], suite=suite)
        if splits is not _USUAL_SPLITS:
            levels = _levels(splits, suite)
            found = [key for key in found if entry(key).level in levels]
        return [*found, *own]
    if suite and _listed(splits) == list(_USUAL_SPLITS):
        return select(suite=suite)
    return select(_levels(splits, suite), suite=suite)


def _levels(splits: str | Sequence[str], suite: str | None) -> list[int]:
    wanted = _listed(splits)
    for split in wanted:
        if split not in SPLITS and not (suite and split.removeprefix("level_").isdecimal()):
            raise UsageError(f"there is no split {split!r}: there are {', '.join(SPLITS)}")
    return [int(split.removeprefix("level_")) for split in wanted]


def budget_of(given: str | Sequence[str] | dict[str, Any] | None) -> Budget:
    """`calls=20,tokens=200000` as a budget, by Inspect's `-T` in parts. Raises UsageError."""
    if given is not None and not isinstance(given, dict):
        pairs = [part.partition("=") for part in _listed(given)]
        if wrong := [name for name, equals, _ in pairs if not equals]:
            raise UsageError(f"a budget wants LIMIT=NUMBER, not {wrong[0]!r}")
        given = {name.strip(): value.strip() for name, _, value in pairs}
    try:
        return Budget.model_validate(given or {})
    except ValidationError as error:
        known = ", ".join(Budget.model_fields)
        raise UsageError(f"this is no budget: {first_complaint(error)} (its limits are {known})") from error


def _listed(value: str | Sequence[str]) -> list[str]:
    """The parts between commas; Inspect splits what `-T` says there before the task sees it."""
    parts = value.split(",") if isinstance(value, str) else value
    return [str(part).strip() for part in parts if str(part).strip()]


def _dataset(
    problems: Sequence[Problem], asked: Asked, setting: TaskSetting, shown: dict[str, object]
) -> MemoryDataset:
    """One sample a problem. Its metadata say how to judge it, so that a log can be scored again by itself."""
    prompts = Prompts(asked)
    judged = {"setting": setting.model_dump(mode="json"), **shown}
    samples = [
        Sample(
            id=problem.key,
            input=[
                ChatMessageUser(
                    content=prompts.problem(problem),
                    metadata={
                        "problem": problem.key,
                        "sizes": problem.sizes,
                        "device": asked.device,
                        "math": asked.protocol.tolerance.math,
                    },
                )
            ],
            metadata={
                "problem": problem.key,
                "problem_name": problem.name,
                "problem_digest": problem.digest,
                "level": problem.level,
                "sizes": problem.sizes,
                **judged,
            },
        )
        for problem in problems
    ]
    return MemoryDataset(samples, name="kernelbench")


def _generation(asked: Asked, temperature: float, regenerations: int) -> Generation:
    from kernelgauge.generation.prompts.machine import machine

    described = machine(asked.device, asked.gpu_name).name if asked.include_hardware else None
    return Generation(
        backend=asked.backend,
        option=asked.option,
        hardware=described,
        temperature=temperature,
        max_regenerations=regenerations,
        prompt_digest=Prompts(asked).digest,
    )


def _header(
    setting: TaskSetting, protocol: Protocol, problems: Sequence[Problem], generation: Generation
) -> RunHeader:
    return RunHeader(
        kernelgauge=__version__,
        contestant="",
        problems=tuple(problem.key for problem in problems),
        sizes=setting.sizes,
        device=setting.device,
        protocol=protocol.name,
        protocol_digest=protocol.digest,
        math=protocol.tolerance.math,
        kernel_policy=protocol.kernel_policy,
        gpu_memory_gb=setting.gpu_memory_gb,
        generation=generation,
    )
