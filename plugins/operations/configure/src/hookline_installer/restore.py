"""``hookline plugins install`` alone: brings back what is recorded and no longer installed."""

from __future__ import annotations

from pathlib import Path

from .clone_packages import resolved
from .confirmation import say, warn
from .consent import Job, get_consent
from .environment import Environment, look
from .errors import Stop
from .lock import Entry
from .package_tools import Tool, choose
from .spec import Spec, parse, parse_editable


def restore(job: Job, lacking: list[Entry], before: Environment) -> None:
    """Reinstall the ``lacking`` entries. What config says of them stays as it is. Raises Stop."""
    tool = choose(before, job.home)
    found = {entry: spec for entry in lacking if (spec := _resolved(tool, entry, before))}
    if not found:
        raise Stop("nothing was done.")
    specs = list(found.values())
    plan = tool.plan(specs)
    then = f"That brings back {', '.join(entry.dist for entry in found)}."
    get_consent(job, tool, plan, before, then)
    tool.install(specs)
    after = look()
    back = [entry for entry in found if is_there(entry, after)]
    job.lock.record(
        entry.model_copy(update={"version": after.dists[entry.dist].version}) for entry in back
    )
    for entry in back:
        say(f"{after.dists[entry.dist]} is back.")
    job.switch.report([plugin for entry in back for plugin in entry.plugins])
    still = [entry.dist for entry in lacking if entry not in back]
    if still:
        raise Stop(f"still missing: {', '.join(still)}. `hookline plugins uninstall` forgets one.")


def missing(entries: tuple[Entry, ...], environment: Environment) -> list[Entry]:
    """The entries that an environment lacks, wholly or in a plugin."""
    return [entry for entry in entries if not is_there(entry, environment)]


def is_there(entry: Entry, environment: Environment) -> bool:
    """Whether the dist is there and brings the plugins that are recorded of it."""
    dist = environment.dists.get(entry.dist)
    return dist is not None and set(entry.plugins) <= set(dist.plugins)


def _resolved(tool: Tool, entry: Entry, before: Environment) -> Spec | None:
    """The spec at its recorded version, or at any if that is gone; None, and why, if neither."""
    try:
        root = Path("/")
        spec = parse_editable(entry.editable, root) if entry.editable else parse(entry.spec, root)
        spec = resolved(spec, before)
        pinned = spec.pinned(entry.version)
        if pinned != spec and _can(tool, pinned):
            return pinned
        tool.plan([spec])
    except Stop as error:
        warn(f"{entry.dist} cannot be brought back: {error}")
        return None
    return spec


def _can(tool: Tool, spec: Spec) -> bool:
    try:
        tool.plan([spec])
    except Stop:
        return False
    return True
