"""How long does `import lowfold` take beside `import sklearn`, on which it is built?"""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import measure
from measure import Bar, Timed

REPEAT = 7
OURS, PEER, PARTS = "lowfold", "sklearn", "sklearn.base, sklearn.neighbors"
BAR = Bar(more=(PEER, 0.1))
CODE = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def main() -> None:
    chosen = measure.arguments(__doc__, repeat=REPEAT)
    for modules in (OURS, PEER, PARTS):
        _run(modules)  # once uncounted: files come into the cache of the system
    contestants = {modules: partial(_run, modules) for modules in (OURS, PEER, PARTS)}
    entries = measure.alternate(contestants, lambda _: {}, chosen.repeat)
    row = measure.row("import", entries.pop(OURS), entries, BAR, eligible=[PEER])
    measure.save(__file__, [row], smoke=chosen.smoke)


def _run(modules: str) -> Timed:
    """The seconds that an import takes in a new process, without the start of Python."""
    command = [sys.executable, "-P", "-c", CODE.format(modules)]  # -P: no module of this folder is taken for another
    return Timed(float(subprocess.check_output(command, text=True)), None)


if __name__ == "__main__":
    main()
