"""``python -m hookline_slack`` prints the link that creates the app."""

from __future__ import annotations

import sys

from .config import manifest_url

sys.stdout.write(manifest_url() + "\n")
