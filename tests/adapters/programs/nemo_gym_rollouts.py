"""NeMo Gym's own head server, agent and collector over our resources server, begun as `ng_run` does."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ray

SERVERS = {
    "kernelgauge": "from kernelgauge_client.adapters.nemo_gym import KernelResourcesServer as Server",
    "kernelgauge_agent": "from responses_api_agents.simple_agent.app import SimpleAgent as Server",
}


def configuration(asked: dict) -> dict:
    place = {"host": "127.0.0.1", "entrypoint": "app.py"}
    head, ours, agent = asked["ports"]
    simple = {
        **place,
        "port": agent,
        "resources_server": {"type": "resources_servers", "name": "kernelgauge"},
        "model_server": {"type": "responses_api_models", "name": "policy_model"},
    }
    kernel = {**place, "port": ours, "domain": "coding", **asked["settings"]}
    return {
        "head_server": {"host": "127.0.0.1", "port": head},
        "kernelgauge": {"resources_servers": {"kernelgauge": kernel}},
        "kernelgauge_agent": {"responses_api_agents": {"simple_agent": simple}},
        "policy_model": {"responses_api_models": {"written": {**place, "port": asked["policy"]}}},
        "dry_run": False,
    }


def begin(name: str) -> subprocess.Popen:
    code = f"{SERVERS[name]}\nServer.run_webserver()"
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "NEMO_GYM_CONFIG_PATH": name})


def wait_for(process: subprocess.Popen, port: int) -> None:
    end = time.monotonic() + 120
    while socket.socket().connect_ex(("127.0.0.1", port)):
        assert process.poll() is None and time.monotonic() < end, "a server has not begun"
        time.sleep(0.2)


def collect(asked: dict) -> None:
    from nemo_gym.rollout_collection import RolloutCollectionConfig, RolloutCollectionHelper
    from nemo_gym.server_utils import HeadServer

    web, _, _ = HeadServer.run_webserver()
    while not web.started:
        time.sleep(0.1)
    collected = RolloutCollectionConfig(
        agent_name="kernelgauge_agent",
        input_jsonl_fpath=asked["rows"],
        output_jsonl_fpath=asked["rollouts"],
        num_samples_in_parallel=1,
        upload_rollouts_to_wandb=False,
    )
    asyncio.run(RolloutCollectionHelper().run_from_config(collected))


def main(asked: dict) -> None:
    # A cluster of this test's own: without an address, Ray joins whatever runs on this machine.
    with tempfile.TemporaryDirectory(prefix="ng", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(address="local", num_cpus=1, include_dashboard=False, _temp_dir=folder)
        try:
            run({**configuration(asked), "ray_head_node_address": ray.get_runtime_context().gcs_address}, asked)
        finally:
            ray.shutdown()


def run(config: dict, asked: dict) -> None:
    os.environ["NEMO_GYM_CONFIG_DICT"] = json.dumps(config)
    servers = [begin(name) for name in SERVERS]
    try:
        for process, port in zip(servers, asked["ports"][1:], strict=True):
            wait_for(process, port)
        collect(asked)
    finally:
        for process in servers:
            process.terminate()
        for process in servers:
            process.wait(30)


main(json.loads(Path(sys.argv[1]).read_text()))
Path(sys.argv[2]).write_text("true")
