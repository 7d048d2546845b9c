"""What the design says about the C++ source: no Python and no input or output in the core, guards, the GIL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lowfold.backend.embedding_protocol import Convolution
from lowfold.backend.protocol import Factorisation, Kernels, SearchIndex

ROOT = Path(__file__).parents[1] / "cpp"
CORE, BINDINGS = sorted((ROOT / "core").glob("*.?pp")), sorted((ROOT / "bindings").glob("*.cpp"))

pytestmark = pytest.mark.skipif(not ROOT.exists(), reason="the C++ sources are not beside the tests")

# What only compilers for x86 know, and the macros by which they say so.
X86 = re.compile(
    r"\b(\w+mmintrin\.h|x86intrin\.h|_mm\d*_\w+|__m(64|128|256|512)\w*|__mmask\d+|__builtin_(cpu|ia32)_\w+|asm)\b"
)
X86_MACRO = re.compile(r"defined\((__x86_64__|__(SSE|AVX|FMA|BMI)\w*__)\)")

# Bound functions that keep the GIL, and those that do not ask for signals, each with its reason.
KEEP_THE_GIL = {
    "supported_simd": "asks the processor once",
    "PythonIndex.order": "copies a number for each point",
    "PythonIndex.cells": "a number that is there",
    "Factorisation.entries": "a number that is there",
    "Factorisation.peak": "a number that is there",
}
DEAF = {}

DECLARED = 3  # places in the core that name parallel loops and are none: two declarations and a definition


def without_comments(path):
    return re.sub(r"//.*", "", path.read_text(encoding="utf-8"))


# Guards


def is_x86(condition):
    """Whether a condition holds on x86 alone: each of its alternatives names one of its macros, and negates nothing."""
    return all(X86_MACRO.search(part) and "!" not in part for part in condition.split("||"))


def unguarded(text):
    """The lines with something of x86 that other compilers would see."""
    guards, found = [], []
    for line in text.splitlines():
        directive = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
        word, condition = directive.groups() if directive else ("", "")
        if word in ("elif", "else", "endif"):
            guards.pop()
        if word in ("if", "ifdef", "ifndef", "elif", "else"):
            guards.append(word in ("if", "elif") and is_x86(condition))
        if X86.search(line) and not any(guards):
            found.append(line.strip())
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.?pp")), ids=lambda path: path.name)
def test_nothing_of_x86_stands_outside_of_a_guard(path):
    assert unguarded(without_comments(path)) == []


def test_what_stands_outside_of_a_guard_is_found():
    assert any(X86.search(without_comments(path)) for path in CORE)
    inside = "#if defined(__AVX2__)\n_mm256_add_ps(a, b);\n#else\nadd(a, b);\n#endif\n"
    assert unguarded(inside) == []
    assert unguarded(inside + "_mm_pause();") == ["_mm_pause();"]
    assert unguarded(inside.replace("add(", "_mm_add_ps(")) == ["_mm_add_ps(a, b);"]
    for condition in ("!defined(__AVX2__)", "defined(__AVX2__) || defined(__linux__)", "1"):
        assert unguarded(f"#if {condition}\n#include <immintrin.h>\n#endif") == ["#include <immintrin.h>"]


# The core


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_the_core_knows_neither_python_nor_files_nor_a_terminal(path):
    text = without_comments(path)
    assert not re.findall(r"#include\s*[<\"](?:Python|nanobind|pybind11|numpy).*", text)
    assert not re.findall(r"#include\s*<(?:iostream|fstream|cstdio|stdio\.h|filesystem|print|syncstream)>", text)
    assert not re.findall(r"\b(?:Py[A-Z_]\w+|nb::\w+|f?printf|fopen|getenv|std::(?:cout|cerr|clog))\b", text)


# Items of work


def enclosed(text, begin, pair):
    """What stands between the first opening sign from a place on and the one that closes it."""
    begin = text.index(pair[0], begin)
    depth = 0
    for end in range(begin, len(text)):
        depth += (text[end] == pair[0]) - (text[end] == pair[1])
        if depth == 0:
            return text[begin : end + 1]
    raise AssertionError("a parenthesis is never closed")


def items(text):
    """(line, body, reason) of each item of parallel work: its source, and why it may be deaf, or None.

    The reason is a comment above the call: `// Short: ...`.
    """
    for match in re.finditer(r"\bparallel_(?:for|ranges)\((?=[^;{]*?Worker& ?\w*\) *\{)", text):
        body = enclosed(text, re.compile(r"Worker& ?\w*\) *").search(text, match.end()).end(), "{}")
        above = re.search(r"// Short: (.+)\n[^\n]*\Z", text[: match.start()])
        yield text.count("\n", 0, match.start()) + 1, body, above and above[1]


def hears(body):
    """Whether an item checks for itself that it is to stop, or has others do so."""
    return re.search(r"\bworker\.(?:check|check_after|ask)\(|(?<![\w.])worker(?=[,)])", body) is not None


@pytest.mark.parametrize("path", [*CORE, *BINDINGS], ids=lambda path: path.name)
def test_every_item_of_work_checks_whether_to_stop_but_for_those_that_are_short(path):
    found = items(path.read_text(encoding="utf-8"))
    assert [line for line, body, reason in found if hears(body) == bool(reason)] == []


def test_items_that_are_deaf_are_found():
    item = "parallel_for(context, 3, [&](std::size_t i, Worker&%s) {\n    if (i) { %s }\n});\n"
    reason = "// Short: three numbers.\n"
    cases = {
        item % ("", "f(i);"): False,
        item % (" worker", "f(worker.slot());"): False,
        item % (" worker", "worker.check();"): True,
        item % (" worker", "worker.check_after(i);"): True,
        item % (" worker", "f(i, worker);"): True,
    }
    for text, heard in cases.items():
        assert [(hears(body), why) for _, body, why in items(text)] == [(heard, None)]
        assert [(hears(body), why) for _, body, why in items(reason + text)] == [(heard, "three numbers.")]
        assert [why for _, _, why in items(reason + "f();\n" + text)] == [None]
    calls = sum(len(re.findall(r"\bparallel_(?:for|ranges)\(", without_comments(path))) for path in CORE)
    assert sum(len(list(items(path.read_text(encoding="utf-8")))) for path in CORE) == calls - DECLARED


# The bindings


def definitions(text):
    """{name: body} of the functions of a file and of its classes."""
    found = re.finditer(r"^(?: {4})?(?!.*\breturn\b)(?:[\w:<>,&*]+ )+(\w+)\((?=[^;]*?\{)", text, flags=re.MULTILINE)
    return {match[1]: enclosed(text, match.end(), "{}") for match in found}


def bound(text):
    """(name, source) of all that a file binds: a function of the module, or Class.method."""
    for match in re.finditer(r"(\bm)?\.def(?:_prop_ro)?\(\s*(?:\"(\w+)\"|nb::init)", text):
        source = enclosed(text, match.start(), "()")
        cls = "" if match[1] else re.findall(r"nb::class_<(\w+)", text[: match.start()])[-1]
        if match[2] is None:  # a constructor that stands in its class
            source = re.search(rf"^ +{cls}\(.*?\n\n", text, flags=re.MULTILINE | re.DOTALL)[0]
        yield f"{cls}.{match[2] or '__init__'}".lstrip("."), source


def reached(source, functions):
    """A source with the bodies of the functions that it names, and so on."""
    named = re.findall(r"(?<![.\w>])\w+", re.sub(r'"[^"]*"', "", source))
    names = set(named) & functions.keys()
    rest = {name: body for name, body in functions.items() if name not in names}
    return source + "".join(reached(functions[name], rest) for name in sorted(names))


BOUND = {
    name: reached(source, definitions(text)) for text in map(without_comments, BINDINGS) for name, source in bound(text)
}


def test_every_bound_function_is_looked_at():
    assert {"coranking", "search", "PythonIndex.search", "tree_field", "layout_epoch"} - BOUND.keys() == {"search"}
    assert len(BOUND) == sum(len(re.findall(r"\.def(?:_prop_ro)?\(", without_comments(path))) for path in BINDINGS)


# What the kernels make, and what the protocol says of it; in the source both types of index are one class.
MADE = {"Index32": SearchIndex, "Index64": SearchIndex, "Factorisation": Factorisation, "Convolution": Convolution}
IN_SOURCE = {SearchIndex: "PythonIndex"}


def named(protocol):
    """The methods and attributes that a protocol or its bases name."""
    names = (name for part in protocol.__mro__ for name in (*vars(part), *vars(part).get("__annotations__", ())))
    return {name for name in names if not name.startswith("_")}


def test_what_is_bound_is_what_the_protocol_of_a_backend_names():
    classes = {IN_SOURCE.get(protocol, protocol.__name__): protocol for protocol in MADE.values()}
    methods = {f"{cls}.{name}" for cls, protocol in classes.items() for name in (*named(protocol), "__init__")}
    assert (named(Kernels) - {"simd", *MADE}) | methods == BOUND.keys()


def test_the_kernels_are_what_the_protocol_of_a_backend_names(kernels):
    for offered, protocol in [(kernels, Kernels), *((getattr(kernels, name), kind) for name, kind in MADE.items())]:
        assert {name for name in dir(offered) if not name.startswith("_")} == named(protocol)


def test_every_bound_function_releases_the_gil_but_for_those_that_do_no_work():
    assert {name for name, source in BOUND.items() if not re.search(r"(?<![.\w>])run\(", source)} == KEEP_THE_GIL.keys()


def test_every_kernel_asks_for_signals_but_for_those_that_are_short():
    deaf = r"(?<![.\w>])run\(\s*\w+,\s*\[[^]]*\]\(const Context&\)"  # a kernel that has no name for it cannot ask
    assert {name for name, source in BOUND.items() if re.search(deaf, source)} == DEAF.keys()
