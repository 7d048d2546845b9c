"""Every command that the documentation shows is one that there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lowfold.cli.main import _parser

ROOT = Path(__file__).parents[1]
PAGES = [
    path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if "```sh" in path.read_text("utf-8")
]


def commands(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [words for line in "".join(blocks).splitlines() if (words := shlex.split(line, comments=True))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_shown_is_understood(page):
    shown = commands(page)
    assert any(words[0] == "lowfold" for words in shown)
    assert {words[0] for words in shown} <= {"lowfold", "make", "pip"}
    for _, *arguments in (words for words in shown if words[0] == "lowfold"):
        assert _parser(arguments).parse_args(arguments).command == arguments[0]  # it exits where it does not understand


@pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="the Makefile is not beside the tests")
def test_every_target_of_make_that_is_shown_is_one():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    pages = [*PAGES, ROOT / "CONTRIBUTING.md"]
    shown = {word for page in pages for words in commands(page) if words[0] == "make" for word in words[1:]}
    assert {"demo", "test", "sanitize", "arm64"} <= shown <= targets
