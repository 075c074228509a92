"""The queue and its limits in both databases; the real server, what hostile clients send it, and judges that die."""

from __future__ import annotations

import asyncio
import dataclasses
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from browser import BROWSER, Browser
from databases import LOCKED, empty
from factories import make_evaluation, quick_protocol
from processes import children
from waiting import comes_true

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from sqlalchemy import Engine, insert, inspect, text, update
from sqlalchemy.event import listen
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from kernelgauge.cli.judge import refuse_without_isolation
from kernelgauge.cli.main import app
from kernelgauge.config import load_protocol
from kernelgauge.errors import BackendMissing, MachineError, ReferenceTooLarge, StoreError, UsageError
from kernelgauge.judging import check_secret
from kernelgauge.sandbox.isolation import LAYERS
from kernelgauge.schema import Difference, Evaluation, Executed, ExecutedWork, Finding, Trial, digest
from kernelgauge.serve.accounts import Account, Accounts
from kernelgauge.serve.app import application
from kernelgauge.serve.body import LimitedBody, Throttle
from kernelgauge.serve.claims import ATTEMPTS, OWN_PAUSE_SECONDS, PAUSE_SECONDS, SubmissionClaim, SubmissionClaims
from kernelgauge.serve.client import Client
from kernelgauge.serve.database import VERSION, opened, reading, submissions, writing
from kernelgauge.serve.intake import accepted
from kernelgauge.serve.isolation import check_layers
from kernelgauge.serve.judging import FAILURES, Judge
from kernelgauge.serve.server import JudgePool, address, listening, served
from kernelgauge.serve.setting import ServerSetting, announce, check_same
from kernelgauge.serve.submissions import Allowance, Submissions, TooMany

needs_browser = pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is on PATH")
EVIL = "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
PLENTY = Allowance(per_hour=10_000, waiting=10_000)


def an_account(engine: Engine, name: str = "ann") -> Account:
    account = Accounts(engine).of(Accounts(engine).add(name))
    assert account is not None
    return account


def handed_in(engine: Engine, count: int, name: str = "ann") -> list[int]:
    desk, account = Submissions(engine, PLENTY), an_account(engine, name)
    return [desk.hand_in(account, "1/19", f"x = '{name} {number}'\n")[0] for number in range(count)]


def the_claim(claims: SubmissionClaims) -> SubmissionClaim:
    claim = claims.take()
    assert claim is not None
    return claim


# Accounts


@pytest.mark.processes
def test_a_token_opens_its_account_until_it_is_revoked(engine: Engine) -> None:
    accounts = Accounts(engine)
    token = accounts.add("ann")
    found = accounts.of(token)
    assert found is not None and found.name == "ann"
    assert accounts.of(token[:-1] + ("a" if token[-1] != "a" else "b")) is None
    assert accounts.of("") is None and accounts.of("kg_' OR 1=1 --") is None
    newer = accounts.renew("ann")
    assert accounts.of(token) is None and accounts.of(newer) is not None
    accounts.revoke("ann")
    assert accounts.of(newer) is None
    with pytest.raises(UsageError, match="already"):
        accounts.add("ann")
    with pytest.raises(UsageError, match="no account"):
        accounts.revoke("bob")


@pytest.mark.parametrize("name", ["", "a b", "../ann", EVIL, "a" * 41, "-ann", "änn", "ann\n"])
def test_names_that_are_more_than_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name an account"):
        Accounts(opened(f"sqlite:///{tmp_path / 'serve.db'}")).add(name)


def test_tokens_are_nowhere_in_the_database(tmp_path: Path) -> None:
    engine = opened(f"sqlite:///{tmp_path / 'serve.db'}")
    token = Accounts(engine).add("ann")
    engine.dispose()
    for file in tmp_path.iterdir():
        assert token.encode() not in file.read_bytes() and token[3:].encode() not in file.read_bytes()


# The queue


@pytest.mark.processes
def test_judges_at_once_never_hold_the_same_submission(engine: Engine) -> None:
    numbers = handed_in(engine, 60)
    claims = SubmissionClaims(engine)

    def take_all(_: int) -> list[int]:
        return [claim.number for claim in iter(claims.take, None)]

    with ThreadPoolExecutor(8) as pool:
        taken = [number for some in pool.map(take_all, range(8)) for number in some]
    assert sorted(taken) == numbers


@pytest.mark.processes
def test_what_a_dead_judge_held_is_judged_by_another_and_only_once(engine: Engine) -> None:
    handed_in(engine, 1)
    dead = the_claim(SubmissionClaims(engine, lease=-1.0))
    alive = the_claim(SubmissionClaims(engine))
    assert alive.number == dead.number and SubmissionClaims(engine).take() is None
    claims = SubmissionClaims(engine)
    claims.renew([dead])
    assert not claims.end(dead, make_evaluation("1/19", 9.0))
    assert claims.end(alive, make_evaluation("1/19", 2.0))
    assert not claims.end(alive, make_evaluation("1/19", 3.0))
    assert not claims.put_off(dead, "no") and not claims.give_back(dead) and not claims.begin(dead)
    found = Submissions(engine).get(alive.number)
    assert found is not None and found.state == "judged" and found.attempts == 0
    assert found.record is not None and found.record.speedup == 2.0


@pytest.mark.processes
def test_a_lease_that_is_renewed_holds(engine: Engine) -> None:
    handed_in(engine, 1)
    claim = the_claim(SubmissionClaims(engine, lease=-1.0))
    SubmissionClaims(engine).renew([claim])
    assert SubmissionClaims(engine).take() is None
    assert SubmissionClaims(engine).end(claim, make_evaluation("1/19"))


@pytest.mark.processes
def test_what_kills_its_judges_is_given_up(engine: Engine) -> None:
    handed_in(engine, 2)
    for _ in range(ATTEMPTS):
        claims = SubmissionClaims(engine, lease=-1.0)
        killer = the_claim(claims)
        assert killer.number == 1 and claims.begin(killer)
    assert the_claim(SubmissionClaims(engine)).number == 2
    found = Submissions(engine).get(1)
    assert found is not None and found.state == "failed" and "no judge came to an end" in found.reason


@pytest.mark.processes
def test_what_was_interrupted_or_only_claimed_costs_no_attempt(engine: Engine) -> None:
    handed_in(engine, 1)
    claims = SubmissionClaims(engine)
    for _ in range(ATTEMPTS + 1):
        claim = the_claim(claims)
        assert claims.begin(claim) and claims.give_back(claim)
    for _ in range(ATTEMPTS + 1):
        the_claim(SubmissionClaims(engine, lease=-1.0))  # and its judge dies before it begins
    assert the_claim(claims).attempts == 0


