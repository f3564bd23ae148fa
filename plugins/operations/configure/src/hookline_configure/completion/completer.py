"""Completes a command line of ``hookline`` for a shell.

Run as a script by ``bash.sh``, ``zsh.sh`` and ``fish.sh``, with ``-I -S``. A person waits for it,
so it imports only a few modules of the standard library, not even pathlib. It reads the commands
from a table that :mod:`.table` writes; if config.yaml or the installed packages have changed since,
it starts another process that renews the table.

It prints ``files`` or ``folders``, which the shell completes itself, or ``words`` and then a line
for each word: the word, a tab, its description.
"""

# ruff: noqa: PTH100, PTH103, PTH108, PTH110, PTH111, PTH116, PTH118, PTH120, PTH123, PTH204
from __future__ import annotations

import json
import os
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

FORMAT = 1
"""The version of the table's format; a table of another version is renewed."""
RENEWAL_TIMEOUT = 30.0
"""Seconds after which a process that renews the table counts as dead."""
MAX_SESSIONS = 100
UNQUOTED_CHARS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
)
"""Characters that bash takes without quotes."""
HOME_OPTION = {"names": ["--home"], "help": "The home folder", "takes": True, "kind": "folders"}
NO_SECTION: dict[str, Any] = {}
Words = Iterator[tuple[str, str]]


def home(words: Sequence[str]) -> str:
    """The home folder that a command line uses."""
    found = os.environ.get("HOOKLINE_HOME") or "~/.hookline"
    for number, word in enumerate(words[:-1]):
        if word == "--home" and number + 2 < len(words):
            found = words[number + 1]
        elif word.startswith("--home="):
            found = word.partition("=")[2]
    return os.path.abspath(os.path.expanduser(found))


def table_path(folder: str) -> str:
    """The file with the table for a home and for the Python interpreter that runs this."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    name = zlib.crc32(f"{folder}\0{sys.executable}".encode())
    return os.path.join(cache, "hookline", f"completion-{name:08x}.json")


def stamp(path: str) -> list[int] | None:
    """Time and size of a file or folder, which change when it does; None if it is missing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size]


