"""What the design says about the source: layers, sizes, names, documentation that agrees with the code."""

from __future__ import annotations

import ast
import contextlib
import graphlib
import importlib
import inspect
import io
import re
import statistics
import sys
from pathlib import Path

import pytest

import lowfold
from conftest import FORCE_METHODS, name_of
from lowfold.neighbors.components import POLICIES
from lowfold.options import parameters

PACKAGE = Path(lowfold.__file__).parent
TESTS = Path(__file__).parent
ROOT = TESTS.parent

# Lowest first: a module imports from its own layer and from those above it in this list.
LAYERS = (
    {"errors", "types", "options", "arguments"},
    {"backend"},
    {"number_types", "tables", "pairwise", "inputs", "training"},
    {"fitted", "estimator", "watching"},
    {"neighbors"},
    {"affinity"},
    {"spectral"},
    {"stress", "force", "markov"},
    {"metrics", "datasets", "plot"},
    {"methods"},
    {"comparison", "judging", "model_file", "files"},
    {"cli", "explorer", "demo"},
    {"lowfold", "__main__"},  # the package itself: its public names, and the command
)

MOST_LINES = {".py": 300, ".cpp": 400, ".hpp": 400}
MOST_ARGUMENTS = 6
MEDIAN_LINES, NINE_IN_TEN_LINES = 10, 40  # of a function, without its docstring

DEPENDENCIES = {"lowfold", "numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}  # both last come with scikit-learn
# Modules that are made of an extra: imported inside of functions alone, once the extra is known to be there.
EXTRAS = {"lowfold.explorer.notebook_widget": {"anywidget", "traitlets"}}


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCE = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCE.items()}
C_PLUS_PLUS = sorted((ROOT / "cpp").rglob("*.?pp"))
FILES = [*SOURCE.values(), *sorted(TESTS.rglob("*.py")), *C_PLUS_PLUS]

PUBLIC_CLASSES = [value for value in (getattr(lowfold, name) for name in lowfold.__all__) if inspect.isclass(value)]
# Wherever they are.
DECLARING_CLASSES = [
    cls
    for name in sorted(SOURCE.keys() - EXTRAS.keys())
    for cls in vars(importlib.import_module(name)).values()
    if getattr(cls, "__module__", None) == name
    and any("option" in field.metadata for field in getattr(cls, "__dataclass_fields__", {}).values())
]


def is_module(name):
    folder = PACKAGE.parent.joinpath(*name.split("."))
    return name in SOURCE or any(folder.parent.glob(f"{folder.name}.*.so"))


