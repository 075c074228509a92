"""Ray clusters on this machine: a head that only leads, and nodes that declare what they have.

They share the machine, and with one cache folder its leases: nothing is timed beside anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

JUDGE = {"num_cpus": 0, "resources": {"judge": 1}}
"""A node whose CPU judges."""
BUILDER = {"num_cpus": 1}
"""A node that only builds."""
_HEAD = {"num_cpus": 0, "include_dashboard": False}


@contextmanager
def ray_cluster(*nodes: dict[str, Any], head: dict[str, Any] | None = None) -> Iterator[Cluster]:
    """A cluster of these nodes and a head, which may be given more; all of its processes end with it.

    Skips the test where Ray is not installed.
    """
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args=_HEAD | (head or {}))
    try:
        for node in nodes:
            made.add_node(wait=False, **node)
        made.wait_for_nodes()
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
