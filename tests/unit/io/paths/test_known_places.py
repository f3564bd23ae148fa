"""The lists of known places, and which changes to a file run something."""

import json
import re
from itertools import product
from pathlib import Path

import pytest
import yaml
from hookline.io.paths import known_places
from hookline.io.paths.known_places import caution, change_risk, credentials, later
from hookline.io.paths.name_forms import globs, matches

DATA = Path(known_places.__file__).parent / "data"
TABLES = {
    "credentials.yaml": lambda path: credentials().find(path),
    "caution.yaml": caution,
    "later.yaml": later,
}
ENTRIES = [
    (name, group["what"], path)
    for name in TABLES
    for group in yaml.safe_load((DATA / name).read_text(encoding="utf-8"))["groups"]
    for path in group["paths"]
]


def test_known_places_are_unique_lower_case_and_found():
    for name, what, path in ENTRIES:
        assert path == path.lower()
        known = TABLES[name]("a/" + path.replace("*", "x").replace("?", "x"))
        assert known is not None, path
        assert what[0].islower()
        assert what[-1] != "."
    assert len({(name, path) for name, _, path in ENTRIES}) == len(ENTRIES)


def test_known_place_needs_all_its_path_components():
    assert credentials().find("x/.config/gh/hosts.yml").name == ".config/gh"
    assert credentials().find("x/.config/ghostty") is None
    assert credentials().find(".config/x/gh") is None


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("package.json", {}, {"scripts": {"postinstall": "x"}}, ("scripts.postinstall of ", True)),
        ("package.json", {"scripts": {"x": "a"}}, {"scripts": {"x": "b"}}, ("scripts ", False)),
        ("package.json", {"version": "1"}, {"version": "2", "description": "d"}, None),
        ("package.json", {"bin": "x"}, {"bin": "x", "x": 1}, None),
        ("package.json", {"scripts": {"prepare": "x"}}, {}, None),
        ("a/PACKAGE.JSON", {}, {"scripts": {"Prepare": "x"}}, ("scripts.prepare", True)),
        ("composer.json", {}, {"scripts": {"post-install-cmd": "x"}}, ("post-install-cmd", True)),
    ],
)  # fmt: skip
def test_manifest_change_counts_only_if_something_runs(name, before, after, expected):
    risk = change_risk(name, json.dumps(before), json.dumps(after))
    if expected is None:
        assert risk is None
    else:
        assert expected[0] in risk.name
        assert risk.at_once is expected[1]


def test_own_build_backend_runs_at_installation():
    old = '[build-system]\nbuild-backend = "hatchling.build"\n[project]\nname = "a"\n'
    new = old.replace('hatchling.build"', 'own"\nbackend-path = ["."]')
    assert change_risk("pyproject.toml", old, new).at_once
    assert change_risk("pyproject.toml", old, old + 'version = "1"\n') is None
    assert not change_risk("pyproject.toml", "", old).at_once


def test_unparsable_manifest_hides_no_risk():
    hook = json.dumps({"scripts": {"install": "x"}})
    assert change_risk("package.json", "{", hook).at_once
    assert change_risk("package.json", hook, "{") is not None
    assert change_risk("package.json", "[]", hook).at_once


def test_any_change_counts_in_files_that_run_whole():
    assert change_risk("Makefile", "a", "b").name == later("Makefile").name
    assert change_risk("src/app.py", "a", "b") is None
    assert change_risk("node_modules/x/package.json", "{}", "{}").name == "node_modules"


@pytest.mark.parametrize(
    "glob", ["", "*", "a", "a*", "*a", "a*a", "a*b*", "?a", "*?", "a.*", "[a]"]
)
def test_glob_matches_the_same_names_as_its_regex(glob: str) -> None:
    pattern = re.compile(globs([glob]))
    for length in range(5):
        for letters in product("ab.[]\n", repeat=length):
            name = "".join(letters)
            assert matches(glob, name) == bool(pattern.fullmatch(name)), name
