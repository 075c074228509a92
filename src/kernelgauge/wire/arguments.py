"""Constructor and forward arguments as JSON: plain values, with tuples kept apart from lists, and the configuration
objects of transformers.

transformers is imported only to rebuild a configuration, and only a class of its own table of model types is used.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_TUPLE = "$tuple"
_CONFIG = "$config"
_NOT_VALUES = ("model_type", "transformers_version")


def encode(value: Any) -> Any:
    """A JSON value for None, bool, int, float, str, configurations of transformers and lists, tuples, string-keyed
    dicts of them.

    Raises:
        TypeError: the value is of another type.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return {_TUPLE: [encode(item) for item in value]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: encode(item) for key, item in value.items()}
    if _is_config(value):
        return {_CONFIG: _encode_config(value)}
    raise TypeError(f"{type(value).__name__} is not a plain value")


def decode(value: Any) -> Any:
    """The inverse of `encode`.

    Raises:
        ImportError: there is a configuration in it, and transformers is not installed.
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {_TUPLE}:
            return tuple(decode(item) for item in value[_TUPLE])
        if set(value) == {_CONFIG}:
            return _decode_config(**value[_CONFIG])
        return {key: decode(item) for key, item in value.items()}
    return value


def _is_config(value: Any) -> bool:
    # Whoever made such an object has imported the module already.
    module = sys.modules.get("transformers.configuration_utils")
    return module is not None and isinstance(value, module.PretrainedConfig)


def _encode_config(config: Any) -> dict[str, Any]:
    if _class_of(config.model_type) is not type(config):
        raise TypeError(f"{type(config).__name__} is not the configuration of a model type of transformers")
    # Through JSON, since some keys are numbers; a configuration turns those back into numbers itself.
    values = json.loads(json.dumps(config.to_dict()))
    values = {name: item for name, item in values.items() if name not in _NOT_VALUES}
    # `to_dict` leaves out which attention runs.
    return {"model_type": config.model_type, "attention": config._attn_implementation, "values": values}


def _decode_config(model_type: str, attention: str | None, values: dict[str, Any]) -> Any:
    found = _class_of(model_type)
    if found is None:
        raise TypeError(f"transformers has no model type {model_type!r}")
    return found.from_dict(dict(values), attn_implementation=attention)


def _class_of(model_type: str) -> Any:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    try:
        return CONFIG_MAPPING[model_type]  # a lazy table: its `get` finds nothing
    except KeyError:
        return None
