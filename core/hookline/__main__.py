"""The command ``hookline``. ``--version`` answers before anything else is imported."""

import sys
from contextlib import suppress


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from hookline import __version__

        with suppress(OSError, AttributeError):  # full or closed: the command line says so
            sys.stdout.write(f"hookline {__version__}\n")
            sys.stdout.flush()
            return
    import gc

    gc.disable()  # until the runtime is open: startup creates many objects and frees few
    try:
        from hookline.cli.app import run

        run(sys.argv[1:])
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
