"""The parts of a command that a sentence about it quotes in backticks."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"`([^`\n]+)`")
_QUOTES = "\"'\\"
_INSIDE = r"[\w.:/@%+-]"
"""What words, paths and addresses are made of."""


def quoted_parts(command: str, reason: str) -> tuple[str, ...]:
    """Return the parts of ``command`` that ``reason`` quotes, as they are written in it."""
    found: list[str] = []
    for quoted in _QUOTED.findall(reason):
        pattern = _quoted_pattern(quoted.rstrip("…"))
        if pattern is not None:
            found += [match[0] for match in pattern.finditer(command)]
    return tuple(dict.fromkeys(found))


def _quoted_pattern(words: str) -> re.Pattern[str] | None:
    """Finds ``words`` however they are quoted and spaced in the original, as words of their own:
    ``sh`` is not in ``https://get.example.sh/push``."""
    plain = words.translate(dict.fromkeys(map(ord, _QUOTES))).split()
    if not plain:
        return None
    between = f"[{re.escape(_QUOTES)}]*"
    apart = f"[{re.escape(_QUOTES)}\\s]+"
    words = apart.join(between.join(map(re.escape, word)) for word in plain)
    before = rf"(?<!{_INSIDE})" if re.match(_INSIDE, plain[0]) else ""
    after = rf"(?!{_INSIDE})" if re.match(_INSIDE, plain[-1][-1]) else ""
    return re.compile(between + before + words + after + between)
