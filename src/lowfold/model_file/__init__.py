"""Fitted models in one file of arrays and JSON, without code: `save(model, path)` and `load(path)`.

The file (version 2): 8 bytes `LOWFOLD2`, the header's length and its CRC-32 as 64-bit little-endian numbers, a JSON
header, then the arrays, each beginning at a multiple of 64 bytes; in version 1 the header has no CRC-32. The header
says of each array its type, shape, place and checksum, and holds the model as a tree of plain values in which
{"array": i} stands for array i. Sizes are compared with the file's before anything is read, and no two arrays share
bytes; only classes of this package are made again, only with their own fields, and whatever points into something else
is compared with its size (`checks.py`, `compressed.py`).
"""

from lowfold.model_file.model import load, save

__all__ = ["load", "save"]
