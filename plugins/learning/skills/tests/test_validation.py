"""``skills validate``: the verdicts of the reference validator, on a generated corpus."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import skills_ref
from hookline_skills.validation import validate
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

from .conftest import labelled, skill_text

NAMES = [
    *(
        "deploy",
        "deploy-app",
        "Deploy",
        "-x",
        "x-",
        "a--b",
        "a_b",
        "日本",
        "ünï",
        "1",
        "true",
        "012",
    ),
    *("a" * 64, "a" * 65, '"deploy"', "'deploy'", "a b", "", "ﬁx", "²", "deploy # c"),
    *("[a]", "{a: b}", "*a", "&a b", "!t x", "|\n  deploy", "- a", "~", "<<", "=", "@x"),
    *('"open', "x: y", "012"),
]
FIELDS = [
    *("license", "allowed-tools", "metadata", "compatibility", "version", "Name", "tags", "name"),
    *("description", '"name"', "<<"),
]
VALUES = [
    *("Deploys things. Use when asked.", "x" * 1024, "x" * 1025, "x" * 500, "x" * 501, "", "~"),
    *("\n  a: b", "\n  a:\n    b: c", "\n  - a\n  - b", "\n    a: 1\n  b: 2", "\n  a: 1\n  a: 2"),
    *("[a, b]", "{a: b}", ">-\n  folded\n  text", "text with: colon", 'with "quotes"', "emoji 😀"),
    *("\u2028x", "\x07", "a #b", "# comment", "x---", "a---b", "no", "2020-01-01", "*a", "&a b"),
]
OPENINGS = ["---\n"] * 12 + ["--- \n", "----\n", "\ufeff---\n", "\n---\n", "---\r\n", "---", ""]
CLOSINGS = ["\n---\n"] * 12 + ["\n--- \n", "", "\n...\n", "---\n"]
lines = st.lists(st.tuples(st.sampled_from(FIELDS), st.sampled_from(VALUES)), max_size=3)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A ``SKILL.md``, mostly a plausible one."""
    fields = draw(lines)
    if draw(st.integers(0, 9)):
        fields.append(("description", draw(st.sampled_from(VALUES))))
    if draw(st.integers(0, 9)):
        fields.append(("name", draw(st.sampled_from(["deploy"] * 20 + NAMES))))
    front = "\n".join(f"{name}: {value}" for name, value in draw(st.permutations(fields)))
    return f"{draw(st.sampled_from(OPENINGS))}{front}{draw(st.sampled_from(CLOSINGS))}The body."


def reference(folder: Path) -> list[str]:
    """The errors of the reference; what it does not catch is an error too."""
    try:
        return list(skills_ref.validate(folder))
    except Exception as error:
        return [f"it raised {error!r}"]


def same_verdict(folder: Path) -> None:
    """Both say yes or both say no; errors about fields are the same, word by word."""
    expected, found = reference(folder), list(validate(folder).errors)
    assert bool(expected) == bool(found), (expected, found)
    yaml_alone = ("Invalid YAML", "it raised", "SKILL.md cannot be read")
    if found and not any(one.startswith(yaml_alone) for one in (*expected, *found)):
        assert sorted(expected) == sorted(found)


@given(text=texts(), folder=st.sampled_from(["deploy"] * 4 + ["日本", "fix", "ﬁx", "a" * 64]))
def test_generated_skills_get_the_reference_verdict(
    tmp_path_factory: pytest.TempPathFactory, text: str, folder: str
) -> None:
    path = tmp_path_factory.mktemp("skills") / folder
    path.mkdir()
    (path / "SKILL.md").write_text(text, "utf-8", newline="")
    same_verdict(path)


@pytest.mark.parametrize("name", NAMES)
def test_names_get_the_reference_verdict(tmp_path: Path, name: str) -> None:
    for folder in ("deploy", "deploy-app", name):
        if not folder or "/" in folder or len(folder) > 100 or "\n" in folder:
            continue
        path = tmp_path / folder
        path.mkdir(exist_ok=True)
        (path / "SKILL.md").write_text(f"---\nname: {name}\ndescription: x\n---\n", "utf-8")
        same_verdict(path)


@sampled("value", VALUES)
@sampled("field", FIELDS)
def test_field_values_get_the_reference_verdict(tmp_path: Path, field: str, value: str) -> None:
    front = f"name: deploy\ndescription: Deploys.\n{field}: {value}"
    if field in ("name", "description"):
        other = "description: Deploys." if field == "name" else "name: deploy"
        front = f"{other}\n{field}: {value}"
    path = tmp_path / "deploy"
    path.mkdir()
    (path / "SKILL.md").write_text(f"---\n{front}\n---\n", "utf-8")
    same_verdict(path)


@pytest.mark.slow
def test_valid_skills_are_accepted(tmp_path: Path) -> None:
    for skill in labelled("skills"):
        folder = tmp_path / skill["name"]
        folder.mkdir()
        text = skill_text(skill["name"], skill["description"], skill["body"])
        (folder / "SKILL.md").write_text(text, "utf-8")
        same_verdict(folder)
        assert validate(folder).ok


def test_folders_without_a_valid_skill_get_the_reference_verdict(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bytes").mkdir()
    (tmp_path / "bytes" / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "skill.md").write_text("---\nname: small\ndescription: x\n---\n")
    for name in ("missing", "file", "empty", "bytes", "small"):
        same_verdict(tmp_path / name)
    assert validate(tmp_path / "small").ok


@pytest.mark.slow
def test_deep_nesting_is_an_error_and_no_crash(tmp_path: Path) -> None:
    for number, front in enumerate(("- " * 50_000, "a:\n" + "  " * 3_000 + "x: y", "[" * 50_000)):
        folder = tmp_path / f"s{number}"
        folder.mkdir()
        (folder / "SKILL.md").write_text(f"---\n{front}\n---\n", "utf-8")
        assert not validate(folder).ok


@pytest.mark.slow
def test_validate_command_prints_the_verdict(
    tmp_path: Path, hookline: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    good, bad = tmp_path / "deploy", tmp_path / "bad"
    for folder in (good, bad):
        folder.mkdir()
        text = "---\nname: deploy\ndescription: Uses a---b\nversion: 1\n---\nBody."
        (folder / "SKILL.md").write_text(text, "utf-8")
    found = hookline("skills", "validate", str(good), "--json")
    data = json.loads(found.stdout)
    assert (found.returncode, data["ok"], data["errors"]) == (0, True, [])
    assert any("---" in warning for warning in data["warnings"])
    found = hookline("skills", "validate", str(bad / "SKILL.md"))
    assert found.returncode == 1
    assert "Directory name 'bad' must match skill name 'deploy'" in found.stdout
