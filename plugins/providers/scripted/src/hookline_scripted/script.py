"""Reads a script file: YAML, checked, as a :class:`Script`.

Every error in a file is a :class:`BadRequest` with file, line or step, and what to do.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from hookline_hookspecs import BadRequest

ERROR_KINDS = ("auth", "rate", "overloaded", "context", "bad_request", "network")
"""Faults that raise this kind of provider error before any text."""

CALL_FAULTS = ("bad_arguments", "no_name")
"""Faults in the tool calls, as real models make them."""

FAULTS = (*ERROR_KINDS, "cut", "incomplete", *CALL_FAULTS)
_FLAGS = re.DOTALL | re.MULTILINE
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong: ``kind`` is one of :data:`FAULTS`; ``retry_after`` in seconds."""

    kind: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call that a step makes."""

    name: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class Step:
    """One answer. ``delay`` in seconds; ``used`` once it has been played."""

    text: str = ""
    tools: tuple[ScriptedCall, ...] = ()
    when: re.Pattern[str] | None = None
    when_system: re.Pattern[str] | None = None
    when_any: re.Pattern[str] | None = None
    delay: float = 0.0
    fault: Fault | None = None
    repeat: bool = False
    used: bool = field(default=False, init=False)


@dataclass(frozen=True, slots=True)
class Script:
    """A script: its steps in the order of the file."""

    path: Path
    steps: tuple[Step, ...]


def load(path: Path) -> Script:
    """Read the script in ``path``.

    Raises:
        BadRequest: the file cannot be read, or is not YAML or not a script; the text says where.
    """
    root, loader = _compose(path)
    try:
        _refuse_duplicates(root, path)
        steps = _steps_node(root, path)
        return Script(path, tuple(_step(path, n, item, loader) for n, item in enumerate(steps, 1)))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _yaml_error(path, error) from None
    finally:
        loader.dispose()


def _compose(path: Path) -> tuple[yaml.Node | None, Any]:
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadRequest(
            f"The scripted model cannot read {path}: {reason}. Give a YAML file as"
            " scripted/PATH.yaml, relative to the current directory."
        ) from None
    try:
        loader = _Loader(data)
        return loader.get_single_node(), loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _yaml_error(path, error) from None


def _yaml_error(path: Path, error: Exception) -> BadRequest:
    mark = getattr(error, "problem_mark", None)
    where = f"{path}, line {mark.line + 1}" if mark else f"{path}"
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    return BadRequest(f"{where}: this is not valid YAML ({what}). Correct the file and try again.")


def _refuse_duplicates(root: yaml.Node | None, path: Path) -> None:
    # PyYAML silently keeps the last of two equal keys.
    seen: set[int] = set()
    waiting = [root] if root else []
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _refuse_duplicate_keys(node, path)
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _refuse_duplicate_keys(node: yaml.MappingNode, path: Path) -> None:
    keys: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value in keys:
            raise BadRequest(
                f"{path}, line {key.start_mark.line + 1}: the key {key.value!r} is"
                " duplicated. Keep one of them."
            )
        keys.add(str(key.value))


def _steps_node(root: yaml.Node | None, path: Path) -> list[yaml.Node]:
    if not isinstance(root, yaml.MappingNode):
        raise BadRequest(f"{path}: a script is a mapping with the key 'steps', a list of steps.")
    found = {str(key.value): (key, value) for key, value in root.value}
    for name, (key, _) in found.items():
        if name != "steps":
            raise BadRequest(
                f"{path}, line {key.start_mark.line + 1}: unknown key {name!r}. The only"
                " key of a script is 'steps'."
            )
    if "steps" not in found:
        raise BadRequest(f"{path}: the key 'steps' is missing. Add a list of steps under it.")
    steps = found["steps"][1]
    if not isinstance(steps, yaml.SequenceNode):
        raise BadRequest(
            f"{path}, line {steps.start_mark.line + 1}: 'steps' is a list; start each step with"
            " a dash."
        )
    return list(steps.value)


def _step(path: Path, number: int, node: yaml.Node, loader: Any) -> Step:
    where = f"{path}, line {node.start_mark.line + 1}, step {number}"
    data = loader.construct_document(node)
    try:
        _only_known(data, _READERS, "a step")
        step = Step(**{key: _READERS[key](key, value) for key, value in data.items()})
        if step.fault and step.fault.kind in CALL_FAULTS and not step.tools:
            raise _InvalidStep(f"the fault {step.fault.kind!r} needs a call in 'tools'")
    except _InvalidStep as error:
        raise BadRequest(f"{where}: {error}.") from None
    return step


class _InvalidStep(Exception):
    """A step is invalid; the caller adds where."""


def _only_known(data: Any, known: Mapping[str, Any], what: str) -> None:
    if not isinstance(data, dict):
        raise _InvalidStep(f"{what} is a mapping with the keys {', '.join(known)}")
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"the nearest is {near[0]!r}" if near else f"known keys are {', '.join(known)}"
            raise _InvalidStep(f"unknown key {key!r}; {hint}")


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _InvalidStep(f"{key!r}: expected a string, got {_quoted(value)}; put it in quotes")
    return value


def _regex(key: str, value: Any) -> re.Pattern[str]:
    try:
        return re.compile(_text(key, value), _FLAGS)
    except (re.error, OverflowError, RecursionError) as error:
        raise _InvalidStep(f"{key!r} is not a regular expression: {error}") from None


def _seconds(key: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:
        raise _InvalidStep(f"{key!r}: expected a number of seconds from 0, got {_quoted(value)}")
    return float(value)


def _boolean(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _InvalidStep(f"{key!r}: expected true or false, got {_quoted(value)}")
    return value


def _fault(key: str, value: Any) -> Fault:
    if isinstance(value, str):
        value = {"kind": value}
    _only_known(value, {"kind": 1, "retry_after": 1}, f"{key!r}")
    kind = value.get("kind")
    if kind not in FAULTS:
        raise _InvalidStep(f"{key!r}: expected one of {', '.join(FAULTS)}, got {_quoted(kind)}")
    wait = value.get("retry_after")
    return Fault(kind, None if wait is None else _seconds("retry_after", wait))


def _calls(key: str, value: Any) -> tuple[ScriptedCall, ...]:
    if not isinstance(value, list):
        raise _InvalidStep(f"{key!r} is a list of calls, each with 'name' and 'arguments'")
    return tuple(_each_call(value))


def _each_call(calls: list[Any]) -> Iterator[ScriptedCall]:
    for call in calls:
        _only_known(call, {"name": 1, "arguments": 1}, "a call in 'tools'")
        name = _text("name", call.get("name", None))
        arguments = call.get("arguments", None)
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise _InvalidStep(f"the arguments of {name!r} must be a mapping of names to values")
        yield ScriptedCall(name, _as_json(name, arguments))


def _as_json(name: str, arguments: dict[Any, Any]) -> dict[str, Any]:
    # Through JSON and back: what a real model sends can hold nothing else.
    try:
        data: dict[str, Any] = json.loads(json.dumps(arguments, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise _InvalidStep(
            f"the arguments of {name!r} hold a value that JSON does not have ({error});"
            " put values such as dates in quotes"
        ) from None
    return data


def _quoted(value: Any) -> str:
    return "nothing" if value is None else repr(value)[:60]


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "when": _regex,
    "when_system": _regex,
    "when_any": _regex,
    "text": _text,
    "tools": _calls,
    "delay": _seconds,
    "fault": _fault,
    "repeat": _boolean,
}
