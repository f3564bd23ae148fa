"""``hookline run --output-schema``: JSON alone on stdout, checked, with one more try."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import NoConfig, Plugin, Question, ToolOutput, tool
from hookline_run import Run

MakeHarness = Callable[..., Harness]
SCHEMA = {
    "type": "object",
    "properties": {"bugs": {"type": "array", "items": {"$ref": "#/$defs/bug"}}},
    "required": ["bugs"],
    "$defs": {"bug": {"type": "string", "minLength": 1}},
}


class Clarifier(Plugin[NoConfig]):
    """Ends the turn in a question."""

    @tool(read_only=True)
    def clarify(self) -> ToolOutput:
        """Ask the person."""
        return ToolOutput("Asked.", data=Question("Which one?", ("left", "right")))


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA), "utf-8")
    return path


def lines(done: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "answer",
    [
        '{"bugs": ["ä"]}',
        '```json\n{\n "bugs": ["ä"]\n}\n```',
        'Here it is:\n```\n{"bugs": ["ä"]}\n```',
    ],
)
def test_fitting_answer_is_printed_as_json_alone(
    harness: MakeHarness, schema: Path, answer: str
) -> None:
    h = harness(Run, model=[answer])
    done = h.cli(f"run review --output-schema {schema}")
    assert (done.exit_code, done.stdout) == (0, '{"bugs": ["ä"]}\n')


def test_schema_is_told_for_the_turn_alone(harness: MakeHarness, schema: Path) -> None:
    h = harness(Run, model=['{"bugs": []}', "Hello."])
    h.cli(f"run review --session s --output-schema {schema} --system 'Be brief.'")
    h.cli("run hello --session s")
    first, second = h.model.requests
    assert first.ephemeral.startswith("Be brief.")
    assert '"minLength": 1' in first.ephemeral
    assert "minLength" not in first.system + second.system + second.ephemeral
    assert first.system == second.system


@pytest.mark.parametrize("option", ["", "--json"])
def test_wrong_answer_is_asked_for_once_more(
    harness: MakeHarness, schema: Path, option: str
) -> None:
    h = harness(Run, model=['{"bugs": [""]}', '{"bugs": ["late"]}'])
    done = h.cli(f"run review --output-schema {schema} {option}")
    assert done.exit_code == 0
    assert "$.bugs[0]: '' should be non-empty" in h.model.requests[1].messages[-1].text
    if option:
        found = lines(done)
        assert [one["type"] for one in found].count("result") == 1
        assert (found[-1]["text"], found[-1]["stop"]) == ('{"bugs": ["late"]}', "done")
        assert any(one["type"] == "notice" and one["plugin"] == "run" for one in found)
    else:
        assert done.stdout == '{"bugs": ["late"]}\n'
        assert "does not fit the schema; asking once more" in done.stderr


@pytest.mark.parametrize("option", ["", "--json"])
def test_second_wrong_answer_fails(harness: MakeHarness, schema: Path, option: str) -> None:
    h = harness(Run, model=["No bugs.", '{"bugs": 1}'])
    done = h.cli(f"run review --output-schema {schema} {option}")
    assert done.exit_code == 1
    assert len(h.model.requests) == 2
    said = f"the answer does not fit {schema}: $.bugs: 1 is not of type 'array'"
    if option:
        error, result = lines(done)[-2:]
        assert (error["type"], error["kind"], error["text"]) == ("error", "schema", said)
        assert (result["text"], result["stop"]) == (said, "error")
    else:
        assert done.stdout == ""
        assert said in done.stderr


def test_question_instead_of_json_fails(harness: MakeHarness, schema: Path) -> None:
    done = harness(Run, Clarifier, model=[calls("clarify")]).cli(
        f"run review --output-schema {schema}"
    )
    assert (done.exit_code, done.stdout) == (1, "")
    assert "ended in a question instead of JSON: Which one?" in done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("{", "not JSON"),
        ("[]", "a JSON schema is an object"),
        ('{"type": "strnig"}', "not a JSON schema"),
    ],
)
def test_unusable_schema_is_wrong_usage(
    harness: MakeHarness, tmp_path: Path, content: str | None, said: str
) -> None:
    path = tmp_path / "wrong.json"
    if content is not None:
        path.write_text(content, "utf-8")
    h = harness(Run)
    done = h.cli(f"run review --output-schema {path}")
    assert (done.exit_code, said in done.stderr) == (2, True)
    assert not h.model.requests


def test_schema_fetches_nothing(harness: MakeHarness, tmp_path: Path) -> None:
    path = tmp_path / "remote.json"
    path.write_text('{"$ref": "http://127.0.0.1:9/schema.json"}', "utf-8")
    done = harness(Run, model=["{}"]).cli(f"run review --output-schema {path}")
    assert done.exit_code == 2
    assert "cannot resolve the reference" in done.stderr


@pytest.mark.parametrize("words", ["/status", "--resume --session s"])
def test_schema_needs_a_prompt_for_the_model(
    harness: MakeHarness, schema: Path, words: str
) -> None:
    done = harness(Run).cli(f"run {words} --output-schema {schema}")
    assert done.exit_code == 2
    assert "--output-schema" in done.stderr
