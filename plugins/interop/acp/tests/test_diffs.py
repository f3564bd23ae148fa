"""Changes of files as the editor shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline_acp.call_updates import diffs_from_arguments
from hookline_hookspecs import ToolCall

HIDDEN = "a = 1  # \u202e\x1b[8m\u200b"
SHOWN = "a = 1  # \\u202e\\x1b[8m\\u200b"


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("write_file", {"content": HIDDEN}, (None, SHOWN)),
        ("edit_file", {"old_string": HIDDEN, "new_string": f"{HIDDEN}b"}, (SHOWN, f"{SHOWN}b")),
    ],
)
def test_diff_spells_out_what_cannot_be_seen(
    tmp_path: Path, name: str, arguments: dict[str, str], shown: tuple[str | None, str]
) -> None:
    call = ToolCall("c1", name, {"path": "a.py", **arguments})
    (diff,) = diffs_from_arguments(call, tmp_path)
    assert (diff.old_text, diff.new_text) == shown
