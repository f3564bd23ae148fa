"""The languages of the setting `diagnostics`, with the file name endings of each."""

from __future__ import annotations

from pathlib import Path

ENDINGS = {
    "c": (".c", ".h"),
    "cpp": (".cpp", ".cc", ".cxx", ".hpp", ".hh"),
    "csharp": (".cs",),
    "css": (".css",),
    "dart": (".dart",),
    "elixir": (".ex", ".exs"),
    "go": (".go",),
    "html": (".html", ".htm"),
    "java": (".java",),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "json": (".json",),
    "kotlin": (".kt", ".kts"),
    "lua": (".lua",),
    "php": (".php",),
    "python": (".py", ".pyi"),
    "ruby": (".rb",),
    "rust": (".rs",),
    "shellscript": (".sh", ".bash"),
    "sql": (".sql",),
    "swift": (".swift",),
    "toml": (".toml",),
    "typescript": (".ts", ".mts", ".cts", ".tsx"),
    "yaml": (".yaml", ".yml"),
    "zig": (".zig",),
}
_IDENTIFIERS = {".tsx": "typescriptreact", ".jsx": "javascriptreact"}
_LANGUAGES = {ending: language for language, endings in ENDINGS.items() for ending in endings}


def language_of(path: Path) -> str | None:
    """The language of a file by its name; None if it is none of these."""
    return _LANGUAGES.get(path.suffix.lower())


def identifier_of(path: Path) -> str:
    """What the protocol calls the file's language."""
    ending = path.suffix.lower()
    return _IDENTIFIERS.get(ending) or _LANGUAGES[ending]
