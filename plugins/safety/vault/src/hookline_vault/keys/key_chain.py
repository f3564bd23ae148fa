"""``KeyChain``: finds keys in the sources that the settings allow."""

from __future__ import annotations

from importlib.metadata import entry_points

from ..envelope import WrappingKey
from .key_source import KeyContext, KeySource, KeyUnavailable

SOURCE_ORDER = ("environment", "systemd", "file", "keyring", "hashicorp", "passphrase")
"""The order in which ``auto`` tries Hookline's own sources; others follow by name."""
ENTRY_POINT_GROUP = "hookline.keys"
NO_KEY = (
    "The vault has no key yet. `hookline vault rekey --to file` makes one in {home}/vault.key. Or "
    "set HOOKLINE_VAULT_KEY to 32 bytes in base64, as made by `openssl rand -base64 32`. Sources "
    "of keys: {names}; see `plugins: vault: key` in the docs."
)
KEY_LOST = (
    "The key {reference} of the vault is in none of the sources {names}{errors}. Restore that key, "
    "or remove the secrets with `hookline vault rm` and set them again."
)


class KeyChain:
    """Finds keys by their references and caches them until the process ends."""

    def __init__(self, context: KeyContext) -> None:
        self._context = context
        self._found: dict[str, WrappingKey] = {}

    def find(self, reference: str) -> WrappingKey:
        """Return the key of this reference. Raises :class:`KeyUnavailable`."""
        if reference not in self._found:
            errors: list[str] = []
            sources = self._sources()
            for source in sources:
                try:
                    key = source.find(reference)
                except KeyUnavailable as error:
                    errors.append(str(error))
                    continue
                if key is not None:
                    self._found[reference] = key
                    break
            else:
                raise KeyUnavailable(_key_lost(reference, sources, errors))
        return self._found[reference]

    def initial(self) -> WrappingKey:
        """Return the key for a vault that has none yet. Raises :class:`KeyUnavailable`."""
        names = []
        for source in self._sources():
            names.append(source.name)
            if (key := source.current()) is not None:
                self._found[key.reference] = key
                return key
        raise KeyUnavailable(NO_KEY.format(home=self._context.home, names=", ".join(names)))

    def source_of(self, reference: str) -> KeySource | None:
        """Return the source that has this key, or None."""
        for source in self._sources():
            try:
                if source.find(reference) is not None:
                    return source
            except KeyUnavailable:
                continue
        return None

    def source(self, name: str) -> KeySource:
        """Return a source by name, also one that the settings exclude.

        Raises :class:`KeyUnavailable`.
        """
        for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
            source: KeySource = point.load()(self._context)
            return source
        known = ", ".join(_source_names())
        raise KeyUnavailable(f"Unknown source of keys {name!r}. Choose one of {known}.")

    def _sources(self) -> list[KeySource]:
        name = self._context.config.key
        return [self.source(name) for name in (_source_names() if name == "auto" else [name])]


def _key_lost(reference: str, sources: list[KeySource], errors: list[str]) -> str:
    names = ", ".join(source.name for source in sources)
    details = f" ({' '.join(errors)})" if errors else ""
    return KEY_LOST.format(names=names, reference=reference, errors=details)


def _source_names() -> list[str]:
    names = {point.name for point in entry_points(group=ENTRY_POINT_GROUP)}
    return [*(name for name in SOURCE_ORDER if name in names), *sorted(names - {*SOURCE_ORDER})]
