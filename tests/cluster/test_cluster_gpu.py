"""A run on a Ray cluster with one real GPU: of two nodes on this machine one has it, and one only builds."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from clusters import BUILDER, ray_cluster

from kernelgauge.backends.registry import backend_named
from kernelgauge.execution.machines import machines_named
from kernelgauge.schema import Candidate, Evaluation, Problem
from kernelgauge.session.contest import Watch
from kernelgauge.session.run import judge_run, planned
from kernelgauge.store.run import Run

pytestmark = [pytest.mark.gpu, pytest.mark.processes]


class Example:
    """The worked CUDA example, so many times, each another text; and one that does not compile."""

    name = "example"

    def samples(self, problem: str) -> range:
        return range(4)

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate:
        _, source = backend_named("cuda").example()
        text = source.replace("__global__", "__globally__") if sample == 3 else source
        text += f"\n# {sample}\n"
        return Candidate(problem=problem.key, source=text, backend="cuda", contestant=self.name, sample=sample)


class Killing(Watch):
    """Kills a node at the first verdict."""

    def __init__(self, kill: object) -> None:
        self.told: list[str] = []
        self._kill = kill

    def noticed(self, sentence: str) -> None:
        self.told.append(sentence)

    def judged(self, record: Evaluation) -> None:
        if self._kill is not None:
            self._kill()
            self._kill = None


def test_a_gpu_judges_what_another_node_has_built(quick: str, tmp_path: Path) -> None:
    """Who builds has a cache of its own. After the first verdict the node with the GPU dies, and another comes."""
    reference, _ = backend_named("cuda").example()
    problem = tmp_path / "reference.py"
    problem.write_text(reference)
    gpu = {"num_cpus": 2, "num_gpus": 1}
    elsewhere = {**BUILDER, "env_vars": {"KERNELGAUGE_CACHE": str(tmp_path / "elsewhere")}}
    out = tmp_path / "run"
    with ray_cluster(elsewhere) as cluster:
        node = cluster.add_node(**gpu)

        def kill() -> None:
            cluster.remove_node(node, allow_graceful=False)
            cluster.add_node(**gpu)

        watch = Killing(kill)
        with closing(machines_named(f"ray:{cluster.address}")) as machines:
            plan = planned(Example(), problems=[str(problem)], protocol=quick, machines=machines)
            assert plan.header.device == "cuda"
            with plan.opened(out) as store:
                keys = plan.header.problems
                failed = judge_run(plan.contestant, store, keys, plan.protocol, machines=machines, watch=watch)
    assert not failed, failed[0].result
    records = sorted(Run.read(out).evaluations(), key=lambda record: record.sample)
    assert [record.sample for record in records] == [0, 1, 2, 3], watch.told
    assert [record.outcome.value for record in records] == ["passed", "passed", "passed", "build_failed"]
    assert all(record.timing and record.environment.gpu and record.device == "cuda" for record in records[:3])
    assert list((tmp_path / "elsewhere" / "builds").glob("*/manifest.json"))
    assert any("a judge was lost" in line for line in watch.told)
