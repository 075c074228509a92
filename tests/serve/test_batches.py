"""Batches in both databases: taken whole, judged once, in their turn, in time; what a server says of its work."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from factories import make_environment, make_evaluation
from waiting import comes_true

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from sqlalchemy import Engine, event, inspect, select, text, update
from starlette.exceptions import HTTPException

from kernelgauge.config import load_protocol
from kernelgauge.errors import BackendMissing, UsageError
from kernelgauge.schema import Evaluation
from kernelgauge.serve.accounts import Account, Accounts
from kernelgauge.serve.batch_answers import Batch, BatchAnswers
from kernelgauge.serve.batches import BatchAllowance, Batches, BatchItem, NewBatch, NoRoom
from kernelgauge.serve.body import LimitedBody
from kernelgauge.serve.claims import ATTEMPTS, SubmissionClaim, SubmissionClaims
from kernelgauge.serve.database import VERSION, batch_items, opened, reading, submissions, writing
from kernelgauge.serve.evaluator import LanguageMissing
from kernelgauge.serve.judges import AtWork, JudgePresence
from kernelgauge.serve.judging import Judge
from kernelgauge.serve.metrics import ServerMetrics
from kernelgauge.serve.setting import ServerSetting, announce
from kernelgauge.serve.submissions import Submissions
from kernelgauge.training import load_reward
from kernelgauge.training.judgement import Judgement
from kernelgauge.training.request import request_of

pytestmark = pytest.mark.processes

HERE = make_environment()


@pytest.fixture
def ann(engine: Engine) -> Account:
    return an_account(engine)


def an_account(engine: Engine, name: str = "ann") -> Account:
    found = Accounts(engine).of(Accounts(engine).add(name, trainer=True))
    assert found is not None and found.trainer
    return found


def batch(*sources: str | None, **changes: Any) -> NewBatch:
    items = [BatchItem(request_of("1/19", "", 0), each, "" if each else "there is none") for each in sources]
    values: dict[str, Any] = {"reward": load_reward("kevin"), "feedback": "G+E", "priority": 0, "deadline_s": None}
    return NewBatch(items=items, **{**values, "key": None, "body_digest": "b", **changes})


def handed_in(engine: Engine, account: Account, *sources: str | None, **changes: Any) -> Batch:
    number, new = Batches(engine).hand_in(account, batch(*sources, **changes))
    found = BatchAnswers(engine).batch(account, number)
    assert new and found is not None and found.size == len(sources)
    return found


def answers(engine: Engine, of: Batch) -> dict[int, Judgement]:
    found = BatchAnswers(engine)
    return dict(found.answers(of, found.ready(of)))


def claimed(engine: Engine, **options: Any) -> SubmissionClaim:
    claim = SubmissionClaims(engine, **options).take()
    assert claim is not None
    return claim


def judged(engine: Engine, speedup: float = 2.0, **changes: Any) -> None:
    assert SubmissionClaims(engine).end(claimed(engine), make_evaluation("1/19", speedup, **changes))


def rows(engine: Engine, *names: str) -> list[Any]:
    with reading(engine) as connection:
        return list(connection.execute(select(*(submissions.c[name] for name in names)).order_by("number")).all())


def test_equal_candidates_are_judged_once_whoever_asks(engine: Engine, ann: Account) -> None:
    first = handed_in(engine, ann, "x = 1\n", "x = 2\n", "x = 1\n", None)
    second = handed_in(engine, an_account(engine, "bob"), "x = 1\n")
    assert Submissions(engine).counts()["waiting"] == 2
    judged(engine, 3.0), judged(engine, 2.0)
    assert [each.reward for each in answers(engine, first).values()] == pytest.approx([3.3, 2.3, 3.3, 0.0])
    assert [each.reward for each in answers(engine, second).values()] == pytest.approx([3.3])
    third = handed_in(engine, ann, "x = 1\n", "x = 1  # its very text counts\n")
    assert Submissions(engine).counts()["waiting"] == 1 and list(answers(engine, third)) == [0]


def test_many_at_once_never_have_the_same_candidate_twice(engine: Engine) -> None:
    people = [an_account(engine, f"account-{number}") for number in range(8)]
    desk = Batches(engine)

    def hand_in(who: Account) -> int:
        return desk.hand_in(who, batch(*(f"x = {number}\n" for number in range(20))))[0]

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(hand_in, people)) == list(range(1, 9))
    assert Submissions(engine).counts()["waiting"] == 20


def test_a_batch_with_its_key_is_the_same_batch(engine: Engine, ann: Account) -> None:
    desk = Batches(engine, BatchAllowance(waiting=2))
    wanted = batch("x = 1\n", "x = 2\n", key="k")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: desk.hand_in(ann, wanted), range(4)))
    assert {number for number, _ in found} == {1} and sum(new for _, new in found) == 1
    with pytest.raises(UsageError, match="a new batch needs a new key"):
        desk.hand_in(ann, dataclasses.replace(wanted, body_digest="another"))
    assert desk.hand_in(an_account(engine, "bob"), wanted) == (2, True), "keys are an account's own"


def test_without_room_an_account_waits_and_nothing_of_its_batch_is_taken(engine: Engine, ann: Account) -> None:
    desk = Batches(engine, BatchAllowance(waiting=3))
    desk.hand_in(ann, batch("x = 1\n", "x = 2\n"))
    with pytest.raises(NoRoom, match=r"2 candidates of ann wait .* the limit of 3.*Retry-After") as full:
        desk.hand_in(ann, batch("x = 3\n", "x = 4\n"))
    assert 1 <= full.value.retry_after <= 20 and Submissions(engine).counts()["waiting"] == 2
    assert desk.hand_in(ann, batch("x = 2\n", "x = 3\n", None))[1], "what waits already needs no room"
    assert desk.hand_in(an_account(engine, "bob"), batch("x = 5\n"))[1]
    with pytest.raises(HTTPException, match="4 candidates is too large: send at most 3 at once"):
        desk.hand_in(ann, batch(*(f"y = {number}\n" for number in range(4))))
    judged(engine)
    assert desk.hand_in(ann, batch("x = 4\n"))[1]


def test_an_account_has_so_many_batches_that_wait(engine: Engine, ann: Account) -> None:
    """Of one candidate, which would take no room in the queue."""
    desk = Batches(engine, BatchAllowance(unfinished=2))
    for _ in range(2):
        desk.hand_in(ann, batch("x = 1\n"))
        desk.hand_in(ann, batch(None))
    with pytest.raises(NoRoom, match="2 batches of ann wait for their verdicts, which is the limit: send fewer"):
        desk.hand_in(ann, batch("x = 1\n"))
    assert desk.hand_in(an_account(engine, "bob"), batch("x = 1\n"))[1]
    judged(engine)
    assert desk.hand_in(ann, batch("x = 1\n"))[1]


def test_the_more_urgent_are_judged_first_and_boards_wait_their_turn(engine: Engine, ann: Account) -> None:
    handed_in(engine, ann, "x = 1\n", priority=-1)
    Submissions(engine).hand_in(ann, "1/19", "x = 2\n")
    handed_in(engine, ann, "x = 3\n", priority=5)
    handed_in(engine, ann, "x = 4\n")
    handed_in(engine, ann, "x = 1\n", priority=7)  # and so is the same of others
    assert [claimed(engine).source for _ in range(4)] == [f"x = {number}\n" for number in (1, 3, 2, 4)]


def test_after_its_deadline_a_candidate_is_not_judged_and_has_no_verdict(engine: Engine, ann: Account) -> None:
    urgent = handed_in(engine, ann, "x = 1\n", "x = 2\n", deadline_s=0.05)
    handed_in(engine, ann, "x = 2\n", deadline_s=60)
    patient = handed_in(engine, ann, "x = 3\n", deadline_s=0.05)
    handed_in(engine, ann, "x = 3\n")
    time.sleep(0.1)
    assert claimed(engine).source == "x = 2\n" and claimed(engine).source == "x = 3\n"
    assert SubmissionClaims(engine).take() is None
    assert {each.state for each in rows(engine, "number", "state")} == {"failed", "judging"}
    for found in (*answers(engine, urgent).values(), *answers(engine, patient).values()):
        assert found.status == "no_verdict" and found.reward is None and "deadline passed" in found.reason


def test_an_answer_does_not_change(engine: Engine, ann: Account) -> None:
    """A verdict after the deadline is none for who had it; and none becomes one when others try again."""
    late = handed_in(engine, ann, "x = 1\n", deadline_s=0.05)
    claim = claimed(engine)
    time.sleep(0.1)
    before = answers(engine, late)
    assert SubmissionClaims(engine).end(claim, make_evaluation("1/19", 2.0))
    assert answers(engine, late) == before and before[0].status == "no_verdict"
    assert answers(engine, handed_in(engine, ann, "x = 1\n"))[0].reward == pytest.approx(2.3)
    failing = handed_in(engine, ann, "x = 2\n")
    last = dataclasses.replace(claimed(engine), attempts=ATTEMPTS - 1)
    assert SubmissionClaims(engine).put_off(last, "this machine failed: no memory")
    told = answers(engine, failing)
    assert (told[0].status, told[0].reason) == ("no_verdict", "this machine failed: no memory")
    again = handed_in(engine, ann, "x = 2\n")
    judged(engine)
    assert answers(engine, failing) == told and answers(engine, again)[0].status == "verdict"


def test_what_was_said_to_be_late_stays_so(engine: Engine, ann: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verdict may have been on its way: by the judge's clock it was in time."""
    late, other = (handed_in(engine, ann, "x = 1\n", None, deadline_s=0.05) for _ in range(2))
    claim = claimed(engine)
    time.sleep(0.1)
    told = answers(engine, late)
    assert "deadline passed" in told[0].reason and told[1].status == "verdict"
    with monkeypatch.context() as earlier:
        earlier.setattr("kernelgauge.serve.claims.time", SimpleNamespace(time=lambda: late.deadline))
        assert SubmissionClaims(engine).end(claim, make_evaluation("1/19", 2.0))
    assert answers(engine, late) == told
    assert answers(engine, other)[0].status == "verdict", "nobody was told of it yet"


