"""What a plugin requires of the others, and whether ``config.yaml`` has it on."""

from __future__ import annotations

from collections.abc import Mapping

from hookline_hookspecs import Configuration

from .kinds import installed, kind_of


def lacking(core: Configuration, name: str) -> list[str]:
    """The plugins that an installed plugin requires and ``config.yaml`` does not have on.

    Raises ``HooklineError`` if ``config.yaml`` cannot be read. A plugin that cannot be imported
    lacks nothing: its next start says what is wrong with it.
    """
    plugins = core.effective()["plugins"]
    on = {kind_of(one) for one, settings in plugins.items() if _is_on(settings)}
    return [one for one in _required(name) if one != kind_of(name) and one not in on]


def needing(core: Configuration, name: str) -> list[str]:
    """The plugins that ``config.yaml`` has on and that require this one, sorted.

    Raises ``HooklineError`` if ``config.yaml`` cannot be read.
    """
    plugins = core.effective()["plugins"]
    on = [one for one in plugins if _is_on(plugins[one])]
    if any(kind_of(one) == kind_of(name) for one in on if one != name):
        return []  # another of the kind is left
    return sorted(one for one in on if kind_of(name) in _required(one))


def told_of_need(core: Configuration, name: str) -> str:
    """A sentence about who needs a plugin that was switched off; empty if nobody does."""
    by = needing(core, name)
    if not by:
        return ""
    verb = "needs" if len(by) == 1 else "need"
    return (
        f"{' and '.join(by)} {verb} {name} and will not start without it; "
        f"`hookline plugins disable {' '.join(by)}` switches {'it' if len(by) == 1 else 'them'} off"
    )


def _required(name: str) -> tuple[str, ...]:
    try:
        return tuple(next(iter(installed(name))).load().requires)
    except Exception:
        return ()


def _is_on(settings: object) -> bool:
    if isinstance(settings, Mapping):
        return settings.get("enabled", True) is True
    return settings is True
