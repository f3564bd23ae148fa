"""Commands of a plugin that is set up, as core runs them."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_inspect import Inspect, plugin_info

Run = Callable[..., Any]


def called(h: Harness, command: str, options: dict[str, Any]) -> Coroutine[Any, Any, None]:
    """The coroutine of a command in a runtime that is open."""
    plugin = h.plugin(Inspect)
    if command == "info":
        return plugin_info.show(plugin.host, **{"json": False} | options)
    made: Coroutine[Any, Any, None] = getattr(plugin, command)(**options)
    return made


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``run(h, "trace", session="a")``: what the command writes to stdout."""

    def shown(h: Harness, command: str, **options: Any) -> str:
        capsys.readouterr()
        h.run(called(h, command, options))
        return capsys.readouterr().out

    return shown


@pytest.fixture
def data(run: Run) -> Run:
    """The same, with ``--json``."""

    def read(h: Harness, command: str, **options: Any) -> Any:
        return json.loads(run(h, command, json=True, **options))

    return read


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code and sentence of a command that ends with one."""

    def ended(h: Harness, command: str, **options: Any) -> tuple[Any, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            h.run(called(h, command, options))
        captured = capsys.readouterr()
        assert captured.out == ""
        return end.value.code, captured.err

    return ended