def test_a_verdict_of_another_environment_is_none_of_this(engine: Engine, ann: Account) -> None:
    here = AtWork("a judge", "cuda", 1, HERE.digest)
    judge = JudgePresence(engine, here, lease=60)
    judge.say()
    first = handed_in(engine, ann, "x = 1\n")
    judged(engine, 2.0)
    assert answers(engine, handed_in(engine, ann, "x = 1\n"))
    judge.end()
    assert answers(engine, handed_in(engine, ann, "x = 1\n")), "nobody says otherwise"
    newer = make_environment(torch="2.12.0")
    JudgePresence(engine, dataclasses.replace(here, environment=newer.digest), lease=60).say()
    anew = handed_in(engine, ann, "x = 1\n")
    assert not answers(engine, anew) and Submissions(engine).counts()["waiting"] == 1
    judged(engine, 4.0, environment=newer)
    assert answers(engine, anew)[0].reward == pytest.approx(4.3)
    assert answers(engine, first)[0].reward == pytest.approx(2.3)


def test_under_another_setting_a_candidate_is_judged_anew(engine: Engine, ann: Account) -> None:
    small = ServerSetting(device="cpu", sizes="small", protocol=load_protocol("quick"), jobs=1)
    announce(engine, small)
    handed_in(engine, ann, "x = 1\n")
    announce(engine, small.model_copy(update={"sizes": "medium"}))
    handed_in(engine, ann, "x = 1\n")  # it waits, and will be judged under the new one
    assert Submissions(engine).counts()["waiting"] == 1
    judged(engine)
    announce(engine, small)
    handed_in(engine, ann, "x = 1\n")
    assert Submissions(engine).counts()["waiting"] == 1


