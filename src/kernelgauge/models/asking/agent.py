"""An agent of Inspect's own kind (`react`) with our tools, within the same budget as any strategy.

Unlike a strategy it keeps a conversation of its own. A sample that was interrupted goes through it again with the
answers that were kept, and with the verdicts and profiles that its tools gave.
"""

from __future__ import annotations

import time
from pathlib import Path

import anyio
from inspect_ai.agent import Agent, AgentPrompt, AgentState, AgentSubmit, agent, react, run
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool
from inspect_ai.util import LimitExceededError

from kernelgauge.generation.prompts.prompt import Templates
from kernelgauge.models.asking.solver import restored
from kernelgauge.models.asking.tools import kernel_tools
from kernelgauge.models.asking.workbench import SUBMIT, Workbench, workbench
from kernelgauge.models.budget.cost import paid_answer, spent_on
from kernelgauge.models.budget.ledger import OutOfBudget
from kernelgauge.models.judging.judge import judge_of
from kernelgauge.models.judging.scorer import NOT_ASKED, UNANSWERED, same_problem, setting_in
from kernelgauge.schema import Attempt, Budget

REACT = "react"
"""The name that this goes by among the strategies."""

USUAL_CALLS = 50
"""How often an agent is asked where nothing else limits it: it ends by itself only if it wants to."""


class _Ended(Exception):
    """The budget of the sample is spent."""


def budget_of_agent(given: Budget) -> Budget:
    """What an agent may spend: as said, but not without any limit on asking. Evaluations are none: it is asked on."""
    limits = (given.calls, given.tokens, given.seconds, given.usd)
    return given if any(limits) else given.model_copy(update={"calls": USUAL_CALLS})


@solver
def working_agent(templates: str | None = None) -> Solver:
    """One agent a sample, which reads, evaluates and profiles as it likes, and submits a file."""
    instructions = Templates(Path(templates) if templates else None).filled("agent.md.j2")
    working = react(
        prompt=AgentPrompt(instructions=instructions, assistant_prompt=None, handoff_prompt=None),
        tools=kernel_tools(),
        model=paid(),
        submit=AgentSubmit(
            name=SUBMIT, description="Submit the complete file that defines ModelNew.", answer_only=True
        ),
    )

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.store.set(UNANSWERED, True)
        judge = judge_of(setting_in(state))
        await anyio.to_thread.run_sync(judge.open, str(state.model))
        bench = workbench()
        if known := judge.answered(bench.problem.key, bench.sample):
            if judge.ledger.exhausted or bench.finished:
                return restored(state, *known, judge.kept(bench.problem, bench.sample))
        elif await anyio.to_thread.run_sync(judge.misfit, same_problem(judge, state), False):
            state.store.set(UNANSWERED, False)
            return state
        try:
            ended = await run(working, state.messages)
            state.messages, state.output = ended.messages, ended.output
            if bench.submitted:
                state.store.set(UNANSWERED, False)
                return state
        except _Ended:
            pass
        except OutOfBudget:
            state.store.set(NOT_ASKED, bench.best is None)
        except BaseException:  # boundary: a limit of Inspect's, which also cancels, has the state scored as it is
            if bench.best is not None:
                _give(state, bench.best)
            raise
        return _give(state, bench.best)

    return solve


def _give(state: TaskState, best: str | None) -> TaskState:
    text = f"```python\n{best}```" if best else "It ended before an answer was given."
    state.store.set(UNANSWERED, False)
    state.output = ModelOutput.from_content(str(state.model), text)
    state.messages.append(state.output.message)
    return state


@agent
def paid() -> Agent:
    """The model of the task, each of its calls within the budgets and written down."""

    async def execute(state: AgentState, tools: list[Tool]) -> AgentState:
        bench = workbench()
        # Where evaluations have run out, they have for the tools only: the agent is to submit what it has.
        if bench.ended(aside="evaluations"):
            raise _Ended
        before, limit = bench.before, None
        if before is not None and before.output:
            output = ModelOutput.model_validate_json(before.output)
            await bench.note(before)
        else:
            output, limit = await _asked(bench, state, tools)
        output = _spoken(output)
        bench.hear(output)
        if limit is not None and not bench.submitted:  # what is submitted needs no further call
            raise limit
        state.output = output
        state.messages.append(output.message)
        return state

    return execute


def _spoken(output: ModelOutput) -> ModelOutput:
    """What agents can go on from: where a model gave no choice at all, it said nothing, and is asked again."""
    if not output.empty:
        return output
    return output.model_copy(update={"choices": ModelOutput.from_content(output.model, "").choices})


async def _asked(
    bench: Workbench, state: AgentState, tools: list[Tool]
) -> tuple[ModelOutput, LimitExceededError | None]:
    with bench.judge.asking():
        async with bench.judge.ledger.call():
            started = time.monotonic()
            output, limit = await paid_answer(state.messages, tools)
            spent = spent_on(output, time.monotonic() - started)
            await bench.note(Attempt(answer=output.completion, output=output.model_dump_json(), spent=spent))
    return output, limit