@pytest.mark.processes
def test_what_a_machine_could_not_judge_rests_and_is_given_to_another_first(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_in(engine, 1)
    broken, other, desk = (
        SubmissionClaims(engine, judge="broken"),
        SubmissionClaims(engine, judge="other"),
        Submissions(engine),
    )
    assert broken.put_off(the_claim(broken), "the machine failed")
    found = desk.get(1)
    assert found is not None and (found.state, found.attempts, found.reason) == ("waiting", 1, "the machine failed")
    assert broken.take() is None and other.take() is None
    monkeypatch.setattr("kernelgauge.serve.claims.time", Later(PAUSE_SECONDS + 1))
    assert broken.take() is None
    assert other.put_off(the_claim(other), "this one too")
    monkeypatch.setattr("kernelgauge.serve.claims.time", Later(PAUSE_SECONDS + OWN_PAUSE_SECONDS + 2))
    assert other.put_off(the_claim(other), "and again", counts=False)
    monkeypatch.setattr("kernelgauge.serve.claims.time", Later(3 * OWN_PAUSE_SECONDS))
    assert broken.put_off(the_claim(broken), "for good")
    found = desk.get(1)
    assert found is not None and (found.state, found.attempts, found.reason) == ("failed", ATTEMPTS, "for good")
    assert broken.take() is None and other.take() is None


class Later:
    """The clock of a machine on which so many seconds have gone by."""

    def __init__(self, seconds: float):
        self._seconds = seconds

    def time(self) -> float:
        return time.time() + self._seconds


@pytest.mark.processes
def test_what_could_not_be_judged_waits_again_when_it_is_handed_in_again(engine: Engine) -> None:
    desk, ann, claims = Submissions(engine), an_account(engine), SubmissionClaims(engine)
    assert desk.hand_in(ann, "1/19", "x = 1\n") == (1, True)
    claim = the_claim(claims)
    assert claims.put_off(dataclasses.replace(claim, attempts=ATTEMPTS - 1), "the machine failed")
    assert desk.counts()["failed"] == 1 and claims.take() is None
    bob = an_account(engine, "bob")
    assert desk.hand_in(bob, "1/19", "x = 1\n") == (2, True), "what failed with ann's is no verdict on bob's"
    assert desk.hand_in(ann, "1/19", "x = 1\n") == (1, True)
    assert claims.end(the_claim(claims), make_evaluation("1/19"))
    assert desk.hand_in(ann, "1/19", "x = 1\n") == (1, False)


@pytest.mark.processes
def test_what_waits_again_counts_like_what_is_new(engine: Engine) -> None:
    desk, ann, claims = (
        Submissions(engine, Allowance(per_hour=1, waiting=9)),
        an_account(engine),
        SubmissionClaims(engine),
    )
    desk.hand_in(ann, "1/19", "x = 1\n")
    with writing(engine) as connection:
        connection.execute(update(submissions).values(created=time.time() - 4000))
    for _ in range(2):
        claims.put_off(dataclasses.replace(the_claim(claims), attempts=ATTEMPTS - 1), "the machine failed")
        if _ == 0:
            assert desk.hand_in(ann, "1/19", "x = 1\n") == (1, True)
    with pytest.raises(TooMany, match="within an hour"):
        desk.hand_in(ann, "1/19", "x = 1\n")


@pytest.mark.processes
def test_a_repeat_needs_no_room(engine: Engine) -> None:
    """The client lost the answer, and asks again."""
    desk = Submissions(engine, Allowance(per_hour=1, waiting=1))
    ann, bob = an_account(engine), an_account(engine, "bob")
    assert desk.hand_in(ann, "1/19", "x = 1\n") == (1, True)
    assert desk.hand_in(ann, "1/19", "x = 1\n") == (1, False)
    assert desk.hand_in(bob, "1/19", "x = 2\n") == (2, True)
    assert desk.hand_in(bob, "1/19", "x = 1\n") == (1, False)
    for problem, source, backend in (("1/19", "x = 3\n", ""), ("1/20", "x = 1\n", ""), ("1/19", "x = 1\n", "triton")):
        with pytest.raises(TooMany, match="within an hour"):
            desk.hand_in(ann, problem, source, backend)
    assert SubmissionClaims(engine).end(the_claim(SubmissionClaims(engine)), make_evaluation("1/19"))
    announce(engine, ServerSetting(device="cpu", sizes="full", protocol=load_protocol("strict"), jobs=1))
    with pytest.raises(TooMany, match="within an hour"):  # it would be judged anew
        desk.hand_in(ann, "1/19", "x = 1\n")


@pytest.mark.processes
def test_under_another_setting_a_kernel_is_judged_anew(engine: Engine) -> None:
    desk, ann, strict = Submissions(engine), an_account(engine), load_protocol("strict")
    for sizes in ("full", "medium"):
        announce(engine, ServerSetting(device="cpu", sizes=sizes, protocol=strict, jobs=1))
        assert desk.hand_in(ann, "1/19", "x = 1\n")[1]
        assert SubmissionClaims(engine).end(the_claim(SubmissionClaims(engine)), make_evaluation("1/19"))
        assert not desk.hand_in(ann, "1/19", "x = 1\n")[1]


@pytest.mark.processes
def test_a_restart_loses_nothing(engine: Engine) -> None:
    handed_in(engine, 3)
    claims = SubmissionClaims(engine)
    claims.end(the_claim(claims), make_evaluation("1/19", 2.0))
    the_claim(claims)
    again = opened(engine.url.render_as_string(hide_password=False))
    assert Submissions(again).counts() == {"waiting": 1, "judging": 1, "judged": 1, "failed": 0}
    first = Submissions(again).get(1)
    assert first is not None and first.source == "x = 'ann 0'\n" and first.record == Submissions(engine).get(1).record  # type: ignore[union-attr]
    again.dispose()


@pytest.mark.processes
def test_the_same_kernel_is_judged_once_for_whoever_is_first(engine: Engine) -> None:
    desk, ann, bob = Submissions(engine), an_account(engine), an_account(engine, "bob")
    assert desk.hand_in(ann, "1/19", "x = f(1)\n") == (1, True)
    assert desk.hand_in(ann, "1/19", "x = f(1)\n") == (1, False)
    assert [desk.hand_in(ann, "1/19", f"x  =  f((1))  # luck {n}\n") for n in range(20)] == [(1, False)] * 20
    assert desk.hand_in(bob, "1/19", '"""By bob."""\nx = f(1)\n') == (1, False)
    assert desk.hand_in(bob, "1/19", "x = f(1)\n", "triton")[1]  # for the wrong language, and no verdict on the other
    assert desk.hand_in(ann, "1/20", "x = f(1)\n")[1] and desk.hand_in(bob, "1/19", "x = f(2)\n")[1]
    assert desk.hand_in(ann, "1/19", "x = f(1)\n", "torch")[1]  # it was recognised as something else


@pytest.mark.processes
def test_two_accounts_at_once_never_have_the_same_kernel(engine: Engine) -> None:
    desk = Submissions(engine, PLENTY)
    people = [an_account(engine, f"account-{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda who: desk.hand_in(who, "1/19", f"x = 1  # {who.name}\n"), people))
    assert {number for number, _ in found} == {1} and sum(new for _, new in found) == 1


@pytest.mark.processes
@pytest.mark.parametrize("allowed", [{"per_hour": 7, "waiting": 50}, {"per_hour": 50, "waiting": 7}], ids=str)
def test_limits_hold_against_many_requests_at_once(engine: Engine, allowed: dict[str, int]) -> None:
    desk, account = Submissions(engine, Allowance(**allowed)), an_account(engine)

    def hand_in(number: int) -> bool:
        try:
            return desk.hand_in(account, "1/19", f"x = {number}\n")[1]
        except TooMany:
            return False

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(hand_in, range(20))) == 7
    assert desk.hand_in(an_account(engine, "bob"), "1/19", "# 1\n")[1]


def test_another_version_or_kind_of_database_is_refused(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'serve.db'}"
    with opened(address).begin() as connection:
        connection.execute(text("UPDATE about SET version = 99"))
    with pytest.raises(StoreError, match="version 99"):
        opened(address)
    for wrong in ("mysql://root:secret@host/name", "sqlite://", "nonsense"):
        with pytest.raises(StoreError) as refused:
            opened(wrong)
        assert "secret" not in str(refused.value)
    for unreachable in ("ann:secret@127.0.0.1:1/none", "127.0.0.1:1/none?user=ann&password=secret"):
        with pytest.raises(StoreError, match="cannot be used") as refused:
            opened(f"postgresql://{unreachable}")
        assert "secret" not in str(refused.value)


@pytest.fixture
def locked(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a database that asks for a password, which stands in the environment alone."""
    everything = opened(postgresql)
    empty(everything)
    with everything.begin() as connection:
        if connection.execute(text(f"SELECT 1 FROM pg_roles WHERE rolname = '{LOCKED}'")).first():
            connection.execute(text(f"DROP OWNED BY {LOCKED}"))
            connection.execute(text(f"DROP ROLE {LOCKED}"))
        connection.execute(text(f"CREATE ROLE {LOCKED} LOGIN PASSWORD 'hunter2'"))
        connection.execute(text(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {LOCKED}"))
        connection.execute(text(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {LOCKED}"))
    everything.dispose()
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    return postgresql.replace("user=kg", f"user={LOCKED}")


@pytest.mark.proof("serve")
def test_a_server_that_cannot_begin_changes_nothing(tmp_path: Path) -> None:
    """Else the judges of the one that holds the port, or that begins with the right folders, would end."""
    database = f"sqlite:///{tmp_path / 'serve.db'}"
    engine = opened(database)
    announce(engine, ours := ServerSetting(device="cpu", sizes="small", protocol=load_protocol("strict"), jobs=1))
    fixed = ["--db", database, "--device", "cpu", "--sizes", "odd", "--judges", "0"]
    with listening("127.0.0.1", 0) as held:
        port = str(held.getsockname()[1])
        done = command("serve", *fixed, "--port", port)
        assert done.returncode == 3 and f"no server could listen on 127.0.0.1:{port}: Address" in done.stderr
    done = command("serve", str(tmp_path / "nothing"), *fixed, "--port", "0")
    assert done.returncode == 2 and "there is no run at" in done.stderr
    the_same(engine, ours)
    engine.dispose()
    if socket.has_ipv6:
        with listening("::1", 0) as held:
            assert address(held) == f"http://[::1]:{held.getsockname()[1]}"


@pytest.mark.processes
def test_a_judge_that_cannot_be_begun_is_begun_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """For want of memory or processes, here of the program."""
    caplog.set_level("WARNING", "kernelgauge")  # Inspect asks for errors alone, of all that its process logs
    monkeypatch.setattr("kernelgauge.execution.kept_alive._PAUSE_SECONDS", 0.05)
    program, begun = tmp_path / "judge", tmp_path / "begun"
    pool = JudgePool([str(program)], {}, 1)
    try:
        assert comes_true(lambda: "could not be begun" in caplog.text)
        (tmp_path / "new").write_text(f"#!/bin/sh\n: > {begun}\nexec /bin/sleep 100\n")
        (tmp_path / "new").chmod(0o700)
        (tmp_path / "new").rename(program)
        assert comes_true(begun.exists)
    finally:
        pool.close()


@pytest.mark.processes
def test_a_password_of_the_environment_is_needed_once(locked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(locked)
    engine.dispose()  # all that comes now connects anew
    monkeypatch.setenv("PGPASSWORD", "another")
    assert Submissions(engine).counts()["waiting"] == 0
    engine.dispose()
    with pytest.raises(StoreError, match="password authentication failed"):
        opened(locked)
    opened(f"{locked}&password=hunter2").dispose()  # what the URL says counts more


@pytest.mark.processes
def test_the_very_same_text_is_found_by_an_index(engine: Engine) -> None:
    """However many there are: it is looked for before anything else is done with what was handed in."""
    desk, ann = Submissions(engine, PLENTY), an_account(engine)
    row = {"account": ann.number, "problem": "1/19", "backend": "", "state": "judged", "created": 0.0}
    row |= {"attempts": 0, "reason": ""}
    rows = [{**row, "source": f"x = {n}", "digest": str(n), "text_digest": digest(f"x = {n}")} for n in range(3000)]
    with writing(engine) as connection:
        connection.execute(insert(submissions), rows)
        connection.execute(text("ANALYZE submissions"))
    asked: list[tuple[str, Any]] = []
    listen(engine, "before_cursor_execute", lambda c, cursor, said, values, *_: asked.append((said, values)))
    desk.hand_in(ann, "1/19", "x = 7")
    query, values = next(each for each in asked if "submissions.source = " in each[0])
    explain = "EXPLAIN" if engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
    with engine.begin() as connection:
        plan = "\n".join(map(str, connection.exec_driver_sql(f"{explain} {query}", values)))
    assert "submissions_by_text" in plan, plan


@pytest.mark.processes
def test_tables_of_the_version_before_are_brought_up_to_date(engine: Engine) -> None:
    ann = an_account(engine)
    assert Submissions(engine).hand_in(ann, "1/19", "x = 'é'\n") == (1, True)
    with engine.begin() as connection:
        for change in (
            "DROP INDEX submissions_by_text",
            "ALTER TABLE submissions DROP COLUMN text_digest",
            "UPDATE about SET version = 2",
        ):
            connection.execute(text(change))
    address = engine.url.render_as_string(hide_password=False)
    with ThreadPoolExecutor(4) as pool:  # a server and its judges begin at once
        made = list(pool.map(lambda _: opened(address), range(4)))
    desk = Submissions(made[0], Allowance(per_hour=1, waiting=1))
    assert desk.hand_in(ann, "1/19", "x = 'é'\n") == (1, False), "it is found, though there is no room"
    with made[0].begin() as connection:
        assert connection.execute(text("SELECT version FROM about")).scalars().all() == [VERSION]
        assert "submissions_by_text" in {each["name"] for each in inspect(connection).get_indexes("submissions")}
    for each in made:
        each.dispose()


# The judge's loop


class Scripted:
    """Ends claims as it is told to, without a session: what the loop does with each ending is what is tested."""

    ahead = 2

    def __init__(self, endings: dict[int, list[Evaluation | BaseException]]):
        self.endings = endings
        self.begun: list[int] = []

    def submit(self, claim: SubmissionClaim, begun: Callable[[], None]) -> Future[Evaluation]:
        begun()
        self.begun.append(claim.number)
        future: Future[Evaluation] = Future()
        waiting = self.endings.get(claim.number)
        if waiting:
            ending = waiting.pop(0)
            future.set_exception(ending) if isinstance(ending, BaseException) else future.set_result(ending)
        return future

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submissions that failed rest for no time at all."""
    for name in ("PAUSE_SECONDS", "OWN_PAUSE_SECONDS"):
        monkeypatch.setattr(f"kernelgauge.serve.claims.{name}", 0.0)


@pytest.mark.processes
def test_the_loop_keeps_verdicts_repeats_failures_and_gives_back_what_it_holds(engine: Engine, hurried: None) -> None:
    handed_in(engine, 5)
    cannot: list[Evaluation | BaseException] = [BackendMissing("no nvcc") for _ in range(ATTEMPTS)]
    scripted = Scripted({
        1: [make_evaluation("1/19", 2.0)],
        2: [MachineError("out of memory"), make_evaluation("1/19", outcome="wrong_value")],
        3: cannot,
        4: [RuntimeError("a fault of ours"), make_evaluation("1/19", 1.0)],
    })  # fmt: skip
    desk, stop = Submissions(engine), threading.Event()
    judge = threading.Thread(target=Judge(SubmissionClaims(engine), scripted, pause=0.01).run, args=(stop,))
    judge.start()
    try:
        assert comes_true(lambda: desk.counts() == {"waiting": 0, "judging": 1, "judged": 3, "failed": 1}, 120)
    finally:
        stop.set()
        judge.join()
    found = {number: desk.get(number) for number in range(1, 6)}
    states = {number: each.state for number, each in found.items() if each}
    assert states == {1: "judged", 2: "judged", 3: "failed", 4: "judged", 5: "waiting"}
    assert {number: scripted.begun.count(number) for number in range(1, 5)} == {1: 1, 2: 2, 3: ATTEMPTS, 4: 2}
    assert found[3] and found[3].reason == "this machine cannot judge it: no nvcc"
    assert found[2] and found[2].reason == "" and found[5] and found[5].attempts == 0


@pytest.mark.processes
def test_a_broken_machine_stops_taking_and_makes_nothing_final(engine: Engine) -> None:
    handed_in(engine, 20)
    failing: list[Evaluation | BaseException] = [MachineError("the GPU has fallen off the bus") for _ in range(20)]
    scripted = Scripted({number: list(failing) for number in range(1, 21)})
    with pytest.raises(MachineError, match=r"submissions in a row.*fallen off the bus"):
        Judge(SubmissionClaims(engine), scripted, pause=0.01).run(threading.Event())
    desk = Submissions(engine)
    assert desk.counts() == {"waiting": 20, "judging": 0, "judged": 0, "failed": 0}
    assert len(scripted.begun) <= FAILURES + 1
    # Only the first can have been what broke it.
    assert sum(each.attempts for each in desk.several(range(1, 21))) == 1


@pytest.mark.processes
def test_what_only_this_machine_lacks_does_not_end_its_judge(engine: Engine) -> None:
    handed_in(engine, 2 * FAILURES + 1)
    missing: dict[int, list[Evaluation | BaseException]] = {
        number: [ReferenceTooLarge("it takes 80 GB")] for number in range(1, 2 * FAILURES + 1)
    }
    desk = Submissions(engine)
    judged_within(
        Judge(SubmissionClaims(engine), Scripted(missing | {2 * FAILURES + 1: [make_evaluation("1/19")]})), desk
    )
    assert desk.counts()["failed"] == 0


def test_strangers_are_judged_under_secret_seeds_only() -> None:
    check_secret(load_protocol("strict"))
    with pytest.raises(UsageError, match="public seeds"):
        check_secret(load_protocol("v0.1"))


@pytest.mark.processes
def test_a_verdict_outlives_a_database_that_is_away(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a full disk: the first writes of the verdict fail."""
    handed_in(engine, 1)
    claims, away = SubmissionClaims(engine), iter(range(3))
    end = claims.end

    def failing(claim: SubmissionClaim, verdict: Evaluation) -> bool:
        if next(away, None) is not None:
            raise OperationalError("UPDATE", {}, Exception("database or disk is full"))
        return end(claim, verdict)

    monkeypatch.setattr(claims, "end", failing)
    monkeypatch.setattr("kernelgauge.serve.judging._LOOK_SECONDS", 0.01)
    judged_within(Judge(claims, Scripted({1: [make_evaluation("1/19", 2.0)]})), Submissions(engine))


@pytest.mark.proof("serve")
def test_a_lease_is_renewed_as_long_as_a_judgement_takes(engine: Engine) -> None:
    handed_in(engine, 1)

    class Slow(Scripted):
        def submit(self, claim: SubmissionClaim, begun: Callable[[], None]) -> Future[Evaluation]:
            begun()
            future: Future[Evaluation] = Future()
            threading.Timer(12.0, future.set_result, [make_evaluation("1/19", 2.0)]).start()
            return future

    stolen: list[SubmissionClaim | None] = []
    desk, watching = Submissions(engine), threading.Event()

    def thief() -> None:
        while not watching.wait(0.05):
            if desk.counts()["judging"]:
                stolen.append(SubmissionClaims(engine).take())

    watcher = threading.Thread(target=thief)
    watcher.start()
    try:
        judged_within(Judge(SubmissionClaims(engine, lease=5.0), Slow({})), desk)
    finally:
        watching.set()
        watcher.join()
    assert stolen and not any(stolen)


def judged_within(judge: Judge, desk: Submissions) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=judge.run, args=(stop,))
    thread.start()
    try:
        assert comes_true(lambda: desk.counts()["judged"] == 1, 120)
    finally:
        stop.set()
        thread.join()


def the_same(engine: Engine, setting: ServerSetting) -> None:
    with reading(engine) as connection:
        check_same(connection, setting)


@pytest.mark.processes
def test_a_judge_of_another_setting_is_refused(engine: Engine) -> None:
    protocol = load_protocol("strict")
    ours = ServerSetting(device="cpu", sizes="small", protocol=protocol, jobs=1)
    the_same(engine, ours)  # no server has said anything yet
    announce(engine, ours)
    the_same(engine, ours.model_copy(update={"device": "cuda", "jobs": 7}))
    others = {
        "sizes": {"sizes": "medium"},
        "math": {"protocol": protocol.under(math="bf16")},
        "kernel_policy": {"protocol": protocol.under(kernel_policy="kernel-required")},
    }
    for name, change in others.items():
        with pytest.raises(UsageError, match=name):
            the_same(engine, ours.model_copy(update=change))
    announce(engine, ours.model_copy(update=others["sizes"]))
    with pytest.raises(UsageError, match="sizes"):
        the_same(engine, ours)


@pytest.mark.processes
def test_a_judge_ends_when_the_server_judges_otherwise(engine: Engine) -> None:
    """Nothing more is taken, and what was judged by the old rules is no verdict: it waits for another judge."""
    ours = ServerSetting(device="cpu", sizes="small", protocol=load_protocol("strict"), jobs=1)
    theirs = ours.model_copy(update={"sizes": "medium"})
    announce(engine, ours)
    handed_in(engine, 3)

    class Changing(Scripted):
        def submit(self, claim: SubmissionClaim, begun: Callable[[], None]) -> Future[Evaluation]:
            if claim.number == 2:
                announce(engine, theirs)
            return super().submit(claim, begun)

    evaluator = Changing({1: [make_evaluation("1/19", 2.0)], 2: [make_evaluation("1/19", 2.0)]})
    told: list[int] = []
    judge = Judge(SubmissionClaims(engine, setting=ours), evaluator, lambda claim, kept: told.append(claim.number))
    with pytest.raises(UsageError, match=r"other rules than this judge: sizes \(small, there medium\) differ"):
        judge.run(threading.Event())
    assert told == [] and evaluator.begun == [1, 2]
    with pytest.raises(UsageError, match="other rules"):
        SubmissionClaims(engine, setting=ours).take()
    desk = Submissions(engine)
    assert desk.counts() == {"waiting": 3, "judging": 0, "judged": 0, "failed": 0}
    assert {each.attempts for each in desk.several([1, 2, 3])} == {0}
    assert the_claim(SubmissionClaims(engine, setting=theirs)).number == 1


@pytest.mark.proof("serve")
def test_a_running_judge_says_why_it_ends(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'serve.db'}"
    engine = opened(address)
    words = ["judge", "--device", "cpu", "--sizes", "small", "--math", "torch", "--kernel-policy", "any"]
    protocol = load_protocol("strict").under(math="torch", kernel_policy="any")
    announce(engine, setting := ServerSetting(device="cpu", sizes="small", protocol=protocol, jobs=1))
    (number,) = handed_in(engine, 1)
    line = [sys.executable, "-m", "kernelgauge", *words]
    judge = subprocess.Popen(line, env={**os.environ, "KERNELGAUGE_DB": address}, stderr=subprocess.PIPE, text=True)
    try:
        assert comes_true(lambda: Submissions(engine).counts()["judged"] == 1, 100), number
        announce(engine, setting.model_copy(update={"sizes": "odd"}))
        _, said = judge.communicate(timeout=60)
    finally:
        judge.kill()
    assert judge.returncode == 2 and "the server judges with other rules than this judge: sizes" in said
    engine.dispose()


@pytest.mark.processes
def test_a_verdict_by_other_rules_than_the_servers_is_not_kept(engine: Engine) -> None:
    ours = ServerSetting(device="cpu", sizes="small", protocol=load_protocol("strict"), jobs=1)
    handed_in(engine, 1)
    claims = SubmissionClaims(engine, setting=ours)
    claim = the_claim(claims)
    announce(engine, ours.model_copy(update={"sizes": "medium"}))
    with pytest.raises(UsageError, match="other rules"):
        claims.end(claim, make_evaluation("1/19"))
    announce(engine, ours)
    assert claims.end(claim, make_evaluation("1/19"))


@pytest.mark.processes
def test_what_waits_is_known_under_the_setting_that_it_is_judged_by(engine: Engine) -> None:
    """Else another could hand in the same kernel, and have it judged a second time under that setting."""
    desk, ann, bob = Submissions(engine), an_account(engine), an_account(engine, "bob")
    small = ServerSetting(device="cpu", sizes="small", protocol=load_protocol("strict"), jobs=1)
    announce(engine, small)
    medium = small.model_copy(update={"sizes": "medium"})
    assert desk.hand_in(ann, "1/19", "x = 1\n") == (1, True)
    announce(engine, medium)
    assert desk.hand_in(bob, "1/19", "x = 1  # mine\n") == (1, False)
    assert SubmissionClaims(engine).end(the_claim(SubmissionClaims(engine)), make_evaluation("1/19"))
    announce(engine, small)
    assert desk.hand_in(ann, "1/19", "x = 1\n") == (2, True)
    announce(engine, medium)  # where its own account had that kernel judged: it stays what it was
    assert desk.hand_in(bob, "1/19", "x = 1  # mine\n") == (1, False)


def test_without_layers_nobody_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    check_layers(LAYERS)
    for missing in ("network", "pid", "mount", "files", "reads", "syscalls"):
        with pytest.raises(UsageError, match=f"no {missing} isolation layer"):
            check_layers(set(LAYERS) - {missing})
    refuse_without_isolation(["limits"], without=True)
    assert "WARNING: no network, pid, mount, files, reads, syscalls isolation layer" in capsys.readouterr().err


@pytest.mark.processes
def test_a_judge_keeps_what_it_was_told_to_itself() -> None:
    """Neither those it begins nor a program of the same user can read where the database is."""
    script = (
        "import ctypes, os, subprocess\n"
        "from kernelgauge.cli.judge import SECRETS\n"
        "from kernelgauge.serve.isolation import keep_to_ourselves\n"
        "keep_to_ourselves(*SECRETS)\n"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), flush=True)\n"
        "subprocess.run(['env'])\n"
    )
    secrets = {"KERNELGAUGE_DB": "postgresql://ann:hunter2@host/name", "KERNELGAUGE_TOKEN": "kg_hunter2"}
    secrets["PGPASSWORD"] = "hunter2"
    line = [sys.executable, "-c", script]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, **secrets}, check=True)
    assert done.stdout.startswith("0\n") and "PATH=" in done.stdout and "hunter2" not in done.stdout


# What strangers send


@pytest.mark.parametrize(
    "problem",
    ["../../etc/passwd", "/etc/passwd", "mine.py", "1/23/../../x.py", "1/9999", "", EVIL, "a" * 10_000, "nosuch:1/1"],
)
def test_only_problems_of_a_suite_are_accepted(problem: str) -> None:
    with pytest.raises(UsageError):
        accepted(problem, "", b"class ModelNew: ...", 1000)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\x7fELF\xff\xfe", "UTF-8"), (b"a\0b", "zero byte"), (b"  \n", "empty"), (b"x" * 1001, "1001 bytes")],
    ids=["binary", "zero", "blank", "large"],
)
def test_only_text_of_some_size_is_accepted(content: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        accepted("1/23", "", content, 1000)
    assert accepted("1/23_Softmax".lower(), "triton", b"\xef\xbb\xbf# text\n", 1000).source == "# text\n"
    with pytest.raises(UsageError, match="no such backend"):
        accepted("1/23", "os:system", b"# text\n", 1000)


def test_an_address_that_guesses_has_to_wait() -> None:
    throttle = Throttle(most=3, seconds=3600)
    for _ in range(3):
        assert not throttle.closed("a")
        throttle.wrong("a")
    assert throttle.closed("a") and not throttle.closed("b")
    forgetful = Throttle(most=1, seconds=0.0)
    forgetful.wrong("a")
    assert not forgetful.closed("a")


# The web server


SETTING = ServerSetting(device="cpu", sizes="small", protocol=load_protocol("strict"), jobs=1)


class Web:
    """The real application behind a real server on a port of this machine."""

    def __init__(self, folder: Path, allowance: Allowance):
        self.engine = opened(f"sqlite:///{folder / 'serve.db'}")
        self.token = Accounts(self.engine).add("ann")
        self.allowance = allowance
        listener = listening("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        self.server = served(application(self.engine, SETTING, (), allowance))
        self.thread = threading.Thread(target=self.server.run, args=([listener],))
        self.thread.start()
        assert comes_true(lambda: self.server.started, 120)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def hand_in(self, source: bytes, problem: str = "1/19", token: str | None = None) -> tuple[int, Any]:
        headers = {"authorization": f"Bearer {self.token if token is None else token}"}
        status, _, answer = self.ask("POST", f"/api/submissions?problem={problem}", source, headers)
        return status, json.loads(answer)

    def form(self, parts: dict[str, str], file: tuple[str, bytes] | None = None) -> tuple[int, dict[str, str], str]:
        boundary = "kernelgauge-boundary"
        lines = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in parts.items()
        ]
        if file:
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n\r\n'
            lines.append(head.encode() + file[1] + b"\r\n")
        body = b"".join(lines) + f"--{boundary}--\r\n".encode()
        kind = {"content-type": f"multipart/form-data; boundary={boundary}"}
        status, headers, answer = self.ask("POST", "/submit", body, kind)
        return status, headers, answer.decode()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.engine.dispose()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    made = Web(tmp_path, Allowance(source_bytes=64 * 1024, per_hour=20, waiting=10))
    yield made
    made.close()


def test_a_program_hands_in_and_reads_the_verdict(web: Web) -> None:
    client = Client(web.address, web.token)
    number = client.hand_in("1/19", "# an answer\n")
    assert client.hand_in("level1/19", "# an answer\n") == number
    assert client.verdict(number)["state"] == "waiting"
    claims = SubmissionClaims(web.engine)
    claims.end(the_claim(claims), make_evaluation("1/19", 2.0, contestant="ann"))
    found = client.waited(number)
    assert found["verdict"]["speedup"] == 2.0 and found["account"] == "ann"
    with pytest.raises(UsageError, match="401"):
        Client(web.address, "kg_nothing").hand_in("1/19", "# x\n")
    with pytest.raises(UsageError, match="not the name of a problem"):
        client.hand_in("/etc/passwd", "# x\n")
    with pytest.raises(UsageError, match="404"):
        client.verdict(10**30)
    with pytest.raises(UsageError, match="not the URL"):
        Client("file:///etc/passwd")


def test_the_boards_show_a_verdict_as_soon_as_it_is_there(web: Web) -> None:
    assert b"Nothing has been judged yet" in web.ask("GET", "/")[2]
    web.hand_in(b"# the fastest\n")
    claims = SubmissionClaims(web.engine)
    claim = the_claim(claims)
    record = make_evaluation("1/19", 2.0, contestant="ann")
    claims.end(claim, record)
    assert comes_true(lambda: b"ann" in web.ask("GET", "/")[2], 120)
    assert b"# the fastest" in web.ask("GET", f"/records/{record.id}.html")[2]
    status, headers, content = web.ask("GET", f"/records/{record.id}.json")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(content)["id"] == record.id


def test_what_a_candidate_said_is_for_its_account_only(web: Web) -> None:
    """It opened a file of the judge's user, printed it and raised: log, reason and more have its words."""
    secret, other = "-----BEGIN OPENSSH PRIVATE KEY-----", Accounts(web.engine).add("bob")
    web.hand_in(b"x = 1\n")
    claims = SubmissionClaims(web.engine)
    wrong = Difference(output=0, shape=(2,), wrong=1, region=((0, 0),), hints=(secret,))
    trial = Trial(variant="own", error=9.0, allowed=1.0, reference_error=0.1, agreed=False, difference=wrong)
    seen = Finding(rule="no_own_kernel", severity="review", reason=secret, evidence=secret)
    executed = ExecutedWork(own=(Executed(name=secret, calls=1, time_us=1.0),), others=())
    said = {"reason": f"OSError: {secret}", "log": secret, "trials": (trial,), "notes": (secret,)}
    record = make_evaluation(
        "1/19",
        outcome="runtime_error",
        contestant="ann",
        kernel_policy="default",
        findings=(seen,),
        executed=executed,
        **said,
    )
    claims.end(the_claim(claims), record)
    assert comes_true(lambda: web.ask("GET", f"/records/{record.id}.html")[0] == 200, 120)
    board = re.search(rb'href="([^"]+/index.html)"', web.ask("GET", "/")[2])
    assert board is not None
    problem = board[1].decode().replace("index.html", "1_19.html")
    public = [
        "/",
        "/submissions",
        "/submissions/1",
        "/api/submissions/1",
        f"/records/{record.id}.json",
        "/history.html",
    ]
    for path in (*public, f"/records/{record.id}.html", f"/{problem}"):
        status, _, content = web.ask("GET", path)
        assert status == 200 and secret.encode() not in content and b"OSError" not in content, path
    assert b"It failed while it ran." in web.ask("GET", f"/records/{record.id}.html")[2]
    Evaluation.model_validate_json(web.ask("GET", f"/records/{record.id}.json")[2])

    def own(token: str) -> bytes:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        program = web.ask("GET", "/api/submissions/1", headers={"authorization": f"Bearer {token}"})[2]
        return program + web.ask("POST", "/submissions/1", f"token={token}", kind)[2]

    assert own(web.token).count(f"OSError: {secret}".encode()) >= 2
    assert secret.encode() not in own(other) + own("kg_nobody")
    assert Client(web.address, web.token).verdict(1)["verdict"]["log"] == secret


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 30, "٣", "-1", "1.5", "x"])
def test_no_number_is_more_than_not_found(web: Web, number: str) -> None:
    for path in (f"/submissions/{quote(number)}", f"/api/submissions/{quote(number)}"):
        assert web.ask("GET", path)[0] == 404


def test_who_sends_slowly_is_told_so(tmp_path: Path) -> None:
    """Through the middleware itself, with an application that waits for the body."""

    async def reads(scope: Any, receive: Any, send: Any) -> None:
        await Request(scope, receive).body()

    async def dawdles() -> Any:
        await asyncio.sleep(60)

    async def unheard(message: Any) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"10")]}
    with pytest.raises(HTTPException) as late:
        asyncio.run(LimitedBody(reads, 100, seconds=0.05)(scope, dawdles, unheard))
    assert late.value.status_code == 408


