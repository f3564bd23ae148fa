"""Reads files of a home that may be hostile: no files outside of it, no huge files, no pipes.

Whatever cannot be read raises :class:`Unreadable` with a sentence for a person.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hookline_hookspecs import HooklineError
from hookline_hookspecs.regular_files import open_regular

MAX_TEXT_BYTES = 1_000_000
"""Bytes of a text file."""
MAX_DATA_BYTES = 10_000_000
MAX_LINE_BYTES = 16_000_000
"""Bytes of a line of a transcript."""
MAX_FOLDER_ENTRIES = 20_000
"""Names in one folder."""


class Unreadable(HooklineError):
    """Part of the other program's home cannot be read; the text says what and why."""


class SourceFolder:
    """A folder whose links are followed only within it. Paths are relative, with ``/``.

    Args:
        root: the folder.

    Raises:
        Unreadable: it is not a folder.
    """

    def __init__(self, root: Path) -> None:
        try:
            self.root = root.expanduser().resolve(strict=True)
        except FileNotFoundError:
            raise Unreadable(f"{root} not found. Name the folder with --from DIR") from None
        except (OSError, RuntimeError) as error:
            raise Unreadable(f"cannot use {root}: {_error_reason(error)}") from None
        if not self.root.is_dir():
            raise Unreadable(f"{root} is not a folder")

    def real(self, path: str) -> Path | None:
        """Resolve ``path``; None if it does not exist. Raises ``Unreadable`` if it leads out."""
        try:
            found = (self.root / path).resolve(strict=True)
        except FileNotFoundError:
            return None
        except (OSError, RuntimeError, ValueError) as error:
            raise Unreadable(f"cannot use {path}: {_error_reason(error)}") from None
        if not found.is_relative_to(self.root):
            raise Unreadable(f"{path} links to a place outside of {self.root} and was not read")
        return found

    def exists(self, path: str) -> bool:
        """True if the file or folder exists, even as a link that leads out."""
        return os.path.lexists(self.root / path)

    def data(self, path: str, most: int = MAX_DATA_BYTES) -> bytes | None:
        """Return the bytes of a regular file; None if it does not exist. Raises ``Unreadable``."""
        found = self.real(path)
        if found is None:
            return None
        try:
            with open_regular(found) as stream:
                data = stream.read(most + 1)
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {_error_reason(error)}") from None
        if len(data) > most:
            raise Unreadable(f"{path} is larger than {most:,} bytes and was not read")
        return data

    def text(self, path: str, most: int = MAX_TEXT_BYTES) -> str | None:
        """Return the text of a file, with ``\\n`` as line ends; None if it does not exist.

        Raises ``Unreadable``.
        """
        data = self.data(path, most)
        if data is None:
            return None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Unreadable(f"{path} is not UTF-8 (byte {error.start + 1})") from None
        return normalize_text(text)

    def json(self, path: str) -> Any:
        """Parse a JSON file; None if it does not exist. Raises ``Unreadable``."""
        text = self.text(path, MAX_DATA_BYTES)
        return None if text is None else parse_json(text, path)

    def json5(self, path: str) -> Any:
        """Parse a JSON5 file; None if it does not exist. Raises ``Unreadable``."""
        text = self.text(path, MAX_TEXT_BYTES)
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
            raise Unreadable(f"{path} is not valid JSON5: {_error_reason(error)}") from None

    def yaml(self, path: str) -> Any:
        """Parse a YAML file; None if it does not exist. Raises ``Unreadable``."""
        text = self.text(path, MAX_TEXT_BYTES)
        if text is None:
            return None
        import yaml

        try:
            if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
                raise Unreadable(f"{path} holds YAML aliases, which are not read")
            return yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise Unreadable(f"{path} is not valid YAML: {_error_reason(error)}") from None

    def lines(self, path: str) -> Iterator[str]:
        """The lines of a file however long it is. Raises ``Unreadable`` for a line too long."""
        found = self.real(path)
        if found is None:
            return
        try:
            with open_regular(found) as stream:
                while line := stream.readline(MAX_LINE_BYTES + 1):
                    if len(line) > MAX_LINE_BYTES:
                        raise Unreadable(f"{path} has a line of more than {MAX_LINE_BYTES:,} bytes")
                    yield line.decode("utf-8", "replace")
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {_error_reason(error)}") from None

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a folder; none if it is not one. Raises ``Unreadable``."""
        found = self.real(path)
        if found is None or not found.is_dir():
            return []
        try:
            names = sorted(one.name for one in found.iterdir())
        except OSError as error:
            raise Unreadable(f"cannot list {path}: {_error_reason(error)}") from None
        if len(names) > MAX_FOLDER_ENTRIES:
            raise Unreadable(f"{path} holds more than {MAX_FOLDER_ENTRIES:,} names")
        return [name for name in names if _is_text(name)]

    def files(self, path: str, ending: str, depth: int = 3) -> list[str]:
        """Return files below a folder by the ending of their names, sorted, without links."""
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


def normalize_text(text: str) -> str:
    """Return ``text`` with ``\\n`` as line ends, and without NUL and lone surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8")


def parse_json(text: str, where: str) -> Any:
    """Parse JSON. Raises ``Unreadable``."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{where} is not valid JSON: {_error_reason(error)}") from None


def as_dict(value: Any) -> dict[str, Any]:
    """Return ``value`` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return ``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return a text or number as normalized text, and anything else as an empty one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return normalize_text(str(value))


def _error_reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(text.split())[:200]


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