def test_what_is_trained_on_stands_on_no_board(engine: Engine, ann: Account) -> None:
    handed_in(engine, ann, "x = 1\n", "x = 2\n")
    judged(engine)
    desk = Submissions(engine)
    assert desk.recent() == [] and desk.get(1) is None and desk.judged_since(0) == {} and desk.several([1, 2]) == []
    assert desk.hand_in(ann, "1/19", "x = 1\n") == (3, True), "for the board it is judged as if it were new"


@pytest.mark.parametrize("bad", ["{", '{"format": 1}', "[]"])
def test_one_record_that_cannot_be_read_hides_no_other(engine: Engine, ann: Account, bad: str) -> None:
    of = handed_in(engine, ann, "x = 1\n", "x = 2\n", "x = 3\n", None)
    for _ in range(3):
        judged(engine)
    with writing(engine) as connection:
        connection.execute(update(submissions).where(submissions.c.number == 2).values(record=bad))
        connection.execute(update(batch_items).where(batch_items.c.position == 2).values(earned="[1e400]"))
    found = answers(engine, of)
    assert [each.status for each in found.values()] == ["verdict", "no_verdict", "no_verdict", "verdict"]
    assert all("record cannot be read" in found[at].reason and found[at].returns == (None,) for at in (1, 2))


def test_a_batch_is_its_accounts_alone(engine: Engine, ann: Account) -> None:
    number = handed_in(engine, ann, "x = 1\n").number
    assert BatchAnswers(engine).batch(an_account(engine, "bob"), number) is None


