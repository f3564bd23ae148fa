"""What terminals send by themselves, Esc, and lines that come at once: in any pieces."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest
from hookline_terminal.input_parser import InputParser
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from support.terminal import TerminalScreen

Script = Callable[[str], str]
REPORTS = {
    "colour, ended by BEL": "\x1b]11;rgb:1e1e/1e1e/2e2e\x07",
    "colour, ended by ST": "\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    "palette": "\x1b]4;1;rgb:cc/00/00\x1b\\",
    "clipboard": "\x1b]52;c;aGVsbG8=\x07",
    "DA1": "\x1b[?64;1;2;6;22c",
    "DA2": "\x1b[>41;377;0c",
    "DA3": "\x1bP!|7E565445\x1b\\",
    "version": "\x1bP>|XTerm(377)\x1b\\",
    "mode": "\x1b[?2026;2$y",
    "kitty flags": "\x1b[?0u",
    "window size": "\x1b[8;24;80t",
    "focus": "\x1b[I\x1b[O",
    "cursor": "\x1b[12;34R",
    "mouse": "\x1b[<0;12;7M\x1b[<0;12;7m\x1b[<64;1;1M",
    "mouse of rxvt": "\x1b[96;14;13M",
    "mouse of X10": "\x1b[M !!",
    "released key": "\x1b[97;1:3u",
    "end of a paste": "\x1b[201~",
}


class Keyboard:
    """Feeds a parser, on a clock of its own."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pressed: list[KeyPress] = []
        self._parser = InputParser(self.pressed.append, lambda: self.now)

    def type(self, *pieces: str | float) -> None:
        """Send pieces of input; a number is a pause in seconds, after which Esc is a key."""
        for piece in pieces:
            if isinstance(piece, str):
                self._parser.feed(piece)
            else:
                self.now += piece
                if piece > 0.2:
                    self._parser.flush()

    @property
    def keys(self) -> list[str]:
        """The names of the keys, without reports."""
        names = (press.key for press in self.pressed)
        return [
            name.value if isinstance(name, Keys) else name
            for name in names
            if name is not Keys.Ignore
        ]


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
@pytest.mark.parametrize("pause", [0.0, 0.15, 0.9])
def test_report_is_swallowed_wherever_it_is_split(report: str, pause: float) -> None:
    for at in range(1, len(report)):
        keyboard = Keyboard()
        first, second = report[:at], report[at:]
        keyboard.type("a", 1.0, first, pause, second, 1.0, "b")
        # An Esc that comes so much earlier than the rest can only be taken for the key.
        was_key = pause > 0.2 and (first == "\x1b" or first.endswith("\x1b"))
        allowed = [["a", "b"]] + ([["a", "escape", "b"]] if was_key else [])
        assert keyboard.keys in allowed, (first, second)


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_report_in_single_bytes_is_swallowed(report: str) -> None:
    keyboard = Keyboard()
    keyboard.type("x", 0.01, *itertools.chain(*((char, 0.05) for char in report)), 1.0, "y")
    assert keyboard.keys == ["x", "y"]


def test_unfinished_report_swallows_nothing_later() -> None:
    for start in ("\x1b]11;rgb:1e", "\x1b[?64;1", "\x1bP>|XTe", "\x1b[1;", "\x1b]", "\x1b["):
        keyboard = Keyboard()
        keyboard.type(start, 6.0, "hello", "\r")
        assert keyboard.keys == [*"hello", "c-m"], start
    for start in ("\x1b]11;rgb:1e", "\x1b[1;"):
        keyboard = Keyboard()
        keyboard.type(start, "\x1b[A", "\r")
        assert keyboard.keys == ["up", "c-m"], start


