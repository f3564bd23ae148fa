"""Errors in a scenario give a sentence with file, line or step, and remedy."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path

import pytest
from hookline_hookspecs import BadRequest, Message, ModelRequest, ProviderError, ProviderSettings
from hookline_scripted import ScriptedProvider
from hypothesis import given
from hypothesis import strategies as st


async def play(path: Path) -> None:
    provider = ScriptedProvider(ProviderSettings("scripted", None, ""))
    request = ModelRequest(f"scripted/{path}", "", (), (Message.user("x"),))
    await provider.send(provider.render(request), None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("steps: [", "this is not valid YAML"),
        ("steps:\n- {text: a\n- b", "not valid YAML"),
        ("a: \x01", "not valid YAML"),
        ("", "is a mapping with the key 'steps'"),
        ("- text: a", "is a mapping with the key 'steps'"),
        ("stepz: []", "line 1: unknown key 'stepz'"),
        ("{}", "the key 'steps' is missing"),
        ("steps: {text: a}", "line 1: 'steps' is a list"),
        ("steps: [a]", "line 1, step 1: a step is a mapping"),
        (
            "steps:\n- {text: a}\n- {tool: []}",
            "line 3, step 2: unknown key 'tool'; the nearest is 'tools'",
        ),
        ("steps:\n- text: a\n  text: b", "line 3: the key 'text' is duplicated"),
        ("steps: [{text: yes}]", "'text': expected a string, got True; put it in quotes"),
        ("steps: [{text: 012}]", "'text': expected a string, got 10"),
        ("steps: [{when: '('}]", "step 1: 'when' is not a regular expression"),
        ("steps: [{when_any: '*'}]", "'when_any' is not a regular expression"),
        ("steps: [{delay: soon}]", "'delay': expected a number of seconds"),
        ("steps: [{delay: -1}]", "'delay': expected a number of seconds"),
        ("steps: [{delay: .inf}]", "'delay': expected a number of seconds"),
        ("steps: [{repeat: 1}]", "'repeat': expected true or false"),
        ("steps: [{fault: fire}]", "'fault': expected one of auth, rate"),
        ("steps: [{fault: {kind: rate, after: 1}}]", "unknown key 'after'"),
        ("steps: [{fault: [rate]}]", "'fault' is a mapping"),
        ("steps: [{fault: {kind: [rate]}}]", "'fault': expected one of"),
        ("steps: [{fault: no_name}]", "'no_name' needs a call in 'tools'"),
        ("steps: [{tools: look}]", "'tools' is a list of calls"),
        ("steps: [{tools: [{arguments: {}}]}]", "'name': expected a string, got nothing"),
        ("steps: [{tools: [{name: a, arguments: [1]}]}]", "arguments of 'a' must be a mapping"),
        ("steps: [{tools: [{name: a, arguments: {d: 2024-01-01}}]}]", "put values such as dates"),
        ("steps: [{tools: [{name: a, arguments: {d: .nan}}]}]", "a value that JSON does not have"),
        ("steps: [{tools: [{name: a, arguments: &a {d: *a}}]}]", "does not have"),
        ("steps: [{text: !!python/name:os.system ''}]", "not valid YAML"),
        ("steps: [{text: 2024-99-99}]", "not valid YAML"),
    ],
)
async def test_script_error_says_what_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadRequest) as caught:
        await play(path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("name", ["missing.yaml", ".", "nul\0.yaml"])
async def test_missing_file_is_a_bad_request(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRequest, match="The scripted model cannot read"):
        await play(tmp_path / name)


async def test_binary_file_is_a_bad_request(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_bytes(b"steps: \xff\xfe\x00")
    with pytest.raises(BadRequest, match="not valid YAML"):
        await play(tmp_path / "b.yaml")


PIECES = ("steps:", "- {}", "[]", "{", "}", ",", "when:", "text:", "tools:", "fault: rate")
SCRAPS = st.sampled_from((*PIECES, "name:", "(", "*a", "&a", "!", "?", "|", "'", "#", "\n", "1"))


@given(st.one_of(st.text(), st.lists(SCRAPS, max_size=25).map(" ".join)))
def test_any_file_content_is_a_script_or_a_bad_request(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(ProviderError):
            asyncio.run(play(path))
