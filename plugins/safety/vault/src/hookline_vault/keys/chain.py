"""All sources of keys that the settings allow, in order."""

from __future__ import annotations

from importlib.metadata import entry_points

from ..envelope import Key
from .source import KeyFault, KeySource, Place

ORDER = ("environment", "systemd", "file", "keyring", "hashicorp", "passphrase")
"""In which ``auto`` asks Hookline's own sources; others follow by name."""
GROUP = "hookline.keys"
NONE = (
    "The vault has no key yet. `hookline vault rekey --to file` makes one in {home}/vault.key; or "
    "set HOOKLINE_VAULT_KEY to 32 bytes in base64 (`openssl rand -base64 32` makes them). Other "
    "sources: {names}; see `plugins: vault: key` in the docs."
)
LOST = (
    "None of the sources {names} has the key {reference}, under which the vault is{faults}. Bring"
    " that key back, or `hookline vault rm` the secrets and set them anew."
)


class Keys:
    """Finds keys by their references, and remembers them for as long as the process lives."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._found: dict[str, Key] = {}

    def find(self, reference: str) -> Key:
        """Return the key of this reference. Raises :class:`KeyFault`."""
        if reference not in self._found:
            faults: list[str] = []
            sources = self._sources()
            for source in sources:
                try:
                    key = source.find(reference)
                except KeyFault as fault:
                    faults.append(str(fault))
                    continue
                if key is not None:
                    self._found[reference] = key
                    break
            else:
                self._lost(reference, sources, faults)
        return self._found[reference]

    def first(self) -> Key:
        """Return the key for a vault that has none. Raises :class:`KeyFault`."""
        names = []
        for source in self._sources():
            names.append(source.name)
            if (key := source.current()) is not None:
                self._found[key.reference] = key
                return key
        raise KeyFault(NONE.format(home=self._place.home, names=", ".join(names)))

    def holder(self, reference: str) -> KeySource | None:
        """Return the source that has this key, or None."""
        for source in self._sources():
            try:
                if source.find(reference) is not None:
                    return source
            except KeyFault:
                continue
        return None

    def source(self, name: str) -> KeySource:
        """Return the source of this name, whatever the settings say. Raises :class:`KeyFault`."""
        for point in entry_points(group=GROUP, name=name):
            made: KeySource = point.load()(self._place)
            return made
        known = ", ".join(_names())
        raise KeyFault(f"There is no source of keys named {name!r}; write one of {known}.")

    def _sources(self) -> list[KeySource]:
        wanted = self._place.config.key
        return [self.source(name) for name in (_names() if wanted == "auto" else [wanted])]

    def _lost(self, reference: str, sources: list[KeySource], faults: list[str]) -> None:
        names = ", ".join(source.name for source in sources)
        told = f" ({' '.join(faults)})" if faults else ""
        raise KeyFault(LOST.format(names=names, reference=reference, faults=told))


def _names() -> list[str]:
    found = {point.name for point in entry_points(group=GROUP)}
    return [*(name for name in ORDER if name in found), *sorted(found - {*ORDER})]
