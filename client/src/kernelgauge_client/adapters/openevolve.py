"""One evaluator file for OpenEvolve and SkyDiscover.

python -m kernelgauge_client.adapters.openevolve --write evaluator.py --problem 1/23

The file that this writes is what both frameworks load: they run evaluators in processes of their own, where functions
that are passed in lose what they refer to.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelgauge_client.adapters.verdicts import NeverJudged, Verdicts
from kernelgauge_client.errors import NoVerdict

if TYPE_CHECKING:
    from openevolve.population import PopulationStrategy

METRICS = ("built", "correct", "trials_agreed", "speedup", "speedup_low", "speedup_high", "review")
"""Parts of an answer that stand beside `combined_score`; OpenEvolve may take them for feature dimensions."""

_RESULTS = ("openevolve.evaluation_result", "skydiscover.evaluation.evaluation_result")
_FILE = '''"""Scores programs by the server in KERNELGAUGE_SERVER, with the token in KERNELGAUGE_TOKEN."""

from kernelgauge_client.adapters.openevolve import evaluator

PROBLEM = {problem!r}
SETTINGS = {settings!r}  # as of kernelgauge_client.Judge: reward, priority, deadline_s, patience_s

_evaluator = evaluator(PROBLEM, **SETTINGS)
evaluate = _evaluator.evaluate
evaluate_stage1 = _evaluator.evaluate_stage1
evaluate_stage2 = _evaluator.evaluate_stage2
'''


class ProgramEvaluator:
    """Scores the file of a program. One judgement serves all stages: the judge itself stops where a candidate fails.

    Args:
        problem: its name, such as `1/23`.
        settings: as of `kernelgauge_client.Judge`.

    Raises:
        JudgeError: candidates for this problem cannot be judged there. Both frameworks then end with its sentence.
    """

    def __init__(self, problem: str, **settings: Any):
        self._problem, self._verdicts = problem, Verdicts(**settings)
        self._verdicts.check(problem)
        self._judged = lru_cache(maxsize=256)(self._judge)

    def evaluate(self, program_path: str) -> Any:
        """All metrics and what the author of the program should be told, as the framework's own `EvaluationResult`.

        Raises:
            SystemExit: no program will ever have a verdict on this problem, so that the search would be in vain.
        """
        try:
            answer = self._judged(Path(program_path).read_text(encoding="utf-8"))
        except NeverJudged as error:
            raise SystemExit(str(error)) from error
        except NoVerdict as error:
            return _unjudged(str(error))
        metrics = {name: float(answer["parts"][name]) for name in METRICS}
        told = {name: answer[name] for name in ("outcome", "reason", "feedback") if answer[name]}
        return _result({"combined_score": float(answer["reward"]), **metrics}, told)

    def evaluate_stage1(self, program_path: str) -> Any:
        """Whether the program keeps the rules of texts, and builds; everything where it does not."""
        whole = self.evaluate(program_path)
        return _result({"built": 1.0}, {}) if whole.metrics.get("built") else whole

    def evaluate_stage2(self, program_path: str) -> Any:
        """Whether it is right, and how fast. SkyDiscover has no third stage, so that this one says all."""
        return self.evaluate(program_path)

    def _judge(self, text: str) -> dict[str, Any]:
        return self._verdicts.of(self._problem, text)


_OF_THIS_PROCESS: dict[str, ProgramEvaluator] = {}


def evaluator(problem: str, **settings: Any) -> ProgramEvaluator:
    """That of this process: OpenEvolve runs the evaluator's file again for each program. Raises as its class."""
    key = json.dumps([problem, settings], sort_keys=True)
    if key not in _OF_THIS_PROCESS:
        _OF_THIS_PROCESS[key] = ProgramEvaluator(problem, **settings)
    return _OF_THIS_PROCESS[key]


def verdicts_only() -> PopulationStrategy:
    """OpenEvolve's population without programs that have no verdict: `run_evolution(..., population_strategy=...)`.

    Without it such a program stands in the database, below those that are wrong.
    """
    from openevolve.population import PopulationStrategy

    return PopulationStrategy(admit=_has_verdict)


def _has_verdict(snapshot: Any, program: Any, island: int) -> bool:
    # OpenEvolve allows nobody to refuse the first program.
    return "combined_score" in program.metrics or not snapshot.programs


def _unjudged(reason: str) -> Any:
    """What has no score. SkyDiscover asks for another program where `validity` is -1, and keeps none of these."""
    return _result({"verdict": 0.0, "validity": -1.0, "error_message": reason}, {"reason": reason})


def _result(metrics: dict[str, Any], artifacts: dict[str, str]) -> Any:
    """Each framework wants its own class; whatever is loaded here, the result is one of it."""
    classes = [sys.modules[name].EvaluationResult for name in _RESULTS if name in sys.modules]
    made: Callable[..., Any] = type("EvaluationResult", tuple(classes or [_Result]), {})
    return made(metrics=metrics, artifacts=artifacts)


class _Result:
    """Where neither framework is loaded: an evaluator that is called by hand."""

    def __init__(self, metrics: dict[str, Any], artifacts: dict[str, str]):
        self.metrics, self.artifacts = metrics, artifacts


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the evaluator's file."""
    parser = argparse.ArgumentParser(
        prog="python -m kernelgauge_client.adapters.openevolve", description=main.__doc__
    )
    parser.add_argument("--write", required=True, type=Path, metavar="FILE", help="where it goes")
    parser.add_argument("--problem", required=True, help="such as 1/23")
    parser.add_argument("--reward", default="interval", help="a reward of the server, by its name")
    chosen = parser.parse_args(arguments)
    chosen.write.write_text(_FILE.format(problem=chosen.problem, settings={"reward": chosen.reward}))
    print(f"{chosen.write}: the evaluator for {chosen.problem}")


if __name__ == "__main__":
    main()
