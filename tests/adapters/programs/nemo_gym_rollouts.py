"""NeMo Gym's own head server, agent and collector over our resources server, begun as `ng_run` does.

Others of our servers stand beside it, and are asked for a verdict by hand.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import ray

OURS = "from kernelgauge_client.adapters.nemo_gym import KernelResourcesServer as Server"
AGENT = "from responses_api_agents.simple_agent.app import SimpleAgent as Server"


def configuration(asked: dict) -> dict:
    place = {"host": "127.0.0.1", "entrypoint": "app.py"}
    head, agent = asked["ports"]
    simple = {
        **place,
        "port": agent,
        "resources_server": {"type": "resources_servers", "name": "kernelgauge"},
        "model_server": {"type": "responses_api_models", "name": "policy_model"},
    }
    kernels = {
        name: {"resources_servers": {name: {**place, "port": each["port"], "domain": "coding", **each["settings"]}}}
        for name, each in asked["servers"].items()
    }
    return {
        "head_server": {"host": "127.0.0.1", "port": head},
        **kernels,
        "kernelgauge_agent": {"responses_api_agents": {"simple_agent": simple}},
        "policy_model": {"responses_api_models": {"written": {**place, "port": asked["policy"]}}},
        "dry_run": False,
    }


def begin(name: str, server: str, **variables: str) -> subprocess.Popen:
    code = f"{server}\nServer.run_webserver()"
    told = {**os.environ, "NEMO_GYM_CONFIG_PATH": name, **variables}
    return subprocess.Popen([sys.executable, "-c", code], env=told)


def wait_for(process: subprocess.Popen, port: int) -> None:
    end = time.monotonic() + 120
    while socket.socket().connect_ex(("127.0.0.1", port)):
        assert process.poll() is None and time.monotonic() < end, "a server has not begun"
        time.sleep(0.2)


async def collect(rows: str, rollouts: str) -> str:
    """What has ended the collection; empty: it has come to its end."""
    from nemo_gym.rollout_collection import RolloutCollectionConfig, RolloutCollectionHelper

    collected = RolloutCollectionConfig(
        agent_name="kernelgauge_agent",
        input_jsonl_fpath=rows,
        output_jsonl_fpath=rollouts,
        num_samples_in_parallel=1,
        upload_rollouts_to_wandb=False,
    )
    try:
        await RolloutCollectionHelper().run_from_config(collected)
    except Exception as error:  # boundary: the test reads what the collector raises, whatever it is
        return f"{error} {getattr(error, 'response_content', b'')}"
    return ""


async def collect_all(asked: dict) -> list[str]:
    from nemo_gym.server_utils import HeadServer

    web, _, _ = HeadServer.run_webserver()
    while not web.started:
        await asyncio.sleep(0.1)
    return [await collect(*files) for files in asked["collections"]]


def verified(asked: dict) -> list:
    """Status and body of `/verify` for each server and problem."""
    said = httpx.post(f"http://127.0.0.1:{asked['policy']}/v1/responses", json={"input": [{"content": ""}]}).json()
    body = {"responses_create_params": {"input": []}, "response": said}
    answers = [
        httpx.post(f"http://127.0.0.1:{asked['servers'][name]['port']}/verify", json={**body, "problem": problem})
        for name, problem in asked["verify"]
    ]
    return [[each.status_code, each.json()] for each in answers]


def main(asked: dict) -> dict:
    # A cluster of this test's own: without an address, Ray joins whatever runs on this machine.
    with tempfile.TemporaryDirectory(prefix="ng", dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(address="local", num_cpus=1, include_dashboard=False, _temp_dir=folder)
        try:
            address = ray.get_runtime_context().gcs_address
            return run({**configuration(asked), "ray_head_node_address": address}, asked)
        finally:
            ray.shutdown()


def run(config: dict, asked: dict) -> dict:
    os.environ["NEMO_GYM_CONFIG_DICT"] = json.dumps(config)
    servers = [
        begin("kernelgauge_agent", AGENT),
        *(begin(name, OURS, KERNELGAUGE_TOKEN=each["token"]) for name, each in asked["servers"].items()),
    ]
    ports = [asked["ports"][1], *(each["port"] for each in asked["servers"].values())]
    try:
        for process, port in zip(servers, ports, strict=True):
            wait_for(process, port)
        return {"ended": asyncio.run(collect_all(asked)), "verified": verified(asked)}
    finally:
        for process in servers:
            process.terminate()
        for process in servers:
            process.wait(30)


found = main(json.loads(Path(sys.argv[1]).read_text()))
Path(sys.argv[2]).write_text(json.dumps(found))