def test_a_restart_loses_nothing(engine: Engine, ann: Account) -> None:
    of = handed_in(engine, ann, "x = 1\n", "x = 2\n", "x = 3\n", None, key="k")
    judged(engine)
    claimed(engine, lease=-1.0)  # and its judge dies
    again = opened(engine.url.render_as_string(hide_password=False))
    desk = BatchAnswers(again)
    assert desk.batch(ann, of.number) == of and list(answers(again, of)) == [0, 3]
    assert Batches(again).hand_in(ann, batch("x = 1\n", "x = 2\n", "x = 3\n", None, key="k")) == (of.number, False)
    judged(again), judged(again)
    assert len(answers(again, of)) == 4 and SubmissionClaims(again).take() is None
    again.dispose()


def test_pages_do_not_read_what_is_trained_on(engine: Engine, ann: Account) -> None:
    seen: list[tuple[str, Any]] = []
    desk = Submissions(engine)

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "FROM submissions" in statement or "JOIN submissions" in statement:
            seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    desk.recent(), desk.judged_since(time.time() - 60), desk.hand_in(ann, "1/19", "x = 1\n")
    event.remove(engine, "before_cursor_execute", note)
    if engine.dialect.name != "sqlite":  # the other chooses by how much there is
        return
    with reading(engine) as connection:
        plans = [
            " ".join(row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {each}", given).all())
            for each, given in seen
        ]
    assert len(plans) >= 5 and not any("SCAN submissions" in plan for plan in plans), plans
    assert {"submissions_public", "submissions_public_by_end", "submissions_public_by_account"} <= {
        word for plan in plans for word in plan.split()
    }, plans


def test_tables_of_version_4_are_brought_up_to_date(engine: Engine, ann: Account) -> None:
    of = handed_in(engine, ann, "x = 1\n")
    indexes = [each.name for each in submissions.indexes if str(each.name).startswith("submissions_public")]
    with engine.begin() as connection:
        for change in (
            *(f"DROP INDEX {name}" for name in indexes),
            "ALTER TABLE submissions DROP COLUMN retry",
            "ALTER TABLE judges DROP COLUMN languages",
            "ALTER TABLE batch_items DROP COLUMN late",
            "UPDATE about SET version = 4",
        ):
            connection.execute(text(change))
    again = opened(engine.url.render_as_string(hide_password=False))
    assert {each["name"] for each in inspect(again).get_indexes("submissions")} >= set(indexes)
    JudgePresence(again, AtWork("a judge", "cpu", 1, HERE.digest, ("torch",)), lease=60).say()
    judged(again)
    assert answers(again, of)[0].status == "verdict"
    again.dispose()


def test_tables_of_the_versions_before_are_brought_up_to_date(engine: Engine) -> None:
    Submissions(engine).hand_in(an_account(engine), "1/19", "x = 1\n")
    lost = ("retry", "private", "priority", "deadline", "environment", "device_seconds")
    with engine.begin() as connection:
        for change in (
            "DROP TABLE batch_items",
            "DROP TABLE batches",
            "DROP TABLE judges",
            "DROP INDEX submissions_by_priority",
            *(f"DROP INDEX {each.name}" for each in submissions.indexes if "public" in str(each.name)),
            *(f"ALTER TABLE submissions DROP COLUMN {name}" for name in lost),
            "ALTER TABLE accounts DROP COLUMN trainer",
            "UPDATE about SET version = 3",
        ):
            connection.execute(text(change))
    address = engine.url.render_as_string(hide_password=False)
    with ThreadPoolExecutor(4) as pool:  # a server and its judges begin at once
        made = list(pool.map(lambda _: opened(address), range(4)))
    with made[0].begin() as connection:
        assert connection.execute(text("SELECT version FROM about")).scalars().all() == [VERSION]
    handed_in(made[0], an_account(made[0], "bob"), "x = 1\n")
    assert [tuple(each) for each in rows(made[0], "number", "private", "priority")] == [(1, 0, 0), (2, 1, 0)]
    for each in made:
        each.dispose()


@pytest.mark.parametrize("others", [None, "torch cpp", "torch tilelang", ""])
def test_a_text_for_a_language_that_no_judge_has_is_judged_at_once(
    engine: Engine, ann: Account, others: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelgauge.serve.claims.PRIVATE_PAUSE_SECONDS", 0.1)
    verdict = make_evaluation("1/19", outcome="load_failed", backend="tilelang")
    recognised, named = handed_in(engine, ann, "import tilelang\n"), handed_in(engine, ann, "x = 2\n")
    scripted = Scripted({1: LanguageMissing(verdict), 2: BackendMissing("tilelang is not installed")})
    if others is not None:
        JudgePresence(engine, AtWork("other", "cpu", 1, HERE.digest, tuple(others.split())), lease=60).say()
    may = others in ("torch tilelang", "")
    presence = JudgePresence(engine, AtWork("a judge", "cpu", 1, HERE.digest, ("torch",)), lease=60)
    stop, claims = threading.Event(), SubmissionClaims(engine, judge="a judge")
    judge = threading.Thread(target=Judge(claims, scripted, presence=presence).run, args=(stop,))
    judge.start()
    try:
        final = (1,) if others is None else ()
        assert comes_true(lambda: rows(engine, "attempts")[1].attempts == (ATTEMPTS if final else 1), 60)
        assert comes_true(lambda: may or bool(answers(engine, recognised)), 10)
    finally:
        stop.set()
        judge.join()
    assert [each.outcome for each in answers(engine, recognised).values()] == ([] if may else ["load_failed"])
    assert [(each.status, each.retry) for each in answers(engine, named).values()] == [("no_verdict", False)][
        : len(final)
    ]
    if may:  # at once, and by others
        assert {claimed(engine, judge="other").number for _ in range(2)} == {1, 2}


class Scripted:
    """An evaluator that cannot judge these."""

    ahead = 4

    def __init__(self, endings: dict[int, Exception]):
        self.endings = endings

    def submit(self, claim: SubmissionClaim, begun: Any) -> Future[Evaluation]:
        begun()
        future: Future[Evaluation] = Future()
        future.set_exception(self.endings[claim.number])
        return future

    def close(self) -> None:
        """Nothing to end."""


def test_what_a_machine_failed_with_is_tried_again_within_seconds(
    engine: Engine, ann: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the same machine too: where it is the only one, those who train would wait for it for minutes."""
    of, now = handed_in(engine, ann, "x = 1\n"), 1000.0
    monkeypatch.setattr("kernelgauge.serve.claims.time", SimpleNamespace(time=lambda: now))
    claims = SubmissionClaims(engine, judge="the only one")
    for pause in (0.0, 2.0, 6.0):
        now += pause - 0.5
        assert not pause or claims.take() is None
        now += 1.0
        claim = claims.take()
        assert claim is not None and claims.put_off(claim, "this machine failed")
    assert answers(engine, of)[0].status == "no_verdict" and answers(engine, of)[0].retry


def test_metrics_are_those_of_what_happened(engine: Engine, ann: Account) -> None:
    metrics = ServerMetrics(engine)
    nothing = metrics.since(600)
    assert nothing.candidates_per_hour == 0 and nothing.latency_p50_s is None and nothing.device_idle_share is None
    judge = JudgePresence(engine, AtWork("a judge", "cuda", 2, HERE.digest), lease=60)
    judge.say()
    handed_in(engine, ann, *(f"x = {number}\n" for number in range(6)))
    ago = time.time() - 300
    with writing(engine) as connection:
        connection.execute(text(f"UPDATE judges SET started = {ago}"))
        connection.execute(text(f"UPDATE batches SET created = {ago}"))
        connection.execute(update(submissions).values(created=ago))
    for _ in range(4):
        judged(engine, seconds={"build": 500.0, "check": 30.0, "time": 45.0})
    claimed(engine)
    found = metrics.since(600)
    assert (found.waiting, found.judging, found.judges, found.devices, found.gpu) == (1, 1, 1, 2, True)
    assert found.candidates_per_hour == pytest.approx(4 * 12, rel=0.1)
    assert found.device_idle_share == pytest.approx(0.5, abs=0.05)
    assert found.latency_p50_s == pytest.approx(300, abs=20) == found.latency_p95_s
    assert found.oldest_waiting_s == pytest.approx(300, abs=20)


def test_what_is_read_of_a_stream_may_come_late() -> None:
    """The time for a body is not a time for its answer."""

    async def listening(scope: Any, receive: Any, send: Any) -> None:
        heard = [await receive() for _ in range(2)]
        assert [each["type"] for each in heard] == ["http.request", "http.disconnect"]
        await send({"type": "told"})

    async def receive() -> dict[str, Any]:
        message: dict[str, Any] = waiting.pop(0)
        await asyncio.sleep(message.pop("after"))
        return message

    async def send(message: Any) -> None:
        told.append(message)

    waiting: list[Any] = [{"type": "http.request", "after": 0}, {"type": "http.disconnect", "after": 0.3}]
    told: list[Any] = []
    asyncio.run(LimitedBody(listening, 100, seconds=0.1)({"type": "http", "path": "/", "headers": []}, receive, send))
    assert told == [{"type": "told"}]
