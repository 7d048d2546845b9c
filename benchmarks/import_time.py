"""How long does `import lowfold` take beside `import sklearn`, on which it is built, and how long with a method?"""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import measure
from measure import Bar, Timed

REPEAT = 7
OURS, METHOD = "import lowfold", "from lowfold import TSNE"  # a name of the package is imported when it is asked for
PEER, PARTS = "import sklearn", "import sklearn.base, sklearn.neighbors"
BAR = Bar(more=(PEER, 0.1))
CODE = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"


def main() -> None:
    chosen = measure.arguments(__doc__, repeat=REPEAT)
    statements = (OURS, METHOD, PEER, PARTS)
    for statement in statements:
        _run(statement)  # once uncounted: files come into the cache of the system
    contestants = {statement: partial(_run, statement) for statement in statements}
    entries = measure.alternate(contestants, lambda _: {}, chosen.repeat)
    peers = {name: entries[name] for name in (PEER, PARTS)}
    rows = [measure.row(name, entries[name], peers, BAR, eligible=[PEER]) for name in (OURS, METHOD)]
    measure.save(__file__, rows, smoke=chosen.smoke)


def _run(statement: str) -> Timed:
    """The seconds that an import takes in a new process, without the start of Python."""
    command = [sys.executable, "-P", "-c", CODE.format(statement)]  # -P: no module of this folder is taken for another
    return Timed(float(subprocess.check_output(command, text=True)), None)


if __name__ == "__main__":
    main()
