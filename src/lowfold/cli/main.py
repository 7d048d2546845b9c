"""Which command was asked for; exit codes; errors in one line.

0: done. 1: what was asked for cannot be done, said in one line. 2: the command line is wrong. 130: ended by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from lowfold.cli import comparing, describing, embedding, exploring, scoring
from lowfold.cli.flags import add_method_flags, whole_number
from lowfold.errors import LowfoldError
from lowfold.methods import METHODS

INTERRUPTED = 130  # 128 and the number of the signal, as shells count


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    chosen = _parser(given).parse_args(given)
    chosen.written = []  # what is complete by now, for who presses Ctrl-C
    warnings.showwarning = _one_line
    try:
        return int(chosen.run(chosen) or 0)
    except BrokenPipeError:  # the reader of a pipe has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (LowfoldError, ValueError, MemoryError, OSError) as error:
        return _failed(error)
    except KeyboardInterrupt:
        written = f"{', '.join(chosen.written)} had been written" if chosen.written else "nothing was written"
        when = getattr(chosen, "interrupted", "")
        print(f"lowfold: {' '.join(filter(None, ('interrupted', when)))}; {written}.", file=sys.stderr)
        return INTERRUPTED


def _failed(error: BaseException) -> int:
    text = " ".join(str(error).split()) or type(error).__name__
    print(f"lowfold: {text}", file=sys.stderr)
    return 1


def _one_line(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"lowfold: note: {' '.join(str(message).split())}", file=sys.stderr)


def _parser(given: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lowfold", description="Low-dimensional maps of high-dimensional data.")
    parser.add_argument("--version", action="version", version=f"lowfold {version('lowfold')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_embed(commands, given)
    _add_transform(commands)
    _add_compare(commands)
    _add_score(commands)
    _data_flags(exploring.add_explore(commands))
    info = commands.add_parser(
        "info",
        help="what a file holds, and what each method would need for it",
        description="What a file holds: shape, scales of the columns, intrinsic dimension. Then seconds and megabytes "
        "that each method would need with its defaults, continued from fits to a few thousand of the rows: expect them "
        "to be right within a factor of three. What a few rows cannot show is how long an optimisation goes on.",
    )
    info.add_argument("data", nargs="?", help="file or folder of images; without: what this installation runs on")
    _data_flags(info)
    info.set_defaults(run=describing.info)
    methods = commands.add_parser("methods", help="every method and what it is for, or one with its parameters")
    methods.add_argument("method", nargs="?", choices=list(METHODS), metavar="METHOD", help="name of one method")
    methods.set_defaults(run=describing.methods)
    demo = commands.add_parser("demo", help="pictures of every method, written to a folder with an index.html")
    demo.add_argument("-o", "--output", default="lowfold-demo", metavar="FOLDER", help="default: lowfold-demo")
    demo.add_argument("--only", metavar="NAME", help="one of the demo's sections alone")
    _quiet_flag(demo)
    demo.set_defaults(run=describing.demo)
    return parser


def _add_embed(commands: Any, given: list[str]) -> None:
    embed = commands.add_parser(
        "embed",
        help="embed the rows of a file",
        epilog="Parameters of another method: lowfold embed -m METHOD --help",
        allow_abbrev=False,
    )
    embed.add_argument("data", help="npy, npz, csv, tsv, parquet, feather, h5ad or mat file, or a folder of images")
    method = _method_in(given)
    embed.add_argument("-m", "--method", default="tsne", choices=list(METHODS), metavar="METHOD", help="default: tsne")
    embed.add_argument("-o", "--output", metavar="FILE", help="npy, csv, tsv, parquet, feather or h5ad file")
    embed.add_argument("--plot", metavar="FILE", help="picture of the map: png, pdf or svg")
    embed.add_argument("--html", metavar="FILE", help="page to explore the map in a browser: one file, no network")
    embed.add_argument("--save", metavar="FILE", help="model file, for lowfold transform")
    _data_flags(embed)
    add_method_flags(embed, METHODS[method])
    embed.set_defaults(run=embedding.embed)


def _add_transform(commands: Any) -> None:
    transform = commands.add_parser("transform", help="place the rows of a file in a saved map")
    transform.add_argument("model", help="file that embed --save wrote")
    transform.add_argument("data", help="file with the same columns")
    transform.add_argument("-o", "--output", metavar="FILE", help="file for the coordinates")
    transform.add_argument("--plot", metavar="FILE", help="picture: the map in grey, the new points on it")
    _data_flags(transform)
    transform.set_defaults(run=embedding.transform)


def _add_compare(commands: Any) -> None:
    compare = commands.add_parser("compare", help="several methods on one file: quality, time and memory")
    compare.add_argument("data", help="file or folder of images")
    compare.add_argument("--methods", default="pca,isomap,laplacian_eigenmaps,tsne,umap", metavar="A,B,...|all",
                         help="names separated by commas, or all")  # fmt: skip
    compare.add_argument(
        "-k", type=int, help="neighbours that are compared; default: 15, or fewer where there are fewer"
    )
    compare.add_argument("-o", "--output", metavar="FILE", help="csv file for the table")
    compare.add_argument("--plot", metavar="FILE", help="picture of the maps side by side")
    compare.add_argument("--html", metavar="FILE", help="page to explore the maps in a browser: one file, no network")
    _data_flags(compare)
    compare.set_defaults(run=comparing.compare_methods)


def _add_score(commands: Any) -> None:
    score = commands.add_parser("score", help="judge a map: neighbours, distances, labels")
    score.add_argument("data", help="file or folder of images")
    score.add_argument("map", help="file of coordinates, a row for each row of the data")
    score.add_argument("-k", type=int, help="neighbours that are compared; default: 15, or fewer where there are fewer")
    score.add_argument(
        "--sample", type=whole_number(2), metavar="N", help="points looked at; default: up to 10,000 all"
    )
    score.add_argument("-o", "--output", metavar="FILE", help="csv file for the scores of each point")
    score.add_argument("--plot", metavar="FILE", help="picture: trust at each point, quality over k, Shepard diagram")
    _data_flags(score)
    score.set_defaults(run=scoring.score)


def _data_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--labels", metavar="NAME", help="column (array, field of obs; 'folder' for images) of labels")
    parser.add_argument("--name", metavar="NAME", help="which array of a file with several")
    _quiet_flag(parser)


def _quiet_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress and no report")


def _method_in(given: list[str]) -> str:
    """The method that is asked for: its parameters are the flags. A wrong one is refused by the parser."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("-m", "--method", nargs="?", default="tsne")
    first.add_argument("-q", action="store_true")  # -qm pca
    first.add_argument("-o", nargs="?")  # what follows it is no method
    method = str(first.parse_known_args([part for part in given if part not in ("-h", "--help")])[0].method)
    return method if method in METHODS else "tsne"