def test_every_answer_is_guarded(web: Web) -> None:
    for path in ("/", "/submit", "/submissions", "/assets/site.js", "/nothing", "/api/health", "/submissions/7"):
        _, headers, _ = web.ask("GET", path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/records/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets//etc/passwd"]
)
def test_no_path_leads_to_a_file(web: Web, path: str) -> None:
    status, _, content = web.ask("GET", path)
    assert status == 404 and b"root:" not in content


def test_what_is_too_much_is_not_read(web: Web) -> None:
    """It says that a gigabyte will come, or does not say when it will end."""
    head = ["POST /api/submissions?problem=1/19 HTTP/1.1", "Host: x", f"Authorization: Bearer {web.token}"]
    for length, status in (
        ("Content-Length: 1000000000", 413),
        (f"Content-Length: {'0' * 12}10", 400),
        ("Transfer-Encoding: chunked", 411),
    ):
        with socket.create_connection(("127.0.0.1", web.port), timeout=120) as sender:
            sender.sendall("\r\n".join([*head, length, "", ""]).encode())
            answer = b"".join(iter(lambda: sender.recv(1000), b""))  # until it is hung up on
            assert answer.startswith(f"HTTP/1.1 {status}".encode())
    with pytest.raises(UsageError, match="413: 1000000 bytes are too many"):
        Client(web.address, web.token).hand_in("1/19", "x" * 1_000_000)
    status, answer = web.hand_in(b"x" * (64 * 1024 + 1))
    assert (status, answer) == (422, {"error": "the candidate has 65537 bytes, and 65536 are allowed"})
    assert Submissions(web.engine).counts()["waiting"] == 0


