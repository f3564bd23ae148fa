"""The examples of the pages type-check, pass their tests and pass ruff."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hookline.config import load
from meta.tree import ROOT
from support.docs.pages import Block, blocks, written

FIRST = "writing-a-plugin.md"
OWN = (*("authors/kinds/", "authors/cookbook/", "authors/testing.md", "authors/versions.md"), FIRST)
"""Pages whose files stand for themselves; the others are followed (``test_page_commands``)."""
NEEDS = {"authors/cookbook/route.md": "starlette"}
"""A library that a page's code uses, and Hookline does not; without it the page is skipped."""
FAILING = ("authors/kinds/index.md", "authors/versions.md")
"""The pages whose plugins fail on purpose."""
CONTRACTS = "tests/test_contracts.py"
MYPY = "[mypy]\nstrict = true\nmypy_path = src\n"
PYTEST = """\
[pytest]
addopts = --import-mode=importlib
pythonpath = src
filterwarnings = error
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
"""
SCAFFOLD = ROOT / "plugins/operations/configure/src/hookline_scaffold/templates/pyproject.toml.tmpl"
_SETTINGS = SCAFFOLD.read_text("utf-8").partition("[tool.ruff]")[2].partition("[tool.mypy]")[0]
RUFF = _SETTINGS.replace("[tool.ruff.", "[")
"""What a generated repository has ruff look for: recipes are pasted into one."""


def example_pages() -> list[str]:
    """The pages with examples of their own."""
    return [page for page in written() if page.startswith(OWN) and _files(page)]


def can_run(page: str) -> bool:
    """Whether what the page's code needs is here."""
    return page not in NEEDS or find_spec(NEEDS[page]) is not None


def _files(page: str) -> dict[str, Block]:
    return {_place(block.title): block for block in blocks(page) if block.title}


def _place(title: str) -> str:
    return f"tests/{title}" if Path(title).name.startswith("test_") else f"src/{title}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file of every page, copied into one folder."""
    folder = tmp_path_factory.mktemp("examples")
    for name, text in {"mypy.ini": MYPY, "pytest.ini": PYTEST, "ruff.toml": RUFF}.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "tests").mkdir()
    (folder / CONTRACTS).write_text("\n\n".join(contracts()), "utf-8")
    for page in filter(can_run, example_pages()):
        for place, block in _files(page).items():
            if block.title == "config.yaml":
                check_config(block.text)
            elif block.title == "pyproject.toml":
                install(folder / "src", tomllib.loads(block.text)["project"])
            else:
                file = folder / place
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, "utf-8")
    return folder


def check_config(text: str) -> None:
    """Raise ``ConfigError`` if this is no config, or a warning of it as an assertion."""
    loaded = load(Path("nowhere"), {"TIDES_TOKEN": "a-long-token"}, text=text)
    assert not loaded.warnings


def contracts() -> Iterator[str]:
    """A test file that holds every plugin of the pages to the contract."""
    yield "from hookline.testing import PluginContract"
    for page in filter(can_run, example_pages()):
        for place, block in _files(page).items() if page not in FAILING else ():
            module = place.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
            if place.startswith("src/") and place.endswith(".py"):
                for name in re.findall(r"^class (\w+)\(Plugin[\[)]", block.text, re.MULTILINE):
                    yield f"from {module.replace('/', '.')} import {name}"
                    yield f"class Test{name}(PluginContract):\n    plugin = {name}"


def install(folder: Path, project: Mapping[str, Any]) -> None:
    """Lay beside a module what an installer would, so that its entry points are found."""
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata, "utf-8")
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in table.items())
        for group, table in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("".join(points), "utf-8")


def run(folder: Path, *words: str) -> str:
    """What a module prints that is run as a program in a folder, whether it succeeds or not."""
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> Mapping[str, list[str]]:
    """For each test file, what failed in it; one that ran no test is not there."""
    return ran(folder)


def ran(folder: Path, *files: str) -> dict[str, list[str]]:
    """``outcomes`` of these files, or of all."""
    words = ("-q", "--continue-on-collection-errors", "--junitxml=ran.xml")
    told = run(folder, "pytest", *words, *files)
    report = folder / "ran.xml"
    assert report.exists(), told
    return dict(_outcomes(report))


def _outcomes(report: Path) -> Iterator[tuple[str, list[str]]]:
    cases: dict[str, list[str]] = {}
    for case in ET.parse(report).iter("testcase"):
        folder, module, *_ = (case.get("classname") or case.get("name", "")).split(".")
        failed = cases.setdefault(f"{folder}/{module}.py", [])
        failed += [f"{case.get('name')}\n{f.text}" for f in case if f.tag in ("error", "failure")]
    yield from cases.items()


@pytest.mark.slow
def test_first_plugin_example_tests_pass(folder: Path) -> None:
    tests = [place for place in _files(FIRST) if place.startswith("tests/")]
    assert ran(folder, *tests) == {place: [] for place in tests}


@pytest.mark.slow
@pytest.mark.parametrize("page", example_pages())
def test_example_tests_of_a_page_pass(outcomes: Mapping[str, list[str]], page: str) -> None:
    if not can_run(page):
        pytest.skip(f"{NEEDS[page]} is not installed")
    tests = [place for place in _files(page) if place.startswith("tests/")]
    assert tests, f"{page} shows code and no test of it"
    for place in tests:
        assert outcomes.get(place) == [], "\n".join(outcomes.get(place, [f"{place} ran no test"]))


@pytest.mark.slow
def test_example_plugins_pass_the_contract(outcomes: Mapping[str, list[str]]) -> None:
    failed = outcomes.get(CONTRACTS, ["no test ran"])
    assert not failed, "\n".join(failed)


def test_example_file_names_are_unique_across_pages() -> None:
    shown = [place for page in example_pages() for place in _files(page)]
    shown = [place for place in shown if not place.endswith(("pyproject.toml", "config.yaml"))]
    assert sorted(shown) == sorted(set(shown))


@pytest.mark.slow
def test_examples_type_check(folder: Path) -> None:
    told = run(folder, "mypy", "--config-file", "mypy.ini", "src", "tests")
    assert told.startswith("Success"), told


@pytest.mark.parametrize("words", [("check",), ("format", "--check", "--diff")])
def test_examples_pass_ruff(folder: Path, words: tuple[str, ...]) -> None:
    told = run(folder, "ruff", *words, "--no-cache", "--exclude", CONTRACTS, ".")
    assert "All checks passed" in told or "already formatted" in told.splitlines()[-1], told
