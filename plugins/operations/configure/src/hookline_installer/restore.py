"""``hookline plugins install`` without arguments: reinstalls recorded plugins that are missing."""

from __future__ import annotations

from pathlib import Path

from .clone_packages import resolve_in_clone
from .confirmation import say, warn
from .consent import InstallJob, get_consent
from .environment import Environment, inspect_environment
from .errors import InstallerError
from .lock import LockEntry
from .package_tools import PackageTool, choose_tool
from .spec import InstallSpec, parse, parse_editable


def restore(job: InstallJob, missing: list[LockEntry], before: Environment) -> None:
    """Reinstall the ``missing`` entries. config.yaml stays as it is. Raises InstallerError."""
    tool = choose_tool(before, job.home)
    found = {entry: spec for entry in missing if (spec := _installable_spec(tool, entry, before))}
    if not found:
        raise InstallerError("nothing was changed.")
    specs = list(found.values())
    plan = tool.plan(specs)
    then = f"This reinstalls {', '.join(entry.dist for entry in found)}."
    get_consent(job, tool, plan, before, then)
    tool.install(specs)
    after = inspect_environment()
    restored = [entry for entry in found if is_complete(entry, after)]
    job.lock.record(
        entry.model_copy(update={"version": after.dists[entry.dist].version}) for entry in restored
    )
    for entry in restored:
        say(f"Reinstalled {after.dists[entry.dist]}.")
    job.switch.report([plugin for entry in restored for plugin in entry.plugins])
    still = [entry.dist for entry in missing if entry not in restored]
    if still:
        raise InstallerError(
            f"still missing: {', '.join(still)}. Forget one with `hookline plugins uninstall NAME`."
        )


def missing_entries(entries: tuple[LockEntry, ...], environment: Environment) -> list[LockEntry]:
    """The entries whose distribution, or one of its plugins, is not in the environment."""
    return [entry for entry in entries if not is_complete(entry, environment)]


def is_complete(entry: LockEntry, environment: Environment) -> bool:
    """Whether the distribution is installed with all its recorded plugins."""
    dist = environment.dists.get(entry.dist)
    return dist is not None and set(entry.plugins) <= set(dist.plugins)


def _installable_spec(
    tool: PackageTool, entry: LockEntry, before: Environment
) -> InstallSpec | None:
    """The spec at its recorded version, else at any; None, with a warning, if neither works."""
    try:
        root = Path("/")
        spec = parse_editable(entry.editable, root) if entry.editable else parse(entry.spec, root)
        spec = resolve_in_clone(spec, before)
        pinned = spec.pinned(entry.version)
        if pinned != spec and _is_installable(tool, pinned):
            return pinned
        tool.plan([spec])
    except InstallerError as error:
        warn(f"{entry.dist} cannot be reinstalled: {error}")
        return None
    return spec


def _is_installable(tool: PackageTool, spec: InstallSpec) -> bool:
    try:
        tool.plan([spec])
    except InstallerError:
        return False
    return True