def test_without_a_token_nothing_is_read_and_guessing_ends(web: Web) -> None:
    seen = Counter(web.hand_in(b"# x\n", token=f"kg_{'a' * 43}")[0] for _ in range(35))
    assert seen == {401: 30, 429: 5}
    assert web.hand_in(b"# x\n")[0] == 201  # who has a token need not wait for those who guess beside them
    assert web.form({"token": "kg_no", "problem": "1/19", "source": "x = 1"})[0] == 429
    assert web.ask("GET", "/submissions")[0] == 200


def test_an_account_cannot_fill_the_queue(web: Web) -> None:
    seen = [web.hand_in(f"x = {number}\n".encode()) for number in range(12)]
    assert [status for status, _ in seen] == [201] * 10 + [429] * 2
    assert "wait for their verdicts" in seen[-1][1]["error"]


def test_the_form_takes_text_and_files_and_says_what_is_wrong(web: Web) -> None:
    right = {"token": web.token, "problem": "1/19", "backend": "", "source": "# a text\r\nx = 1\r\n"}
    status, headers, _ = web.form(right)
    assert (status, headers["location"]) == (303, "submissions/1")
    stored = Submissions(web.engine).get(1)
    assert stored is not None and stored.source == "# a text\nx = 1\n"
    status, headers, _ = web.form(right, ("../../../etc/cron.d/" + "<img src=x>", b"x = 2  # a file\n"))
    assert (status, headers["location"]) == (303, "submissions/2")
    for change, code, said in (
        ({"token": "kg_no"}, 401, "no token of this server"),
        ({"problem": EVIL}, 422, "not the name of a problem"),
        ({"backend": EVIL}, 422, "no such backend"),
        ({"source": ""}, 422, "empty"),
    ):
        status, _, page = web.form({**right, **change})
        assert status == code and said in page
        assert "<img" not in page and page.count("<script") == 1
        assert web.token not in page
    assert web.form(right, ("binary", bytes(range(256))))[0] == 422
    assert web.form({**right, "source": "x" * (200 * 1024)})[0] == 413
    assert web.form({**right, "token": "x" * (140 * 1024)})[0] == 400
    lines = "x=1\r\n" * (64 * 1024 // 4)  # with one byte at the end of a line it has as many as are allowed
    assert web.form({**right, "source": lines})[0] == 303
    assert web.form({**right, "source": lines + "x"})[0] == 422


def test_what_was_written_stays_in_the_form_after_a_complaint(web: Web) -> None:
    """As it was, whatever it holds: a new line at the start too, which a page's reader drops once."""
    written = {"token": "kg_no", "problem": "1/19", "backend": "triton", "source": f"\n# {EVIL}</textarea>\nx = 1\n"}
    status, _, page = web.form(written)
    found = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert status == 401 and found is not None and unescape(found[1]) == written["source"]
    assert "<option selected>triton</option>" in page and page.count(" selected") == 1
    assert "<img" not in page and page.count("<script") == 1 and "kg_no" not in page
    hostile = web.form({**written, "backend": EVIL})[2]
    assert "<img" not in hostile and " selected" not in hostile


def test_what_is_too_large_is_a_page_to_a_browser(web: Web) -> None:
    status, headers, page = web.form({"token": web.token, "problem": "1/19"}, ("large.py", b"x" * 200_000))
    assert status == 413 and headers["content-type"].startswith("text/html")
    assert "bytes are too many" in page and "default-src 'none'" in headers["content-security-policy"]
    status, answer = web.hand_in(b"x" * 200_000)
    assert status == 413 and "bytes are too many" in answer["error"]


@pytest.mark.parametrize("path", ["/submit", "/submissions/1"])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b"])
@pytest.mark.parametrize("charset", ["punycode", "idna", '"Punycode"', "unicode_escape", "latin-1", "none-such", ""])
def test_no_form_chooses_the_codec_that_it_is_read_with(web: Web, path: str, kind: str, charset: str) -> None:
    """Such as take seconds for what may be sent, on the loop that answers everybody, or fail on it."""
    web.hand_in(b"x = 1\n")
    body = b'--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n' + b"\\ud800" * 4000 + b"\r\n--b--\r\n"
    for spelled in ("charset", "CharSet "):
        status, _, page = web.ask("POST", path, body, {"content-type": f"{kind}; {spelled}={charset}"})
        assert status == 415 and b"names another charset" in page


@pytest.mark.parametrize("named", ["", "; charset=utf-8", '; charset="UTF-8"'])
def test_forms_in_utf8_are_read_whether_they_say_so_or_not(web: Web, named: str) -> None:
    fields = {"token": web.token, "problem": "1/19", "source": "x = 'ä→'\n"}
    kinds = {"content-type": f"application/x-www-form-urlencoded{named}"}
    assert web.ask("POST", "/submit", urlencode(fields), kinds)[0] == 303
    assert web.ask("POST", "/submissions/1", urlencode({"token": web.token}), kinds)[0] == 200
    found = Submissions(web.engine).get(1)
    assert found is not None and found.source == "x = 'ä→'\n"


def test_what_a_part_of_a_form_says_of_its_charset_changes_nothing(web: Web) -> None:
    fields = {"token": web.token, "problem": "1/19", "_charset_": "punycode", "source": "x = 'ä→'\n"}
    head = '--b\r\nContent-Disposition: form-data; name="{}"; charset=punycode\r\n'
    head += "Content-Type: text/plain; charset=punycode\r\n\r\n{}\r\n"
    body = "".join(head.format(name, value) for name, value in fields.items()) + "--b--\r\n"
    assert web.ask("POST", "/submit", body.encode(), {"content-type": "multipart/form-data; boundary=b"})[0] == 303
    found = Submissions(web.engine).get(1)
    assert found is not None and found.source == "x = 'ä→'\n"


def test_what_a_form_cannot_be_decoded_to_is_a_sentence(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    async def undecodable(*_: Any, **__: Any) -> None:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")

    web.hand_in(b"x = 1\n")
    monkeypatch.setattr("starlette.requests.Request._get_form", undecodable)
    for path in ("/submit", "/submissions/1"):
        status, _, page = web.ask("POST", path, "token=x", {"content-type": "application/x-www-form-urlencoded"})
        assert status == 422 and b"not text in UTF-8" in page


@pytest.mark.proof("serve")
@needs_browser
def test_hostile_text_is_shown_and_never_runs(web: Web) -> None:
    """Typed into the form by a real browser, judged, and read on every page that shows it."""
    claims = SubmissionClaims(web.engine)
    with Browser() as browser:
        browser.open(f"{web.address}/submit", width=390)
        assert browser.js("document.documentElement.scrollWidth") <= 390
        browser.write("input[name=token]", web.token)
        browser.write("input[name=problem]", "1/19")
        browser.write("textarea", f"# {EVIL}\n</pre>{EVIL}\n")
        browser.click("button[type=submit]")
        browser.wait("location.pathname === '/submissions/1' && document.readyState === 'complete'")
        assert "It waits to be judged" in browser.js("document.body.innerText")
        assert EVIL in browser.js("document.querySelector('pre.source').textContent")
        record = make_evaluation("1/19", outcome="rejected", rule=EVIL, reason=EVIL, log=EVIL, contestant="ann")
        claims.end(the_claim(claims), record)
        # The page looks again by itself.
        browser.wait("document.querySelector('#record') !== null && document.readyState === 'complete'")
        assert comes_true(lambda: web.ask("GET", f"/records/{record.id}.html")[0] == 200, 120)
        browser.said.clear()
        for path in ("submissions/1", "submissions", f"records/{record.id}.html", "", "history.html"):
            browser.open(f"{web.address}/{path}", width=390)
            assert browser.js("document.images.length") == 0
            assert not browser.js("document.title").startswith("owned")
            assert browser.js("document.documentElement.scrollWidth") <= 390, path
        assert browser.said == []


# All of it


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "kernelgauge", *words]
    return subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment})


