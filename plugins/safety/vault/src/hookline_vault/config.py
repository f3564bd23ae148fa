"""The settings of the plugin, under ``plugins: vault:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class HashicorpConfig(BaseModel):
    """A HashiCorp Vault or OpenBao server that holds the key. Its token is in ``VAULT_TOKEN``."""

    address: str | None = Field(
        default=None, description="Address of the server; null: VAULT_ADDR."
    )
    mode: Literal["transit", "kv"] = Field(
        default="transit",
        description="transit: the server never hands out the key; kv: it stores the key.",
    )
    mount: str | None = Field(
        default=None, description="Mount of the engine; null: transit or secret."
    )
    name: str = Field(
        default="hookline", description="Name of the transit key, or path in kv (version 2)."
    )
    namespace: str | None = Field(default=None, description="The namespace; null: VAULT_NAMESPACE.")
    timeout: float = Field(default=10.0, gt=0, description="Maximum seconds for one request.")


class VaultConfig(BaseModel):
    """The settings of the plugin ``vault``."""

    key: str = Field(
        "auto",
        title="Source of the key",
        description=(
            "Where the key is: environment, systemd, file, keyring, hashicorp, passphrase, or "
            "another installed source; auto: the first that has it."
        ),
    )
    file: str | None = Field(
        None, title="Key file", description="The key file; null: vault.key in the home."
    )
    hashicorp: HashicorpConfig = Field(
        default_factory=HashicorpConfig,
        title="HashiCorp Vault",
        description="Settings for the source hashicorp.",
    )
