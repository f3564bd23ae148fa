"""Hookline plugin ``threat-scan``: refuses texts that would turn the agent against its user.

Reached by the entry point ``hookline_threat_scan:ThreatScan``; it implements the gates
``pre_learn`` and ``pre_read``.
"""

from .config import ThreatScanConfig
from .plugin import ThreatScan

__all__ = ["ThreatScan", "ThreatScanConfig"]