@pytest.mark.proof("serve")
def test_two_judges_a_killed_one_and_a_restart(tmp_path: Path) -> None:
    """The whole command: candidates handed in from a shell, a judge killed in the middle, the server begun again."""
    (tmp_path / "quick.toml").write_text(quick_protocol())
    database = {"KERNELGAUGE_DB": f"sqlite:///{tmp_path / 'serve.db'}"}
    token = command("account", "add", "ann", **database).stdout.strip()
    right = (
        "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
    )
    refused = "import kernelgauge.evaluation\nclass ModelNew: ...\n"
    (tmp_path / "right.py").write_text(right)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fixed = ["--device", "cpu", "--sizes", "small", "--protocol", str(tmp_path / "quick.toml"), "--lease", "5"]
    fixed += ["--math", "torch", "--kernel-policy", "default"]
    line = [sys.executable, "-m", "kernelgauge", "serve", "--port", str(port), *fixed]
    address, environment = f"http://127.0.0.1:{port}", {**os.environ, **database}
    where = {"KERNELGAUGE_SERVER": address, "KERNELGAUGE_TOKEN": token}
    engine = opened(database["KERNELGAUGE_DB"])
    desk, client = Submissions(engine), Client(address, token)

    server = subprocess.Popen([*line, "--judges", "2"], env=environment)
    try:
        done = command("submit", "1/19", str(tmp_path / "right.py"), "--no-wait", **where)
        assert done.returncode == 0 and done.stdout.strip() == f"{address}/submissions/1", done.stderr
        assert comes_true(lambda: desk.counts()["judging"] == 1, 300)
        for judge in children(server.pid):
            os.kill(judge, signal.SIGKILL)
        numbers = [client.hand_in("1/19", f"{refused}x = {number}\n") for number in range(10)]
        assert sum(desk.counts().values()) == 11
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(300)
    assert children(server.pid) == []

    server = subprocess.Popen([*line, "--judges", "1"], env=environment)
    try:
        assert comes_true(lambda: desk.counts()["judged"] == 11, 500)
        done = command("submit", "1/19", str(tmp_path / "right.py"), "--json", **where)
        first = json.loads(done.stdout)
        assert first["number"] == 1 and first["verdict"]["outcome"] == "passed" and done.returncode == 0
        verdicts = [client.verdict(number)["verdict"] for number in numbers]
        assert {(each["outcome"], each["rule"]) for each in verdicts} == {("rejected", "imports_evaluator")}
        assert {(each["math"], each["kernel_policy"], each["sizes"]) for each in verdicts} == {
            ("torch", "default", "small")
        }
        done = command("judge", "--sizes", "small", "--device", "cpu", **database)
        assert done.returncode == 2 and "the server judges with other rules" in done.stderr
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(300)
    engine.dispose()


