"""Sessions of OpenEnv's own client at once: each resets, answers, and writes down what it is told."""

import asyncio
import json
import sys
from pathlib import Path

import httpx
from openenv import GenericEnvClient


async def session(address: str, reset: dict, replies: list) -> dict:
    told = []
    async with GenericEnvClient(base_url=address, message_timeout_s=300) as client:
        try:
            told.append(kept(await client.reset(**reset)))
            for reply in replies:
                told.append(kept(await client.step(reply)))
        except Exception as error:  # boundary: the test reads what the client raises, whatever it is
            told.append({"error": str(error)})
        state = await client.state()
    return {"told": told, "state": dict(state) if isinstance(state, dict) else state.model_dump()}


def kept(result) -> dict:
    return {"observation": result.observation, "reward": result.reward, "done": result.done}


async def main(asked: dict) -> dict:
    sessions = await asyncio.gather(*(session(asked["address"], *each) for each in asked["sessions"]))
    async with httpx.AsyncClient(base_url=asked["address"]) as http:
        answers = [await http.request(method, path, json=body) for method, path, body in asked["routes"]]
    return {"sessions": sessions, "routes": [[each.status_code, each.json()] for each in answers]}


Path(sys.argv[2]).write_text(json.dumps(asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())))))
