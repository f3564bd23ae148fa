"""``host.watched``: a file that is parsed again when it has changed."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline.testing import Harness
from hookline_hookspecs import Host, Plugin, PluginFailure, Watched, hookimpl

MakeHarness = Callable[..., Harness]


class Reader(Plugin):
    """Reads a file of numbers."""

    parsed = 0
    numbers: Watched[list[int]]

    @hookimpl
    def setup(self, host: Host) -> None:
        self.failures: list[PluginFailure] = []
        host.signals.connect("plugin_failed", lambda event, ctx: self.failures.append(event))
        self.numbers = host.watched(host.home / "numbers.json", self.parse, [])

    def parse(self, text: str) -> list[int]:
        """Count the calls."""
        self.parsed += 1
        found: list[int] = json.loads(text)
        return found


@pytest.fixture
def reader(harness: MakeHarness) -> Reader:
    """The plugin in a harness."""
    h = harness(Reader, model=["hi"], strict=False)
    h.send("hello")
    return h.plugin(Reader)


def write(reader: Reader, text: str, *, age: float = 60) -> None:
    """Write the file as if this had been done ``age`` seconds ago."""
    path = reader.host.home / "numbers.json"
    path.write_text(text)
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))


def test_file_is_parsed_once_for_each_version(reader: Reader) -> None:
    assert reader.numbers.value == []
    write(reader, "[1]")
    assert [reader.numbers.value for _ in range(3)] == [[1]] * 3
    assert reader.parsed == 1
    write(reader, "[2, 3]")
    assert reader.numbers.value == [2, 3]
    assert reader.parsed == 2


def test_removed_file_has_the_default_value(reader: Reader) -> None:
    write(reader, "[1]")
    assert reader.numbers.value == [1]
    (reader.host.home / "numbers.json").unlink()
    assert reader.numbers.value == []


def test_mistake_keeps_the_previous_value_and_is_reported_once(reader: Reader) -> None:
    write(reader, "[1]")
    assert reader.numbers.value == [1]
    write(reader, "[1,\n2,\n}")
    assert [reader.numbers.value for _ in range(3)] == [[1]] * 3
    path = reader.host.home / "numbers.json"
    assert reader.numbers.problem == f"{path}:3: Expecting value"
    (failure,) = reader.failures
    assert failure.plugin == "reader"
    assert failure.reason == f"{path}:3: Expecting value. The previous version stays in use"
    write(reader, "[1,\n2]")
    assert reader.numbers.value == [1, 2]
    assert reader.numbers.problem == ""


def test_half_written_file_is_not_reported(reader: Reader) -> None:
    write(reader, "[1]")
    assert reader.numbers.value == [1]
    write(reader, "[1, 2", age=0)
    assert reader.numbers.value == [1]
    assert reader.failures == []
    write(reader, "[1, 2]", age=0)
    assert reader.numbers.value == [1, 2]
    write(reader, "[3, 4]", age=0)  # the same size, and maybe the same tick of the clock
    assert reader.numbers.value == [3, 4]


def test_replaced_file_of_the_same_age_and_size_is_read(reader: Reader) -> None:
    write(reader, "[1]")
    assert reader.numbers.value == [1]
    path = reader.host.home / "numbers.json"
    new = path.with_name("new.json")
    new.write_text("[2]")
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    os.utime(new, ns=times)
    new.rename(path)
    assert reader.numbers.value == [2]


@pytest.mark.parametrize(
    ("parse", "text", "line"),
    [(yaml.safe_load, "a: 1\nb: [\n", 3), (tomllib.loads, "a = 1\nb = \n", 2)],
)
def test_problem_names_the_line(
    reader: Reader, tmp_path: Path, parse: Callable[[str], Any], text: str, line: int
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    watched = reader.host.watched(path, parse)
    assert watched.value is None
    assert watched.problem.startswith(f"{path}:{line}: ")


def test_pipe_is_not_read(reader: Reader, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    watched = reader.host.watched(tmp_path / "pipe", str)
    assert watched.value is None
    assert watched.problem.endswith("this is not a file")
