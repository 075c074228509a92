"""The examples for trainers, in their smallest configuration: real packages, a real server, a generated suite."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import command_here
from environments import python_of

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server, begun

from kernelgauge.problems import catalogue

_EXAMPLES = Path(__file__).parents[2] / "examples"
_TRAINING = _EXAMPLES / "training"
pytestmark = [
    pytest.mark.processes,
    pytest.mark.proof(
        "client", "examples", "training", "verification", "tests/adapters/environments/trl.txt", unit="trl"
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    with begun(tmp_path_factory.mktemp("server"), quick) as made:
        yield made


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three files that the configurations name."""
    folder = tmp_path_factory.mktemp("data")
    asked = ["--recipe", "variants", "--count", "4", "--seed", "3", "--validation", "0.5", "--suite", "fresh"]
    told = ["--sizes", "small", "--shots", "zero_shot", "--device", "cpu"]
    for line in (
        ["generate", *asked],
        ["dataset", "--suite", "fresh", "--split", "train", "--out", str(folder / "train.jsonl"), *told],
        ["dataset", "--suite", "fresh", "--split", "validation", "--out", str(folder / "validation.jsonl"), *told],
        ["dataset", "--problems", "1/19,1/23", "--out", str(folder / "suite.jsonl"), *told],
    ):
        done = command_here("problems", *line)
        assert done.returncode == 0, done.stderr
    return folder


def trained(server: Server, folder: Path, config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    named = {"KERNELGAUGE_SERVER": server.address, "KERNELGAUGE_TOKEN": server.token, "HF_HUB_OFFLINE": "1"}
    line = [python_of("trl"), _TRAINING / "trl_grpo.py", config, out]
    return subprocess.run(line, env={**ours, **named}, cwd=folder, capture_output=True, text=True, timeout=500)


@pytest.mark.parametrize("turns", [1, 2])
def test_grpo_on_a_generated_suite_is_evaluated_on_the_built_in_one(
    server: Server, data: Path, tmp_path: Path, turns: int
) -> None:
    config = tmp_path / "tiny.toml"
    config.write_text(f"turns = {turns}\n{(_TRAINING / 'tiny.toml').read_text()}")
    done = trained(server, data, config, tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads((tmp_path / "results.json").read_text())
    steps = [each for each in found["log"] if "grad_norm" in each]
    assert [each["step"] for each in steps] == [1, 2, 3]
    # A random policy writes no candidate: that has a verdict, which is worth nothing, and no step goes unjudged.
    assert [(each["kernelgauge/verdict"], each["reward"]) for each in steps] == [(1.0, 0.0)] * 3
    for when in ("before", "after"):
        assert (found[when]["eval_kernelgauge/verdict"], found[when]["eval_kernelgauge/correct"]) == (1.0, 0.0)
        assert found[when]["eval_reward"] == 0.0
    validated = [each for each in found["log"] if each.get("step") == 3 and "eval_reward" in each]
    assert len(validated) == 2, "on the part that validates, and on the suite"
    assert (tmp_path / "policy" / "model.safetensors").is_file()
    assert "kernelgauge/correct  0.0 -> 0.0" in done.stdout


def test_problems_that_are_kept_to_evaluate_are_not_trained_on(server: Server, data: Path, tmp_path: Path) -> None:
    for name in ("train", "suite"):
        (tmp_path / f"{name}.jsonl").write_text((data / "suite.jsonl").read_text())
    (tmp_path / "validation.jsonl").write_text((data / "validation.jsonl").read_text())
    done = trained(server, tmp_path, _TRAINING / "tiny.toml", tmp_path / "out")
    assert done.returncode == 1 and "1/19 is not to be used as train: write the file with" in done.stderr


def test_the_parts_of_the_generated_suite_have_no_structure_in_common(data: Path) -> None:
    entries = catalogue.suite_named("fresh").entries
    problems = {
        name: [json.loads(line)["problem"] for line in (data / f"{name}.jsonl").read_text().splitlines()]
        for name in ("train", "validation")
    }
    assert sorted(problems["train"] + problems["validation"]) == sorted(entries)
    assert all(entries[key].split == name for name, keys in problems.items() for key in keys)


def test_the_real_configuration_names_settings_that_trl_has() -> None:
    code = (
        "import sys, tomllib, dataclasses; from trl import GRPOConfig\n"
        "from kernelgauge_client.judge import JudgeSettings\n"
        "config = tomllib.load(open(sys.argv[1], 'rb'))\n"
        "for name, kind in (('grpo', GRPOConfig), ('judge', JudgeSettings)):\n"
        "    unknown = set(config[name]) - {each.name for each in dataclasses.fields(kind)}\n"
        "    assert not unknown, unknown\n"
    )
    for config in ("tiny.toml", "coder_7b.toml"):
        done = subprocess.run(
            [python_of("trl"), "-c", code, _TRAINING / config],
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
