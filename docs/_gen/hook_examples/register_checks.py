import shutil
from collections.abc import Callable

from hookline_hookspecs import Check, CheckResult, Plugin, hookimpl


class DiskSpace(Plugin):
    """Warns when the disk is nearly full."""

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        register(Check("disk", self.check_disk))

    def check_disk(self) -> CheckResult:
        """``hookline doctor`` shows the result."""
        free = shutil.disk_usage(self.host.home).free / 1e9
        return CheckResult(free > 1, f"{free:.0f} GB free", fix="Delete files you do not need.")
