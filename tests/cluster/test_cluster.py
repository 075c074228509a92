"""Runs on a real Ray cluster of several nodes on this machine: nodes that are killed, that come, that are refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from clusters import BUILDER, JUDGE, ray_cluster
from factories import REFERENCE
from waiting import comes_true

from kernelgauge.errors import MachineError
from kernelgauge.execution.machines import machines_named
from kernelgauge.schema import Candidate, Evaluation, Problem
from kernelgauge.session.contest import Watch
from kernelgauge.session.run import judge_run, planned
from kernelgauge.store.baselines import FILE, read
from kernelgauge.store.run import Run

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

pytestmark = pytest.mark.processes

RIGHT = "import torch\n\n\nclass ModelNew(torch.nn.ReLU):\n    pass\n"
BUILT = (
    REFERENCE.replace("class Model(", "class ModelNew(")
    + """

def compile_ahead():
    ModelNew()(*get_inputs())
"""
)


class Noted(Watch):
    """Keeps what is told of the machines, and does something at the first verdict."""

    def __init__(self, first: Callable[[], object] = lambda: None) -> None:
        self.told: list[str] = []
        self.stages: list[str] = []
        self._first = first

    def noticed(self, sentence: str) -> None:
        self.told.append(sentence)

    def stage(self, name: str) -> None:
        self.stages.append(name)

    def judged(self, record: Evaluation) -> None:
        self._first()
        self._first = lambda: None


class Several:
    """A contestant with so many answers to one problem, each another text; the first may be one that is built."""

    name = "several"

    def __init__(self, count: int, built: bool = False):
        self._count, self._built = count, built

    def samples(self, problem: str) -> range:
        return range(self._count)

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate:
        text = BUILT if self._built and sample == 0 else REFERENCE.replace("class Model(", "class ModelNew(")
        text += f"# {os.getpid()} {sample}\n"
        return Candidate(problem=problem.key, source=text, backend="torch", contestant=self.name, sample=sample)


def run_on(cluster: Cluster, contestant: Several, problem: str, quick: str, out: Path, watch: Watch, more: str = ""):
    """Judge on that cluster into that folder."""
    with closing(machines_named(f"ray:{cluster.address}{more}")) as machines:
        plan = planned(contestant, problems=[problem], protocol=quick, sizes="small", machines=machines)
        with plan.opened(out) as store:
            return judge_run(contestant, store, plan.header.problems, plan.protocol, machines=machines, watch=watch)


def counted(out: Path) -> Counter[int]:
    """Records by sample."""
    return Counter(record.sample for record in Run.read(out).evaluations())


@pytest.mark.proof("cluster", "execution/judge_process.py")
def test_a_node_that_is_killed_costs_nothing(problem: str, quick: str, tmp_path: Path, cache_folder: Path) -> None:
    """Of two judges one dies in the midst of the batch, a node without walls is refused, a third comes later. What
    was built on a node with a cache of its own is used where it is judged."""
    elsewhere = {"KERNELGAUGE_CACHE": str(tmp_path / "elsewhere")}
    without = {**JUDGE, "env_vars": {"KERNELGAUGE_WITHOUT_LAYERS": "reads", "KERNELGAUGE_CACHE": str(cache_folder)}}
    out = tmp_path / "run"
    with ray_cluster({**BUILDER, "env_vars": elsewhere}, without) as cluster:
        nodes = [cluster.add_node(**JUDGE) for _ in range(2)]

        def kill() -> None:
            cluster.remove_node(nodes[0], allow_graceful=False)
            cluster.add_node(**JUDGE)

        watch = Noted(first=kill)
        failed = run_on(cluster, Several(9, built=True), problem, quick, out, watch)
    assert not failed
    assert counted(out) == dict.fromkeys(range(9), 1), watch.told
    told = " ".join(watch.told)
    assert "is refused: it puts no reads isolation layer around a worker" in told
    assert "a judge was lost" in told, told
    assert any("nodes," in line and "judging" in line and "an hour each" in line for line in watch.stages)
    (built,) = [record for record in Run.read(out).evaluations() if record.sample == 0]
    assert built.passed, built.reason
    assert list((tmp_path / "elsewhere" / "builds").glob("*/manifest.json")), "it was built by the builder"
    assert not list(cache_folder.glob("builds/staging/*")), "and by nobody else"
    assert all("reads" in record.isolation for record in Run.read(out).evaluations())


@pytest.mark.proof("cluster", "cli/run.py")
def test_a_driver_that_is_killed_goes_on(quick: str, tmp_path: Path) -> None:
    answers, out = tmp_path / "answers", tmp_path / "run"
    answers.mkdir()
    for sample in range(8):
        (answers / f"1_19_relu_sample_{sample}.py").write_text(f"{RIGHT}# {sample}\n")
    with ray_cluster(JUDGE) as cluster:
        asked = ["--contestant", f"folder:{answers}", "--out", str(out), "--protocol", quick, "--sizes", "small"]
        command = [sys.executable, "-m", "kernelgauge", "run", "--executor", f"ray:{cluster.address}", *asked]
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        records = out / "evaluations.jsonl"
        assert comes_true(lambda: records.exists() and records.stat().st_size > 0, 120)
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        before = counted(out)
        assert 0 < sum(before.values()) < 8
        again = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert counted(out) == dict.fromkeys(range(8), 1)
    assert "a judge is ready" in again.stderr


@pytest.mark.proof("cluster", "cli/reeval.py", "cli/baseline.py", "cli/selftest.py")
def test_every_verb_that_judges_takes_a_cluster(quick: str, tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "1_19_relu.py").write_text(RIGHT)
    small = ["--sizes", "small", "--protocol", quick]
    with ray_cluster(JUDGE) as cluster:

        def ran(*words: object) -> str:
            command = [sys.executable, "-m", "kernelgauge", *map(str, words), "--executor", f"ray:{cluster.address}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
            assert "a judge is ready" in done.stderr or "selftest" in words
            return done.stdout

        run, again, modes = (tmp_path / name for name in ("run", "again", "modes"))
        ran("run", "--contestant", f"folder:{answers}", "--out", run, *small)
        ran("reeval", run, "--out", again, "--protocol", quick)
        first, second = (Run.read(folder).evaluations() for folder in (run, again))
        assert len(first) == len(second) == 1 and first[0].candidate_digest == second[0].candidate_digest
        ran("baseline", "--modes", "eager,compile", "--problems", "1/19", "--out", modes, *small)
        assert {found.mode for found in read(modes / FILE) if found.measured} == {"eager", "compile"}
        told = json.loads(ran("selftest", "--only", "imports_reference", "--json"))
        assert told["specimens"] and all(found["verdict"] == "as due" for found in told["specimens"])


@pytest.fixture
def occupied() -> Iterator[Cluster]:
    """A cluster whose only judge somebody else has."""
    with ray_cluster(JUDGE) as cluster:
        import ray

        class Other:
            def there(self) -> bool:
                return True

        ray.init(address=cluster.address, log_to_driver=False)
        other = ray.remote(num_cpus=0, resources={"judge": 1})(Other).remote()
        ray.get(other.there.remote())
        yield cluster


@pytest.mark.proof("cluster")
def test_a_wait_is_bounded_and_said(occupied: Cluster, problem: str, quick: str, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"no judge for 4 s on 2 nodes \(1 have not started\); the same command"):
        run_on(occupied, Several(1), problem, quick, tmp_path / "run", Noted(), ",wait=4")


def test_a_store_that_is_full_keeps_no_candidate_from_its_verdict(tmp_path: Path) -> None:
    """A build that the store does not take is built again where it is judged."""
    full = {"object_store_memory": 80 << 20, "_system_config": {"local_fs_capacity_threshold": 0.0}}
    with ray_cluster(head=full) as cluster:
        import ray

        from kernelgauge.cluster.builder import shipped
        from kernelgauge.evaluation.build import Built

        ray.init(address=cluster.address, log_to_driver=False)
        library = tmp_path / "large.so"
        library.write_bytes(bytes(1 << 20))
        (reference,) = shipped(Built(tmp_path, True, ""))
        assert len(ray.get(reference)) > 1 << 20
        library.write_bytes(bytes(100 << 20))
        with pytest.raises(ray.exceptions.OutOfDiskError):
            ray.put(library.read_bytes())
        assert shipped(Built(tmp_path, True, "")) == ()


@pytest.mark.proof("cluster/serving.py", "cli/serve.py")
def test_a_server_has_its_judges_on_the_cluster(quick: str, tmp_path: Path) -> None:
    """A node dies with the judge that had a candidate: another judge takes it over, and it is judged once."""
    from serving import Server

    with ray_cluster(JUDGE) as cluster:
        node = cluster.add_node(**JUDGE)
        server = Server(tmp_path, quick, "--executor", f"ray:{cluster.address}", "--judges", "2")
        try:
            texts = [f"{RIGHT}# {number}\n" for number in range(6)]
            asked = {"candidates": [{"problem": "1/19", "text": f"```python\n{text}```"} for text in texts]}
            status, _, batch = server.ask("POST", "/judge", asked)
            assert status == 201, batch
            assert comes_true(lambda: server.states()["judged"] > 0, 120)
            cluster.remove_node(node, allow_graceful=False)
            assert comes_true(lambda: server.states() == {"judged": 6}, 180), server.states()
        finally:
            server.end()
