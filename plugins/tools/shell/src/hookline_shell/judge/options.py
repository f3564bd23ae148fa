"""Options and operands of a command line."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .tables import load


def after_options(rule: Mapping[str, Any], args: Sequence[str]) -> list[str]:
    """``args`` from the first operand on; ``rule`` is a row of ``wrappers.yaml``."""
    values = {*rule.get("values", ()), *rule.get("scripts", ())}
    index = 0
    while index < len(args) and args[index].startswith("-") and len(args[index]) > 1:
        option = args[index]
        index += 1
        if option == "--":
            break
        short = not option.startswith("--") and len(option) > 2
        if option in values or (short and "-" + option[-1] in values and option[:2] not in values):
            index += 1
    return list(args[index:])


def subcommand(name: str, argv: Sequence[str]) -> list[str]:
    """The words of ``argv`` that follow the program's own options."""
    values = [*load("wrappers").get(name, {}).get("values", ())]
    values += load("files")["globals"].get(name, ())
    return after_options({"values": values}, argv[1:])


def operands(args: Sequence[str], values: Collection[str] = ()) -> list[str]:
    """The arguments that are no options, nor the values of those in ``values``."""
    found: list[str] = []
    index = 0
    while index < len(args):
        arg = args[index]
        index += 1
        if arg == "--":
            return [*found, *args[index:]]
        if not (arg.startswith("-") and len(arg) > 1):
            found.append(arg)
        elif arg in values or (re.match(r"-[a-zA-Z]{2,}\Z", arg) and "-" + arg[-1] in values):
            index += 1
    return found


def option_values(argv: Sequence[str], options: Collection[str]) -> list[str]:
    """The values that ``options`` are given: attached, after ``=`` or as the next word."""
    found: list[str] = []
    for index, arg in enumerate(argv[1:], 1):
        if not arg.startswith("-"):
            continue
        after = argv[index + 1] if index + 1 < len(argv) else ""
        name, sign, value = arg.partition("=")
        if sign and name in options:
            found.append(value)
        elif arg in options:
            found.append(after)
        elif not arg.startswith("--"):
            found.extend(_clustered(arg, after, options))
    return found


def _clustered(arg: str, after: str, options: Collection[str]) -> list[str]:
    """The value of a short option at the end of a cluster: ``-sTfile``, ``-sT file``."""
    for at, letter in enumerate(arg[1:], 1):
        if "-" + letter in options:
            return [arg[at + 1 :] or after]
        if not letter.isalpha():
            break
    return []
