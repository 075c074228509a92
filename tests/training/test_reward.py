"""What a turn earns and what a trajectory returns: against figures worked by hand."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import pytest
from factories import BOUND, make_environment, make_evaluation, make_timing

from kernelgauge.errors import UsageError
from kernelgauge.schema import Evaluation, Executed, ExecutedWork, Outcome
from kernelgauge.schema.comparison import BaselineSpeedup
from kernelgauge.training import Judge, Parts, Reward, load_reward, returns, rewards
from kernelgauge.training.judgement import Judgement, no_verdict, of_verdict, without_candidate
from kernelgauge.training.parts import PARTS, parts_of
from kernelgauge.training.request import JudgeRequest, candidate_in, request_of
from kernelgauge.training.reward import Turns

FAST = make_evaluation(speedup=2.0, spread=0.05)
TIE = make_evaluation(speedup=1.02, spread=0.05)
WRONG = make_evaluation(outcome="wrong_value")
BROKEN = make_evaluation(outcome="build_failed")
CHEAT = make_evaluation(outcome="rejected")


def earned(name: str, verdict: Evaluation) -> float:
    return load_reward(name).of(parts_of(verdict))


def covered(share: float | None, device: str = "cuda") -> Evaluation:
    own = (Executed(name="mine", calls=1, time_us=1.0),) if share else ()
    executed = ExecutedWork(own=own, others=(Executed(name="gemm", calls=1, time_us=1.0),), own_share=share)
    return make_evaluation(speedup=2.0, executed=executed, device=device)


def compiled(over_compile: float) -> Evaluation:
    timed = BaselineSpeedup(mode="eager", strongest=False, speedup=2.0, interval=(1.9, 2.1), measured=None)
    mode = timed.model_copy(
        update={"mode": "compile", "strongest": True, "speedup": over_compile, "measured": FAST.created}
    )
    return make_evaluation(speedup=2.0, baseline_speedups=(timed, mode.model_copy(update={"interval": (0.1, 9.0)})))


def test_the_published_formulas() -> None:
    assert earned("kevin", FAST) == pytest.approx(2.3)
    assert earned("kevin", make_evaluation(speedup=30.0)) == pytest.approx(30.3)
    assert earned("kernelbench-tinker", make_evaluation(speedup=30.0)) == pytest.approx(10.3)
    assert [earned("kevin", each) for each in (WRONG, BROKEN, CHEAT)] == [0, 0, 0]
    assert earned("drkernel", covered(0.8)) == pytest.approx(0.5 + 0.5 * 2.0 + 0.5 * 0.8)
    assert earned("drkernel", covered(0.2)) == pytest.approx(0.1 * (0.5 + 0.5 * 2.0 + 0.5 * 0.2))
    assert earned("drkernel", covered(None)) == pytest.approx(0.1 * 1.5), "no kernel of its own was seen"
    assert earned("drkernel", FAST) == pytest.approx(1.5), "nobody has watched"
    assert earned("drkernel", make_evaluation(speedup=9.0)) == pytest.approx(0.5 + 0.5 * 3.0)
    assert [earned("drkernel-step", make_evaluation(speedup=s)) for s in (1.009, 1.011)] == [0.5, 1.0]
    assert [earned("cuda-agent", each) for each in (WRONG, BROKEN, CHEAT)] == [-1, -1, -1]
    assert earned("cuda-agent", make_evaluation(speedup=1.04)) == 1 and earned("cuda-agent", FAST) == 2
    assert earned("cuda-agent", compiled(1.06)) == 3 and earned("cuda-agent", compiled(1.04)) == 2


def test_our_own_counts_what_the_interval_carries() -> None:
    low = FAST.timing.interval[0]  # type: ignore[union-attr]
    assert earned("interval", FAST) == pytest.approx(0.3 + low) and low < 2.0
    assert earned("interval", TIE) == pytest.approx(1.3)
    assert earned("interval", make_evaluation(speedup=0.5)) == pytest.approx(0.3 + 0.5 * 0.99)
    bounded = make_evaluation(speedup=6.0, bound=BOUND)  # which allows four times the reference's speed
    assert earned("interval", bounded) == pytest.approx(0.3 + 4.0)
    in_cache = BOUND.model_copy(update={"headroom": 0.2})
    assert earned("interval", make_evaluation(speedup=1.0, bound=in_cache)) == pytest.approx(1.3)
    assert earned("interval", make_evaluation(speedup=50.0)) == pytest.approx(0.3 + 10.0)
    assert earned("interval", CHEAT) < earned("interval", WRONG) == earned("interval", BROKEN) == 0


def test_what_seems_faster_than_its_hardware_allows_is_not_the_best_paid() -> None:
    """It may be honest, so that it is no cheat either; a published reward is paid as published."""
    looked_at = make_evaluation(speedup=6.0, bound=BOUND.model_copy(update={"share": 1.5, "review": "too fast"}))
    assert parts_of(looked_at).review and earned("interval", looked_at) == earned("interval", TIE)
    slow = make_evaluation(speedup=0.5, bound=BOUND.model_copy(update={"share": 1.5, "review": "too fast"}))
    assert earned("interval", slow) == pytest.approx(0.3 + 0.5 * 0.99)
    assert earned("kevin", looked_at) == pytest.approx(6.3)


def test_an_interval_that_tells_nothing_earns_its_lower_end_and_never_above_a_tie() -> None:
    timing = make_timing(3.0)
    for interval in ((0.2, 5.0), (1.4, 9.0)):
        wide = make_evaluation(speedup=3.0).model_copy(
            update={"timing": timing.model_copy(update={"interval": interval})}
        )
        parts = parts_of(wide)
        assert parts.unclear and not parts.tie and not parts.faster
        assert earned("interval", wide) == pytest.approx(0.3 + min(1.0, interval[0]))


@pytest.mark.parametrize("name", rewards())
def test_no_shipped_reward_is_worth_a_cheat(name: str) -> None:
    reward = load_reward(name)
    assert reward.source and reward.summary and reward.name == name
    by = {each.outcome: reward.of(parts_of(each)) for each in (WRONG, BROKEN, CHEAT)}
    nothing = reward.of(Parts(verdict=1))
    assert by[Outcome.REJECTED] <= min(by[Outcome.WRONG_VALUE], by[Outcome.BUILD_FAILED], nothing)
    assert max(*by.values(), nothing) < reward.of(parts_of(make_evaluation(speedup=0.9)))
    assert load_reward(json.loads(reward.model_dump_json())) == reward == pickle.loads(pickle.dumps(reward))


def test_returns_are_kevins() -> None:
    scores = [0.0, 1.3, None, 2.3]
    sums = returns(scores, Turns(most=4, combine="sum", discount=0.4))
    assert sums == pytest.approx((0.4 * 1.3 + 0.4**3 * 2.3, 1.3 + 0.4**2 * 2.3, None, 2.3))
    largest = returns(scores, Turns(most=4, combine="max", discount=0.8))
    assert largest == pytest.approx((0.8**3 * 2.3, max(1.3, 0.8**2 * 2.3), None, 2.3))
    assert returns(scores, Turns(combine="each")) == (0.0, 1.3, None, 2.3)
    assert returns(scores, Turns(combine="last")) == (2.3, 2.3, None, 2.3)
    assert returns([1.0, None], Turns(combine="last")) == (None, None)


def test_coverage_is_what_was_watched() -> None:
    known = [(parts.coverage_known, parts.coverage) for parts in map(parts_of, (FAST, covered(0.7), covered(None)))]
    assert known == [(0, 0), (1, 0.7), (1, 0)]
    assert not parts_of(covered(None, "cpu")).coverage_known, "functions that nobody sees may have done the work"


def answers(request: JudgeRequest) -> list[Judgement]:
    reward = load_reward("interval")
    judged = [of_verdict(request, "x = 1\n", each, reward, "G+E") for each in (FAST, TIE, WRONG, BROKEN, CHEAT)]
    return [*judged, without_candidate(request, "there is none", reward), no_verdict(request, reward, "it broke")]


def test_every_answer_has_the_same_keys_and_is_plain_data() -> None:
    request = request_of("1/1", "x = 1\n", 1, [{"reward": 0.3, "anything": "else"}])
    for answer in answers(request):
        plain = json.loads(json.dumps(answer.model_dump(mode="json"), allow_nan=False))
        assert tuple(plain["parts"]) == PARTS and all(isinstance(value, float) for value in plain["parts"].values())
        assert plain["feedback"] and len(plain["returns"]) == 2 and not plain["done"]
        assert Judgement.model_validate(plain) == answer
    assert answers(request)[-1].reward is None and not any(answers(request)[-1].parts.model_dump().values())


def test_on_a_problem_that_cannot_tell_work_from_none_nobody_is_rewarded() -> None:
    weak = make_evaluation(speedup=900.0, trivial_answers=("zeros",))
    request = request_of("1/1", "x = 1\n")
    answer = of_verdict(request, "x = 1\n", weak, load_reward("interval"), "G+E")
    assert answer.reward is None and "would accept zeros. Leave it out" in answer.reason
    assert of_verdict(request, "x = 1\n", weak, load_reward("kevin"), "G+E").reward == pytest.approx(900.3)


@pytest.mark.parametrize(
    "change",
    [
        {"reward": None},
        {"status": "no_verdict"},
        {"outcome": ""},
        {"returns": (None,)},
        {"returns": ()},
        {"reward": math.nan},
    ],
)
def test_an_answer_that_contradicts_itself_is_refused(change: dict[str, Any]) -> None:
    answer = answers(request_of("1/1", "x = 1\n"))[0]
    with pytest.raises(ValueError):
        Judgement.model_validate({**answer.model_dump(), **change})


@pytest.mark.parametrize(
    "values",
    [
        {"correct": 1},
        {"verdict": 1, "correct": 1},
        {"verdict": 1, "built": 1, "timed": 1, "speedup": 2, "speedup_low": 1, "speedup_high": 3},
        {"verdict": 1, "coverage": 0.5},
        {"verdict": 1, "built": 1, "correct": 1, "speedup": 2},
        {"verdict": 1, "built": 1, "correct": 1, "rejected": 1},
        {"verdict": 2},
    ],
)
def test_parts_that_contradict_themselves_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        Parts(**values)


def test_rewards_of_ones_own_and_what_they_may_not_say(tmp_path: Any) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ncorrect = 1.0\n')
    assert load_reward(str(path)).of(parts_of(FAST)) == 1.0
    with pytest.raises(UsageError, match=r"breaks a rule would earn more than a wrong one: lower failures\.rejected"):
        load_reward({"name": "x", "correct": 1, "failures": {"rejected": 0.5}})
    with pytest.raises(UsageError, match="would earn more than a right one"):
        load_reward({"name": "x", "correct": 0, "failures": {"not_built": 0.1}})
    with pytest.raises(UsageError, match="there is no reward 'kevn': name one of interval, cuda-agent"):
        load_reward("kevn")
    with pytest.raises(UsageError, match="cannot be read"):
        load_reward("missing.toml")
    path.write_text("name = ")
    with pytest.raises(UsageError, match="malformed"):
        load_reward(str(path))
    with pytest.raises(ValueError):
        Reward(name="x", correct=math.inf)


def test_published_rewards_pay_nothing_for_a_copy_of_the_reference() -> None:
    """Their sources do not; what is refused is decided by the policy under which it is judged."""
    for name in set(rewards()) - {"interval", "drkernel-step"}:
        assert load_reward(name).kernel_policy == "kernel-required", name
        assert Judge(reward=name, device="cpu").protocol.kernel_policy == "kernel-required"
        with pytest.raises(UsageError, match=f"{name} needs the kernel policy kernel-required, not default"):
            Judge(reward=name, device="cpu", kernel_policy="default")
    assert Judge(reward="interval", device="cpu").protocol.kernel_policy == "default"


@pytest.mark.parametrize(
    ("outcome", "stages", "built"),
    [
        ("timed_out", ("rules", "build"), 0),
        ("out_of_memory", ("rules", "build"), 0),
        ("timed_out", ("rules", "build", "open", "close"), 0),  # its import never ended
        ("runtime_error", ("build", "open", "close"), 0),
        ("load_failed", ("build", "open", "close"), 0),
        ("build_failed", ("build",), 0),
        ("timed_out", ("build", "open", "check"), 1),
        ("out_of_memory", ("open", "check"), 1),
        ("wrong_value", ("build", "open", "check"), 1),
        ("rejected", ("rules",), 0),
        ("rejected", ("rules", "build", "open"), 1),
    ],
)
def test_built_is_what_a_process_has_loaded(outcome: str, stages: tuple[str, ...], built: int) -> None:
    verdict = make_evaluation(outcome=outcome, seconds=dict.fromkeys(stages, 1.0))
    assert parts_of(verdict).built == built
    own = Reward(name="x", correct=1.0, failures={"not_built": -0.5, "wrong": 0.0})
    assert own.of(parts_of(verdict)) == (0.0 if built or outcome == "rejected" else -0.5)


def test_no_figure_of_a_reward_can_overflow() -> None:
    for wrong in (1.1e6, -1.1e6, math.inf, math.nan):
        with pytest.raises(ValueError):
            Reward(name="x", correct=1.0, speed={"weight": wrong})
        with pytest.raises(UsageError, match="reward"):
            request_of("1/1", "x", 1, [{"reward": wrong}])
    huge = make_evaluation(speedup=1e300)
    earned = Reward(name="x", correct=1e6, speed={"weight": 1e6}).of(parts_of(huge))
    assert earned == 1e6 and returns([earned] * 1000, Turns(combine="sum"))[0] == 1e9
    assert request_of("1/1", "x", 1, [{"reward": earned}]).earned == (1e6,)


@pytest.mark.parametrize(
    "long",
    [{"summary": "x" * 1001}, {"source": "x" * 1001}, {"steps": [{"over": "eager", "at_least": 1, "adds": 0}] * 101}],
)
def test_a_reward_is_no_place_to_keep_things(long: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="at most"):
        load_reward({"name": "x", "correct": 1, **long})


FILE = "class ModelNew:\n    pass  # as it stands \n"


def test_a_file_is_taken_as_it_is_and_an_answer_for_the_file_in_it() -> None:
    assert candidate_in(FILE) == (FILE, "")
    assert candidate_in(f"Here:\n```python\n{FILE}```\nDone.") == (FILE, "")
    assert candidate_in("I cannot.") == (None, "the answer contains no code block with Python in it")
    assert candidate_in("x" * 11, 10)[1] == "the answer has 11 bytes, and 10 are allowed: write a shorter file"
    assert "zero byte" in candidate_in("a\0b")[1] and "surrogate" in candidate_in("\ud800")[1]
    assert "surrogate" in candidate_in(request_of("1/1", f"{FILE}# \ud800").text)[1], "a request can hold it"


def test_a_history_is_whole_or_missing() -> None:
    assert request_of("1/1", "x", 2).earned == ()
    with pytest.raises(UsageError, match=r"problem 1/1, turn 2: .*a history of 1 answers: pass the answers of all"):
        request_of("1/1", "x", 2, [{"reward": 1.0}])
    with pytest.raises(UsageError, match="history"):
        request_of("1/1", "x", 1, [{"reward": math.nan}])


def test_the_environment_of_a_record_is_named_by_a_digest() -> None:
    assert make_environment().digest != make_environment(torch="2.12.0").digest
