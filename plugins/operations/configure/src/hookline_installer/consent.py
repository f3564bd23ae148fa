"""Shows what would change and gets the person's word for it; nothing has changed until then."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .confirmation import Person, say
from .environment import CORE, Environment
from .errors import Stop
from .lock import LockFile
from .package_tools import Tool
from .plan import Plan, conflicts
from .plugin_switch import Switch


@dataclass(frozen=True)
class Job:
    """What a command works with. ``may_replace_core`` is the person's ``--replace-hookline``."""

    home: Path
    person: Person
    may_replace_core: bool = False

    @property
    def lock(self) -> LockFile:
        """``plugins.lock``."""
        return LockFile.of(self.home)

    @property
    def switch(self) -> Switch:
        """The switches in ``config.yaml``."""
        return Switch(self.home)


def get_consent(job: Job, tool: Tool, plan: Plan, before: Environment, then: str) -> None:
    """Show the plan and what it would break, and ask. Raises Stop unless it may go on."""
    if plan:
        say(f"{tool.name} would change {before.prefix}:")
        for line in plan.lines(before):
            say(line)
    else:
        say("Nothing has to be installed.")
    say(then)
    _protect_core(job, plan, before)
    broken = list(conflicts(plan, before))
    for sentence in broken:
        say(f"Conflict: {sentence}.")
    if broken and not job.person.risks("That would break what works now. Go on?"):
        raise Stop("nothing was done; ask for a version that fits, or decide it on a terminal.")
    if not broken and not job.person.agrees("Go on?"):
        raise Stop("nothing was done.")


def _protect_core(job: Job, plan: Plan, before: Environment) -> None:
    """Hookline itself is not replaced by the way."""
    step, here = plan.step(CORE), before.dists.get(CORE)
    if (step is None and CORE not in plan.removed) or job.may_replace_core:
        return
    old = here.version if here else "in use"
    new = "another" if step is None else step.version or step.source
    raise Stop(
        f"that would replace Hookline itself ({old} by {new}), so nothing was done; "
        "ask for a version that fits this Hookline, or add --replace-hookline if you mean it."
    )
