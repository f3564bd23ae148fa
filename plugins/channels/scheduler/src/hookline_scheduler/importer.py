"""Imports scheduled jobs of another program (service ``Importer``); they are paused."""

from __future__ import annotations

import hashlib

from hookline_hookspecs import Host, Origin, Refused
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.importers import Item, Outcome, Receipt, State

from .config import SchedulerConfig
from .errors import ScheduleError
from .job_store import LETTERS, Job, JobChat, JobStore
from .schedule_commands import MAX_PROMPT_CHARS
from .schedule_parser import parse_schedule
from .time_zones import find_zone, system_zone


class JobImporter:
    """Imports jobs. Their ids are made from the items' ids, so that none is imported twice."""

    kinds = frozenset({"job"})

    def __init__(
        self, host: Host, config: SchedulerConfig, jobs: JobStore, terminal: JobChat
    ) -> None:
        self._host = host
        self._config = config
        self._jobs = jobs
        self._terminal = terminal

    async def look(self, item: Item) -> Outcome:
        """Return what :meth:`take` would do."""
        return await self._import(item, again=False, write=False)

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        """Store the job, paused."""
        return await self._import(item, again=again, write=True)

    async def _import(self, item: Item, *, again: bool, write: bool) -> Outcome:
        job_id, chat = _id(item), self._chat(item)
        target = f"job {job_id} of {chat.name}, paused"
        origins = (Origin("outside", item.source),)
        try:
            prompt = str(item.data["prompt"]).strip()
            prompt = await self._host.learn(prompt, item.source, "schedule", origins=())
            zone = str(item.data.get("zone") or "")
            zone = find_zone(zone).key if zone else self._config.timezone or system_zone()
            schedule = parse_schedule(str(item.data["when"]), zone, self._host.now())
        except (Refused, ScheduleError) as refusal:
            return Outcome("blocked", target, str(refusal))
        if not prompt:
            return Outcome("skipped", target, "it has no prompt")
        if len(prompt) > MAX_PROMPT_CHARS:
            reason = f"a job's prompt has at most {MAX_PROMPT_CHARS:,} characters"
            return Outcome("archived", target, reason, text=prompt)
        receipt = {"id": job_id, "prompt": prompt}
        existing = await self._existing(job_id)
        if existing is not None:
            state: State = "skipped" if existing.prompt == prompt else "conflict"
            if state == "skipped" and again:
                return Outcome("migrated", target, "", receipt)
            return Outcome(state, target, "a job with this id already exists", receipt)
        limit = self._config.jobs_per_chat
        if len(await self._jobs.of_chat(chat)) >= limit:
            return Outcome("blocked", target, f"the chat already has {limit} jobs, the limit")
        if not write:
            return Outcome("planned", target)
        await self._jobs.add(
            chat, schedule, zone, prompt, self._host.now(), limit, origins, paused_as=job_id
        )
        return Outcome("migrated", target, receipt=receipt)

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        """Remove the job unless it was resumed or changed."""
        job = await self._existing(receipt["id"])
        target = f"job {receipt['id']}"
        if job is None:
            return Outcome("migrated", target, "it was removed since")
        is_changed = job.state != "paused" or job.prompt != receipt["prompt"]
        if is_changed or job.run_id or job.requested:
            return Outcome("migrated", target, "it was resumed or changed since")
        await self._jobs.remove(job)
        return Outcome("planned", target)

    async def _existing(self, job_id: str) -> Job | None:
        return next((job for job in await self._jobs.all() if job.id == job_id), None)

    def _chat(self, item: Item) -> JobChat:
        channel, _, chat_id = str(item.data.get("chat") or "").partition(":")
        if not chat_id or channel == TERMINAL:
            return self._terminal
        return JobChat(channel, chat_id, str(item.data.get("user") or chat_id))


def _id(item: Item) -> str:
    number = int.from_bytes(hashlib.sha256(item.id.encode()).digest()[:8], "big")
    return "".join(LETTERS[number // len(LETTERS) ** at % len(LETTERS)] for at in range(6))
