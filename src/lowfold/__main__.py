"""`python -m lowfold` and the `lowfold` command: Ctrl-C is heard, and kernels that cannot be had are named in one line,
also while the library itself is imported."""

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
    except RuntimeError as error:
        from lowfold.errors import BackendError  # not at the top: Ctrl-C would not be heard while it is imported

        if not isinstance(error, BackendError):
            raise
        print(f"lowfold: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
