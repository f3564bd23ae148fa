"""The certificates that the environment names (``SSL_CERT_FILE`` and ``SSL_CERT_DIR``)."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache
from pathlib import Path


def certificates_fault() -> str:
    """Return what is wrong with the certificates of the environment; empty if nothing is.

    Without them no server can be verified, and the libraries say only that no file was found.
    """
    file, folder = os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")
    if file:
        try:
            _load(file)
        except OSError as error:
            why = "it contains none" if isinstance(error, ssl.SSLError) else error.strerror
            return (
                f"SSL_CERT_FILE names {file}, from which no certificates can be read ({why}). "
                "Name a PEM file, or unset SSL_CERT_FILE"
            )
    elif folder and not Path(folder).is_dir():
        return (
            f"SSL_CERT_DIR names {folder}, which is not a folder. Name one made by "
            "`openssl rehash`, or unset SSL_CERT_DIR"
        )
    return ""


@lru_cache(1)
def _load(file: str) -> None:
    """Cached, because it takes 20 ms. A failure is not: someone may have written the file since."""
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
