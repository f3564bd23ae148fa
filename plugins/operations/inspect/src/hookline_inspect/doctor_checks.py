"""Checks for ``hookline doctor``: config, model, plugins, tools, workspace, store, files, disk."""

from __future__ import annotations

import os
import shutil
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from hookline_hookspecs import (
    Check,
    CheckResult,
    Configuration,
    HooklineError,
    Host,
    Inspection,
    StoreError,
)
from hookline_hookspecs.guessed_sinks import missing_declarations
from hookline_hookspecs.sentences import N_

from .failures import add_failures
from .plugin_listing import add_unused_commands

MIN_FREE_BYTES = 200_000_000
"""With less free disk space the check fails."""
MAX_SHOWN_DECLARATIONS = 5
"""Missing declarations of tools that the check names."""
RECENT_FAILURE_SECONDS = 86_400
"""Older failures of plugins are not mentioned."""


def core_checks(host: Host) -> list[Check]:
    """Config, model, secrets, home, plugins, tools, workspace, store and disk."""
    checks: dict[str, Callable[[Host], CheckResult | Awaitable[CheckResult]]] = {
        N_("config"): _config,
        N_("model"): _model,
        N_("plugins"): _plugins,
        N_("tools"): _tools,
        N_("workspace"): _workspace,
        N_("store"): _store,
        **FILE_CHECKS,
    }
    return [Check(name, partial(run, host)) for name, run in checks.items()]


def _config(host: Host) -> CheckResult:
    path = host.home / "config.yaml"
    core = host.services[Configuration]
    text = path.read_text("utf-8-sig", "replace") if path.exists() else ""
    problems = core.check(text)[1]  # given a text, it imports no plugin; _plugins checks those
    for provider in core.effective()["providers"]:
        try:
            host.provider(provider)
        except HooklineError as error:
            problems.append(str(error))
    if problems:
        return CheckResult(False, " ".join(problems), "hookline config edit")
    if not path.exists():
        return CheckResult(True, "no config.yaml; defaults apply", "hookline init", hint=True)
    return CheckResult(True, str(path))


def _model(host: Host) -> CheckResult:
    found = host.services[Inspection]
    try:
        model = found.default_model()
    except Exception as error:
        return CheckResult(False, str(error), "hookline init")
    try:
        found.check_model(model)
        provider = host.provider(model.partition("/")[0])
    except Exception as error:
        return CheckResult(False, str(error), "hookline init, or hookline config set model P/M")
    if provider.key_env and not provider.api_key:
        detail = f"{model} needs a key, and {provider.key_env} is not set"
        return CheckResult(False, detail, f"run `hookline init`, or add it to {host.home / '.env'}")
    return CheckResult(True, model)


def _tools(host: Host) -> CheckResult:
    """What plugins do not declare of their tools; of those of MCP servers it is guessed."""
    tools = list(host.tools())
    missing = [text for tool in tools for text in missing_declarations(tool)]
    if not missing:
        return CheckResult(True, f"{len(tools)} tools")
    shown = "; ".join(missing[:MAX_SHOWN_DECLARATIONS])
    more = len(missing) - MAX_SHOWN_DECLARATIONS
    detail = f"{shown}{f'; and {more} more' if more > 0 else ''}"
    fix = "Tell the author of the plugin. Until then, such calls need approval more often."
    return CheckResult(True, detail, fix, hint=True)


def _env_file(host: Host) -> CheckResult:
    path = host.home / ".env"
    if not path.exists():
        return CheckResult(True, "no .env; secrets come from the environment", hint=True)
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        return CheckResult(
            False, f"{path} can be read by others (mode {mode:o})", f"chmod 600 {path}"
        )
    return CheckResult(True, str(path))


def _home(host: Host) -> CheckResult:
    mode = host.home.stat().st_mode & 0o777
    if mode & 0o077:
        detail = f"{host.home} can be read by others (mode {mode:o})"
        return CheckResult(False, detail, f"chmod 700 {host.home}")
    return CheckResult(True, str(host.home))


async def _plugins(host: Host) -> CheckResult:
    rows = await host.services[Inspection].plugins()
    add_unused_commands(rows)
    bad = [f"{r['name']}: {r['reason']}" for r in rows if r["state"] in ("failed", "missing")]
    warned = [warning for row in rows for warning in row.get("warnings", ())]
    if bad or warned:
        fix = "fix it in config.yaml, or turn it off: hookline plugins disable NAME"
        return CheckResult(False, "; ".join([*bad, *warned]), fix)
    on = f"{sum(row['state'] == 'on' for row in rows)} on"
    await add_failures(host, rows)
    recent = [
        f"{row['name']}: {error['hook']}: {error['reason']}"
        for row in rows
        for error in row["errors"][:1]
        if host.now() - error["at"] < RECENT_FAILURE_SECONDS
    ]
    if recent:
        detail = f"{on}; failed in the last day: {'; '.join(recent)}"
        return CheckResult(True, detail, "hookline plugins info NAME", hint=True)
    return CheckResult(True, on)


def _workspace(host: Host) -> CheckResult:
    workspace = Path(host.config.workspace).expanduser().resolve()
    if not workspace.is_dir():
        return CheckResult(False, f"{workspace} is not a folder", "set `workspace:` in config.yaml")
    return CheckResult(True, str(workspace))


def _store(host: Host) -> CheckResult:
    try:
        return CheckResult(True, host.services[Inspection].store_location())
    except StoreError as error:
        return CheckResult(False, str(error), "install it, or set `store: sqlite`")


def _disk(host: Host) -> CheckResult:
    free = shutil.disk_usage(host.home).free
    if free < MIN_FREE_BYTES:
        detail = f"only {free // 1_000_000} MB free in {host.home}"
        return CheckResult(False, detail, "free disk space, or move the home: set HOOKLINE_HOME")
    return CheckResult(
        True, f"{free / 1e9:,.0f} GB free" if free >= 1e10 else f"{free / 1e9:.1f} GB free"
    )


def _certificates(host: Host) -> CheckResult:
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file:
        try:
            ssl.create_default_context(cafile=file)
        except OSError as error:
            why = error.strerror or error
            detail = N_(f"SSL_CERT_FILE names {file}, which cannot be used: {why}")
            return CheckResult(False, detail, "name a PEM file, or unset SSL_CERT_FILE")
    elif folder and not Path(folder).is_dir():
        detail = N_(f"SSL_CERT_DIR names {folder}, which is not a folder")
        return CheckResult(False, detail, "name a folder made by `openssl rehash`, or unset it")
    return CheckResult(True, file or folder or "those of the system")


FILE_CHECKS = {
    N_("secrets file"): _env_file,
    N_("home"): _home,
    N_("disk"): _disk,
    N_("certificates"): _certificates,
}
"""The checks that need only files and the environment."""
