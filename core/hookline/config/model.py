"""The core's own config as pydantic models: every key, its default, its rule and its description.

Documentation and `config schema` are made from here. The rules that YAML and the environment bring
along stand in document.py and variables.py.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

_HOST_NAME = re.compile(r"(\*\.)?([\w-]{1,63}\.)*[\w-]{1,63}\.?")
_STORE = re.compile(r"[a-z][\w-]*(\+\w+)?(://.*)?", re.S)


def _model_name(text: str) -> str:
    provider, slash, model = text.partition("/")
    if not (provider.strip() and slash and model.strip()):
        raise ValueError("provider/model, such as anthropic/claude-sonnet-4-5")
    return text


def _host(text: str) -> str:
    bracketed = re.fullmatch(r"\[(.+)\](?::(\d+))?", text)
    if bracketed:
        host, port = bracketed.groups()
    else:
        host, port = text.split(":") if text.count(":") == 1 else (text, None)
    try:
        ipaddress.ip_network(host, strict=False)
        good = True
    except ValueError:
        good = bool(_HOST_NAME.fullmatch(host)) and not re.fullmatch(r"[\d.]+", host)
    if not good or (port is not None and not (port.isdecimal() and 0 < int(port) < 65536)):
        raise ValueError("a host, *.host, IP address or CIDR, with or without :port, and no scheme")
    return text


def _store(text: str) -> str:
    if not _STORE.fullmatch(text):
        raise ValueError("sqlite or an address such as postgresql://user@host/name")
    return text


def _written(text: str) -> str:
    if not text.strip():
        raise ValueError("a folder; `.` is the current one")
    return text


ModelName = Annotated[str, AfterValidator(_model_name)]
Host = Annotated[str, AfterValidator(_host)]
Folder = Annotated[str, AfterValidator(_written)]
Store = Annotated[str, AfterValidator(_store)]
Duration = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_MODEL = "provider/model; null = the first preset whose key or base-URL variable is set."
_AUXILIARY_MODEL = "provider/model for titles, summaries and the like; null = model."
_FALLBACK_MODELS = "provider/model names that the plugin `fallback` tries, in order."
_PROVIDERS = "Providers of models by name: settings laid over a preset, or new ones."
_PLUGINS = "Plugins by name: true, false, or a mapping of settings (on)."
_ALLOW_HOSTS = "Exempt from block_private: host, *.host, IP or CIDR, each with or without a port."


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class SessionConfig(_Section):
    """When a session ends, and the next message begins a new one."""

    idle_hours: Duration = Field(default=24, description="Hours of silence that end a session.")
    max_days: Duration = Field(default=30, description="Days that end a session in any case.")


class ProviderConfig(_Section):
    """One provider of models. Keys besides these are options of its driver."""

    model_config = ConfigDict(extra="allow")

    driver: str | None = Field(default=None, description="What speaks to it; null = the preset's.")
    base_url: str | None = Field(default=None, description="Its address; null = the preset's.")
    api_key: SecretStr | None = Field(default=None, description="Null = the preset's variable.")
    headers: dict[str, str] = Field(default={}, description="HTTP headers sent with each request.")


class NetworkConfig(_Section):
    """What the guarded HTTP client may reach."""

    block_private: bool = Field(default=True, description="Refuse addresses that are not public.")
    allow_hosts: list[Host] = Field(default=[], description=_ALLOW_HOSTS)
    block_hosts: list[Host] = Field(default=[], description="Always refused, whatever is allowed.")


class PathsConfig(_Section):
    """What the guarded file access may reach."""

    allowed_roots: list[Folder] = Field(default=[], description="Folders beside the workspace.")


class Config(_Section):
    """The core's config. A plugin's settings are its own: see `PluginEntry`."""

    model: ModelName | None = Field(default=None, description=_MODEL)
    auxiliary_model: ModelName | None = Field(default=None, description=_AUXILIARY_MODEL)
    fallback_models: list[ModelName] = Field(default=[], description=_FALLBACK_MODELS)
    operator_message: str | None = Field(default=None, description="Text for the stable prompt.")
    workspace: Folder = Field(default=".", description="Where `chat` and `run` work.")
    store: Store = Field(default="sqlite", description="Where sessions are: sqlite, postgresql://…")
    max_iterations: int = Field(default=90, ge=1, description="Model calls in one turn at most.")
    session: SessionConfig = Field(default=SessionConfig(), description="How long a session lives.")
    trace: bool = Field(default=False, description="Record what every hook did.")
    providers: dict[str, ProviderConfig] = Field(default={}, description=_PROVIDERS)
    network: NetworkConfig = Field(default=NetworkConfig(), description="What HTTP may reach.")
    paths: PathsConfig = Field(default=PathsConfig(), description="What file access may reach.")


class ConfigFile(Config):
    """All of config.yaml: the core's config and the plugins' section."""

    plugins: dict[str, bool | dict[str, Any] | None] = Field(default={}, description=_PLUGINS)


class PresetModel(_Section):
    """A model that a preset knows; `window` is in tokens, None where it is not known."""

    name: str
    window: int | None = None


class Preset(_Section):
    """A provider as defaults.yaml has it. `key_env` is None for servers that need no key."""

    model_config = ConfigDict(extra="forbid")

    driver: str
    base_url: str
    key_env: str | None
    base_url_env: str
    model: str
    models: list[PresetModel]
