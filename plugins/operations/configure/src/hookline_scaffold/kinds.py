"""The kinds of packages that can be created: plugins of several kinds, and drivers."""

from __future__ import annotations

from dataclasses import dataclass

PLUGINS, PROVIDERS, STORES = "hookline.plugins", "hookline.providers", "hookline.stores"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of package; ``start`` is the command that makes Hookline use it."""

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
        Kind("guard", "A guard", "A Hookline plugin that asks before commands run."),
        Kind("channel", "A channel", "A Hookline channel of letters in a folder."),
        Kind(
            "provider",
            "A model provider",
            "A Hookline provider for a model's HTTP API.",
            PROVIDERS,
            _CORE_ALONE,
            "hookline config set model {name}/MODEL",
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
"""The kinds by name; the first is the default."""
