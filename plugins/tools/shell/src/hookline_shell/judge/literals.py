"""String literals in code of any language, found and joined without parsing the language."""

from __future__ import annotations

import re

from .scan import ansi

_STRING = re.compile(
    r"'''(.*?)'''|\"\"\"(.*?)\"\"\"|\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`"
    r"|(?:\b(?:qx|qw|qq|q)|%[xqQwWiI])\s*(?:\{([^}]*)\}|\(([^)]*)\)|\[([^\]]*)\]|([/!|])(.*?)\9)"
    r"|%x\s*(?:\{([^}]*)\}|\(([^)]*)\)|\[([^\]]*)\])",
    re.DOTALL,
)
_DELIMITER = 9
_JOIN = re.compile(r"(['\"])\s*(?:\.\.|\.|\+|<>|\+\+|&)?\s*(['\"])", re.DOTALL)


def fold(code: str) -> tuple[str, list[str]]:
    """``code`` with neighbouring literals made one, and all its literals."""
    strings: list[str] = []
    chain = ""
    pieces: list[str] = []
    at = 0
    last_end = -1
    for match in _STRING.finditer(code):
        groups = match.groups()
        text = next((g for i, g in enumerate(groups, 1) if g is not None and i != _DELIMITER), "")
        text = ansi(text) if "\\" in text else text
        between = code[at : match.start()]
        if last_end >= 0 and re.fullmatch(r"\s*(?:\.\.|\.|\+|<>|\+\+|&|,)\s*", between):
            chain += (" " if "," in between else "") + text
            strings.append(chain)
            if "," in between:
                strings.append(text)
        else:
            chain = text
            strings.append(text)
        pieces += [between, match[0][:1] + text + match[0][-1:]]
        at = last_end = match.end()
    folded = "".join([*pieces, code[at:]])
    return _JOIN.sub(lambda m: "" if m[1] == m[2] else m[0], folded), strings
