"""A judge is killed in mid-run on a real Ray cluster: the benchmark says so, and every copy has one record."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import BUILDER, JUDGE, ray_cluster
from factories import quick_protocol

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.processes
@pytest.mark.proof("cluster", "execution")
@pytest.mark.parametrize("killed", ["judge", "actor"])
def test_a_killed_judge_costs_no_candidate(killed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_CACHE", str(tmp_path / "cache"))
    protocol = tmp_path / "quick.toml"
    protocol.write_text(quick_protocol())
    out = tmp_path / "out.json"
    with ray_cluster(JUDGE, BUILDER) as cluster:
        command = [sys.executable, str(BENCHMARKS / "several_gpus.py"), "--problems", "1/19,1/20,1/21,1/22"]
        command += ["--device", "cpu", "--sizes", "small", "--protocol", str(protocol)]
        command += ["--executor", f"ray:{cluster.address}", "--kill", killed]
        command += ["--work", str(tmp_path / "work"), "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["finished"] and found["fault"]["killed"], found
    nothing = {"without": [], "with_more": [], "not_as_due": {}, "faults": {}}
    assert found["records"] == {"asked": 4, "with_one_record": 4, **nothing}


def test_faults_come_in_the_middle_of_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from several_gpus import COPY, HANGS, RUINS, write

    asked = write(tmp_path / "copies", ["1/19", "1/20", "1/21", "1/22"], "small", faults=True)
    assert asked == {"1/19": COPY, "1/20": HANGS, "1/21": RUINS, "1/22": COPY}
    for key in asked:
        compile(
            (tmp_path / "copies" / "level1" / f"{key.partition('/')[2]}_copy_sample_0.py").read_text(), key, "exec"
        )


def test_the_longest_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from gpu_busy import longest_gap

    assert longest_gap([1.0, 2.0, 5.0, 5.5]) == 3.0
    assert longest_gap([1.0]) == 0.0
