"""Combines everything that configures a home: config.yaml, `.env`, variables and options."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hookline_hookspecs.errors import SettingsError
from hookline_hookspecs.masking import MASK, is_secret_name, mask_value
from hookline_hookspecs.setting_errors import Key, quoted
from hookline_hookspecs.vault import name_in
from pydantic import BaseModel

from .document import Document, read_text
from .keys import map_scalars, sentence
from .references import References
from .secret_values import SPACE_AROUND, fault_of_secret
from .validation import check_values
from .variables import expand, overlay_variables, read_dotenv

M = TypeVar("M", bound=BaseModel)
_ENTRY_KEY_LENGTH = len(("plugins", "NAME", "KEY", "ENTRY", "KEY"))
"""Minimum length of a key inside an entry of a plugin's setting."""


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """A home's config before it is validated.

    `values` are those of config.yaml, overridden by variables and options, with `${VAR}` replaced.
    `lines` maps a key to its line in the file, or to the name of the source that set it. `env` is
    the environment plus the variables of `.env` that it does not set. `secrets` are values to mask
    in output. `faults` are sentences by key, `unreadable` those about whole files. `entry_faults`
    are texts about errors inside an entry of a plugin's setting (`plugins.NAME.KEY.ENTRY.…`); the
    plugin may work without that entry. `vault` has the values of `vault:NAME` once it is open;
    `values` keeps the references.
    """

    path: Path
    values: dict[str, Any]
    lines: dict[Key, int | str]
    env: dict[str, str] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)
    faults: dict[Key, str]
    unreadable: list[str]
    warnings: list[str]
    entry_faults: dict[Key, str] = field(default_factory=dict)
    vault: References = field(default_factory=References, repr=False)

    def sentence(self, key: Key, text: str) -> str:
        """Prefix `text` with `key` and the place that set it."""
        return sentence(self.path, self.lines, key, text)

    def wrong(self, key: Key, value: object, expected: str) -> str:
        """The error for a `value` at `key` that is not as `expected`."""
        return self.sentence(key, f"expected {expected}, got {quoted(value, key)}.")

    def check(
        self, model: type[M], values: Mapping[str, object], key: Key = ()
    ) -> tuple[M, list[str]]:
        """The `values` at `key` as an instance of `model`, and warnings about unknown keys.

        Only the instance has the values of `vault:NAME`. If the entries of one of the model's keys
        are independent of each other, the model names that key, `standalone`; errors in such an
        entry are passed to its validation as context `left_out`: texts by key below `key`. Raises
        SettingsError with a sentence for each other error.
        """
        faults = {at: text for at, text in self.entry_faults.items() if key and at[:2] == key[:2]}
        resolved = {}
        for name, value in values.items():
            resolved[name], unknown = self._resolved(value, (*key, name))
            faults |= unknown
        alone = (*key, getattr(model, "standalone", None))
        if problems := [
            self.sentence(at, text) for at, text in faults.items() if at[:-1][: len(alone)] != alone
        ]:
            raise SettingsError(*problems)
        left_out = {at[len(key) :]: text.rstrip(".") for at, text in faults.items()}
        return check_values(model, resolved, key, self.path, self.lines, left_out)

    def resolved(self, value: Any, key: Key) -> Any:
        """The `value` at `key` with `vault:NAME` replaced at any depth.

        While the vault is closed, references are left as they are. Raises SettingsError with a
        sentence for each name without a value.
        """
        resolved, faults = self._resolved(value, key)
        if faults:
            raise SettingsError(*(self.sentence(at, text) for at, text in faults.items()))
        return resolved

    def _resolved(self, value: Any, key: Key) -> tuple[Any, dict[Key, str]]:
        faults: dict[Key, str] = {}

        def resolve(text: Any, at: Key) -> Any:
            if (fault := self.vault.fault(text)) is not None:
                faults[at] = fault
            return self.vault.value(text)

        return map_scalars(value, key, resolve), faults

    def masked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The `values` with secrets replaced by `********`. References to the vault are shown."""
        # The longest first, so that a shorter secret inside a longer one does not half mask it.
        secrets = sorted(self.secrets, key=len, reverse=True)

        def hide(value: Any, key: Key) -> Any:
            if not isinstance(value, str):
                return value
            if name_in(written := self._written(key)):
                return written
            for secret in secrets:
                value = value.replace(secret, MASK)
            return mask_value(value, key)

        return {name: map_scalars(value, (name,), hide) for name, value in values.items()}

    def _written(self, key: Key) -> object:
        found: Any = self.values
        for part in key:
            found = dict(enumerate(found)) if isinstance(found, list) else found
            if not isinstance(found, dict):
                return None
            found = found.get(part, found.get(int(part)) if part.isdigit() else None)
        return found


def read(
    path: Path,
    env: Mapping[str, str],
    options: Mapping[str, object],
    text: str | None,
    *,
    keys: Collection[str],
    secret_variables: Collection[str],
    project: Callable[[Document, Mapping[str, str]], list[str]] = lambda _document, _env: [],
) -> ConfigSource:
    """Read config.yaml at `path`, the `.env` beside it, variables and options.

    `env` is the process environment. `options` are values by dotted key; None means not given.
    `text` is used instead of the content of config.yaml. `keys` are the top-level keys that
    `HOOKLINE_…` variables may set. `secret_variables` are treated as secrets regardless of their
    names. `project` adds the settings of a project to the document, and returns warnings. Raises
    ConfigError if the text is not a YAML mapping.
    """
    unreadable: list[str] = []
    dotenv, warnings = read_dotenv(path.parent / ".env", unreadable)
    env = {**dotenv, **env}
    document = Document(path, read_text(path, unreadable) if text is None else text)
    warnings += project(document, env)
    overlay_variables(document, env, keys)
    for key, value in options.items():
        if value is not None:
            document.overlay(tuple(key.split(".")), value, "the command line")
    faults, secrets, short = expand(document, env)
    # Shorter values, such as a switch, would be masked inside ordinary words.
    secrets |= {text for name, text in env.items() if len(text) >= 8 and is_secret_name(name)}
    for name in {*filter(is_secret_name, dotenv), *secret_variables} & env.keys():
        place = path.parent / ".env" if env[name] == dotenv.get(name) else "the environment"
        if env[name] != env[name].strip():
            warnings.append(f"{place}: {name}: {SPACE_AROUND}")
            env[name] = env[name].strip()
        if fault := fault_of_secret(env[name], (name,)):
            faults[name, ""] = f"{place}: {name}: {fault}"
    deep = [key for key in faults if key[0] == "plugins" and len(key) >= _ENTRY_KEY_LENGTH]
    return ConfigSource(
        path=path,
        values=document.values,
        lines=document.lines,
        env=env,
        secrets=frozenset(secrets),
        faults={key: text for key, text in faults.items() if key not in deep},
        entry_faults={key: _without_place(faults[key], document, key) for key in deep},
        unreadable=list(dict.fromkeys(unreadable)),
        warnings=[*warnings, *short],
    )


def _without_place(fault: str, document: Document, key: Key) -> str:
    """The text of a fault without the place and the key before it."""
    return fault.removeprefix(sentence(document.origin, document.lines, key, "") + ": ")


def parse(origin: Path | str, text: str, key: Key = ()) -> Any:
    """Parse a YAML `text`: a whole config, or the value of `key`.

    Errors name `origin`. Raises ConfigError.
    """
    return Document(origin, text, key).values
