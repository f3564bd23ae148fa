"""A clone holds the agreed top level and nothing specific to one machine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from meta.tree import ROOT, tracked_files

TOP_LEVEL = {
    *("pyproject.toml", "README.md", "core", "plugins", "hookspecs", "tests", "docs"),
    *("benchmarks", "examples", "packaging", "LICENSE", "CHANGELOG.md", "mkdocs.yml"),
    "conftest.py",
    "CONTRIBUTING.md",
    "SECURITY.md",
}
PEOPLE = r"(?!user\b|you\b|me\b|alice\b|bob\b|someone\b|name\b)[\w.-]+"
ONE_MACHINE = re.compile(rf"(?<![\w.])(?:/home/{PEOPLE}/|/Users/{PEOPLE}/|/mnt/\w+/)")
"""Home folders of real people; the names that examples use pass."""
REGISTRIES = (
    *("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org"),
    *("registry.npm" + "js", "conda" + ".anaconda"),
)
"""Joined from halves, so that this file does not hold them."""
INDEX_NAME = re.compile(
    r"(?:pip install|uv add|plugins install)\s+(?:-\S+\s+)*[\"']?hookline[-\[\"'\s]"
)
REGISTRY_GROUP = "plugins/safety/permissions/src/hookline_permissions/data/registries.yaml"
"""The file whose purpose is to list registries, for the rule ``network(registries)``."""
INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")


def lines(file: Path) -> list[str]:
    """The lines of a text file; none of a binary one."""
    try:
        return file.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        return []


def matching(pattern: re.Pattern[str]) -> list[str]:
    """Where tracked files match, as ``file:line``."""
    return [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for file in tracked_files()
        for number, line in enumerate(lines(file), 1)
        if pattern.search(line)
    ]


def test_top_level_holds_only_the_agreed_entries() -> None:
    tops = {file.relative_to(ROOT).parts[0] for file in tracked_files()}
    assert {top for top in tops if not top.startswith(".")} <= TOP_LEVEL


def test_repository_holds_no_machine_specific_path() -> None:
    found = matching(ONE_MACHINE)
    if len(ROOT.parts) > 2:  # a clone at `/src`, say, is no path that tells anything
        found += matching(re.compile(rf"(?<![\w.]){re.escape(str(ROOT))}(?![\w.-])"))
    assert not found, "\n".join(found)


def test_repository_holds_no_package_registry_host() -> None:
    configured = (urlsplit(os.environ.get(name, "")).hostname for name in INDEX_VARIABLES)
    hosts = [*REGISTRIES, *(host for host in configured if host and "." in host)]
    found = matching(re.compile("|".join(map(re.escape, hosts))))
    found = [line for line in found if not line.startswith(f"{REGISTRY_GROUP}:")]
    assert not found, "\n".join(found)


def test_no_command_installs_unpublished_packages_from_an_index() -> None:
    found = [line for line in matching(INDEX_NAME) if line.partition(":")[0].endswith(".md")]
    assert not found, "\n".join(["write a path in the clone instead:", *found])
