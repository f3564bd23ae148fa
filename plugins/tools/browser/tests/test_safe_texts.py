"""Names of downloads, and texts shown to a person."""

from __future__ import annotations

import re

import pytest
from hookline_browser.downloads import safe_name
from hookline_browser.preview import MASK, field_line, quoted
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("suggested", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Windows\\x.dll", "x.dll"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("a b\nc.txt", "a_bc.txt"),
        ("fdp\u202excod.exe", "fdpxcod.exe"),
        ("$(reboot)`x`.sh", "(reboot)_x_.sh"),
        ("con.txt", "_con.txt"),
        ("", "download"),
        ("..", "download"),
        ("x" * 300 + ".tar", "x" * 96 + ".tar"),
    ],
)
def test_download_name_is_made_safe(suggested: str, name: str) -> None:
    assert safe_name(suggested) == name


@given(st.text(max_size=60))
def test_download_name_never_has_a_path(suggested: str) -> None:
    name = safe_name(suggested)
    assert 0 < len(name) <= 101
    assert not re.search(r"[\s/\\\x00-\x1f\x7f`$]", name)
    assert name[0] not in ".-~"


def test_field_line_is_literal_and_masks_passwords() -> None:
    assert (
        field_line("name", "text", "Bo\n  total = 0", pending=True) == r'  name = "Bo\n  total = 0"'
    )
    assert field_line("p", "password", "hunter22", pending=True) == f"  p = {MASK}"
    assert field_line("to\u202e", "text", "x", pending=False) == '  to\\u202e = "x"'
    assert field_line("", "hidden", "y" * 300, pending=False).endswith(
        "and 100 more characters (hidden)"
    )
    assert quoted("z" * 30_000) in field_line("t", "text", "z" * 30_000, pending=True)
