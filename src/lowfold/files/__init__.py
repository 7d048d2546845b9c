"""Data from files and embeddings to files, by their names' endings: `read(path)` and `write(path, Y)`.

| ending | read | write | needs |
|---|---|---|---|
| .npy, .npz | arrays; of several the one called X, or by `name` | .npy | |
| .csv, .tsv, .txt | with or without header; a column of labels by name | .csv, .tsv | |
| .parquet, .feather | columns of numbers | both | pyarrow |
| .h5ad | X, labels from obs | obsm["X_<method>"] | h5py |
| .mat | the matrix called X, or by `name` | | h5py from version 7.3 on |
| a folder | images of one size, grey; labels: the folder each is in | | pillow |

What is needed beside Lowfold comes with `pip install "lowfold[files]"`.
"""

from lowfold.files.reading import read
from lowfold.files.table import Table
from lowfold.files.writing import write

__all__ = ["Table", "read", "write"]
