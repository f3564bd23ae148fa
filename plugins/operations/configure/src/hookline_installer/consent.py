"""Shows what an installation would change and asks for consent before anything changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .confirmation import Confirmer, say
from .environment import CORE, Environment
from .errors import InstallerError
from .lock import LockFile
from .package_tools import PackageTool
from .plan import InstallPlan, conflicts
from .plugin_switch import PluginSwitch


@dataclass(frozen=True)
class InstallJob:
    """What a command works with. ``may_replace_core`` is the option ``--replace-hookline``."""

    home: Path
    confirmer: Confirmer
    may_replace_core: bool = False

    @property
    def lock(self) -> LockFile:
        """``plugins.lock``."""
        return LockFile.in_home(self.home)

    @property
    def switch(self) -> PluginSwitch:
        """Turns plugins on and off in ``config.yaml``."""
        return PluginSwitch(self.home)


def get_consent(
    job: InstallJob, tool: PackageTool, plan: InstallPlan, before: Environment, then: str
) -> None:
    """Show the plan and what it would break, and ask. Raises InstallerError without consent."""
    if plan:
        say(f"{tool.name} would change {before.prefix}:")
        for line in plan.lines(before):
            say(line)
    else:
        say("Nothing needs to be installed.")
    say(then)
    _protect_core(job, plan, before)
    broken = list(conflicts(plan, before))
    for sentence in broken:
        say(f"Conflict: {sentence}.")
    if broken and not job.confirmer.confirm_breakage(
        "This would break installed packages. Continue?"
    ):
        raise InstallerError(
            "nothing was changed. Choose a compatible version, or run it on a terminal to decide."
        )
    if not broken and not job.confirmer.confirm("Continue?"):
        raise InstallerError("nothing was changed.")


def _protect_core(job: InstallJob, plan: InstallPlan, before: Environment) -> None:
    """Raise InstallerError if the plan would replace Hookline itself without the option for it."""
    step = plan.step(CORE)
    if (step is None and CORE not in plan.removed) or job.may_replace_core:
        return
    installed = before.dists.get(CORE)
    old = installed.version if installed else "in use"
    new = "another" if step is None else step.version or step.source
    raise InstallerError(
        f"this would replace Hookline itself ({old} by {new}), so nothing was changed. "
        "Choose a version that works with this Hookline, or add --replace-hookline."
    )
