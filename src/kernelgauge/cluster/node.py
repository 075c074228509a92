"""What a node of the cluster is: its environment, the walls around a worker there, what its builds are made with."""

from __future__ import annotations

import json
import os
import socket
import sys

from kernelgauge import __version__
from kernelgauge.backends.registry import backend_named, names
from kernelgauge.cluster.options import ClusterOptions
from kernelgauge.config import Limits, Settings, load_settings
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.execution.machines import hardware_of
from kernelgauge.hardware.environment import environment
from kernelgauge.kernels.toolkit import architecture
from kernelgauge.sandbox.walls import NEEDED, standing
from kernelgauge.schema import Environment, Record, digest


class NodeFacts(Record):
    """What a judge or a builder says of the machine it is on."""

    host: str
    hardware: str
    """The GPU, or on a CPU the processor: what the figures of one run have in common."""
    environment: Environment
    layers: tuple[str, ...]
    """Isolation layers around a worker there."""
    makers: dict[str, str]
    """By kernel language: a digest of all that decides a build but its source. Where equal, one's build is the
    other's."""
    architecture: str
    """What CUDA is compiled for there."""


def settings_here(limits: Limits, threads: int | None) -> Settings:
    """The settings of this node under a run's limits; Ray's own idea of threads is not passed on."""
    os.environ.pop("OMP_NUM_THREADS", None)
    return load_settings(threads, limits)


def facts_here(settings: Settings, layers: tuple[str, ...], device: str) -> NodeFacts:
    """Of this node, where candidates are judged on that device."""
    found = environment(settings.threads)
    return NodeFacts(
        host=socket.gethostname(),
        hardware=hardware_of(found, device),
        environment=found,
        layers=layers,
        makers={name: _maker(name) for name in names()},
        architecture=architecture(),
    )


def layers_of(supervisor: Supervisor) -> tuple[str, ...]:
    """The isolation layers around a worker; asked of the process that forks them."""
    return standing(supervisor.zygote)


def refusal(facts: NodeFacts, options: ClusterOptions, first: NodeFacts | None, hardware: str) -> str:
    """Why no figure of a run may come from this node, in a sentence without its name; empty if it may.

    Args:
        first: the first judge that was accepted.
        hardware: what earlier figures of the run come from; empty where there are none.
    """
    ours, theirs = facts.environment, first.environment if first else facts.environment
    if why := without_walls(facts, options):
        return why
    if options.model and options.model.lower() not in facts.hardware.lower():
        return f"has a {facts.hardware}, and model={options.model} is asked for"
    if facts.hardware != (wanted := hardware or (first.hardware if first else facts.hardware)):
        return f"has a {facts.hardware}, and this run's figures are of a {wanted}: give it a run of its own"
    for name in ("torch", "triton", "driver"):
        if getattr(ours, name) != getattr(theirs, name):
            return f"has {name} {getattr(ours, name)}, and the run's other judges {getattr(theirs, name)}"
    return ""


def without_walls(facts: NodeFacts, options: ClusterOptions) -> str:
    """Why no stranger's text may be compiled or run on this node; empty if it may."""
    if facts.environment.kernelgauge != __version__:
        return f"has kernelgauge {facts.environment.kernelgauge}, and the driver {__version__}"
    missing = [name for name in NEEDED if name not in facts.layers] if options.walls == "needed" else []
    if not missing:
        return ""
    return (
        f"puts no {', '.join(missing)} isolation layer around a worker: allow user namespaces, Landlock and seccomp "
        "there (docs/explanation/isolation.md), or say walls=none"
    )


def _maker(name: str) -> str:
    made_with = [sys.implementation.cache_tag, os.environ.get("CXX"), backend_named(name).fingerprint()]
    return digest(json.dumps(made_with))
