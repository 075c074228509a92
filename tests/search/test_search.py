"""Strategies: what they ask next, as functions of the history alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from factories import make_evaluation
from pydantic import ValidationError

from kernelgauge.errors import UsageError
from kernelgauge.schema import Attempt, Budget, Spent, Step, total
from kernelgauge.search.behaviour import behaviour
from kernelgauge.search.evolve import Evolve, elites
from kernelgauge.search.fitness import best, fitness
from kernelgauge.search.refine import Refine
from kernelgauge.search.registry import described, strategy_named, strategy_names
from kernelgauge.search.sample import Sample
from kernelgauge.search.strategy import Strategy, is_retry
from kernelgauge.search.tree import Tree, branches

STRATEGIES = [
    Sample(attempts=5),
    Refine(turns=6),
    Evolve(attempts=14, islands=3, migration=2),
    Tree(ideas=4, beam=2, rounds=3),
]
IDS = ("sample", "refine", "evolve", "tree")
Contestant = Callable[[Sequence[Attempt], Step], Attempt]

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=IDS)


SAME = {"id": "0" * 32, "created": datetime(2026, 11, 20, tzinfo=UTC)}


def right(speedup: float, source: str = "x") -> Attempt:
    return Attempt(answer="a", source=source, evaluation=make_evaluation("1/1", speedup, **SAME))


def wrong(outcome: str = "wrong_value", source: str = "x") -> Attempt:
    return Attempt(answer="a", source=source, evaluation=make_evaluation("1/1", None, outcome, **SAME))


def given(speedup: float = 1.5, source: str = "given") -> Attempt:
    """What a search begins with."""
    return right(speedup, source).model_copy(update={"given": "inductor"})


REFUSED = Attempt(answer="a", refusal="it holds no code")


def under(attempt: Attempt, **step: object) -> Attempt:
    return attempt.model_copy(update={"step": Step(**step)})  # type: ignore[arg-type]


def of_luck(seed: int) -> Contestant:
    """Answers of all kinds, drawn anew for each place in the history."""

    def answer(history: Sequence[Attempt], step: Step) -> Attempt:
        draw = random.Random(f"{seed}/{len(history)}")
        if step.asks == "ideas":
            return Attempt(step=step, answer="", ideas=tuple(f"idea {n}" for n in range(draw.randint(0, 5))))
        kernels = "__global__\n" * draw.randint(0, 4)
        made = draw.choice([REFUSED, wrong(), wrong("build_failed"), right(draw.uniform(0.1, 4.0), kernels)])
        return made.model_copy(update={"step": step})

    return answer


def played(
    strategy: Strategy, contestant: Contestant, start: Sequence[Attempt] = (), most: int = 200
) -> list[Attempt]:
    history = list(start)
    while steps := strategy.plan(history):
        for step in steps:
            history.append(contestant(history, step))
        assert len(history) < most, "it does not end"
    return history


# ---------------------------------------------------------------- all of them


@every_strategy
@pytest.mark.parametrize("seed", range(20))
def test_every_strategy_ends_and_chooses_the_best(strategy: Strategy, seed: int) -> None:
    history = played(strategy, of_luck(seed))
    chosen = history[strategy.choose(history)]
    assert fitness(chosen) == max(fitness(each) for each in history if each.step.asks == "candidate")
    for number, attempt in enumerate(history):
        step = attempt.step
        assert all(0 <= shown < number for shown in (*step.inspirations, *([step.after] if step.after else [])))
        if step.idea is not None:
            where, which = step.idea
            assert where < number and which < len(history[where].ideas)


@every_strategy
def test_the_same_history_gives_the_same_plan(strategy: Strategy) -> None:
    first, second = (played(strategy, of_luck(7)) for _ in range(2))
    assert first == second
    read_back = [Attempt.model_validate_json(each.model_dump_json()) for each in first]
    for cut in range(len(first) + 1):
        assert list(strategy.plan(first[:cut])) == list(strategy.plan(read_back[:cut]))


@every_strategy
def test_a_history_that_was_cut_off_goes_on_to_the_same_end(strategy: Strategy) -> None:
    """Cut where the driver cuts: after a whole plan."""
    whole = played(strategy, of_luck(3))
    cut = 0
    while steps := strategy.plan(whole[:cut]):
        assert played(strategy, of_luck(3), whole[:cut]) == whole
        cut += len(steps)
    assert cut == len(whole)


@every_strategy
def test_who_never_answers_properly_is_left_in_peace(strategy: Strategy) -> None:
    def never(history: Sequence[Attempt], step: Step) -> Attempt:
        return REFUSED.model_copy(update={"step": step})

    few = strategy_named(described(strategy).replace("regenerations=10", "regenerations=2"))
    assert len(played(few, never)) <= 3 * 14


@pytest.mark.parametrize("strategy", STRATEGIES[1:], ids=IDS[1:])
@pytest.mark.parametrize("seed", range(20))
def test_every_search_goes_on_from_what_it_was_given(strategy: Strategy, seed: int) -> None:
    """It asks as often as without, and never ends with less."""
    history = played(strategy, of_luck(seed), [given()])
    first = history[1]
    assert first.step.after == 0 and not any(each.given for each in history[1:])
    assert fitness(history[strategy.choose(history)]) >= fitness(history[0])
    if isinstance(strategy, Refine | Evolve):
        asked = sum(not is_retry(history, each) for each in history[1:])
        assert asked == (strategy.turns if isinstance(strategy, Refine) else strategy.attempts)


# ---------------------------------------------------------------- one by one


def test_sample_asks_all_at_once_and_again_where_it_was_refused() -> None:
    assert Sample().plan([]) == [Step()] and not Sample().judges
    assert Sample().plan([right(1.0)]) == []
    assert Sample(attempts=3).plan([]) == [Step()] * 3
    few = Sample(regenerations=2)
    assert few.plan([REFUSED]) == [Step(after=0)]
    assert few.plan([REFUSED, under(REFUSED, after=0)]) == [Step(after=1)]
    assert few.plan([REFUSED, under(REFUSED, after=0), under(REFUSED, after=1)]) == []
    assert Sample(attempts=3).plan([REFUSED, right(2.0), REFUSED]) == [Step(after=0), Step(after=2)]


def test_refine_goes_on_from_the_newest_answer() -> None:
    strategy = Refine(turns=3, feedback="G+E+P")
    assert strategy.plan([]) == [Step()]
    assert strategy.plan([wrong()]) == [Step(after=0, feedback="G+E+P")]
    history = [wrong(), under(REFUSED, after=0)]
    assert strategy.plan(history) == [Step(after=1)], "a refusal is no turn"
    history.append(under(right(2.0), after=1))
    assert strategy.plan(history) == [Step(after=2, feedback="G+E+P")]
    history.append(under(right(1.5), after=2))
    assert strategy.plan(history) == [] and strategy.choose(history) == 2


def test_what_was_given_is_the_parent_of_the_first_answers() -> None:
    assert Refine(turns=2).plan([given()]) == [Step(after=0)]
    history = [given(), under(wrong(), after=0), under(right(2.0), after=1)]
    assert Refine(turns=2).plan(history) == [] and Refine(turns=2).choose(history) == 2
    steps = Evolve(islands=3).plan([given()])
    assert [(step.after, step.island) for step in steps] == [(0, 0), (0, 1), (0, 2)]
    assert elites([given(), under(right(2.0, "__global__"), island=1)], 1) == [1, 0]


def test_tree_has_ideas_about_what_was_given() -> None:
    strategy = Tree(ideas=2, beam=1, rounds=2)
    about = {"after": 0, "fresh": True}
    assert strategy.plan([given()]) == [Step(asks="ideas", count=2, **about)]
    ideas = Attempt(step=Step(asks="ideas", count=2, **about), answer="", ideas=("a", "b"))
    history = [given(), ideas]
    assert strategy.plan(history) == [Step(idea=(1, 0), **about), Step(idea=(1, 1), **about)]
    history += [under(wrong(), idea=(1, 0), **about), under(right(2.0), idea=(1, 1), **about)]
    assert branches(history) == [[0], [2], [3]]
    assert strategy.plan(history) == [Step(after=3)], "the best branch goes on"
    history += [under(right(1.0), after=3)]
    assert strategy.plan(history) == [Step(after=4)]
    assert strategy.plan([*history, under(wrong(), after=4)]) == []
    assert strategy.plan([given(), under(Attempt(answer=""), asks="ideas", **about)]) == [Step(**about)] * 2


def test_evolve_keeps_the_best_of_every_kind_on_each_island() -> None:
    one, two = "__global__", "__global__ __global__"
    history = [
        under(right(1.0, one), island=0),
        under(right(3.0, one), island=1),
        under(right(2.0, one), island=0, after=0, fresh=True),
        under(right(1.5, two), island=0, after=2, fresh=True),
        under(wrong(source=two), island=0, after=3, fresh=True),
        under(REFUSED, island=0, after=3, fresh=True),
    ]
    assert elites(history, 0) == [2, 3] and elites(history, 1) == [1] and elites(history, 2) == []


def test_evolve_steps_on_every_island_and_exchanges_now_and_then() -> None:
    strategy = Evolve(attempts=12, islands=2, migration=2, inspirations=1)
    assert strategy.plan([]) == [Step(island=0), Step(island=1)]
    history = [under(right(1.0, "__global__"), island=0), under(right(2.0, "__global__ __global__"), island=1)]
    one, two = strategy.plan(history)
    assert (one.after, one.inspirations, one.fresh) == (0, (), True) and two.after == 1
    history += [under(wrong(source="__global__"), **one.model_dump()), under(wrong(), **two.model_dump())]
    one, two = strategy.plan(history)
    assert (one.after, two.after) == (1, 0), "parents come from the island before"
    assert one.inspirations == (0,) and two.inspirations == (1,)


def test_behaviour_tells_kinds_apart() -> None:
    assert behaviour("__global__ void k() { __shared__ float x; }") == (1, True, False)
    assert behaviour("#pragma omp parallel for\nF.linear(x)") == (1, False, True)
    assert behaviour("@triton.jit\n" * 5)[0] == 3
    assert behaviour("") == (0, False, False)


def test_tree_implements_ideas_and_goes_on_with_the_best_branches() -> None:
    strategy = Tree(ideas=3, beam=2, rounds=2)
    assert strategy.plan([]) == [Step(asks="ideas", count=3)]
    thoughts = Attempt(step=Step(asks="ideas", count=3), answer="", ideas=("a", "b", "c", "d"))
    assert strategy.plan([thoughts]) == [Step(idea=(0, n)) for n in range(3)]
    history = [thoughts, *(under(a, idea=(0, n)) for n, a in enumerate([right(1.0), wrong(), right(2.0)]))]
    assert [step.after for step in strategy.plan(history)] == [3, 1]
    history += [under(wrong(), after=3), under(right(3.0), after=1)]
    assert branches(history) == [[1, 5], [2], [3, 4]]
    assert [step.after for step in strategy.plan(history)] == [5, 4], "the best of a branch was tried: the newest"
    history += [under(wrong(), after=5), under(wrong(), after=4)]
    assert strategy.plan(history) == [] and strategy.choose(history) == 5


def test_a_tree_without_ideas_grows_all_the_same() -> None:
    silent = Attempt(step=Step(asks="ideas"), answer="")
    assert Tree(ideas=2).plan([silent]) == [Step(), Step()]
    history = [silent, REFUSED, REFUSED]
    assert Tree(ideas=2, regenerations=0).plan(history) == []


def test_fitness_is_how_far_it_got() -> None:
    ladder = [
        REFUSED,
        Attempt(answer="", source="x"),
        wrong("rejected"),
        wrong("build_failed"),
        wrong("load_failed"),
        wrong("runtime_error"),
        wrong("wrong_shape"),
        wrong("wrong_value"),
        wrong("wrong_precision"),
        right(0.2),
        right(3.0),
    ]
    found = [fitness(each) for each in ladder]
    assert found == sorted(found) and len(set(found)) == len(found)
    assert best([right(1.0), right(1.0)]) == 0


# ---------------------------------------------------------------- by name, and within a budget


def test_strategies_by_name_with_parameters() -> None:
    assert strategy_named("sample", regenerations=3) == Sample(regenerations=3)
    assert strategy_named("refine, turns=5 ,feedback=G+E+P") == Refine(turns=5, feedback="G+E+P")
    assert strategy_named("kernelgauge.search.tree:Tree,beam=1") == Tree(beam=1)
    for name in strategy_names():
        strategy = strategy_named(name)
        assert strategy_named(described(strategy)) == strategy
    for given, said in (
        ("anneal", "unknown strategy"),
        ("refine,turns", "PARAMETER=VALUE"),
        ("refine,turns=0", "turns"),
        ("refine,depth=3", "it takes turns, feedback"),
        ("refine,feedback=P", "feedback"),
        ("no.such:Thing", "cannot be loaded"),
    ):
        with pytest.raises(UsageError, match=said):
            strategy_named(given)


def test_a_class_of_one_s_own_is_not_taken_for_the_built_in_of_that_name() -> None:
    own = type("Refine", (Refine,), {"__module__": "somebody.search"})(turns=3)
    assert described(own).startswith("somebody.search:Refine,turns=3")


def test_a_budget_ends_what_reaches_one_of_its_limits() -> None:
    spent = Spent(calls=3, tokens_read=100, tokens_written=50, evaluations=2, seconds=9.5, usd=0.2)
    assert Budget().ended_by(spent) is None and Budget().steps(spent) is None
    for name, limit in (("calls", 3), ("tokens", 150), ("evaluations", 2), ("seconds", 9.5), ("usd", 0.2)):
        assert Budget(**{name: limit}).ended_by(spent) == name  # type: ignore[arg-type]
        assert Budget(**{name: limit + 1}).ended_by(spent) is None  # type: ignore[arg-type]
    assert Budget(calls=10, evaluations=4).steps(spent) == 2
    assert Budget(usd=1.0).ended_by(Spent(calls=1)) is None
    with pytest.raises(ValidationError):
        Budget(calls=0)


def test_costs_add_up() -> None:
    known, unknown = Spent(calls=1, tokens_read=5, usd=0.5), Spent(calls=1, tokens_written=7, seconds=1.0)
    both = total([Attempt(answer="", spent=known), Attempt(answer="", spent=unknown)])
    assert both == Spent(calls=2, tokens_read=5, tokens_written=7, seconds=1.0, usd=0.5) and both.tokens == 12
    assert (unknown + unknown).usd is None


def test_steps_that_contradict_themselves_cannot_be_made() -> None:
    for step in ({"fresh": True}, {"asks": "ideas", "idea": (0, 0)}, {"after": -1}):
        with pytest.raises(ValidationError):
            Step(**step)  # type: ignore[arg-type]
