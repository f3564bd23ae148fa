"""What can be made: a plugin with one thing or another in it, or a driver."""

from __future__ import annotations

from dataclasses import dataclass

PLUGINS, PROVIDERS, STORES = "hookline.plugins", "hookline.providers", "hookline.stores"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of package; ``start`` is the command that has Hookline use it."""

    name: str
    what: str
    description: str
    group: str = PLUGINS
    dependencies: tuple[str, ...] = ("hookline>=0.1", "pydantic>=2.12")
    start: str = "hookline plugins enable {name}"


_CORE_ALONE = ("hookline>=0.1",)
KINDS = {
    kind.name: kind
    for kind in (
        Kind("plugin", "A plugin", "A Hookline plugin that greets people."),
        Kind("tool", "A plugin with a tool", "A Hookline plugin with a tool that greets people."),
        Kind("guard", "A guard", "A Hookline plugin that asks before commands are run."),
        Kind("channel", "A channel", "A Hookline channel of letters in a folder."),
        Kind(
            "provider",
            "A model provider",
            "A Hookline provider that repeats what is said.",
            PROVIDERS,
            _CORE_ALONE,
            "hookline config set model {name}/quiet",
        ),
        Kind(
            "store",
            "A store",
            "A Hookline store in memory.",
            STORES,
            _CORE_ALONE,
            "hookline config set store {name}",
        ),
    )
}
"""The kinds by name; the first is what is made where none is named."""
