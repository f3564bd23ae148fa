"""The JSON schema of ``--output-schema``: what the model is told, and whether its answer fits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hookline_hookspecs import CommandError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MAX_SCHEMA_BYTES = 200_000
MAX_ERRORS = 10
"""Errors that the model is told at most."""
MAX_ERROR_CHARS = 300
INSTRUCTIONS = (
    "Answer with one JSON value that is valid against the JSON schema below, and with nothing "
    "else: no text before or after it, no code fence.\n"
)
RETRY = (
    "Your answer does not fit the JSON schema:\n{errors}\n"
    "Answer again, with the whole corrected JSON value and nothing else."
)
_FENCED = re.compile(r"^```(?:json)?[ \t]*\n(.*?)\n```[ \t]*$", re.DOTALL | re.MULTILINE)


class InvalidAnswer(Exception):
    """The answer does not fit; ``errors`` are sentences, each with the place in the answer."""

    def __init__(self, *errors: str) -> None:
        super().__init__("; ".join(errors))
        self.errors = errors


class AnswerSchema:
    """A JSON schema that the answer has to fit.

    Args:
        path: the file. References to other files and addresses are not followed.

    Raises:
        CommandError: the file cannot be read, or is not a JSON schema.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._schema = _read(path)
        self._validator = _validator(self._schema, path)

    @property
    def instructions(self) -> str:
        """What the model is told for the turn."""
        return INSTRUCTIONS + json.dumps(self._schema, ensure_ascii=False)

    def checked(self, answer: str) -> str:
        """Return the JSON of an answer on one line; a code fence around it is left out.

        Raises:
            InvalidAnswer: it is not JSON, or does not fit the schema.
            CommandError: the schema refers to something outside the file.
        """
        from referencing.exceptions import Unresolvable

        value = _parsed(answer)
        try:
            errors = list(self._validator.iter_errors(value))
        except Unresolvable as error:
            raise CommandError(
                f"--output-schema {self.path}: cannot resolve the reference {error.ref!r}. "
                "Put the definition into the file, under `$defs`"
            ) from error
        if errors:
            errors.sort(key=lambda error: error.json_path)
            raise InvalidAnswer(
                *(_short(f"{one.json_path}: {one.message}") for one in errors[:MAX_ERRORS])
            )
        return json.dumps(value, ensure_ascii=False)


def _read(path: Path) -> Any:
    try:
        with path.open("rb") as file:  # a pipe is fine: --output-schema <(jq …)
            data = file.read(MAX_SCHEMA_BYTES + 1)
    except OSError as error:
        raise CommandError(f"--output-schema {path}: {error.strerror or error}") from error
    if len(data) > MAX_SCHEMA_BYTES:
        raise CommandError(f"--output-schema {path}: more than {MAX_SCHEMA_BYTES:,} bytes")
    try:
        return json.loads(data)
    except ValueError as error:
        raise CommandError(f"--output-schema {path}: not JSON: {error}") from error


def _validator(schema: Any, path: Path) -> Validator:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    if not isinstance(schema, dict):
        raise CommandError(f"--output-schema {path}: a JSON schema is an object")
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise CommandError(
            f"--output-schema {path}: not a JSON schema: {error.json_path}: {_short(error.message)}"
        ) from error
    registry: Registry[Any] = Registry()  # without a way to fetch what a reference names
    found: Validator = kind(schema, registry=registry)
    return found


def _parsed(answer: str) -> Any:
    fenced = _FENCED.findall(answer)
    text = fenced[0] if len(fenced) == 1 else answer
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise InvalidAnswer(f"not JSON: {_short(str(error))}") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _short(text: str) -> str:
    return text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]} …"
