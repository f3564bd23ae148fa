"""File names that strangers choose, wherever a file of theirs is saved."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hookline_browser.downloads import safe_name as name_of_download
from hookline_channelkit.media import safe_name as name_of_attachment

NAMES = {
    "folders above": "../../.bashrc",
    "encoded folders": "..%2f..%2fetc%2fpasswd",
    "folders of Windows": "..\\..\\autorun.inf",
    "absolute": "/etc/cron.d/job",
    "stream of Windows": "report.pdf:evil.exe",
    "NUL": "report.exe\0.pdf",
    "other direction": "report\u202efdp.exe",
    "isolated": "a\u2066b\u2069.sh",
    "invisible": "re\u200bport\u00ad.pdf",
    "tags": "a\U000e0041\U000e0042.txt",
    "line break": "a\r\nSet-Cookie: x=1.txt",
    "escape sequence": "a\x1b]0;evil\x07.txt",
    "hidden": ".ssh",
    "only dots": "....",
    "option": "-rf",
    "home": "~root",
    "command": "$(reboot)`id`.txt",
    "long": "x" * 5_000 + ".pdf",
    "long in bytes": "\U0001f600" * 300 + ".pdf",
    "long ending": "a." + "x" * 5_000,
    "lone surrogate": "a\ud800.txt",
    "empty": "",
}


@pytest.mark.parametrize("make", [name_of_download, name_of_attachment])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_name_chosen_by_a_stranger_is_one_visible_part(
    make: Callable[[str], str], name: str
) -> None:
    made = make(name)
    assert len(made.encode("utf-8")) <= 200
    assert not made.startswith((".", "-", "~", " "))
    assert not set(made) & set("/\\:\0$`<>|*?\"'")
    assert [one for one in made if unicodedata.category(one)[0] in "CZ" and one != " "] == []


@pytest.mark.parametrize("name", ["CON", "nul.txt", "COM1", "LpT9.log", "aux.tar.gz"])
def test_downloads_have_no_reserved_name_of_windows(name: str) -> None:
    assert name_of_download(name) == f"_{name}"
