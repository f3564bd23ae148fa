"""The key that systemd gives a service as a credential.

``LoadCredentialEncrypted=hookline-vault-key:…`` in the unit; systemd decrypts it, with the TPM of
the machine for example, into a folder of the service.
"""

from __future__ import annotations

from pathlib import Path

from ..envelope import KEY, Key
from .local import LocalKey, LocalSource, parse_key
from .source import KeyFault

CREDENTIAL, NEXT = "hookline-vault-key", "hookline-vault-next-key"


class SystemdKeys(LocalSource):
    """Reads the credential ``hookline-vault-key``, in base64 or as 32 bytes."""

    name = "systemd"

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the key in the credential."""
        folder = self.place.env.get("CREDENTIALS_DIRECTORY")
        if not folder:
            return None
        path = Path(folder, NEXT if pending else CREDENTIAL)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise KeyFault(f"{path}: the credential cannot be read: {error.strerror}.") from None
        if len(data) == KEY:
            return LocalKey(data)
        return parse_key(data.decode("ascii", "replace"), f"The credential {path.name}")

    def prepare(self) -> Key:
        """Return the key in the credential ``hookline-vault-next-key``."""
        key = self.read(pending=True)
        if key is None:
            raise KeyFault(
                f"A credential cannot be written from here: give the unit a second one, {NEXT} "
                "(`openssl rand -base64 32 | systemd-creds encrypt - FILE`), start it anew, and "
                "run this with its environment; or name another source with --to."
            )
        return key

    def promote(self, key: Key) -> str:
        """Tell what has to change in the unit."""
        present = self.read(pending=False)
        if present is not None and present.reference == key.reference:
            return ""
        return f"Now make {NEXT} the unit's {CREDENTIAL}, and take {NEXT} out of it."
