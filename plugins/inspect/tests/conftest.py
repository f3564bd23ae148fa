"""Commands of a plugin that is set up, as core runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_inspect import Inspect

Run = Callable[..., Any]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``run(h, "trace", session="a")``: what the command writes to stdout."""

    def shown(h: Harness, command: str, **options: Any) -> str:
        capsys.readouterr()
        h.run(getattr(h.plugin(Inspect), command)(**options))
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
            h.run(getattr(h.plugin(Inspect), command)(**options))
        captured = capsys.readouterr()
        assert captured.out == ""
        return end.value.code, captured.err

    return ended
