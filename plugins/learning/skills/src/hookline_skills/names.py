"""Names of skills: the rule of agentskills.io, and which names could be taken for another."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import yaml

LONGEST = 64
"""Characters of a name (agentskills.io)."""


@cache
def _data() -> dict[str, Any]:
    text = (Path(__file__).parent / "names.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


def normal(name: str) -> str:
    """The form in which names are compared: NFKC, as the reference does."""
    return unicodedata.normalize("NFKC", name.strip())


def rule_errors(name: str) -> list[str]:
    """What agentskills.io has against a name, as sentences; empty if it is one."""
    name = normal(name)
    if not name:
        return ["Field 'name' must be a non-empty string"]
    errors = []
    if len(name) > LONGEST:
        errors.append(f"Skill name '{name}' exceeds {LONGEST} character limit ({len(name)} chars)")
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


def refusal(name: str) -> str | None:
    """Why a new skill may not have this name, or None. Stricter than the rule: what a file system
    reserves, or what mixes scripts as look-alikes do, is refused too."""
    errors = rule_errors(name)
    if errors:
        return "; ".join(errors)
    if name != normal(name):
        return f"write the name as {normal(name)!r}; {name!r} only looks like it"
    if name.partition("-")[0] in _data()["reserved"] and "-" not in name:
        return f"{name!r} is a reserved name; choose one that says what the skill does"
    scripts = {_script(char) for char in name if char.isalpha()}
    if len(scripts) > 1 and not any(scripts <= set(mix) for mix in _data()["together"]):
        return f"{name!r} mixes letters of {' and '.join(sorted(scripts))}, which look alike"
    return None


def loadable(name: str) -> bool:
    """True if a folder of this name can be shown to a model: printable, short, one line."""
    return 0 < len(name) <= LONGEST and name.isprintable() and not re.search(r"[\\/<>\"&`]", name)


def skeleton(name: str) -> str:
    """Equal for names that a person could take for each other.

    Compatibility forms and letter case are folded and look-alikes of other scripts replaced, after
    the idea of the skeleton in Unicode's Technical Standard 39; hyphens do not count.
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    plain = "".join(
        char for char in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(char)
    )
    alike: dict[str, str] = _data()["alike"]
    return "".join(alike.get(char, char) for char in plain if char not in "-_ ")


def _script(char: str) -> str:
    """The script of a letter, from the first word of its Unicode name."""
    return unicodedata.name(char, "UNKNOWN").split()[0]
