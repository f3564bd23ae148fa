"""The plugin: the tool ``osv_check`` and what the model reads of an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Plugin, Refused, Tool, ToolOutput, hookimpl

from .config import PUBLIC, OsvConfig

if TYPE_CHECKING:
    from .client import Post
    from .findings import Finding

SOURCE = "osv.dev"
_FIXES = 6
_ALIASES = 3


class Osv(Plugin[OsvConfig]):
    """Asks osv.dev what is known against a package."""

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """The tool; for how long its results stay good is a setting."""
        ttl = self.config.cache_seconds or None
        register(
            Tool.from_function(self.osv_check, read_only=True, cache_ttl=ttl, origin="outside")
        )

    async def osv_check(
        self, ctx: Context, package: str, ecosystem: str, version: str | None = None
    ) -> ToolOutput:
        """Known vulnerabilities and malware of a package. Check before installing or upgrading.

        Args:
            ecosystem: npm, PyPI, crates.io, Go or another
        """
        from . import client, ecosystems, findings

        where = ecosystems.find(ecosystem)
        name, exact = where.package(package), where.version(version)
        query: dict[str, object] = {"package": {"name": name, "ecosystem": where.key}}
        if exact:
            query["version"] = exact
        answer = await client.ask(
            self._post(),
            self.config.base_url,
            query,
            max_pages=self.config.max_pages,
            seconds=self.config.timeout_seconds,
        )
        found = await asyncio.to_thread(findings.of, answer.advisories, where, name)
        shown = [await self._read(ctx, one) for one in found[: self.config.max_shown]]
        title = f"{where.key} {name} {exact}".rstrip()
        text = _text(title, found, shown, exact)
        notes = () if answer.whole else ("OSV has more advisories than were fetched",)
        data = {"package": name, "ecosystem": where.key, "version": exact or None}
        data_all = {**data, "findings": [one.to_json() for one in found]}
        return ToolOutput(text, notes=notes, data=data_all)

    def _post(self) -> Post:
        """How the service is reached: another than the public one is the operator's own."""
        from . import client

        if self.config.base_url.rstrip("/") == PUBLIC:
            return client.guarded(self.host.http)
        return client.direct

    async def _read(self, ctx: Context, finding: Finding) -> Finding:
        """The finding with a summary that has passed the gate for foreign text."""
        if not finding.summary:
            return finding
        try:
            summary = await ctx.read(finding.summary, f"{SOURCE}/{finding.id}", "advisory")
        except Refused as refusal:
            summary = f"(summary withheld: {refusal})"
        return replace(finding, summary=summary)


def _text(title: str, found: list[Finding], shown: list[Finding], version: str) -> str:
    if not found:
        return (
            f"{title}: nothing known in OSV. OSV does not tell whether the package exists or is "
            "the one that is meant."
        )
    malware = sum(one.malware for one in found)
    rest = len(found) - malware
    counts = [f"{rest} known vulnerabilities" if rest != 1 else "1 known vulnerability"]
    if malware:
        counts = ["MALWARE, do not install"] + (counts if rest else [])
    scope = "" if version else " (of any version; give one to see what concerns it)"
    lines = [f"{title}: {'; '.join(counts)}{scope}", *map(_line, shown)]
    if left := len(found) - len(shown):
        lines.append(f"… and {left} more, none worse than these")
    return "\n".join(lines)


def _line(finding: Finding) -> str:
    """``HIGH 7.5 GHSA-… (CVE-…): summary; fixed in …``"""
    aliases = finding.aliases[:_ALIASES]
    level = "MALWARE" if finding.malware else str(finding.severity)
    named = f" ({', '.join(aliases)})" if aliases else ""
    summary = f": {finding.summary}" if finding.summary else ""
    return f"{level} {finding.id}{named}{summary}{_cure(finding)}"


def _cure(finding: Finding) -> str:
    if finding.malware:
        return ""
    if finding.fixed:
        more = " and others" if len(finding.fixed) > _FIXES else ""
        return f"; fixed in {', '.join(finding.fixed[:_FIXES])}{more}"
    if finding.last:
        return f"; affected up to {', '.join(finding.last[:_FIXES])}, no fix named"
    return "; no fix known"
