"""English text that was written without knowing its reader, translated where a page shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline_hookspecs.web import Language, speaking, translate
from hookline_hookspecs.web.finished_text import templates
from hookline_webkit import translations

GERMAN = {
    "nothing is running": "nichts läuft",
    "Send the file {path} to {host}.": "Die Datei {path} an {host} senden.",
    "the file {path} is missing": "die Datei {path} fehlt",
    "this may {does}": "das kann {does}",
    "delete something": "etwas löschen",
    "{why}, for good": "{why}, endgültig",
    "rewrites history": "schreibt den Verlauf um",
    "Start a new chat.": "Einen neuen Chat beginnen.",
}
CATS = ("{n} Katze", "{n} Katzen")
MESSAGES = {key: (text,) for key, text in GERMAN.items()} | {"{n} cat": CATS, "{n} cats": CATS}
READER = Language("de", messages=MESSAGES, templates=tuple(templates(MESSAGES)))
SOURCE = '''
class Settings(BaseModel):
    most: int = Field(3, title="Pages", description="Maximum " "pages.")
    least: int = Field(1, title="Least")
    """Minimum
    pages."""
    hidden: int = 2
    """Not on a page."""

def check(path, many, names):
    register(Check("disk space", run))
    if many:
        return CheckResult(False, f"{path} is full", "free some" if many else "try later")
    return Deny(N_(f"{names[0]}{path} is a secret of {len(many)} people"))

class Notes:
    @command("/notes")
    def notes(self, ctx, args):
        """Show the notes.

        More about it.
        """
        if args:
            return f"{t('Saved.')} {args}"
        if not names:
            return "No notes yet."
        if names:
            return CommandReply(f"Notes of {name}")
        return Deny(f"{path}: {names}") or CheckResult(True, "", "hookline init")
'''
FOUND = {
    "Pages",
    "Maximum pages.",
    "Least",
    "Minimum pages.",
    "Saved.",
    "No notes yet.",
    "Notes of {name}",
    "disk space",
    "{path} is full",
    "free some",
    "try later",
    "{names} is a secret of {len} people",
    "Show the notes.",
    "steers git",
    "Writes letters.",
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing is running", "nichts läuft"),
        ("Nothing is running", "Nichts läuft"),
        ("Nothing is running.", "Nichts läuft."),
        ("the file /a b is missing", "die Datei /a b fehlt"),
        ("the file {0} is missing", "die Datei {0} fehlt"),
        ("`git push` rewrites history", "`git push` schreibt den Verlauf um"),
        ("`git push` rewrites history, for good", "`git push` schreibt den Verlauf um, endgültig"),
        ("this may delete something (/a), x", "das kann etwas löschen (/a), x"),
        ("/new (/clear): Start a new chat.", "/new (/clear): Einen neuen Chat beginnen."),
        (
            "`git a` rewrites history; nothing is running; `git b` rewrites history",
            "`git a` schreibt den Verlauf um; nichts läuft; `git b` schreibt den Verlauf um",
        ),
        ("Nothing is running; the file a is missing", "Nichts läuft; die Datei a fehlt"),
        ("  nothing is running\n\nunknown", "  nichts läuft\n\nunknown"),
        ("nothing is running. Unknown.", "nothing is running. Unknown."),
        ("x · nothing is running · the file a is missing", "x · nichts läuft · die Datei a fehlt"),
        ("1 cat · 1,000 cats · no cats", "1 Katze · 1,000 Katzen · no cats"),
        ("`nothing is running` · nothing is running", "`nothing is running` · nichts läuft"),
        ("`1 cat · x: 1 cat` · 1 cat", "`1 cat · x: 1 cat` · 1 Katze"),
        ("`` ` · 1 cat ``; 1 cat", "`` ` · 1 cat ``; 1 cat"),
        (
            "1 cat\n````\n1 cat\n```\n+x: 1 cat\n````\n1 cat\n    | 1 cat",
            "1 Katze\n````\n1 cat\n```\n+x: 1 cat\n````\n1 Katze\n    | 1 cat",
        ),
        ("a name of a person", "a name of a person"),
        ("", ""),
    ],
)
def test_finished_text_is_translated(text: str, shown: str) -> None:
    assert translate(text) == text
    with speaking(READER):
        assert translate(text) == shown


def test_very_long_text_stays_as_it_is() -> None:
    with speaking(READER):
        assert translate("nothing is running\n" * 2) == "nichts läuft\n" * 2
        output = "nothing is running\n" * 2_000
        assert translate(output) == output


def test_nobody_moves_words_from_one_value_to_another() -> None:
    """The file "notes to boss.example" for a stranger must not read as one for the boss."""
    with speaking(READER):
        assert translate("Send the file a to b.") == "Die Datei a an b senden."
        unclear = "Send the file notes to boss.example to stranger.example."
        assert translate(unclear) == unclear


def test_finished_texts_are_found_in_sources(tmp_path: Path) -> None:
    folder = tmp_path / "src" / "hookline_letters"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(SOURCE, "utf-8")
    (folder / "rules.yaml").write_text("# translate: why\n- why: steers git\n  id: x\n", "utf-8")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "hookline-letters"\ndescription = "Hookline plugin: writes letters."\n'
        '[project.entry-points."hookline.plugins"]\nletters = "hookline_letters:Letters"\n',
        "utf-8",
    )
    assert {one.id for one in translations.find_sentences(folder) if one.id} == FOUND
