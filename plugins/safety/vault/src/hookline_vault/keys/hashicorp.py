"""The key in HashiCorp Vault or OpenBao: the transit engine, or stored in kv (version 2).

With transit the key never leaves that server. If this machine and its database are stolen, revoking
the token protects the secrets.
"""

from __future__ import annotations

import base64
import os
import re
from typing import Any
from urllib.parse import urlsplit

from hookline_hookspecs.certificates import certificates_fault

from ..envelope import KEY_BYTES, DecryptionFailed, WrappingKey
from .key_source import KeyContext, KeyUnavailable
from .local_key import LocalKey, LocalSource, parse_key

MAX_RESPONSE_BYTES = 1_000_000


class HashicorpError(KeyUnavailable):
    """The server refused a request with an HTTP ``status``."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class HashicorpClient:
    """A client of the HTTP API."""

    def __init__(self, context: KeyContext) -> None:
        config, env = context.config.hashicorp, context.env
        self.address = (config.address or env.get("VAULT_ADDR", "")).rstrip("/")
        self._token = env.get("VAULT_TOKEN", "")
        self._namespace = config.namespace or env.get("VAULT_NAMESPACE", "")
        self._timeout = config.timeout

    def call(self, method: str, path: str, body: Any = None) -> dict[str, Any] | None:
        """Return the ``data`` of a response; None if nothing is at ``path``.

        Raises :class:`KeyUnavailable`, as :class:`HashicorpError` for a refused request.
        """
        import httpx2

        self._check_connection()
        if fault := certificates_fault():
            raise KeyUnavailable(f"{fault}.")
        headers = {"X-Vault-Token": self._token, "X-Vault-Request": "true"}
        headers |= {"X-Vault-Namespace": self._namespace} if self._namespace else {}
        url = f"{self.address}/v1/{path}"
        try:
            with httpx2.Client(timeout=self._timeout, follow_redirects=False) as client:
                response = client.request(method, url, json=body, headers=headers)
        except httpx2.HTTPError as error:
            reason = f"{type(error).__name__}: {error}"
            raise KeyUnavailable(
                f"Cannot reach {self.address} ({reason}). Check that it is running."
            ) from None
        if response.status_code == 404:
            return None
        if response.status_code not in (200, 204) or len(response.content) > MAX_RESPONSE_BYTES:
            raise HashicorpError(self._refusal(response, path), response.status_code)
        data = response.json().get("data") if response.content else {}
        return data if isinstance(data, dict) else {}

    def _refusal(self, response: Any, path: str) -> str:
        try:
            reason = "; ".join(map(str, response.json()["errors"])) or "no reason given"
        except Exception:  # not JSON, or another shape
            reason = "no reason given"
        advice = {
            403: "Set VAULT_TOKEN to a token whose policy allows it",
            503: "Unseal it",
            400: "Check `plugins.vault.hashicorp`",
        }.get(response.status_code, "See its log")
        status = response.status_code
        return f"{self.address} answered {status} to {path} ({reason[:200]}). {advice}."

    def _check_connection(self) -> None:
        parts = urlsplit(self.address)
        is_local = (parts.hostname or "") in ("localhost", "127.0.0.1", "::1")
        if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
            raise KeyUnavailable(f"Refusing to send a token to {self.address!r}: use https.")
        if not self._token:
            raise KeyUnavailable(f"Set VAULT_TOKEN, which {self.address} requires.")


class TransitKey:
    """A key of the transit engine; the server wraps and unwraps."""

    def __init__(self, server: HashicorpClient, mount: str, name: str) -> None:
        self.reference = f"transit:{mount}/{name}"
        self._server, self._mount, self._name = server, mount, name

    def wrap(self, data_key: bytes, aad: bytes) -> bytes:
        """Return ``data_key`` encrypted by the server."""
        body = {"plaintext": _base64(data_key), "associated_data": _base64(aad)}
        path = f"{self._mount}/encrypt/{self._name}"
        data = self._server.call("POST", path, body) or {}
        text = data.get("ciphertext")
        if not isinstance(text, str) or not text.startswith("vault:"):
            raise KeyUnavailable(f"{self._server.address} returned no ciphertext for {path}.")
        return text.encode()

    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes:
        """Return the data key. Raises ``DecryptionFailed`` if the server rejects the ciphertext."""
        body = {"ciphertext": wrapped.decode("ascii", "replace"), "associated_data": _base64(aad)}
        try:
            data = self._server.call("POST", f"{self._mount}/decrypt/{self._name}", body) or {}
            key = base64.b64decode(data.get("plaintext", ""), validate=True)
        except HashicorpError as error:
            if error.status == 400:
                raise DecryptionFailed from None
            raise
        except ValueError:
            raise DecryptionFailed from None
        if len(key) != KEY_BYTES:
            raise DecryptionFailed
        return key


class HashicorpKeys(LocalSource):
    """The engine of ``plugins.vault.hashicorp.mode``; it has no keys without an address."""

    name = "hashicorp"

    def __init__(self, context: KeyContext) -> None:
        super().__init__(context)
        config = context.config.hashicorp
        self._server = HashicorpClient(context)
        self._is_transit = config.mode == "transit"
        self._mount = (config.mount or ("transit" if self._is_transit else "secret")).strip("/")
        self._name = config.name.strip("/")
        if not re.fullmatch(r"[\w./-]+", self._mount + self._name):
            raise KeyUnavailable(
                "plugins.vault.hashicorp: mount and name may contain letters, digits, . _ - and /."
            )

    def find(self, reference: str) -> WrappingKey | None:
        """Return the transit key, or one of the keys in kv."""
        if not self._server.address:
            return None
        if not self._is_transit:
            return super().find(reference)
        key = TransitKey(self._server, self._mount, self._name)
        return key if key.reference == reference else None

    def current(self) -> WrappingKey | None:
        """Return the existing key; transit creates a missing one."""
        if not self._server.address:
            return None
        return self._transit(rotate=False) if self._is_transit else super().current()

    def prepare(self) -> WrappingKey:
        """Make transit rotate its key, or store a next key in kv."""
        if not self._server.address:
            raise KeyUnavailable(
                "Set VAULT_ADDR, or plugins.vault.hashicorp.address, and VAULT_TOKEN."
            )
        if self._is_transit:
            return self._transit(rotate=True)
        if (pending := self.read(pending=True)) is not None:
            return pending
        stored, version = self._read_kv()
        key = os.urandom(KEY_BYTES)
        self._write_kv({**stored, "next": _base64(key)}, version)
        return LocalKey(key)

    def promote(self, key: WrappingKey) -> str:
        """Make the next key in kv the current one; transit needs nothing more."""
        if not self._is_transit:
            stored, version = self._read_kv()
            next_key = stored.get("next")
            if next_key and parse_key(next_key, "kv").reference == key.reference:
                self._write_kv({"key": next_key}, version)
        return f"The key is in {self._server.address}."

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the current or the next key in kv."""
        text = self._read_kv()[0].get("next" if pending else "key")
        return parse_key(text, f"{self._mount}/{self._name}") if text else None

    def _transit(self, *, rotate: bool) -> WrappingKey:
        path = f"{self._mount}/keys/{self._name}"
        if self._server.call("GET", path) is None:
            self._server.call("POST", path, {"type": "aes256-gcm96"})
        elif rotate:
            self._server.call("POST", f"{path}/rotate", {})
        return TransitKey(self._server, self._mount, self._name)

    def _read_kv(self) -> tuple[dict[str, str], int]:
        """The data in kv and its version for compare-and-set, which is 0 if there is none."""
        response = self._server.call("GET", f"{self._mount}/data/{self._name}") or {}
        version = (response.get("metadata") or {}).get("version", 0)
        return dict(response.get("data") or {}), version

    def _write_kv(self, data: dict[str, str], version: int) -> None:
        body = {"options": {"cas": version}, "data": data}
        self._server.call("POST", f"{self._mount}/data/{self._name}", body)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
