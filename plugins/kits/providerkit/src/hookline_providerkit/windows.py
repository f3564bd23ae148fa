"""Context windows of models: read from a server or its errors, and remembered in the home.

Servers that people run themselves have windows that no table knows: they depend on how a model was
loaded.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .error_body import error_codes, error_text

FILE = "model-windows.json"
USER_AGENT = "hookline-window"
"""Of the requests for a window, by which a server's log can tell them from those of chats."""
MAX_MODELS = 500
"""Models whose window is remembered."""
MIN_WINDOW, MAX_WINDOW = 256, 100_000_000
"""Tokens; a number outside is something else."""
_WINDOW_FIELDS = (
    "loaded_context_length",
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
    "inputTokenLimit",
    "max_input_tokens",
    "max_context_window_tokens",
    "n_ctx",
)
"""Names in a list of models: LM Studio, vLLM, OpenRouter, Groq, LM Studio, Google, LiteLLM, GitHub,
llama.cpp. ``loaded`` comes first, because it is what the server accepts."""
_NUMBER = r"\D{0,12}?(\d[\d,]{2,10})"
_IN_ERRORS = re.compile(
    r"(?:maximum context (?:length|window)(?: of this model)?(?: is)?"
    r"|context (?:length|window|size)(?: is| of(?: only)?)?"
    r"|max(?:imum)? (?:prompt|model) length(?: is| of)?|max_(?:seq|model)_len|n_ctx"
    r"|maximum number of tokens(?: allowed)?|上下文(?:长度|限制|窗口)|最大长度"
    r"|max_(?:position_embeddings|total_tokens|input_tokens)|context of|cannot exceed"
    r"|max(?:imum)? of|only supports|exceeds the maximum length|limit (?:is|of)|token limit:"
    r"|max size:|must have less than|<=|should be \[1,)"
    rf"{_NUMBER}|>\s*(\d{{3,10}})|(\d{{3,10}}) maximum context length",
    re.IGNORECASE,
)


def window_in_error(body: Any) -> int | None:
    """Return the window that an error names, in tokens; None if it names none."""
    holder = body.get("error") if isinstance(body, Mapping) else None
    for found in (body, holder):
        if isinstance(found, Mapping) and (window := _tokens(found.get("n_ctx"))):
            return window  # llama.cpp
    text = f"{error_text(body)} {error_codes(body)}"
    numbers = ["".join(groups).replace(",", "") for groups in _IN_ERRORS.findall(text)]
    found_numbers = [_tokens(int(number)) for number in numbers]
    return next(filter(None, found_numbers), None)


def window_in_list(listed: Any, model: str) -> int | None:
    """Return the window of ``model`` in a server's list of models; None if it is not there."""
    entries = (
        (listed.get("data") or listed.get("models")) if isinstance(listed, Mapping) else listed
    )
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, Mapping):
            continue
        names = [str(entry.get(key)).removeprefix("models/") for key in ("id", "name", "root")]
        if model.removeprefix("models/") not in names:
            continue
        for name in _WINDOW_FIELDS:
            if windows := list(_values(entry, name)):
                return min(windows)  # a gateway names the window of each server behind it
    return None


def _values(entry: Mapping[str, Any], name: str, depth: int = 3) -> Iterator[int]:
    """Yield the windows under a name in an entry and in the objects within."""
    value = entry.get(name)
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value):
        value = int(value)
    if window := _tokens(value):
        yield window
    for inner in entry.values() if depth else ():
        if isinstance(inner, Mapping):
            yield from _values(inner, name, depth - 1)


def window_in_props(props: Any) -> int | None:
    """Return the window in the answer of llama.cpp's ``/props``."""
    if not isinstance(props, Mapping):
        return None
    settings = props.get("default_generation_settings")
    found = settings.get("n_ctx") if isinstance(settings, Mapping) else None
    return _tokens(found or props.get("n_ctx"))


def window_in_show(shown: Any) -> int | None:
    """Return the window in the answer of ollama's ``/api/show``: ``num_ctx``, else the model's."""
    if not isinstance(shown, Mapping):
        return None
    parameters = shown.get("parameters")
    if isinstance(parameters, str) and (found := re.search(r"\bnum_ctx\s+(\d+)", parameters)):
        return _tokens(int(found[1]))
    info = shown.get("model_info")
    for name, value in info.items() if isinstance(info, Mapping) else ():
        if str(name).endswith(".context_length"):
            return _tokens(value)
    return None


def ask_server(base_url: str, model: str, headers: Mapping[str, str], seconds: float) -> int | None:
    """Ask a server for a model's window; None if it does not say.

    Asked are the list of models and, except at hosted services, llama.cpp's ``/props``, ollama's
    ``/api/show`` and LM Studio's list. Blocks up to ``seconds`` for each.
    """
    from .servers import fetch_json

    base = base_url.rstrip("/")
    root = base.removesuffix("/v1")
    body = json.dumps({"model": model}).encode()
    headers = {"User-Agent": USER_AGENT, **headers}
    listed = window_in_list(fetch_json(f"{root}/v1/models", headers, seconds), model)
    if listed is None and base != f"{root}/v1":
        listed = window_in_list(fetch_json(f"{base}/models", headers, seconds), model)
    if _is_hosted(base):
        return listed
    return (
        window_in_props(fetch_json(f"{root}/props", headers, seconds))
        or window_in_show(fetch_json(f"{root}/api/show", headers, seconds, body))
        or window_in_list(fetch_json(f"{root}/api/v0/models", headers, seconds), model)
        or listed
    )


def _is_hosted(address: str) -> bool:
    """Return whether an address is that of a service, by its certificate and public name."""
    parts = urlsplit(address)
    name = (parts.hostname or "").rstrip(".")
    return parts.scheme == "https" and bool(re.search(r"\.[a-z]+\Z", name))


class KnownWindows:
    """The windows that were learnt, in a file of the home; with None for this process only."""

    def __init__(self, home: Path | None) -> None:
        self._file = home / FILE if home is not None else None
        self._windows: dict[str, int] | None = None

    def get(self, base_url: str, model: str) -> int | None:
        """Return a model's window in tokens; None if it is not known."""
        if self._windows is None:
            self._windows = self._read()
        return self._windows.get(_key(base_url, model))

    def learn(self, base_url: str, model: str, window: int) -> None:
        """Remember a model's window."""
        if self.get(base_url, model) == window:
            return
        known = {**(self._windows or {}), **self._read()}
        known.pop(_key(base_url, model), None)
        known[_key(base_url, model)] = window
        self._windows = dict(list(known.items())[-MAX_MODELS:])
        if self._file is not None:
            with suppress(OSError):  # it is learnt again
                fresh = self._file.with_name(f".{FILE}.{os.getpid()}")
                fresh.touch(mode=0o600)
                fresh.write_text(json.dumps(self._windows, indent=1), encoding="utf-8")
                fresh.replace(self._file)

    def _read(self) -> dict[str, int]:
        try:
            text = self._file.read_text("utf-8") if self._file is not None else "{}"
            found = json.loads(text)
        except (OSError, ValueError, RecursionError):
            return {}
        entries = found.items() if isinstance(found, dict) else ()
        return {str(key): window for key, value in entries if (window := _tokens(value))}


def _key(base_url: str, model: str) -> str:
    """Identify a model by its address, without user, password and query."""
    parts = urlsplit(base_url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')} {model}"


def _tokens(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and MIN_WINDOW <= value <= MAX_WINDOW else None
