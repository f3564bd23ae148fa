"""Reads files of a home that may be hostile: nothing outside of it, nothing huge, nothing waits.

Everything that cannot be read is an :class:`Unreadable`, a sentence for a person.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hookline_hookspecs import HooklineError
from hookline_hookspecs.regular_files import open_regular

TEXT_BYTES = 1_000_000
"""Bytes of a file of text, and of a settings file ten times as many."""
DATA_BYTES = 10_000_000
LINE_BYTES = 16_000_000
"""Bytes of a line of a transcript."""
MOST_ENTRIES = 20_000
"""Names in a folder that are looked at."""


class Unreadable(HooklineError):
    """Something of the other program's home cannot be read; the text says what and why."""


class Folder:
    """A folder whose links are followed only within it; paths are relative, with ``/``.

    Args:
        root: the folder.

    Raises:
        Unreadable: it is no folder.
    """

    def __init__(self, root: Path) -> None:
        try:
            self.root = root.expanduser().resolve(strict=True)
        except FileNotFoundError:
            raise Unreadable(f"there is no {root}; --from DIR says where it is") from None
        except (OSError, RuntimeError) as error:
            raise Unreadable(f"{root} cannot be used: {_why(error)}") from None
        if not self.root.is_dir():
            raise Unreadable(f"{root} is no folder")

    def real(self, path: str) -> Path | None:
        """Where ``path`` leads; None if there is nothing. Raises ``Unreadable`` if it leads out."""
        try:
            found = (self.root / path).resolve(strict=True)
        except FileNotFoundError:
            return None
        except (OSError, RuntimeError, ValueError) as error:
            raise Unreadable(f"{path} cannot be used: {_why(error)}") from None
        if not found.is_relative_to(self.root):
            raise Unreadable(f"{path} is a link that leads out of {self.root}; it was left alone")
        return found

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder; a link that leads out is there, too."""
        return os.path.lexists(self.root / path)

    def data(self, path: str, most: int = DATA_BYTES) -> bytes | None:
        """The bytes of a regular file; None if there is none. Raises ``Unreadable``."""
        found = self.real(path)
        if found is None:
            return None
        try:
            with open_regular(found) as stream:
                data = stream.read(most + 1)
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {_why(error)}") from None
        if len(data) > most:
            raise Unreadable(f"{path} has more than {most:,} bytes; it was left alone")
        return data

    def text(self, path: str, most: int = TEXT_BYTES) -> str | None:
        """The text of a file, lines ending in ``\\n``; None if there is none.

        Raises ``Unreadable``.
        """
        data = self.data(path, most)
        if data is None:
            return None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Unreadable(f"{path} is not UTF-8 (byte {error.start + 1})") from None
        return plain(text)

    def json(self, path: str) -> Any:
        """The JSON of a file; None if there is none. Raises ``Unreadable``."""
        text = self.text(path, DATA_BYTES)
        return None if text is None else parsed(text, path)

    def json5(self, path: str) -> Any:
        """The JSON5 of a file, which most often is JSON. Raises ``Unreadable``."""
        text = self.text(path, TEXT_BYTES)
        if text is None:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
        from .json5 import loads

        try:
            return loads(text)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"{path} is no JSON5 that can be read: {_why(error)}") from None

    def yaml(self, path: str) -> Any:
        """The YAML of a file; None if there is none. Raises ``Unreadable``."""
        text = self.text(path, TEXT_BYTES)
        if text is None:
            return None
        import yaml

        try:
            if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
                raise Unreadable(f"{path} holds YAML aliases, which are not read")
            return yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise Unreadable(f"{path} is no YAML that can be read: {_why(error)}") from None

    def lines(self, path: str) -> Iterator[str]:
        """The lines of a file however long it is. Raises ``Unreadable`` for a line too long."""
        found = self.real(path)
        if found is None:
            return
        try:
            with open_regular(found) as stream:
                while line := stream.readline(LINE_BYTES + 1):
                    if len(line) > LINE_BYTES:
                        raise Unreadable(f"{path} has a line of more than {LINE_BYTES:,} bytes")
                    yield line.decode("utf-8", "replace")
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {_why(error)}") from None

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted; none if it is no folder. Raises ``Unreadable``."""
        found = self.real(path)
        if found is None or not found.is_dir():
            return []
        try:
            names = sorted(one.name for one in found.iterdir())
        except OSError as error:
            raise Unreadable(f"{path} cannot be listed: {_why(error)}") from None
        if len(names) > MOST_ENTRIES:
            raise Unreadable(f"{path} holds more than {MOST_ENTRIES:,} names")
        return [name for name in names if _is_text(name)]

    def files(self, path: str, ending: str, depth: int = 3) -> list[str]:
        """Files below a folder whose name has this ending, sorted; links are left out."""
        found: list[str] = []
        for name in self.names(path):
            inner = f"{path}/{name}" if path else name
            place = self.root / inner
            if place.is_symlink():
                continue
            if place.is_dir():
                found += self.files(inner, ending, depth - 1) if depth else []
            elif name.endswith(ending):
                found.append(inner)
        return found


def plain(text: str) -> str:
    """``text`` with ``\\n`` for line ends, and without NUL and lone surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8")


def parsed(text: str, where: str) -> Any:
    """The JSON in a text. Raises ``Unreadable``."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{where} is no JSON that can be read: {_why(error)}") from None


def a_dict(value: Any) -> dict[str, Any]:
    """``value`` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def a_list(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def a_text(value: Any) -> str:
    """A text or number as text, else an empty one; nothing in it that a database cannot hold."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return plain(str(value))


def _why(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:200]


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
