"""``hookline config …``."""

from __future__ import annotations

import os

import typer

from .shared import Json, err, home, load_config, out, out_json, ready_home, stop

app = typer.Typer(help="See, check and change the configuration.", no_args_is_help=True)


@app.command()
def path() -> None:
    """Print where config.yaml is."""
    out(str(home() / "config.yaml"))


@app.command()
def show(json: Json = False) -> None:
    """Print what applies, secrets masked."""
    from hookline.config import effective

    found = effective(load_config())
    if json:
        out_json(found)
        return
    import yaml

    out(yaml.safe_dump(found, sort_keys=False, allow_unicode=True))


@app.command()
def check() -> None:
    """Check config.yaml; exit code 2 if something must be mended."""
    from hookline.runtime import Runtime

    runtime = Runtime(load_config(), home())
    runtime.plugins.load()
    problems = list(runtime.loaded.provider_errors.values())
    for loading in runtime.plugins.loadings.values():
        if loading.state == "failed":
            problems.append(loading.reason)
        for warning in loading.warnings:
            err(f"hookline: warning: {warning}")
    for problem in problems:
        err(f"hookline: {problem}")
    if problems:
        raise SystemExit(2)
    path = runtime.loaded.path
    out(f"{path}: fine" if path.exists() else f"{path}: absent, defaults apply")


@app.command()
def schema() -> None:
    """Print the JSON schema of config.yaml, for editors."""
    from hookline.config import json_schema

    out_json(json_schema())


@app.command("set")
def set_(key: str, value: str) -> None:
    """Set KEY (dotted, such as session.idle_hours) to VALUE (YAML)."""
    from hookline.config import ConfigError, set_value

    ready_home()
    try:
        for warning in set_value(home() / "config.yaml", key, value, os.environ) or ():
            err(f"hookline: warning: {warning}")
    except ConfigError as error:
        stop(str(error))
    out(f"{key} is set in {home() / 'config.yaml'}")
