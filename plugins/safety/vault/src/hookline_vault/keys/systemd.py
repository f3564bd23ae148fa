"""The key as a credential that systemd passes to a service.

The unit has ``LoadCredentialEncrypted=hookline-vault-key:…``. systemd decrypts it, for example with
the TPM of the machine, into a folder of the service.
"""

from __future__ import annotations

from pathlib import Path

from ..envelope import KEY_BYTES, WrappingKey
from .key_source import KeyUnavailable
from .local_key import LocalKey, LocalSource, parse_key

CREDENTIAL = "hookline-vault-key"
NEXT_CREDENTIAL = "hookline-vault-next-key"


class SystemdKeys(LocalSource):
    """Reads the credential ``hookline-vault-key``, in base64 or as 32 bytes."""

    name = "systemd"

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the key in the credential."""
        folder = self.context.env.get("CREDENTIALS_DIRECTORY")
        if not folder:
            return None
        path = Path(folder, NEXT_CREDENTIAL if pending else CREDENTIAL)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise KeyUnavailable(f"{path}: cannot read the credential: {error.strerror}.") from None
        if len(data) == KEY_BYTES:
            return LocalKey(data)
        return parse_key(data.decode("ascii", "replace"), f"The credential {path.name}")

    def prepare(self) -> WrappingKey:
        """Return the key in the credential ``hookline-vault-next-key``."""
        key = self.read(pending=True)
        if key is None:
            raise KeyUnavailable(
                "Credentials cannot be changed from here. Add the credential "
                f"{NEXT_CREDENTIAL} to the unit (`openssl rand -base64 32 | systemd-creds encrypt "
                "- FILE`), restart it and run this in its environment, or name another source "
                "with --to."
            )
        return key

    def promote(self, key: WrappingKey) -> str:
        """Return what to change in the unit."""
        present = self.read(pending=False)
        if present is not None and present.reference == key.reference:
            return ""
        return f"Now make {NEXT_CREDENTIAL} the unit's {CREDENTIAL} and remove {NEXT_CREDENTIAL}."
