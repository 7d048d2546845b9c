"""The errors of the library. A message says what was given, what is needed and what to do."""

from __future__ import annotations

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