def names_imported(node):
    """The modules that a statement imports: for `from a import b` a.b if that is a module of ours, else a."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: an import by its full name shows its layer"
        inside = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if is_module(name) else node.module for name in inside]
    return []


def imported_modules(tree):
    """The modules of the package that a module imports, wherever it does so."""
    found = (name for node in ast.walk(tree) for name in names_imported(node))
    return [name for name in found if name.split(".")[0] == "lowfold"]


def layer_of(name):
    top = name.split(".")[1] if "." in name else name
    found = [number for number, layer in enumerate(LAYERS) if top in layer]
    assert found, f"{name} belongs to no layer"
    return found[0]


def functions():
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, node


def arguments(node):
    a = node.args
    names = [argument.arg for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if argument]
    return [name for name in names if name not in ("self", "cls")]


def length(node):
    first = node.body[0]
    docstring = first.end_lineno - first.lineno + 1 if ast.get_docstring(node, clean=False) is not None else 0
    return node.end_lineno - node.lineno + 1 - docstring


def public_parts(name, node):
    """(name, node) of a module and of the public classes and functions inside it, and inside those classes."""
    yield name, node
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if named and not child.name.startswith("_"):
            inside = public_parts if isinstance(child, ast.ClassDef) else lambda name, node: [(name, node)]
            yield from inside(f"{name}.{child.name}", child)


PUBLIC_PARTS = [part for name, tree in TREES.items() for part in public_parts(name, tree)]


# Layers


@pytest.mark.parametrize("name", SOURCE)
def test_a_module_imports_only_from_layers_at_or_below_its_own(name):
    above = [found for found in imported_modules(TREES[name]) if layer_of(found) > layer_of(name)]
    assert not above, f"{name} imports from above"


def test_modules_do_not_import_each_other_in_a_circle():
    graph = {name: set(imported_modules(tree)) - {name} for name, tree in TREES.items()}
    assert list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError with the circle


def test_every_method_can_be_reached_by_its_name_from_the_top():
    for name, cls in lowfold.METHODS.items():
        assert re.fullmatch("[a-z][a-z0-9_]*", name)
        assert getattr(lowfold, cls.__name__) is cls
        assert cls.__name__ in lowfold.__all__


# Sizes and names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_short_enough_to_read(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES[path.suffix]


@pytest.mark.parametrize("cls", FORCE_METHODS)
def test_a_force_method_is_little_more_than_its_law(cls):
    assert len(inspect.getsource(inspect.getmodule(cls)).splitlines()) < 70


def test_the_c_plus_plus_sources_are_looked_at_wherever_they_are():
    assert bool(C_PLUS_PLUS) == (ROOT / "CMakeLists.txt").exists()


def test_functions_are_short():
    lengths = [length(node) for _, node in functions()]
    assert statistics.median(lengths) < MEDIAN_LINES
    assert statistics.quantiles(lengths, n=10)[-1] < NINE_IN_TEN_LINES


def test_no_function_takes_more_arguments_than_a_reader_can_hold():
    many = [f"{name}.{node.name}" for name, node in functions() if len(arguments(node)) > MOST_ARGUMENTS]
    assert not many


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_named_after_what_is_in_it(path):
    assert path.stem.strip("_") not in ("utils", "util", "misc", "helpers", "helper", "common")


# Public names and their documentation


def test_every_public_name_is_there_once():
    assert len(set(lowfold.__all__)) == len(lowfold.__all__)
    assert all(hasattr(lowfold, name) for name in lowfold.__all__)


def test_every_public_part_says_what_it_is():
    assert not [name for name, node in PUBLIC_PARTS if not (ast.get_docstring(node) or "").strip()]


def test_no_public_signature_swallows_a_misspelt_keyword():
    assert not [
        name for name, node in PUBLIC_PARTS if not isinstance(node, ast.Module | ast.ClassDef) and node.args.kwarg
    ]
    for cls in PUBLIC_CLASSES:
        if not issubclass(cls, BaseException | dict):
            kinds = [parameter.kind for parameter in inspect.signature(cls).parameters.values()]
            assert inspect.Parameter.VAR_KEYWORD not in kinds, cls


@pytest.mark.parametrize("cls", DECLARING_CLASSES, ids=name_of)
def test_every_option_has_a_help_and_stands_in_the_docstring_of_its_class(cls):
    for parameter in parameters(cls):
        assert parameter.option.help.strip()
        assert re.search(rf"\b{parameter.name}\b", cls.__doc__), parameter.name
        assert parameter.option.help in cls.__doc__, parameter.name


def test_components_are_treated_alike_wherever_a_graph_is_made():
    choices = {
        cls.__name__: parameter.option.choices
        for cls in DECLARING_CLASSES
        for parameter in parameters(cls)
        if parameter.name == "components"
    }
    assert {"Isomap", "LaplacianEigenmaps", "Nearest", "Fuzzy"} <= choices.keys()
    assert set(choices.values()) == {POLICIES}


def test_a_method_has_at_most_ten_parameters(method):
    assert len(list(parameters(method))) <= 10


def test_importing_all_public_names_imports_no_optional_package(run_script):
    loaded = run_script(
        "import sys, sklearn.base, sklearn.metrics, sklearn.datasets, scipy.sparse.csgraph\n"
        "before = set(sys.modules)\n"  # some of which scikit-learn takes along where they are installed
        "import lowfold\n"
        "everything = [getattr(lowfold, name) for name in lowfold.__all__]\n"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    ).split()
    assert "lowfold" in loaded
    assert set(loaded) <= sys.stdlib_module_names | DEPENDENCIES


def test_what_a_program_does_not_need_is_imported_when_it_is_used(run_script):
    loaded = run_script("import sys, lowfold\nprint(*sys.modules)").split()
    assert {name for name in loaded if name.startswith("lowfold.") or name in ("numpy", "sklearn")} == set()
    loaded = run_script("import sys\nfrom lowfold import PCA\nprint(*sys.modules)").split()
    assert "lowfold.spectral.pca" in loaded
    assert not {"lowfold.force", "lowfold.stress", "lowfold.metrics", "lowfold.plot", "lowfold.cli"} & set(loaded)


def test_every_public_name_is_there_and_known_to_type_checkers():
    for name in lowfold.__all__:
        assert getattr(lowfold, name) is not None
    assert dir(lowfold) == sorted(lowfold.__all__)
    checked = next(node for node in TREES["lowfold"].body if isinstance(node, ast.If))
    known = {alias.name for node in checked.body for alias in node.names}
    assert known == set(lowfold.__all__) - {"__version__"}
    with pytest.raises(AttributeError, match="no attribute 'PCB'"):
        _ = lowfold.PCB


@pytest.mark.parametrize("name", SOURCE)
def test_a_module_needs_nothing_but_the_declared_dependencies(name):
    needed = {found.split(".")[0] for node in TREES[name].body for found in names_imported(node)}
    assert needed <= sys.stdlib_module_names | DEPENDENCIES | EXTRAS.get(name, set())
    assert not EXTRAS.keys() & {found for node in TREES[name].body for found in names_imported(node)}


# The README


def python_blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


@pytest.mark.parametrize("page", PAGES)
def test_every_example_runs_as_it_is_written(page, tmp_path, monkeypatch):
    blocks = python_blocks((ROOT / page).read_text(encoding="utf-8"))
    assert blocks or page != "README.md", "the README shows no example"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace = {"__name__": "__main__"}
    for number, block in enumerate(blocks, 1):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, f"{page}, example {number}", "exec"), namespace)


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documentation is not beside the tests")
def test_every_method_has_its_part_of_the_documentation(method):
    name = next(name for name, cls in lowfold.METHODS.items() if cls is method)
    text = (ROOT / "docs" / "methods" / "parts" / f"{name}.md").read_text(encoding="utf-8")
    assert all(f"## {title}" in text for title in ("When to use it", "When it fails", "Cost"))
