"""Commented examples of config.yaml stay usable while commands edit the file."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import RunCli

PACKAGED = files("hookline_terminal.setup").joinpath("config.template.yaml").read_text("utf-8")
VALUES = {
    "model": ["a/b", "null"],
    "trace": ["true"],
    "store": ["sqlite"],
    "workspace": ["."],
    "session": ["{idle_hours: 3}", "{}"],
    "session.max_days": ["7"],
    "network.allow_hosts": ["[localhost]", "[]"],
    "network.block_private": ["false"],
    "providers": ["{}", "null"],
    "providers.openai.api_key": ["key-one"],
    "providers.my-server.base_url": ["http://h"],
    "plugins": ["{}", "{titles: false, memory: {recall_limit: 3}}"],
    "plugins.memory.recall_limit": ["2"],
    "plugins.insights": ["true", "false", "{}"],
    "plugins.telegram.max_bytes": ["5000"],
}
SWITCHED = ("titles", "memory", "checkpoints", "insights", "plan")
EDITS = st.one_of(
    st.tuples(st.just("plugins enable"), st.sampled_from(SWITCHED)),
    st.tuples(st.just("plugins disable"), st.sampled_from(SWITCHED)),
    st.tuples(st.just("config unset"), st.sampled_from([*VALUES, "plugins.titles"])),
    st.sampled_from(sorted(VALUES)).flatmap(
        lambda key: st.tuples(st.just("config set --"), st.just(key), st.sampled_from(VALUES[key]))
    ),
)
_TOP = re.compile(r"#[\w-]+:")
_INNER = re.compile(r"# {2,}[\w-]+:")
_INDENTED = re.compile(r" +#[\w-]+:")


def examples(text: str) -> list[list[int]]:
    """The rows of each example: a commented key with those below it, or one inside a section."""
    found: list[list[int]] = []
    for row, line in enumerate(text.split("\n")):
        if _TOP.match(line) or _INDENTED.match(line):
            found.append([row])
        elif _INNER.match(line):
            if found and found[-1][-1] == row - 1 and _TOP.match(text.split("\n")[found[-1][0]]):
                found[-1].append(row)
            else:
                found.append([row])
    return found


def uncommented(text: str, rows: list[int]) -> str:
    lines = text.split("\n")
    for row in rows:
        lines[row] = lines[row].replace("#", "", 1)
    return "\n".join(lines)


def parse(text: str) -> dict[str, Any]:
    """The values of a text in which no key is written twice."""
    node = yaml.compose(text, yaml.SafeLoader)
    while_open = [node]
    while while_open:
        section = while_open.pop()
        if isinstance(section, yaml.MappingNode):
            names = [key.value for key, _ in section.value]
            assert len(set(names)) == len(names), names
            while_open += [value for _, value in section.value]
    return dict(yaml.safe_load(text) or {})


def check_examples(text: str) -> None:
    found = examples(text)
    for rows in [*found, [row for one in found for row in one]]:
        parse(uncommented(text, rows))


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(edits=st.lists(EDITS, min_size=1, max_size=8))
def test_every_example_stays_valid_after_any_edits(
    line: RunCli, path: Path, edits: list[tuple[str, ...]]
) -> None:
    path.write_text(PACKAGED)
    prose = [text for text in PACKAGED.split("\n") if text.startswith("# ") and text[2] != " "]
    for command, *words in edits:
        done = line(*command.split(), *words)
        if done.exit_code:
            assert "so there is nothing to remove" in done.stderr or "remove" not in command
            assert re.search("nothing to remove|would be lost|did you mean", done.stderr)
        text = path.read_text()
        check_examples(text)
        assert [one for one in text.split("\n") if one in prose] == prose


def test_packaged_examples_are_valid() -> None:
    assert len(examples(PACKAGED)) >= 12
    check_examples(PACKAGED)


@pytest.mark.long
def test_new_key_takes_the_place_of_its_example(line: RunCli, path: Path) -> None:
    path.write_text(PACKAGED)
    line("plugins", "disable", "titles")
    line("plugins", "enable", "plan")
    line("config", "set", "model", "openai/gpt-5")
    text = path.read_text()
    assert (
        "\nplugins:\n  titles: false\n  plan: true\n"
        "#  memory: {notes_max_chars: 2200}\n#  checkpoints: true\n#  telegram: "
    ) in text
    assert "Ollama, vLLM, LM Studio, llama.cpp.\nmodel: openai/gpt-5\n\n# The model for" in text


def test_unset_brings_the_example_back(line: RunCli, path: Path) -> None:
    path.write_text(PACKAGED)
    for key, value in (("model", "openai/gpt-5"), ("max_iterations", "9"), ("store", "sqlite")):
        assert line("config", "set", key, value).exit_code == 0
        assert line("config", "unset", key).exit_code == 0
    assert path.read_text() == PACKAGED


@pytest.mark.long
def test_new_key_goes_before_the_commented_examples_of_its_section(
    line: RunCli, path: Path
) -> None:
    path.write_text(
        "plugins:\n  memory:\n    recall_limit: 3\n    # of memory\n\n  # Switch it on:\n"
        "  #telegram: {}\n\n# ---- Access ----\n#network: {}\n"
    )
    line("plugins", "disable", "plan")
    line("plugins", "enable", "plan")
    assert path.read_text() == (
        "plugins:\n  memory:\n    recall_limit: 3\n    # of memory\n  plan: true\n\n"
        "  # Switch it on:\n  #telegram: {}\n\n# ---- Access ----\n#network: {}\n"
    )


def test_untouched_lines_keep_every_byte(line: RunCli, path: Path) -> None:
    written = "model:   'a/b'   # mine\r\nplugins:\r\n    titles :  false\r\n    memory: { }\r\n"
    path.write_bytes(written.encode())
    assert line("config", "set", "plugins.memory.recall_limit", "4").exit_code == 0
    text = path.read_bytes().decode()
    assert text.startswith("model:   'a/b'   # mine\r\nplugins:\r\n    titles :  false\r\n")
    assert parse(text)["plugins"]["memory"] == {"recall_limit": 4}
