"""Texts are parsed in many threads at once, whatever the interpreter's own parser stands."""

from __future__ import annotations

import ast
import sys
import threading
import time

import pytest

from kernelgauge.syntax import parse

TEXT = "x = " + "(" * 60 + "1" + " + 1)" * 60 + "\ny = [" + ", ".join("[1, (2, 3)]" for _ in range(400)) + "]\n"
SECONDS = 2.0


class Cycle:
    """Garbage whose end lets another thread run: in the middle of a parse, where that happens to collect it."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        time.sleep(0)


def test_many_threads_may_parse_at_once() -> None:
    """On Python 3.11.7, `ast.parse` itself fails here within a second."""
    failed: list[BaseException] = []
    end = time.monotonic() + SECONDS

    def work() -> None:
        while time.monotonic() < end and not failed:
            for _ in range(20):
                Cycle()
            try:
                parse(TEXT)
            except BaseException as error:
                failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed


def test_it_is_the_interpreter_s_own_parser() -> None:
    assert ast.dump(parse("x = 1")) == ast.dump(ast.parse("x = 1"))
    assert isinstance(parse("1", mode="eval"), ast.Expression)
    with pytest.raises(SyntaxError, match=r"here\.py"):
        parse("x =", "here.py")
