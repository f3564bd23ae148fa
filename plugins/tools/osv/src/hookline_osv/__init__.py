"""Hookline plugin ``osv``: asks osv.dev for known vulnerabilities and malware of a package.

Reached by the entry point ``hookline_osv:Osv``; it registers the tool ``osv_check``.
"""

from .config import OsvConfig
from .plugin import Osv

__all__ = ["Osv", "OsvConfig"]
