"""Problems, answers and models of tests that ask through Inspect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai import eval
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score

from kernelgauge.models.task.task import kernelbench

RIGHT = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0) * 2 + 1
"""
WRONG = RIGHT.replace("+ 1", "+ 2")
USAGE = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)

Answer = Callable[[list[ChatMessage]], str]


def fenced(source: str) -> str:
    return f"```python\n{source}```"


def scripted(answer: Answer | str, stop: str = "stop", name: str = "model") -> Model:
    """A model that answers with what a function makes of the conversation."""

    def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        said = answer if isinstance(answer, str) else answer(messages)
        made = ModelOutput.from_content("scripted", said, stop_reason=stop)  # type: ignore[arg-type]
        made.usage = USAGE.model_copy()
        return made

    return get_model(f"mockllm/{name}", custom_outputs=output)


def asked(
    model: Model | str,
    folder: Path,
    problems: str,
    quick: str,
    *,
    epochs: Any = 1,
    limits: dict[str, Any] | None = None,
    **task: Any,
) -> EvalLog:
    """The log of an evaluation of these problems, untimed unless said otherwise; `limits` are Inspect's own."""
    given = {"device": "cpu", "sizes": "small", "protocol": quick, "backend": "torch", "option": "zero_shot"}
    made = kernelbench(problems=problems, **{**given, "measure_performance": False, **task})
    shown = {"log_dir": str(folder), "display": "none", "log_level": "error"}
    (log,) = eval(made, model=model, epochs=epochs, max_samples=200, **shown, **(limits or {}))
    return log


def only(log: EvalLog) -> EvalSample:
    assert log.status == "success", log.error
    assert log.samples is not None and len(log.samples) == 1
    return log.samples[0]


def whole(log: EvalLog) -> EvalSample:
    """The sample with all of its texts, as the viewer reads it."""
    return only(read_eval_log(log.location, resolve_attachments=True))


def score_of(sample: EvalSample) -> Score:
    assert sample.scores is not None, sample.error
    return sample.scores["kernel"]


def verdict_in(sample: EvalSample) -> dict[str, Any]:
    metadata = score_of(sample).metadata
    assert metadata is not None
    return metadata["verdict"]  # type: ignore[no-any-return]


def metrics_of(log: EvalLog, reducer: str | None = None) -> dict[str, float]:
    assert log.results is not None
    chosen = [score for score in log.results.scores if reducer is None or score.reducer in (reducer, None)]
    return {name: metric.value for score in chosen for name, metric in score.metrics.items()}


def lines(path: Path, answers: dict[tuple[str, int], str]) -> str:
    rows = [{"problem": key, "sample": sample, "answer": said} for (key, sample), said in answers.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def replaying(path: str) -> Model:
    return get_model("kernelgauge/replay", path=path)


def elsewhere(arguments: list[str]) -> subprocess.Popen[str]:
    """`kernelgauge` with these arguments in a process, and process group, of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "kernelgauge", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run_arguments(out: Path, path: str, problem: str, quick: str, *extra: str) -> list[str]:
    who = ["kernelgauge/replay", "-M", f"path={path}", "--out", str(out), "--backend", "torch"]
    fixed = ["--problems", problem, "--device", "cpu", "--protocol", quick, "--shots", "zero_shot"]
    return ["ask", *who, *fixed, *extra]


def inspect_command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`inspect` with these arguments, in a process of its own."""
    command = [sys.executable, "-m", "inspect_ai", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, "COLUMNS": "200"})


def eval_command(folder: Path, problem: str, quick: str, answer: str, *said: str) -> subprocess.CompletedProcess[str]:
    """`inspect eval` of the task with the replay contestant and this one answer; its log goes to `logs`."""
    path = lines(folder / "answers.jsonl", {(problem, 0): answer})
    task = {
        "problems": problem,
        "backend": "torch",
        "device": "cpu",
        "protocol": quick,
        "measure_performance": "false",
    }
    given = [part for name, value in task.items() for part in ("-T", f"{name}={value}")]
    where = ["--model", "kernelgauge/replay", "-M", f"path={path}", "--log-dir", "logs", "--display", "plain"]
    return inspect_command("eval", "kernelgauge/kernelbench", *where, *given, *said, cwd=folder)


def close_judges() -> None:
    from kernelgauge.models.judging import judge

    for each in judge._judges.values():
        each.close()
    judge._judges.clear()
