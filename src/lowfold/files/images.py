"""A folder of images as rows of grey values."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lowfold.errors import FileError
from lowfold.estimator import tell_share
from lowfold.files.table import Table, needed

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".pgm", ".ppm", ".webp")


def read_images(folder: Path, labels: str | None) -> Table:
    """Each image, in the order of names, as a row of grey values 0 to 255; all of one size."""
    if labels not in (None, "folder"):
        raise FileError(f"Images have no {labels!r}; labels='folder' takes the name of the folder that each is in.")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
    if not paths:
        raise FileError(f"{folder} holds no images ({', '.join(ENDINGS)}). Pass a folder that does.")
    Image = needed("PIL.Image", "pillow", folder)
    rows, shape = [], None
    for number, path in enumerate(paths):
        tell_share(number, len(paths))
        try:
            with Image.open(path) as image:
                grey = np.asarray(image.convert("L"))
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise FileError(f"{path} cannot be read as an image: {error}.") from error
        if shape is None:
            shape = grey.shape
        if grey.shape != shape:
            raise FileError(
                f"{path} has {grey.shape[1]} x {grey.shape[0]} pixels, {paths[0].name} has {shape[1]} x {shape[0]}. "
                f"Bring all images to one size."
            )
        rows.append(grey.ravel())
    names = [str(path.relative_to(folder)) for path in paths]
    groups = np.array([path.parent.name for path in paths]) if labels == "folder" else None
    assert shape is not None
    return Table(np.stack(rows), groups, names=names, shape=(shape[0], shape[1]))
