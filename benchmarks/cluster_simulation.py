"""How many GPUs one driver can keep busy: the real driver and the real Ray, with judges that only wait.

    python benchmarks/cluster_simulation.py RUN_FOLDER [--gpus 1,8,64,512] [--seconds 60] [--faster 1]

RUN_FOLDER is a stored run, such as results/h200/runs.tar.xz unpacked: `inductor_strict`. Everything that the driver
of a cluster does is real: it loads problems, asks a contestant, keeps the queue, talks to actors through Ray, and
appends every record to a run folder, durably. Judges and builders are stand-ins: many share one actor process, each
takes as long as the stored record says that device and build took, and builds ship a binary of 1 MB through the
object store. Nodes are declared: eight GPUs and 24 CPUs each. `--faster 8` lets each wait an eighth: the driver then
has the work of eight times as many GPUs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ray

from kernelgauge import __version__
from kernelgauge.cluster.executor import RayExecutor
from kernelgauge.cluster.fleet import Fleet, Member
from kernelgauge.cluster.judge import Shipment, Verdict
from kernelgauge.cluster.node import NodeFacts
from kernelgauge.cluster.options import ClusterOptions
from kernelgauge.config import load_protocol
from kernelgauge.execution.machines import ExecutorSetting
from kernelgauge.execution.order import Order
from kernelgauge.schema import Candidate, Evaluation, Problem, RunHeader
from kernelgauge.session.contest import Watch, judge_all
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

GPUS_OF_A_NODE, CPUS_OF_A_NODE = 8, 24
PROCESSES = 4
BINARY = bytes(1 << 20)
LONGEST_SECONDS = 30.0


class Canned:
    """Many judges and builders in one process: each waits as long as its record says."""

    def __init__(self, folder: str, faster: float):
        self._records = {record.problem: record for record in Run.read(folder).latest()}
        self._faster = faster
        self._turns: dict[int, asyncio.Lock] = {}

    async def facts(self, member: int, device: str = "") -> NodeFacts:
        record = next(iter(self._records.values()))
        environment = record.environment.model_copy(update={"kernelgauge": __version__})
        return NodeFacts(
            host="simulated",
            hardware=environment.gpu or "",
            environment=environment,
            layers=record.isolation,
            makers={record.backend: "same"},
            architecture="9.0a",
        )

    async def build(self, member: int, order: Order, device: str, environment: Any) -> Shipment:
        await asyncio.sleep(self._records[order.problem.key].seconds.get("build", 0.0) / self._faster)
        return Shipment("canned", None, (ray.put(BINARY),))

    async def judge(self, member: int, token: str, order: Order, shipment: Shipment | None) -> Verdict:
        async with self._turns.setdefault(member, asyncio.Lock()):
            if shipment:
                assert len(await shipment.binary[0]) == len(BINARY)
            record = self._records[order.problem.key]
            await asyncio.sleep(device_seconds(record) / self._faster)
        candidate = order.candidate
        assert candidate is not None
        said = {"sample": candidate.sample, "candidate_digest": candidate.digest, "contestant": candidate.contestant}
        return Verdict(record.model_copy(update=said), candidate)


def device_seconds(record: Evaluation) -> float:
    """How long its GPU was taken."""
    return sum(seconds for stage, seconds in record.seconds.items() if stage != "build")


def usable(run: Run) -> list[Evaluation]:
    """The records that no run of a minute is too short for."""
    return [each for each in run.latest() if sum(each.seconds.values()) < LONGEST_SECONDS]


class Repeated:
    """The stored candidates, each so many times with a line of its own."""

    name = "repeated"

    def __init__(self, run: Run, copies: int):
        self._run, self._copies = run, copies
        self._records = {record.problem: record for record in usable(run)}

    def problems(self) -> list[str]:
        return list(self._records)

    def samples(self, problem: str) -> Sequence[int]:
        return range(self._copies)

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate:
        record = self._records[problem.key]
        text = f"{self._run.source(record.candidate_digest)}\n# {sample}\n"
        return Candidate(
            problem=problem.key, source=text, backend=record.backend, contestant=self.name, sample=sample
        )


class Numbered:
    """A method of one of the many in a process."""

    def __init__(self, method: Any, number: int):
        self._method, self._number = method, number

    def remote(self, *given: Any) -> Any:
        return self._method.remote(self._number, *given)


class SimulatedFleet(Fleet):
    """Members on declared nodes, in a few processes."""

    gpus = 1
    processes: Sequence[Any] = ()
    numbers = itertools.count()

    def alive(self) -> list[dict[str, Any]]:
        left, nodes = self.gpus, []
        while left > 0:
            there = {"GPU": min(left, GPUS_OF_A_NODE), "CPU": CPUS_OF_A_NODE, "memory": 1e12}
            nodes.append({"NodeID": str(len(nodes)), "NodeManagerHostname": "simulated", "Resources": there})
            left -= GPUS_OF_A_NODE
        return nodes

    def _begin(self, kind: Any, node: dict[str, Any]) -> None:
        number = next(self.numbers)
        process = self.processes[number % len(self.processes)]
        methods = {name: Numbered(getattr(process, name), number) for name in ("facts", "build", "judge")}
        member = Member(kind, SimpleNamespace(**methods), node["NodeID"], "simulated")
        self.members.append(member)
        self._answers[self._facts_call(member)] = member

    def close(self) -> None:
        self.members.clear()
        self._answers.clear()


class SimulatedExecutor(RayExecutor):
    def _new_fleet(self) -> Fleet:
        setting = self._setting
        return SimulatedFleet(self._options, "cuda", setting.settings.limits, None, True, "", setting.tell)


class Simulated:
    """The machines of a simulated cluster."""

    here = False

    def __init__(self, builds: int | None):
        self._builds = builds

    def device(self, wanted: str | None) -> str:
        return "cuda"

    def executor(self, setting: ExecutorSetting) -> SimulatedExecutor:
        return SimulatedExecutor(ClusterOptions(builds=self._builds), setting)

    def close(self) -> None:
        pass


class Clock(Watch):
    """When each verdict came."""

    def __init__(self) -> None:
        self.verdicts: list[float] = []
        self.stages: list[str] = []

    def judged(self, record: Evaluation) -> None:
        self.verdicts.append(time.monotonic())

    def stage(self, name: str) -> None:
        self.stages.append(name)
        print(name, file=sys.stderr)


def measured(folder: Path, gpus: int, seconds: float, faster: float, builds: int | None) -> dict[str, Any]:
    """One run with so many GPUs, long enough to take about so many seconds if nothing but they were the limit."""
    stored = Run.read(folder)
    records = usable(stored)
    mean = sum(map(device_seconds, records)) / len(records) / faster
    wanted = max(2 * gpus, int(gpus * seconds / mean))
    contestant = Repeated(stored, max(1, -(-wanted // len(records))))
    keys = contestant.problems()[: max(1, wanted)]
    handle = ray.remote(Canned).options(num_cpus=0, max_concurrency=4000)
    SimulatedFleet.gpus = gpus
    SimulatedFleet.processes = [handle.remote(str(folder), faster) for _ in range(PROCESSES)]
    header = stored.header.model_copy(update={"contestant": contestant.name, "problems": tuple(keys)})
    protocol = load_protocol("strict")
    header = RunHeader.model_validate(header.model_dump() | {"protocol_digest": stored.header.protocol_digest})
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as out,
        Session(machines=Simulated(builds)) as session,
        closing(Run.create(Path(out) / "run", header)) as run,
    ):
        began, busy = time.monotonic(), time.process_time()
        failed = judge_all(session, contestant, run, keys, protocol=protocol, jobs=4, watch=clock)
        wall, cpu = time.monotonic() - began, time.process_time() - busy
        assert not failed, failed[0].result
        assert len(run.done()) == len(clock.verdicts) == len(run.evaluations()), "each exactly once"
    for process in SimulatedFleet.processes:
        ray.kill(process)
    times = clock.verdicts
    inner = times[len(times) // 10 : len(times) * 9 // 10]  # without the beginning, and the end of the last ones
    rate = (len(inner) - 1) / (inner[-1] - inner[0])
    return {
        "gpus": gpus,
        "device_s": round(mean, 2),
        "faster": faster,
        "builds": builds,
        "candidates": len(times),
        "wall_s": round(wall, 1),
        "verdicts_per_s": round(rate, 2),
        "per_gpu_hour": round(rate * 3600 / gpus, 1),
        "of_ideal": round(rate * mean / gpus, 3),
        "driver_cpu": round(cpu / wall, 2),
        "said": clock.stages[len(clock.stages) // 2],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpus", default="1,8,64,512")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--faster", type=float, default=1.0)
    parser.add_argument("--builds", type=int, help="0: no builders, and nothing through the object store")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    os.environ.setdefault("KERNELGAUGE_CACHE", tempfile.mkdtemp())
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    rows = []
    for gpus in map(int, asked.gpus.split(",")):
        rows.append(measured(asked.folder.absolute(), gpus, asked.seconds, asked.faster, asked.builds))
        print(json.dumps(rows[-1]), flush=True)
    if asked.out:
        asked.out.write_text(json.dumps({"ray": ray.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
