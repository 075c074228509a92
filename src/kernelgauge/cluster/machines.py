"""The executor `ray`: which devices a cluster has, and a run on it."""

from __future__ import annotations

import logging
import socket
from typing import Any

try:
    import ray
except ImportError as error:
    raise ImportError("Ray is not installed: pip install 'kernelgauge[ray]'") from error

from kernelgauge.cluster.executor import RayExecutor
from kernelgauge.cluster.fleet import JUDGE, accelerators, judges_on
from kernelgauge.cluster.options import options_from
from kernelgauge.cluster.serving import ServingPool
from kernelgauge.errors import DeviceMissing, MachineError, UsageError
from kernelgauge.execution.machines import ExecutorSetting
from kernelgauge.judging import device_of


class RayCluster:
    """A Ray cluster that this process joins as its driver, when it is first asked for something."""

    here = False

    def __init__(self, given: str = ""):
        self.options = options_from(given)
        self._connected = False

    def device(self, wanted: str | None) -> str:
        """`cuda` for all its GPUs, or `cpu`; see `Machines.device`.

        Raises:
            DeviceMissing: no node has such a device.
            UsageError: several models of GPU are there, and none is named.
        """
        where = device_of(wanted) if wanted else ("cuda" if self._judges("cuda") else "cpu")
        if ":" in where:
            raise UsageError(f"a cluster has no {where}: name cpu or cuda")
        if self._judges(where) or self.options.judges:  # which an autoscaler may add
            return self._of_one_model(where)
        if where == "cpu":
            declare = f"""ray start --resources='{{"{JUDGE}": 1}}'"""
            raise DeviceMissing(f"no node of the cluster has a GPU or the resource {JUDGE}: begin one with {declare}")
        raise DeviceMissing("no node of the cluster has a GPU; judges=N waits for an autoscaler to add some")

    def executor(self, setting: ExecutorSetting) -> RayExecutor:
        self._connect()
        return RayExecutor(self.options, setting)

    def serving(self, device: str, command: list[str], secrets: dict[str, str], count: int) -> ServingPool:
        """So many judges of a server; see `ServingPool`."""
        self._connect()
        return ServingPool(self.options, device, command, secrets, count)

    def alone(self) -> bool:
        """Whether all nodes are this machine, as in a cluster to try things out on."""
        return {node["NodeManagerHostname"] for node in self.nodes()} == {socket.gethostname()}

    def close(self) -> None:
        """Leave the cluster, unless this process was part of it before."""
        if self._connected:
            self._connected = False
            ray.shutdown()

    def nodes(self) -> list[dict[str, Any]]:
        """Those alive."""
        self._connect()
        return [node for node in ray.nodes() if node["Alive"]]

    def _judges(self, device: str) -> int:
        return sum(judges_on(node["Resources"], device, self.options.model) for node in self.nodes())

    def _of_one_model(self, device: str) -> str:
        kinds = accelerators([node["Resources"] for node in self.nodes()]) if device == "cuda" else []
        if len(kinds) > 1 and not self.options.model:
            raise UsageError(
                f"the cluster has {' and '.join(kinds)}: figures of one run come from one model, so name it "
                f"(--executor ray,model={kinds[0]}) and give the other a run of its own"
            )
        return device

    def _connect(self) -> None:
        if ray.is_initialized():
            return
        try:  # what Ray prints of its own would tear the progress display
            ray.init(address=self.options.address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            where = (
                "no running cluster was found"
                if self.options.address == "auto"
                else f"none at {self.options.address}"
            )
            raise MachineError(f"the executor ray: {where} ({error}); `ray start --head` begins one") from error
        self._connected = True
