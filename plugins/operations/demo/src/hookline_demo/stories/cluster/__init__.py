"""The story ``cluster``: a worker and a gateway are killed, and the conversation goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from ...screen import Screen
from ...stage import Stage
from ...turn import RECORDED_NOTICE, tell_failure
from .machines import (
    Machine,
    MachineNotReady,
    create_machine,
    query,
    running,
    start_database,
    wait_until,
)
from .platform import Platform, serving

LOG = "deploy.log"
HELLO = "Who is there?"
DEPLOY = "Deploy version 2."
NEXT = "Is it out?"
ANSWER_SECONDS = 40.0
"""Longest wait for an answer, including the time until a dead process is noticed."""


@dataclass
class ClusterScene:
    """The platform, the database, and the machines of the story."""

    stage: Stage
    screen: Screen
    platform: Platform
    store: str
    gateways: list[Machine]
    workers: list[Machine]
    asked: list[str] = field(default_factory=list)

    def ask(self, gateway: Machine, text: str) -> str:
        """Send a message to a gateway as the person's platform does; return its id."""
        self.screen.write("\nyou    ", "bold")
        self.screen.write(text)
        self.screen.say(f"   → {gateway.name}", "dim")
        id_ = self.platform.send(gateway.port, text)
        self.asked.append(id_)
        return id_

    def answered(self, id_: str, begin: float, since: str) -> str:
        """Show the answer to a message. Raises :class:`MachineNotReady`."""
        text = self.platform.reply_to(id_, ANSWER_SECONDS)
        if text is None:
            raise MachineNotReady(f"an answer has not come within {ANSWER_SECONDS:.0f} s")
        self.screen.write("agent  ", "bold")
        self.screen.say(text)
        self.screen.say(f"       {time.monotonic() - begin:.1f} s {since}", "dim")
        return text

    def owner(self, key: str, of: Sequence[Machine]) -> Machine | None:
        """Return the machine that owns a key, according to the database."""
        rows = query(
            self.store,
            f"SELECT n.pid FROM owners o JOIN nodes n ON n.id = o.node WHERE o.key LIKE '{key}'",  # noqa: S608
        )
        pids = {int(line) for line in rows}
        return next((machine for machine in of if machine.pid in pids), None)


def tell(stage: Stage, screen: Screen) -> bool:
    """Run the story, check and show the results; return True if the checks pass."""
    screen.say(RECORDED_NOTICE, "bold")
    screen.say("The database, the processes, the kills and the chat's messages are real, too.")
    screen.say()
    screen.say(f"folder  {stage.folder}  (your own files and sessions are not touched)")
    try:
        with ExitStack() as stack:
            scene = _set_up(stage, screen, stack)
            killed = _play(scene)
            failed = _failed_checks(scene)
    except (MachineNotReady, OSError) as error:
        tell_failure([str(error)], screen)
        return False
    if failed:
        tell_failure(failed, screen)
        return False
    _show(scene, killed)
    return True


def _set_up(stage: Stage, screen: Screen, stack: ExitStack) -> ClusterScene:
    platform = stack.enter_context(serving())
    begin = time.monotonic()
    store = stack.enter_context(start_database(stage))
    screen.say(f"        PostgreSQL is up after {time.monotonic() - begin:.1f} s", "dim")
    begin = time.monotonic()
    groups: list[list[Machine]] = []
    for kind, arguments in (("gateway", ("gateway", "--no-turns")), ("worker", ("worker",))):
        names = (f"{kind}-1", f"{kind}-2")
        groups.append([create_machine(stage, name, arguments, store, platform) for name in names])
    everyone = [machine for group in groups for machine in group]
    for machine in everyone:
        screen.say(
            f"run     HOOKLINE_HOME={machine.home.name} hookline {' '.join(machine.arguments)}"
        )
        stack.enter_context(running(stage, machine))
    for machine in everyone:
        wait_until(f"the start of {machine.name}", machine.is_ready)
    screen.say(f"        all four are ready after {time.monotonic() - begin:.1f} s", "dim")
    gateways, workers = groups
    return ClusterScene(stage, screen, platform, store, gateways, workers)


def _play(scene: ClusterScene) -> tuple[Machine, Machine]:
    """Run the conversation; return the worker and the gateway that were killed."""
    screen, project = scene.screen, scene.stage.project
    id_, begin = scene.ask(scene.gateways[0], HELLO), time.monotonic()
    scene.answered(id_, begin, "after the question")

    id_ = scene.ask(scene.gateways[1], DEPLOY)
    wait_until("the command", (project / LOG).exists)
    worker: Machine = wait_until("a turn's owner", lambda: scene.owner("lane:%", scene.workers))
    screen.say(f"       {worker.name} runs the command, which takes 3 s …", "dim")
    worker.kill()
    begin = time.monotonic()
    screen.say(f"kill   -9 {worker.pid} ({worker.name}), in the middle of the command", "bad")
    scene.answered(id_, begin, "after the kill, from the other worker")

    gateway: Machine = wait_until(
        "the channel's owner", lambda: scene.owner("channel:webhook", scene.gateways)
    )
    gateway.kill()
    begin = time.monotonic()
    screen.say()
    screen.say(f"kill   -9 {gateway.pid} ({gateway.name}), which sends the replies", "bad")
    [other] = [machine for machine in scene.gateways if machine is not gateway]
    id_ = scene.ask(other, NEXT)
    scene.answered(id_, begin, "after the kill, from the other gateway")
    return worker, gateway


def _failed_checks(scene: ClusterScene) -> list[str]:
    """Return a sentence for each check that failed."""
    found = []
    lines = (scene.stage.project / LOG).read_text("utf-8").splitlines()
    if len(lines) != 1:
        found.append(f"{LOG} should have 1 line; it has {len(lines)}")
    replied = [reply["in_reply_to"] for reply in scene.platform.replies]
    if replied != scene.asked:
        found.append(f"{len(scene.asked)} messages should each have one reply, in order")
    return found


def _show(scene: ClusterScene, killed: tuple[Machine, Machine]) -> None:
    screen = scene.screen
    screen.say()
    screen.say("Checked afterwards:", "bold")
    screen.say(f"  killed        {killed[0].name} and {killed[1].name}; neither was restarted")
    screen.say(f"  {LOG}    1 line: the command did not run twice", "good")
    screen.say(f"  replies       {len(scene.asked)} messages, one reply each, in order", "good")
    screen.say()
    screen.say("How to run this on your own machines: docs/cluster.md")
