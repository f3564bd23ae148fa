"""Colours, progress bars and rewritten lines in the output of commands."""

from __future__ import annotations

import pytest
from hookline_shell.output import BoundedOutput
from hypothesis import given
from hypothesis import strategies as st


def shown(*pieces: str) -> str:
    """The output of a program that writes these pieces."""
    output = BoundedOutput(10_000)
    for piece in pieces:
        output.feed(piece.encode())
    output.feed(b"", final=True)
    return output.text()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("\x1b[31mred\x1b[0m and \x1b[1;38;5;208mbold\x1b[m\n", "red and bold\n"),
        ("\x1b]0;title\x07text\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\\n", "textlink\n"),
        ("  0%|    | 0/3\r 33%|#   | 1/3\r100%|####| 3/3\ndone\n", "100%|####| 3/3\ndone\n"),
        ("npm install\x1b[1G\x1b[0Kadded 5 packages\n", "added 5 packages\n"),
        ("a: 10%\nb: 10%\n\x1b[2A\x1b[2Ka: 90%\r\x1b[1B\x1b[2Kb: 80%\r\x1b[1B", "a: 90%\nb: 80%\n"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("spin |\b/\b-\bdone\n", "spin done\n"),
        ("\x1b[?25lhidden cursor\x1b[?25h\n", "hidden cursor\n"),
        ("no newline", "no newline"),
        ("long line here\rshort\x1b[K\n", "short\n"),
        ("one\r\r\ntwo\r\r\n", "one\ntwo\n"),
        ("x\x1b\x1b[31mred\x1b[0m\n", "xred\n"),
        ("bad \x1b[31\nnext\n", "bad [31\nnext\n"),
        ("lone \x1b\nnext\n", "lone \nnext\n"),
        ("never closed \x1b]0;title\nnext\n", "never closed ]0;title\nnext\n"),
        ("\x9b31mred\x9b0m\n", "red\n"),
        ("\x1b]0;title\x9ctext\n", "text\n"),
        ("a\x1b7\n 10%\x1b8\n 20%\n", "a\n 20%\n"),
        ("a\x1b[s 10%\x1b[u 20%\n", "a 20%\n"),
        ("N\bNA\bAM\bME\bE\n", "NAME\n"),
        ("_\bu_\bn\n", "un\n"),
        ("abcdef\x1b[4G\x1b[2P\n", "abcf\n"),
        ("abcdef\x1b[4G\x1b[2X\n", "abc  f\n"),
        ("log\n\x1b[2J\x1b[Hframe 1\nx\n\x1b[2J\x1b[Hframe 2\n", "log\nframe 2\n"),
        ("\x1b[H\x1b[2J\x1b[3Jfresh\n", "fresh\n"),
        ("\x1b[2J\x1b[Hone\ntwo\n\x1b[H\x1b[JONE\n", "ONE\n"),
        ("\x1b[1;1H10%\x1b[1;1H20%\n", "20%\n"),
        ("one\ntwo\x1bM\rONE\n", "ONE\ntwo"),
        ("\x1b(B\x1b[m\x1b=plain\x1b>\x1b[>4;1m\x1b[2 q\n", "plain\n"),
        ("\x1b_Gf=100;AAAA\x1b\\picture\n", "picture\n"),
        ("進捗 10%\r進捗 90%\n", "進捗 90%\n"),
    ],
)
def test_output_is_what_a_terminal_shows(written, expected):
    assert shown(written) == expected
    assert shown(*written) == expected


@given(
    st.lists(st.text(st.characters(exclude_characters="\x1b\x9b\r\b", exclude_categories=["Cs"])))
)
def test_plain_output_stays_as_it_is(pieces):
    assert shown(*pieces) == "".join(pieces)


def test_picture_in_an_escape_sequence_is_left_out():
    picture = "\x1b]1337;File=inline=1:" + "QUJD" * 50_000 + "\x07"
    pieces = [picture[at : at + 1_000] for at in range(0, len(picture), 1_000)]
    assert shown("before\n", *pieces, "after\n") == "before\nafter\n"


def test_long_progress_is_one_line():
    steps = "".join(f"\r{n:6} of 100000" for n in range(100_000))
    output = BoundedOutput(1_000)
    output.feed(steps.encode())
    assert output.text() == " 99999 of 100000"
