"""Objects as trees of plain values, and back: numbers, text, arrays, and the classes of this package, nothing else."""

from __future__ import annotations

import inspect
import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from lowfold.errors import FileError
from lowfold.model_file.checks import check_parts
from lowfold.model_file.compressed import check_compressed
from lowfold.model_file.state import state_of, with_state

NAMES = ".feature_names_in_"  # of columns, the only text in arrays
DEEPEST = 60  # levels of a tree: a model has about ten
SHORT = {"csr_array": csr_array, "csr_matrix": csr_matrix}
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
# Not parts of a model: what runs commands, and errors.
OUTSIDE = ("lowfold.cli", "lowfold.demo", "lowfold.model_file", "lowfold.explorer", "lowfold.plot", "lowfold.files")


def storable_classes() -> dict[str, type]:
    """Every class of the package that a model may consist of, by module and name."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("lowfold.") and not name.startswith(OUTSIDE):
            for cls in vars(module).values():
                if inspect.isclass(cls) and cls.__module__ == name and not issubclass(cls, BaseException):
                    found[f"{name}.{cls.__qualname__}"] = cls
    return found


class Encoder:
    """Turns objects into a tree, and collects the arrays; what occurs twice is stored once."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._kept: list[Any] = []  # so that no id is used again
        self._array_of: dict[int, int] = {}
        self._object_of: dict[int, int] = {}
        self._classes = storable_classes()

    def tree(self, value: Any, where: str) -> Any:
        """The tree of a value; `where` is what the user calls it."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value), where)}
        if isinstance(value, int):
            return value if abs(value) < 2**63 else {"integer": str(value)}
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, np.ndarray):
            if where.endswith(NAMES) and all(isinstance(item, str) for item in value.tolist()):
                return {"names": value.tolist()}
            return {"array": self._array(value, where)}
        if issparse(value):
            return self._sparse(value, where)
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.tree(item, where) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.tree(k, where), self.tree(v, f"{where}[{k!r}]")] for k, v in value.items()]}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return self._generator(value, where)
        return self._object(value, where)

    def _array(self, array: NDArray[Any], where: str) -> int:
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise FileError(
                f"{where} is an array of type {array.dtype}, which a model file cannot hold. Use pickle instead."
            )
        if id(array) not in self._array_of:
            self._array_of[id(array)] = len(self.arrays)
            self._kept.append(array)
            self.arrays.append(array.astype(np.float32) if array.dtype == np.float16 else array)
        return self._array_of[id(array)]

    def _sparse(self, matrix: Any, where: str) -> Any:
        kind = type(matrix).__name__
        if kind not in SHORT:
            raise FileError(f"{where} is a {kind}, which a model file cannot hold. Use pickle instead.")
        parts = [self._array(part, where) for part in (matrix.data, matrix.indices, matrix.indptr)]
        return {"sparse": [kind, *parts, list(matrix.shape)]}

    def _generator(self, generator: Any, where: str) -> Any:
        legacy = isinstance(generator, np.random.RandomState)
        state = generator.get_state(legacy=False) if legacy else generator.bit_generator.state
        return {"generator": [legacy, self.tree(state, where)]}

    def _object(self, value: Any, where: str) -> Any:
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        if name not in self._classes:
            what = "a function" if callable(value) else f"of type {name}"
            raise FileError(
                f"{where} is {what}, which a model file cannot hold: it has no code in it. "
                f"Use a metric or kernel by name and no callback, or store the model with pickle."
            )
        if id(value) in self._object_of:
            return {"same": self._object_of[id(value)]}
        self._kept.append(value)
        fields = [[key, self.tree(part, f"{where}.{key}")] for key, part in state_of(value).items()]
        self._object_of[id(value)] = len(self._object_of)
        return {"object": name, "fields": fields}


class Decoder:
    """Turns a tree back into objects. Whatever is not as the encoder writes it is refused."""

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self._arrays = arrays
        self._objects: list[Any] = []
        self._classes = storable_classes()

    def value(self, tree: Any, depth: int = 0) -> Any:
        """The value of a tree."""
        if tree is None or isinstance(tree, bool | str | int | float):
            return tree
        if depth > DEEPEST or not isinstance(tree, dict) or not tree:
            raise FileError("The model file holds a tree that no model has. Write it again with save.")
        kind, content = next(iter(tree.items()))
        decode = getattr(self, f"_{kind}", None) if kind in KINDS else None
        if decode is None:
            raise FileError(f"The model file holds a part of kind {kind!r}, which this version does not know.")
        try:
            return decode(content, tree, depth + 1)
        except FileError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise FileError(f"The model file holds a {kind} that cannot be read: {error}.") from error

    def _scalar(self, content: Any, tree: Any, depth: int) -> Any:
        return self._arrays[_number(content)][()]

    def _integer(self, content: Any, tree: Any, depth: int) -> int:
        if not isinstance(content, str) or len(content) > 100:
            raise ValueError("no integer")
        return int(content)

    def _float(self, content: Any, tree: Any, depth: int) -> float:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]

    def _array(self, content: Any, tree: Any, depth: int) -> NDArray[Any]:
        return self._arrays[_number(content)]

    def _names(self, content: Any, tree: Any, depth: int) -> NDArray[Any]:
        if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
            raise ValueError("no list of names")
        return np.array(content, dtype=object)

    def _sparse(self, content: Any, tree: Any, depth: int) -> Any:
        kind, data, indices, indptr, shape = content
        parts = (self._array(data, tree, depth), self._array(indices, tree, depth), self._array(indptr, tree, depth))
        sides = tuple(_number(side) for side in shape)
        check_compressed(parts, sides, "csr", "A part of the model")
        return SHORT[kind](parts, shape=sides)

    def _list(self, content: Any, tree: Any, depth: int) -> list[Any]:
        return [self.value(item, depth) for item in content]

    def _tuple(self, content: Any, tree: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self._list(content, tree, depth))

    def _dict(self, content: Any, tree: Any, depth: int) -> dict[Any, Any]:
        return {self.value(key, depth): self.value(item, depth) for key, item in content}

    def _dtype(self, content: Any, tree: Any, depth: int) -> np.dtype[Any]:
        dtype = np.dtype(str(content))
        if dtype.kind not in "fiub":
            raise ValueError(f"type {dtype}")
        return dtype

    def _generator(self, content: Any, tree: Any, depth: int) -> Any:
        legacy, state = content
        values = self.value(state, depth)
        if values["bit_generator"] not in GENERATORS:
            raise ValueError(f"generator {values['bit_generator']}")
        bits = getattr(np.random, values["bit_generator"])()
        generator = np.random.RandomState(bits) if legacy else np.random.Generator(bits)
        if isinstance(generator, np.random.RandomState):
            generator.set_state(values)
        else:
            bits.state = values
        return generator

    def _same(self, content: Any, tree: Any, depth: int) -> Any:
        return self._objects[_number(content)]

    def _object(self, content: Any, tree: Any, depth: int) -> Any:
        if content not in self._classes:
            raise FileError(f"The model file holds a {content}, which this version of lowfold does not have.")
        cls = self._classes[content]
        if inspect.isabstract(cls):
            raise FileError(f"The model file holds a {content}, of which there is no single one.")
        state = {str(key): self.value(part, depth) for key, part in tree["fields"]}
        check_parts(cls.__name__, state)
        made = with_state(cls, state)
        self._objects.append(made)
        return made


KINDS = (
    *("scalar", "integer", "float", "array", "names", "sparse", "list", "tuple", "dict"),
    *("dtype", "generator", "same", "object"),
)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no number of an array, object or side")
    return value
