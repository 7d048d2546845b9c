"""The errors and warnings of the library. A message says what was given, what is needed and what to do."""

from __future__ import annotations

import os
import sys
import warnings

import sklearn
from sklearn.utils._param_validation import InvalidParameterError


class LowfoldError(Exception):
    """Any error that Lowfold raises by itself."""


class ParameterError(LowfoldError, InvalidParameterError):
    """A parameter has a value it cannot have (also a ValueError and a TypeError, as in scikit-learn)."""


class DataError(LowfoldError, ValueError):
    """The data cannot be used as they are."""


class DataTypeError(DataError, TypeError):
    """The data are, or hold, what no numbers can be read from (also a TypeError, as in scikit-learn)."""


class MemoryLimitError(LowfoldError, MemoryError):
    """The work would need more memory than it may use; raised before anything is allocated."""


class BackendError(LowfoldError, RuntimeError):
    """The compiled kernels that were asked for cannot be used on this machine."""


class ConvergenceWarning(UserWarning):
    """An iteration ended before it reached its tolerance; the result's report says how far it came."""


class FileError(LowfoldError, ValueError):
    """A file cannot be read or written: it is damaged, of another kind, or holds what cannot be stored."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the line that called the library: the first one outside of it and of scikit-learn's wrappers and
    pipelines, however deep the reason was found."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PASSED_THROUGH):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


PASSED_THROUGH = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (__file__, sklearn.__file__))