@pytest.mark.proof("serve")
def test_a_judge_needs_a_password_that_nobody_below_it_sees(locked: str) -> None:
    """The whole command, with the password of its PostgreSQL in the environment."""
    token = command("account", "add", "ann", "--db", locked).stdout.strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "kernelgauge", "serve", "--port", str(port), "--db", locked]
    server = subprocess.Popen([*line, "--device", "cpu", "--sizes", "small"])
    try:
        client = Client(f"http://127.0.0.1:{port}", token)
        assert comes_true(lambda: answers(port), 120)
        number = client.hand_in("1/19", "import kernelgauge.evaluation\nclass ModelNew: ...\n")
        assert client.waited(number)["verdict"]["rule"] == "imports_evaluator"
        (judge,) = children(server.pid)
        below = descendants(judge)
        seen = [environment_of(each) for each in below]
        assert any(b"PATH=" in each for each in seen) and not any(b"hunter2" in each for each in seen)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(300)


def answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def environment_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/environ").read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


def descendants(parent: int) -> list[int]:
    found = children(parent)
    return found + [each for child in found for each in descendants(child)]


@pytest.mark.nightly
def test_200_submissions_of_20_clients_at_once_lose_nothing() -> None:
    benchmark = Path(__file__).parents[2] / "benchmarks" / "serve_load.py"
    done = subprocess.run([sys.executable, str(benchmark)], capture_output=True, text=True)
    assert done.returncode == 0 and "complaints: 0" in done.stdout, done.stdout + done.stderr


