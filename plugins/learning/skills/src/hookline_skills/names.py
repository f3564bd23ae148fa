"""Names of skills: the rules of agentskills.io, and names that look alike."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import yaml

MAX_NAME_CHARS = 64
"""Characters of a name (agentskills.io)."""


@cache
def _data() -> dict[str, Any]:
    text = (Path(__file__).parent / "names.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


def normalize(name: str) -> str:
    """Return the form in which names are compared: NFKC, like the reference."""
    return unicodedata.normalize("NFKC", name.strip())


def rule_errors(name: str) -> list[str]:
    """Return the violations of agentskills.io's rules, as sentences."""
    name = normalize(name)
    if not name:
        return ["Field 'name' must be a non-empty string"]
    errors = []
    if len(name) > MAX_NAME_CHARS:
        errors.append(
            f"Skill name '{name}' exceeds {MAX_NAME_CHARS} character limit ({len(name)} chars)"
        )
    if name != name.lower():
        errors.append(f"Skill name '{name}' must be lowercase")
    if name.startswith("-") or name.endswith("-"):
        errors.append("Skill name cannot start or end with a hyphen")
    if "--" in name:
        errors.append("Skill name cannot contain consecutive hyphens")
    if not all(char.isalnum() or char == "-" for char in name):
        errors.append(
            f"Skill name '{name}' contains invalid characters. "
            "Only letters, digits, and hyphens are allowed."
        )
    return errors


def name_error(name: str) -> str | None:
    """Return why a new skill may not have this name, or None.

    Besides the rules of agentskills.io, names that file systems reserve and names that mix scripts
    are refused.
    """
    errors = rule_errors(name)
    if errors:
        return "; ".join(errors)
    if name != normalize(name):
        return f"write the name as {normalize(name)!r}; {name!r} only looks like it"
    if name.partition("-")[0] in _data()["reserved"] and "-" not in name:
        return f"{name!r} is reserved; choose a name that says what the skill does"
    scripts = {_script(char) for char in name if char.isalpha()}
    if len(scripts) > 1 and not any(scripts <= set(mix) for mix in _data()["allowed_mixes"]):
        return f"{name!r} mixes letters of {' and '.join(sorted(scripts))}, which look alike"
    return None


def is_loadable(name: str) -> bool:
    """True if a folder's name can be shown to a model: printable, short, on one line."""
    return (
        0 < len(name) <= MAX_NAME_CHARS
        and name.isprintable()
        and not re.search(r"[\\/<>\"&`]", name)
    )


def skeleton(name: str) -> str:
    """Return the same text for names that look alike.

    Compatibility forms and letter case are folded and look-alikes of other scripts replaced, like
    the skeleton of Unicode Technical Standard 39; hyphens are removed.
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    plain = "".join(
        char for char in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(char)
    )
    lookalikes: dict[str, str] = _data()["lookalikes"]
    return "".join(lookalikes.get(char, char) for char in plain if char not in "-_ ")


def _script(char: str) -> str:
    """The script of a letter, from the first word of its Unicode name."""
    return unicodedata.name(char, "UNKNOWN").split()[0]
