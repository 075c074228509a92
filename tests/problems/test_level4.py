"""Level 4, the language models of transformers: the problems against recorded facts, configurations on their way
into a worker, and one evaluation.

`data/level4_facts.json` was copied once from the catalogue of upstream's facts, not made from these files.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from kernelgauge.errors import ProblemError
from kernelgauge.problems import catalogue
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.sizes import with_constants
from kernelgauge.schema import Outcome
from kernelgauge.session.session import Session
from kernelgauge.wire.arguments import decode, encode

FACTS = json.loads((Path(__file__).parents[1] / "data" / "level4_facts.json").read_text())
PROBLEMS = FACTS["problems"]
KEYS = list(PROBLEMS)
ONE_OF_EACH = list({PROBLEMS[key]["constants"]["model_name"]: key for key in KEYS}.values())
LAYER = re.compile(r"\.(layers|layer|h)\.(\d+)\.")


@pytest.fixture(autouse=True)
def one_quiet_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def transformers():
    """The package, in a state in which it never looks for a network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        module = pytest.importorskip("transformers", reason="transformers (the extra level4) is not installed")
        module.logging.set_verbosity_error()  # reduced vocabularies lack the special tokens
        yield module


def model_facts(key: str) -> dict[str, Any]:
    return FACTS["models"][PROBLEMS[key]["constants"]["model_name"]]


def executed(key: str, sizes: str = "full") -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "problem"}
    exec(compile(load_problem(key, sizes=sizes).source, "problem", "exec"), scope)
    return scope


def run(scope: dict[str, Any]):
    """Inputs, model and output, all drawn under one seed."""
    torch.manual_seed(0)
    (x,) = scope["get_inputs"]()
    model = scope["Model"](*scope["get_init_inputs"]())
    with torch.no_grad():
        return x, model, model(x)


def as_lists(value: Any) -> Any:
    return [as_lists(each) for each in value] if isinstance(value, list | tuple) else value


def folded(names) -> dict[str, list[int]]:
    """State keys with `{i}` for the layer, in order of first occurrence, and the layers that have each."""
    found: dict[str, list[int]] = {}
    for name in names:
        match = LAYER.search(name)
        layers = found.setdefault(LAYER.sub(r".\1.{i}.", name), [])
        if match:
            layers.append(int(match[2]))
    return found


def layers_of(text: str | None) -> list[int]:
    """`"0..2"` and `"0, 1, 3"` as numbers."""
    if text is None:
        return []
    if ".." in text:
        first, last = text.split("..")
        return list(range(int(first), int(last) + 1))
    return [int(part) for part in text.split(",")]


# ---------------------------------------------------------------- the problems themselves


def test_level_is_what_the_facts_describe():
    assert catalogue.keys([4]) == KEYS
    files = (Path(catalogue.__file__).parent / "level4").glob("*.py")
    assert {catalogue.entry(key).path for key in KEYS} == set(files)
    for key in KEYS:
        entry = catalogue.entry(key)
        assert entry.name == PROBLEMS[key]["name"]
        assert "language_model" in entry.tags
        assert entry.domains == {"x": "fixed"}


@pytest.mark.parametrize("key", KEYS)
def test_full_size_agrees_with_the_facts(key, transformers):
    facts, of_model = PROBLEMS[key], model_facts(key)
    with torch.device("meta"):
        scope = executed(key)
        (x,) = scope["get_inputs"]()
        name, config = scope["get_init_inputs"]()
        model = scope["Model"](name, config)
    assert {constant: scope[constant] for constant in facts["constants"]} == facts["constants"]
    assert scope["pretrained"] is False
    assert type(config).__name__ == of_model["config_class"]
    assert type(model.model).__name__ == of_model["model_class"]
    assert {field: as_lists(getattr(config, field)) for field in of_model["config"]} == of_model["config"]
    assert {"name": "x", "shape": list(x.shape), "dtype": str(x.dtype)[6:]} == facts["inputs"][0]

    state = model.state_dict()
    assert {pattern: [layers] for pattern, layers in folded(state).items()} == {
        pattern: [layers_of(layers)] for pattern, (_, layers) in of_model["state"].items()
    }
    assert list(folded(state)) == list(of_model["state"])
    in_layers = [int(match[2]) for match in map(LAYER.search, state) if match]
    assert in_layers == sorted(in_layers)
    for name, tensor in state.items():
        assert list(tensor.shape) == of_model["state"][LAYER.sub(r".\1.{i}.", name)][0], name
    assert sum(parameter.numel() for parameter in model.parameters()) == of_model["parameter_count"]
    assert not model.model.training


