"""Limits for all references of a message, and the plugin's settings."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hookline_context_refs import ContextRefsConfig
from pydantic import ValidationError


def test_attachments_up_to_a_quarter_of_the_window_give_no_warning(chat):
    # 2 files of 64,000 characters are 32,000 tokens, a quarter of an unknown model's 128,000.
    chat.put("a.txt", "a" * 64_000)
    chat.put("b.txt", "b" * 64_000)
    turn = chat("@file:a.txt @file:b.txt")
    assert len(turn.items) == 2
    assert turn.warnings == []


def test_attachments_above_a_quarter_of_the_window_give_a_warning(chat):
    chat.put("a.txt", "a" * 64_000)
    chat.put("b.txt", "b" * 64_004)
    turn = chat("@file:a.txt @file:b.txt")
    assert len(turn.items) == 2
    assert "25% of the model's window" in turn.warnings[0]
    assert turn.notices


def test_attachments_never_exceed_half_of_the_window(chat):
    names = "abcdef"
    for name in names:
        chat.put(f"{name}.txt", name * 64_000)
    chat.put("small.txt", "s")
    turn = chat(" ".join(f"@file:{name}.txt" for name in names))
    assert list(turn.items) == [f"@file:{name}.txt" for name in "abcd"]
    assert len(turn.context) / 4 < 65_000
    refused = [warning for warning in turn.warnings if "not attached" in warning]
    assert ["e.txt" in refused[0], "f.txt" in refused[1], len(refused)] == [True, True, 2]


def test_characters_are_counted_as_they_are_sent(chat):
    # Each `<` goes out as `&lt;`: 60,000 of them are 60,000 tokens of the 64,000 allowed.
    chat.put("a.txt", "<" * 60_000)
    chat.put("b.txt", "b" * 20_000)
    turn = chat("@file:a.txt @file:b.txt")
    assert list(turn.items) == ["@file:a.txt"]
    assert "b.txt is not attached" in turn.warnings[0]


def test_window_is_that_of_the_model(make_chat, monkeypatch):
    chat = make_chat()
    monkeypatch.setattr(chat.harness.runtime.engine.providers, "window", lambda model: 1_000)
    chat.put("a.txt", "a" * 1_996)
    chat.put("b.txt", "b" * 10)
    turn = chat("@file:a.txt @file:b.txt")
    assert list(turn.items) == ["@file:a.txt"]
    assert "window of 1000 tokens" in turn.warnings[0]


def test_number_of_references_is_limited(chat):
    for number in range(60):
        chat.put(f"{number}.txt", str(number))
    turn = chat(" ".join(f"@file:{number}.txt" for number in range(60)))
    assert list(turn.items) == [f"@file:{number}.txt" for number in range(50)]
    assert "first 50 of 60" in turn.warnings[0]


def test_limits_can_be_configured(make_chat):
    chat = make_chat(config={"file_max_chars": 5, "folder_max_entries": 1, "file_max_bytes": 9})
    chat.put("a.txt", "123456789")
    chat.put("b.txt", "1234567890")
    turn = chat("@file:a.txt @file:b.txt @folder:.")
    assert turn.items == {
        "@file:a.txt": "12345\n[… 4 characters left out]",
        "@folder:.": "a.txt\n[… at least 1 more entries left out]",
    }
    assert "larger than 9 bytes" in turn.warnings[0]


def test_settings_are_described_and_reject_invalid_values():
    for name, field in ContextRefsConfig.model_fields.items():
        assert field.description
        with pytest.raises(ValidationError):
            ContextRefsConfig(**{name: 0})


@pytest.mark.long
def test_message_of_a_megabyte_is_parsed(chat):
    turn = chat('@file:"x ' + "@file:a:1- (@diff) \0 @" * 50_000)
    assert turn.items == {}
    assert len(turn.warnings) == 3


def test_plugin_import_loads_nothing_heavy():
    code = (
        "import sys, hookline_context_refs; "
        "sys.exit(bool({'markdownify', 'bs4', 'asyncio.subprocess'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
