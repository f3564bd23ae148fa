"""Values that only refer to a secret: variables, templates, blanks to fill in."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import yaml

_REFERENCE = re.compile(
    r"""
      \$[A-Za-z_]\w* | \$\d | \$?\{+[^{}]{0,200}\}+ | \$\{\{.{0,200}\}\} | \$\(.{0,200}
    | \$\[.{0,80}\]
    | \$\{.{0,200} | \{\{.{0,200} | <[^<>]{0,200}>? | «[^»]{0,200}»?
    | %[A-Za-z_]\w*% | %\(\w{1,60}\)s | %[sdrv]
    | \[[^\]\n]{0,80}\] | @[A-Za-z_]\w*@ | \#\{.{0,200}\} | !\w+(?:\s.{0,80})? | :[a-z_]+
    | [*•●·]{3,} | [xX]{3,} | [xX-]{6,} | \.{2,} | …+ | [-_#?]{1,80} | \(.{0,80}\)
    | (?:your|insert|enter|put|replace|paste|add|set)(?:[-_ ][\w -]{0,60})?
    | your[a-z]{0,40}(?:key|token|secret|password)(?:here)?
    | [\w-]{0,40}[-_](?:here|placeholder)
    | (?:op|vault|ssm|secretsmanager|keyring|keychain|ref\+\w+|doppler|env|file|gcpsm|awssm|aws-sm)
      :(?://?)?[^\s]{0,300}
    | arn:aws[\w-]{0,12}:[^\s]{0,300}
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_reference(value: str) -> bool:
    """Whether a value names a secret or leaves it open, such as ``${X}``, ``<key>`` or ``null``."""
    return not value or _REFERENCE.fullmatch(value) is not None or value.lower() in _empty_values()


@cache
def _empty_values() -> frozenset[str]:
    data = yaml.load(
        (files(__package__) / "secret_references.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader
    )
    return frozenset(data["empty_values"].split())