@pytest.mark.parametrize("sizes", ["small", "odd"])
@pytest.mark.parametrize("key", KEYS)
def test_reduced_sizes_run_and_repeat(key, sizes, transformers):
    facts, of_model = PROBLEMS[key][sizes], model_facts(key)
    scope = executed(key, sizes)
    x, model, output = run(scope)
    assert {constant: scope[constant] for constant in facts["constants"]} == facts["constants"]
    expected = of_model["config"] | facts["config"]
    if "attn_layers" in expected:
        expected["num_hidden_layers"] = len(expected["attn_layers"])
    assert {field: as_lists(getattr(model.config, field)) for field in expected} == expected
    assert [list(x.shape)] == facts["inputs"]
    assert int(x.min()) >= 0 and int(x.max()) < scope["vocab_size"]
    assert list(output.shape) == facts["output"]
    assert output.dtype == torch.float32 and bool(output.isfinite().all())
    assert list(folded(model.state_dict())) == list(of_model["state"])

    with torch.no_grad():
        assert torch.equal(model(x), output), "two calls differ"
    _, twin, repeated = run(executed(key, sizes))
    assert all(map(torch.equal, twin.parameters(), model.parameters()))
    assert torch.equal(output, repeated)


@pytest.mark.parametrize("key", KEYS)
def test_medium_moves_no_more_than_150_megabytes(key, transformers):
    with torch.device("meta"):
        scope = executed(key, "medium")
        (x,) = scope["get_inputs"]()
    assert x.nbytes + 4 * x.numel() * scope["vocab_size"] <= 150e6


@pytest.mark.parametrize("key", KEYS)
def test_files_read_alike(key, transformers):
    source = load_problem(key).source
    scope = executed(key)
    assert all(len(line) <= 110 for line in source.splitlines())
    assert "kernelgauge" not in source
    assert "random" in scope["Model"].__doc__
    assert list(inspect.signature(scope["Model"]).parameters) == ["model_name", "config"]
    assert list(inspect.signature(scope["Model"].forward).parameters) == ["self", "x"]


def test_a_run_without_levels_leaves_level_four_out():
    assert 4 in catalogue.LEVELS
    assert catalogue.DEFAULT_LEVELS == (1, 2, 3)


# ---------------------------------------------------------------- configurations as arguments


@pytest.mark.parametrize("key", ONE_OF_EACH)
def test_a_configuration_survives_the_way_into_a_worker(key, transformers):
    name, config = executed(key, "odd")["get_init_inputs"]()
    again = decode(json.loads(json.dumps(encode([name, config]))))
    assert again[0] == name
    assert type(again[1]) is type(config)
    assert again[1].to_dict() == config.to_dict()
    assert again[1]._attn_implementation is None


def test_what_a_configuration_does_not_write_down_travels_too(transformers: Any):
    config = transformers.GPT2Config(attn_implementation="eager", id2label={0: "no", 1: "yes", 2: "both"})
    again = decode(json.loads(json.dumps(encode({"nested": (config,)}))))["nested"][0]
    assert again._attn_implementation == "eager"
    assert again.id2label == {0: "no", 1: "yes", 2: "both"}


def test_only_configurations_of_the_library_itself_travel(transformers: Any):
    class Mine(transformers.GPT2Config):
        pass

    with pytest.raises(TypeError, match="Mine"):
        encode(Mine())
    with pytest.raises(TypeError, match=r"no model type 'os\.system'"):
        decode({"$config": {"model_type": "os.system", "attention": None, "values": {}}})
    with pytest.raises(TypeError, match="object is not a plain value"):
        encode(object())