class CompletionTable:
    """The table of a home: its commands, plugins and keys when the table was written."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._path = table_path(folder)
        self.data: dict[str, Any] = {}
        try:
            with open(self._path, encoding="utf-8") as file:
                data = json.load(file)
            if data["format"] == FORMAT and data["home"] == folder:
                self.data = data
        except (OSError, ValueError, LookupError, TypeError):
            pass
        self.on: set[str] = set(self.data.get("on", ()))
        config = os.path.join(folder, "config.yaml")
        changed = stamp(config) != self.data.get("config")
        if changed and self.data:
            self._read_switches(config)
        if changed or not self.data or stamp(self.data["site"]) != self.data["installed"]:
            self._renew()

    def is_off(self, words: str) -> bool:
        """Whether a command, such as ``plugins list``, belongs to a plugin that is off."""
        owner = self.data["owners"].get(words)
        return owner is not None and owner not in self.on

    def _read_switches(self, config: str) -> None:
        """Read from config.yaml which plugins are on now."""
        import site

        site.main()
        try:
            import yaml

            with open(config, encoding="utf-8-sig") as file:
                loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
                values = yaml.load(file, loader)  # noqa: S506
            plugins = (values or {}).get("plugins") or {}
            for name, value in plugins.items():
                found = value.get("enabled", True) if isinstance(value, dict) else value
                (self.on.discard if found is False else self.on.add)(name)
        except Exception:  # no YAML library or unreadable config: keep what the table says
            return

    def _renew(self) -> None:
        """Start a process that writes the table, unless one is running already."""
        import subprocess

        lock = f"{self._path}.lock"
        try:
            os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
            if os.path.exists(lock) and time.time() - os.path.getmtime(lock) > RENEWAL_TIMEOUT:
                os.unlink(lock)
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
            subprocess.Popen(
                [sys.executable, "-P", "-m", "hookline", "completion", "--refresh"],
                env={**os.environ, "HOOKLINE_HOME": self.folder},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return


class CommandLineInput:
    """A command line up to the cursor, parsed with a table."""

    def __init__(self, table: CompletionTable, words: Sequence[str]) -> None:
        self._table = table
        *before, self._current = words[1:] or [""]
        self._node: dict[str, Any] = table.data["commands"]
        self._path: list[str] = []
        self._arguments: list[str] = []
        self._used: set[str] = set()
        self._option: dict[str, Any] | None = None
        self._only_arguments = False
        for word in before:
            self._parse(word)

    def _parse(self, word: str) -> None:
        if self._option is not None:
            self._option = None
        elif self._only_arguments:
            self._arguments.append(word)
        elif word == "--":
            self._only_arguments = True
        elif word.startswith("-") and word != "-":
            name, equals, _ = word.partition("=")
            found = self._find(name)
            if found:
                self._used.update(() if found.get("many") else found["names"])
            if found and found["takes"] and not equals:
                self._option = found
        elif "commands" in self._node:
            self._path.append(word)
            self._node = self._node["commands"].get(word, NO_SECTION)
        else:
            self._arguments.append(word)

    def _options(self) -> list[dict[str, Any]]:
        return [*self._node.get("options", ()), HOME_OPTION] if self._node else []

    def _find(self, name: str) -> dict[str, Any] | None:
        return next((option for option in self._options() if name in option["names"]), None)

    def complete(self) -> tuple[str, list[tuple[str, str]]]:
        """``files``, ``folders`` or ``words``, and the words with their descriptions."""
        current = self._current
        if self._option is not None:
            return self._complete_kind(self._option["kind"], current)
        if current.startswith("-") and not self._only_arguments:
            name, equals, value = current.partition("=")
            if not equals:
                return "words", list(self._unused_options(current))
            found = self._find(name)
            kind, words = self._complete_kind(found["kind"] if found else None, value)
            return kind, [(f"{name}={word}", text) for word, text in words]
        if "commands" in self._node:
            return "words", list(self._commands(current))
        arguments = self._node.get("arguments", ())
        position = len(self._arguments)
        if arguments and (position < len(arguments) or arguments[-1]["many"]):
            argument = arguments[min(position, len(arguments) - 1)]
            if self._arguments[:1] and self._arguments[0] in argument.get("not_after", ()):
                return "words", []
            return self._complete_kind(argument["kind"], current)
        return "words", []

    def _unused_options(self, current: str) -> Words:
        for option in self._options():
            if not self._used.intersection(option["names"]):
                for name in option["names"]:
                    if name.startswith(current) and (name.startswith("--") or current == "-"):
                        yield name, option["help"]

    def _commands(self, current: str) -> Words:
        for name, node in self._node["commands"].items():
            words = " ".join([*self._path, name])
            inside = node.get("commands")
            if not name.startswith(current) or self._table.is_off(words):
                continue
            if inside and all(self._table.is_off(f"{words} {word}") for word in inside):
                continue
            yield name, node["help"]

    def _complete_kind(self, kind: Any, current: str) -> tuple[str, list[tuple[str, str]]]:
        if kind in ("files", "folders"):
            return kind, []
        return "words", [row for row in self._words_of(kind) if row[0].startswith(current)]

    def _words_of(self, kind: Any) -> Iterable[tuple[str, str]]:
        data = self._table.data
        if isinstance(kind, list):
            return [(word, "") for word in kind]
        if kind == "sessions":
            return sessions(self._table.folder)
        if kind in ("plugins", "enabled", "disabled"):
            plugins = data["plugins"]
            if kind == "disabled":
                plugins = {**plugins, **data["known"]}
            on = self._table.on
            names = {"plugins": set(plugins), "enabled": on, "disabled": set(plugins) - on}[kind]
            return [(name, text) for name, text in plugins.items() if name in names]
        if kind == "keys":
            return [(key, found["help"]) for key, found in data["keys"].items()]
        if kind == "values":
            key = self._arguments[0] if self._arguments else ""
            return self._words_of(data["keys"].get(key, NO_SECTION).get("kind"))
        found: dict[str, str] = data["lists"].get(kind, {})
        return found.items()


def sessions(folder: str) -> list[tuple[str, str]]:
    """The ids and titles of the newest sessions; none if the store is not SQLite."""
    import sqlite3
    from urllib.request import pathname2url

    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, "hookline.db")
    if not os.path.exists(path):
        return []
    with open(os.path.join(here, "sessions.sql"), encoding="utf-8") as file:
        query = file.read()
    try:
        store = sqlite3.connect(f"file:{pathname2url(path)}?mode=ro", uri=True, timeout=0.1)
        try:
            return [
                (str(one), str(text or "")) for one, text in store.execute(query, [MAX_SESSIONS])
            ]
        finally:
            store.close()
    except sqlite3.Error:
        return []


def split_bash_line(line: str) -> list[str]:
    """The words of a bash command line up to the cursor; the last one may be empty."""
    import shlex

    for end in ("", '"', "'"):
        try:
            words = shlex.split(line + end)
        except ValueError:
            continue
        return [*words, ""] if not end and line[-1:].isspace() and line[-2:-1] != "\\" else words
    return line.split()


def cut_length(word: str, breaks: str) -> int:
    """How many characters of a word bash has split off: it breaks words at ``:`` and ``=``."""
    return max((word.rfind(sign) + 1 for sign in ":=" if sign in breaks), default=0)


def main(shell: str, *arguments: str) -> None:
    """Print the completions for ``shell``."""
    words = split_bash_line(arguments[1]) if shell == "bash" else list(arguments)
    table = CompletionTable(home(words))
    if not table.data:
        return
    kind, found = CommandLineInput(table, words).complete()
    if shell == "bash":
        skip = cut_length(words[-1], arguments[0])
        found = [(word[skip:], text) for word, text in found if UNQUOTED_CHARS.issuperset(word)]
    lines = [f"{word}\t{' '.join(text.split())}" for word, text in found if word.isprintable()]
    text = "\n".join([kind, *lines])
    sys.stdout.write("".join(c for c in text if c.isprintable() or c in "\t\n") + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