@pytest.mark.parametrize(
    ("pieces", "keys"),
    [
        (["\x1b[A"], ["up"]),
        (["\x1b", 0.15, "[A"], ["up"]),
        (["\x1b[", 0.8, "A"], ["up"]),
        (["\x1b", 0.6, "[A"], ["escape", "up"]),
        (["\x1b\x1b[A"], ["escape", "up"]),
        (["\x1b", 0.5], ["escape"]),
        (["\x1b\x1b", 0.5], ["escape", "escape"]),
        (["\x1bb"], ["escape", "b"]),
        (["\x1bb\x1bb"], ["escape", "b", "escape", "b"]),
        (["\x1b\r"], ["escape", "c-m"]),
        (["\x1b[99;5u"], ["c-c"]),
        (["\x1b[27u"], ["escape"]),
        (["\x1b[13;2u\x1b[13;5u\x1b[27;2;13~"], ["c-j", "c-j", "c-j"]),
        (["\x1b[13u\x1b[9u\x1b[9;2u\x1b[127u"], ["c-m", "c-i", "s-tab", "c-h"]),
        (["\x1b[97;3u\x1b[27;5;97~\x1b[228u"], ["escape", "a", "c-a", "ä"]),
        (["\x1b[1;1:1A\x1b[1;1:3A"], ["up"]),
        (["\x1b[57441;2u"], []),
    ],
)
def test_keys_are_told_from_sequences(pieces: list[str | float], keys: list[str]) -> None:
    keyboard = Keyboard()
    keyboard.type(*pieces)
    assert keyboard.keys == keys


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.15, 0.5])
@pytest.mark.parametrize("word", ["before", "find", "d", "yes", "Please", "no", "OH", "1"])
def test_no_key_is_swallowed_after_escape(word: str, pause: float) -> None:
    keyboard = Keyboard()
    keyboard.type("\x1b", pause, word[:1], 0.08, word[1:] or "\r")
    if pause:  # else it is Alt with that key
        alone = [press.key for press in keyboard.pressed[:2]]
        assert alone == [Keys.Escape, Keys.Ignore]
    if pause or word != "OH":  # which is Home without a pause
        assert "".join(keyboard.keys).removeprefix("escape").removesuffix("c-m") == word


def test_lines_that_come_at_once_are_one_paste() -> None:
    keyboard = Keyboard()
    keyboard.type("first\rsecond\r\n\tthird\r")
    assert [(press.key, press.data) for press in keyboard.pressed] == [
        (Keys.BracketedPaste, "first\rsecond\r\tthird"),
        (Keys.ControlM, "\r"),
    ]
    keyboard = Keyboard()
    keyboard.type("one line\r", 0.5, "\r\r", 0.5, "x\x7fy\rz")
    assert Keys.BracketedPaste not in keyboard.keys
    assert keyboard.keys.count("c-m") == 4


def test_paste_keeps_its_text_and_drops_reports() -> None:
    keyboard = Keyboard()
    keyboard.type("\x1b[200~ab\rc\x1b[I", 0.5, "\x1b]11;rgb:1/2/3\x07d\x1b[20", 0.5, "1~e")
    assert keyboard.pressed[0].data == "ab\rcd"
    assert keyboard.keys == ["<bracketed-paste>", "e"]
    keyboard.type("\x1b[200~never ends", 3.0, "x")
    assert keyboard.keys[2:] == ["<bracketed-paste>", "x"]


STEPS = """
  - {when: "^go", tools: [{name: launch, arguments: {target: moon}}]}
  - {when: "launched", text: "It flew."}
  - {when: "^one", text: "Heard all."}
  - {when: "", text: "Heard.", repeat: true}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("asker")
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 20)])
def test_reports_are_neither_text_nor_answers_on_the_screen(
    screen: Callable[..., TerminalScreen], script: Script, columns: int, rows: int
) -> None:
    chat = screen("chat", "--model", script(STEPS), columns=columns, rows=rows)
    chat.wait_for("›")
    for report in REPORTS.values():
        chat.type(report)
        at = len(report) // 2
        chat.type(report[:at])
        time.sleep(0.05)
        chat.type(report[at:])
    chat.type("still here")
    chat.wait_for("› still here\n")
    chat.type("\x15go\r")
    chat.wait_for("4. Deny")
    for report in REPORTS.values():
        chat.type(report)
    chat.settle(1.0)
    assert "4. Deny" in chat.text
    chat.type("1\r")
    chat.wait_for("It flew.")


@pytest.mark.slow
def test_unbracketed_paste_is_one_message(
    screen: Callable[..., TerminalScreen], script: Script
) -> None:
    chat = screen("chat", "--model", script(STEPS))
    chat.wait_for("›")
    chat.type("one\rtwo\rthree\r")
    chat.wait_for("Heard all.")
    assert "› one\n  two\n  three\n" in chat.text
    lines = "\r".join(f"line {number}" for number in range(400))
    for at in range(0, len(lines), 300):  # as a slow terminal delivers it
        chat.type(lines[at : at + 300])
        time.sleep(0.005)
    chat.wait_for("[pasted 400 lines]")
    assert "Heard.\n" not in chat.settle()
