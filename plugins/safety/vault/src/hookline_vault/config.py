"""The settings of the plugin."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class HashicorpConfig(BaseModel):
    """A HashiCorp Vault, or OpenBao, that keeps the key. Its token is ``VAULT_TOKEN``."""

    address: str | None = Field(default=None, description="Its address; null = VAULT_ADDR.")
    mode: Literal["transit", "kv"] = Field(
        default="transit",
        description="transit: it wraps and never gives the key; kv: it stores the key.",
    )
    mount: str | None = Field(
        default=None, description="The engine's mount; null = transit or secret."
    )
    name: str = Field(
        default="hookline", description="The key of transit, or the path in kv (version 2)."
    )
    namespace: str | None = Field(
        default=None, description="The namespace; null = VAULT_NAMESPACE."
    )
    timeout: float = Field(default=10.0, gt=0, description="Seconds for one request.")


class VaultConfig(BaseModel):
    """The settings of the plugin ``vault``."""

    key: str = Field(
        "auto",
        description="Where the key is: environment, systemd, file, keyring, hashicorp, passphrase, "
        "or another installed source; auto = the first of them that has it.",
    )
    file: str | None = Field(None, description="The file of the key; null = vault.key in the home.")
    hashicorp: HashicorpConfig = Field(default_factory=HashicorpConfig, description="See below.")