class Answers:
    """A server that answers every request with the same bytes, and keeps what it was sent."""

    def __init__(self, answer: bytes):
        self.heard: list[bytes] = []
        self._answer, self._socket = answer, socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                sender, _ = self._socket.accept()
            except OSError:
                return
            with sender:
                self.heard.append(sender.recv(65536))
                sender.sendall(self._answer)

    def close(self) -> None:
        self._socket.close()


def test_a_token_is_never_sent_on_to_another_server() -> None:
    elsewhere = Answers(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    head = f"HTTP/1.1 302 Found\r\nLocation: {elsewhere.address}/stolen\r\nContent-Length: 0\r\n\r\n"
    sends_on = Answers(head.encode())
    try:
        with pytest.raises(UsageError, match=rf"sends on to {elsewhere.address}.*--server"):
            Client(sends_on.address, "kg_token").hand_in("1/19", "x = 1\n")
        assert len(sends_on.heard) == 1 and elsewhere.heard == []
    finally:
        elsewhere.close()
        sends_on.close()


def test_half_an_answer_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelgauge.serve.client._PATIENCE", 2)
    half = Answers(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n{")
    try:
        with pytest.raises(MachineError, match="does not answer"):
            Client(half.address).verdict(1)
        assert len(half.heard) == 2
    finally:
        half.close()
    for wrong in ("http://host:abc", "http://", "https://host:99999"):
        with pytest.raises(UsageError, match="not the URL"):
            Client(wrong)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve", "--protocol", "v0.1", "--device", "cpu"], "public seeds"),
        (["account", "add", "../x"], "cannot name an account"),
        (["account", "revoke", "nobody"], "no account 'nobody'"),
        (["submit", "1/19", "missing.py", "--server", "http://127.0.0.1:1"], "a token is needed"),
        (["judge", "--db", "mysql://x/y"], "cannot be used"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else None,
)
def test_wrong_use_is_one_sentence(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELGAUGE_DB", f"sqlite:///{tmp_path / 'serve.db'}")
    monkeypatch.delenv("KERNELGAUGE_TOKEN", raising=False)
    with pytest.raises(UsageError, match=said):
        app(words, standalone_mode=False)


def test_what_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"psycopg is missing: pip install 'kernelgauge\[serve\]'"):
        app(["account", "list", "--db", "postgresql://host/name"], standalone_mode=False)
