"""Hookline plugin ``threat-scan``: refuses texts that would turn the agent against its user.

The entry point is ``hookline_threat_scan:ThreatScan``. It implements the guards ``pre_learn`` and
``pre_read``.
"""

from .config import ThreatScanConfig
from .plugin import ThreatScan

__all__ = ["ThreatScan", "ThreatScanConfig"]
