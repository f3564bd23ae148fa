"""Imports go one way: hookspecs import nothing, core imports them, plugins only them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from meta.tree import CORE, HOOKSPECS, ROOT, Dist, Import, dists, imports_below, normal

FOLDERS_NO_IMPORT_NAMES = {"core", "hookspecs", "plugins"}
HEAVY = {
    *("anthropic", "openai", "httpx2", "mcp", "acp", "telegram", "discord", "slack_bolt"),
    *("slack_sdk", "lark_oapi", "tree_sitter", "tree_sitter_bash", "prompt_toolkit", "rich"),
    *("typer", "starlette", "uvicorn", "sse_starlette", "psycopg", "procrastinate"),
    *("opentelemetry", "phonenumbers", "trafilatura", "markdownify", "av", "tiktoken", "PIL"),
    *("numpy", "aiosql", "stevedore"),
}
"""Packages that cost more to import than a disabled or unused plugin may cost."""

LIBRARIES = {name: dist for dist in dists() if dist.is_library for name in dist.modules}


def assert_none(wrong: list[Import], rule: str) -> None:
    """Fail with every offending line."""
    assert not wrong, "\n".join([rule, *map(str, wrong)])


def by_folder(dist: Dist) -> str:
    """A readable test id."""
    return dist.folder.name


def test_hookspecs_import_nothing_of_the_runtime() -> None:
    wrong = [found for found in imports_below(HOOKSPECS) if found.top.startswith("hookline")]
    assert_none(
        [found for found in wrong if found.top != "hookline_hookspecs"],
        "hookline_hookspecs stands alone; move what it needs into it",
    )


def test_core_does_not_import_plugins() -> None:
    known = {name for dist in dists() for name in dist.modules}
    assert_none(
        [found for found in imports_below(CORE) if found.top in known],
        "core finds plugins by entry point and never imports one",
    )


@pytest.mark.parametrize("dist", dists(), ids=by_folder)
def test_plugin_imports_neither_core_nor_a_sibling(dist: Dist) -> None:
    wrong = [found for found in imports_below(dist.source) if not _allowed(found, dist)]
    assert_none(wrong, "a plugin imports hookline_hookspecs and the libraries it declares")


@pytest.mark.parametrize("dist", dists(), ids=by_folder)
def test_plugin_tests_use_only_the_published_test_kit(dist: Dist) -> None:
    wrong = [
        found
        for found in imports_below(dist.folder / "tests")
        if not _allowed(found, dist) and not f"{found.module}.".startswith("hookline.testing.")
    ]
    assert_none(wrong, "of core, a plugin's tests import hookline.testing alone")


def _allowed(found: Import, dist: Dist) -> bool:
    if not found.top.startswith("hookline"):
        return True
    declared = found.top in LIBRARIES and normal(LIBRARIES[found.top].name) in dist.dependencies
    return found.top in ("hookline_hookspecs", *dist.modules) or declared


def test_imports_do_not_use_folder_names() -> None:
    folders = [ROOT / name for name in ("core", "hookspecs", "plugins", "tests", "docs")]
    found = [one for folder in folders for one in imports_below(folder)]
    assert_none(
        [one for one in found if one.top in FOLDERS_NO_IMPORT_NAMES],
        "the folders of the repository are no packages",
    )


PROBE = """
import importlib, json, sys
heavy, modules = json.loads(sys.argv[1])
import hookline_hookspecs
seen, blame = {name for name in heavy if name in sys.modules}, {}
for name in modules:
    importlib.import_module(name)
    new = {name for name in heavy if name in sys.modules} - seen
    if new:
        blame[name] = sorted(new)
    seen |= new
print(json.dumps([sorted(seen), blame]))
"""


def test_entry_points_import_nothing_heavy() -> None:
    modules = sorted(
        {value.partition(":")[0] for d in dists() for _, value in d.entry_points.values()}
    )
    order = json.dumps([sorted(HEAVY), modules])
    command = [sys.executable, "-W", "error", "-c", PROBE, order]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    seen, blame = json.loads(run.stdout)
    assert not blame, f"import these in setup or at first use: {blame}"
    assert not seen, f"hookline_hookspecs imports {seen}"
