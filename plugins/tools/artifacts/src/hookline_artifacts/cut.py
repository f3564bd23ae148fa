"""Cuts a text that is too long."""

from __future__ import annotations


def storable(text: str) -> str:
    """Return ``text`` with surrogate pairs joined and lone ones replaced, as the model reads it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def cut(text: str, head: int, tail: int, id_: str) -> str:
    """Return the first ``head`` and last ``tail`` code points and a marker that names the
    artifact."""
    left_out = len(text) - head - tail
    marker = f'[… {left_out} characters left out; fetch_artifact(id="{id_}")]'
    return f"{text[:head]}\n{marker}\n{text[len(text) - tail :]}"
