"""Takes in what another program did by itself (service ``Importer``); every job comes paused."""

from __future__ import annotations

import hashlib

from hookline_hookspecs import Host, Origin, Refused
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .complaint import Complaint
from .config import SchedulerConfig
from .desk import LONGEST_PROMPT
from .jobs import LETTERS, Chat, Job, Jobs
from .when import read
from .zones import find_zone, system_zone


class JobImporter:
    """A job gets an id that follows from the item's, so that it is never there twice."""

    kinds = frozenset({"job"})

    def __init__(self, host: Host, config: SchedulerConfig, jobs: Jobs, terminal: Chat) -> None:
        self._host = host
        self._config = config
        self._jobs = jobs
        self._terminal = terminal

    async def look(self, item: Item) -> Outcome:
        """What :meth:`take` would do."""
        return await self._done(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Store the job, paused."""
        return await self._done(item, again=again, write=True)

    async def _done(self, item: Item, *, again: bool, write: bool) -> Outcome:
        job_id, chat = _id(item), self._chat(item)
        target = f"job {job_id} of {chat.name}, paused"
        origins = (Origin("outside", item.source),)
        try:
            prompt = str(item.data["prompt"]).strip()
            prompt = await self._host.learn(prompt, item.source, "schedule", origins=())
            zone = str(item.data.get("zone") or "")
            zone = find_zone(zone).key if zone else self._config.timezone or system_zone()
            schedule = read(str(item.data["when"]), zone, self._host.now())
        except (Refused, Complaint) as refusal:
            return Outcome("blocked", target, str(refusal))
        if not prompt:
            return Outcome("skipped", target, "it has no prompt")
        if len(prompt) > LONGEST_PROMPT:
            told = f"a job's prompt has at most {LONGEST_PROMPT:,} characters"
            return Outcome("archived", target, told, text=prompt)
        receipt = {"id": job_id, "prompt": prompt}
        there = await self._there(job_id)
        if there is not None:
            ours = there.prompt == prompt
            state: State = "migrated" if ours and again else "skipped" if ours else "conflict"
            told = "" if state == "migrated" else "there is a job of that id already"
            return Outcome(state, target, told, receipt)
        most = self._config.jobs_per_chat
        if len(await self._jobs.of(chat)) >= most:
            return Outcome("blocked", target, f"the chat has {most} jobs, as many as it may")
        if not write:
            return Outcome("planned", target)
        await self._jobs.add(
            chat, schedule, zone, prompt, self._host.now(), most, origins, paused_as=job_id
        )
        return Outcome("migrated", target, receipt=receipt)

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove the job, unless somebody has resumed or changed it."""
        job = await self._there(receipt["id"])
        target = f"job {receipt['id']}"
        if job is None:
            return Outcome("migrated", target, "it was removed since")
        if job.state != "paused" or job.prompt != receipt["prompt"] or job.run_id or job.asked:
            return Outcome("migrated", target, "it was resumed or changed since")
        await self._jobs.remove(job)
        return Outcome("planned", target)

    async def _there(self, job_id: str) -> Job | None:
        return next((job for job in await self._jobs.all() if job.id == job_id), None)

    def _chat(self, item: Item) -> Chat:
        channel, _, chat_id = str(item.data.get("chat") or "").partition(":")
        if not chat_id or channel == TERMINAL:
            return self._terminal
        return Chat(channel, chat_id, str(item.data.get("user") or chat_id))


def _id(item: Item) -> str:
    number = int.from_bytes(hashlib.sha256(item.id.encode()).digest()[:8], "big")
    return "".join(LETTERS[number // len(LETTERS) ** at % len(LETTERS)] for at in range(6))
