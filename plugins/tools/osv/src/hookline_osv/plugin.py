"""The plugin: the tool ``osv_check`` and the text that the model reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, Plugin, Refused, Tool, ToolOutput, hookimpl

from .config import PUBLIC_URL, OsvConfig

if TYPE_CHECKING:
    from .client import PostJson
    from .findings import Finding

SOURCE = "osv.dev"
MAX_SHOWN_FIXES = 6
MAX_SHOWN_ALIASES = 3


class Osv(Plugin[OsvConfig]):
    """Checks packages for known vulnerabilities and malware."""

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register the tool with the configured ``cache_ttl``."""
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
        from . import client, ecosystems
        from .findings import findings_from

        osv_ecosystem = ecosystems.find_ecosystem(ecosystem)
        name = osv_ecosystem.package(package)
        exact = osv_ecosystem.version(version)
        query: dict[str, object] = {"package": {"name": name, "ecosystem": osv_ecosystem.key}}
        if exact:
            query["version"] = exact
        answer = await client.query_osv(
            self._post(),
            self.config.base_url,
            query,
            max_pages=self.config.max_pages,
            seconds=self.config.timeout_seconds,
        )
        found = await asyncio.to_thread(findings_from, answer.advisories, osv_ecosystem, name)
        shown = [await self._read(ctx, finding) for finding in found[: self.config.max_shown]]
        title = f"{osv_ecosystem.key} {name} {exact}".rstrip()
        text = _text(title, found, shown, exact)
        notes = () if answer.whole else ("OSV has more advisories than were fetched",)
        data = {"package": name, "ecosystem": osv_ecosystem.key, "version": exact or None}
        all_findings = [finding.to_json() for finding in found]
        return ToolOutput(text, notes=notes, data={**data, "findings": all_findings})

    def _post(self) -> PostJson:
        """How to reach the service: through the guarded client only if it is the public one."""
        from . import client

        if self.config.base_url.rstrip("/") == PUBLIC_URL:
            return client.guarded_post(self.host.http)
        return client.direct_post

    async def _read(self, ctx: Context, finding: Finding) -> Finding:
        """The finding with a summary that has passed ``pre_read``."""
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
            f"{title}: nothing known in OSV. OSV does not say whether the package exists or is "
            "the intended one."
        )
    malware = sum(finding.malware for finding in found)
    rest = len(found) - malware
    counts = [f"{rest} known vulnerabilities" if rest != 1 else "1 known vulnerability"]
    if malware:
        counts = ["MALWARE, do not install"] + (counts if rest else [])
    scope = "" if version else " (of any version; give one to narrow it down)"
    lines = [f"{title}: {'; '.join(counts)}{scope}", *map(_line, shown)]
    if left := len(found) - len(shown):
        lines.append(f"… and {left} more, none worse than these")
    return "\n".join(lines)


def _line(finding: Finding) -> str:
    """``HIGH 7.5 GHSA-… (CVE-…): summary; fixed in …``"""
    aliases = finding.aliases[:MAX_SHOWN_ALIASES]
    level = "MALWARE" if finding.malware else str(finding.severity)
    named = f" ({', '.join(aliases)})" if aliases else ""
    summary = f": {finding.summary}" if finding.summary else ""
    return f"{level} {finding.id}{named}{summary}{_fix_note(finding)}"


def _fix_note(finding: Finding) -> str:
    if finding.malware:
        return ""
    if finding.fixed:
        more = " and others" if len(finding.fixed) > MAX_SHOWN_FIXES else ""
        return f"; fixed in {', '.join(finding.fixed[:MAX_SHOWN_FIXES])}{more}"
    if finding.last:
        return f"; affected up to {', '.join(finding.last[:MAX_SHOWN_FIXES])}, no fix named"
    return "; no fix known"