@pytest.mark.processes
def test_plain_arguments_need_no_transformers():
    code = (
        "import sys; from kernelgauge.wire.arguments import decode, encode;"
        "decode(encode([1, (2, {'a': None})])); print('transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ---------------------------------------------------------------- evaluation


@pytest.mark.proof("problems")
def test_a_reference_passes_against_itself(transformers, session: Session):
    problem = load_problem("4/7", sizes="small")
    record = session.evaluate(problem, problem.source.replace("class Model(", "class ModelNew("), timed=False)
    assert record.outcome is Outcome.PASSED, record.reason + record.log


@pytest.fixture(scope="module")
def published(transformers, tmp_path_factory):
    """A hub cache with small published weights, in half precision as some real ones are; and their first one."""
    cache = tmp_path_factory.mktemp("hub")
    scope = executed("4/7", "small")
    torch.manual_seed(20261121)
    model = transformers.GPT2LMHeadModel(scope["config"]).half()
    stored = cache / "models--gpt2"
    model.save_pretrained(stored / "snapshots" / ("0" * 40))
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text("0" * 40)
    return cache, model.transformer.wte.weight[0, 0].item()


def with_published_weights(key: str = "4/7"):
    problem = load_problem(key, sizes="small")
    return problem.model_copy(
        update={"source": with_constants(problem.source, {"pretrained": True}), "sizes": "pretrained"}
    )


def test_only_level_four_has_published_weights():
    assert [key for key in catalogue.keys([1, 2, 3, 4]) if "pretrained" in catalogue.entry(key).sizes] == KEYS
    plain, published = (load_problem("4/16", sizes=sizes).source for sizes in ("full", "pretrained"))
    assert published == plain.replace("pretrained = False", "pretrained = True") != plain
    with pytest.raises(ProblemError, match="problem 1/7 has no sizes 'pretrained': it has full, "):
        load_problem("1/7", sizes="pretrained")


@pytest.mark.proof("problems")
def test_reference_and_candidate_load_published_weights_in_float32(published, session: Session, monkeypatch):
    cache, first = published
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    problem = with_published_weights()
    assert problem.source.count("self.model.eval()") == 1
    is_stored = f"self.model.transformer.wte.weight[0, 0].item() == {first!r} and self.model.dtype == torch.float32"
    checking = problem.source.replace("self.model.eval()", f"assert {is_stored}, 'other weights'")

    session.try_out(problem.model_copy(update={"source": checking}))
    record = session.evaluate(problem, checking.replace("class Model(", "class ModelNew("), timed=False)
    assert record.outcome is Outcome.PASSED, record.reason + record.log
    assert record.sizes == "pretrained"

    with pytest.raises(ProblemError, match="other weights"):
        session.try_out(
            problem.model_copy(update={"source": checking.replace("pretrained = True", "pretrained = False")})
        )


@pytest.mark.processes
def test_missing_weights_are_said_with_the_place(session: Session, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    problem = with_published_weights()
    with pytest.raises(ProblemError, match="hf download") as caught:
        session.evaluate(problem, problem.source.replace("class Model(", "class ModelNew("), timed=False)
    assert str(tmp_path / "hub") in str(caught.value)


@pytest.mark.processes
def test_missing_transformers_is_said_in_one_sentence(tmp_path, monkeypatch, cache_folder):
    """A package of that name that cannot be imported, found before the real one."""
    (tmp_path / "transformers.py").write_text("raise ModuleNotFoundError(\"No module named 'transformers'\")\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    problem = load_problem("4/7", sizes="small")
    with Session() as session, pytest.raises(ProblemError) as caught:
        session.evaluate(problem, problem.source.replace("class Model(", "class ModelNew("), timed=False)
    assert str(caught.value) == (
        "problem 4/7: it needs transformers, which is not installed: pip install 'kernelgauge[level4]'"
    )
