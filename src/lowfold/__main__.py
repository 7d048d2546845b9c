"""`python -m lowfold` and the `lowfold` command: Ctrl-C is heard also while the library itself is imported."""

from __future__ import annotations

import sys

INTERRUPTED = 130  # 128 and the number of the signal, as shells count


def main() -> int:
    """Runs the command; returns its exit status."""
    try:
        from lowfold.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("lowfold: interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
