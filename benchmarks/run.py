"""Runs the benchmarks, all or those named, and writes the table of README.md from their results."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import table

FOLDER = Path(__file__).resolve().parent
SCRIPTS = (
    "knn_approximate",
    "knn_exact",
    "knn_simd",
    "first_call",
    "import_time",
    "pca",
    "spectral",
    "eigenvectors",
    "tsne",
    "forces",
    "schedules",
    "umap_speed",
    "umap_quality",
    "stress",
    "metrics",
    "directions",
    "interrupts",
    "explorer",
)


def main() -> int:
    """The number of benchmarks that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"benchmarks to run: {', '.join(SCRIPTS)}; all if none is named")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: the table is printed, README.md left alone")
    parser.add_argument("--table", action="store_true", help="run nothing, only write the table")
    chosen = parser.parse_args()
    unknown = set(chosen.names) - set(SCRIPTS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(SCRIPTS)}")
    names = () if chosen.table else chosen.names or SCRIPTS
    failed = [name for name in names if not _succeeds(name, smoke=chosen.smoke)]
    results = table.load(SCRIPTS, smoke=chosen.smoke)
    if chosen.smoke:
        print(table.text(results))
    else:
        table.write(results, FOLDER / "README.md")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def _succeeds(name: str, *, smoke: bool) -> bool:
    print(f"== {name}", flush=True)
    command = [sys.executable, str(FOLDER / f"{name}.py"), *(["--smoke"] if smoke else [])]
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
