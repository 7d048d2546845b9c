"""Small data sets to try methods on: made by a formula, a table of facts, or shipped with scikit-learn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowfold.datasets.eurodist import Eurodist, eurodist

__all__ = ["Eurodist", "digits", "eurodist", "spiral"]


def spiral(
    n: int = 500, *, turns: float = 3.0, noise: float = 0.0, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(X, position): n points scattered, not evenly, along a plane spiral, and how far along it each lies (0 to 1)."""
    rng = np.random.default_rng(random_state)
    position = np.sort(rng.beta(1.0, 1.5, n))
    angle = 2 * np.pi * turns * np.sqrt(0.02 + 0.98 * position)
    X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), position


def digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(X, label): the 1,797 handwritten digits of scikit-learn, 8 x 8 pixels each."""
    from sklearn.datasets import load_digits  # slow to import, and needed here alone

    return load_digits(return_X_y=True)


def swiss_roll(
    n: int = 1000, *, noise: float = 0.0, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(X, sheet): n points of a rolled-up rectangle in space, and where each lies in the rectangle (along, across)."""
    rng = np.random.default_rng(random_state)
    angle = 1.5 * np.pi * (1 + 2 * rng.random(n))
    across = 21 * rng.random(n)
    X = np.column_stack([angle * np.cos(angle), across, angle * np.sin(angle)])
    along = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2  # the length of the spiral up to there
    return X + noise * rng.standard_normal(X.shape), np.column_stack([along, across])


def two_disks(
    n: int = 800, *, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64], tuple[int, int, int]]:
    """(X, side, (a, b, c)): two disks with a narrow bridge, and three points to compare distances between.

    a lies at the bridge's end in the left disk, b at its other end in the right one, c in the right disk, about as far
    from b as a is.
    """
    rng = np.random.default_rng(random_state)
    bridge = max(8, n // 40)
    radius, angle = np.sqrt(rng.random(n - bridge)), 2 * np.pi * rng.random(n - bridge)
    side = np.arange(n - bridge) % 2
    disks = np.column_stack([radius * np.cos(angle) + 2.6 * side - 1.3, radius * np.sin(angle)])
    path = np.column_stack([np.linspace(-0.3, 0.3, bridge), 0.02 * rng.standard_normal(bridge)])
    X = np.concatenate([disks, path])
    sides = np.concatenate([side, (path[:, 0] > 0).astype(side.dtype)]).astype(np.int64)
    a, b, c = (int(np.argmin(np.linalg.norm(X - place, axis=1))) for place in ((-0.55, 0), (0.55, 0), (1.65, 0)))
    return X, sides, (a, b, c)


def eurodist() -> tuple[NDArray[np.float64], list[str]]:
    """(D, names): road distances in km between 21 European cities (R's data set of that name)."""
    rows = [[float(cell) for cell in line.split()] for line in _EURODIST.strip().splitlines()]
    D = np.zeros((len(_CITIES), len(_CITIES)))
    for i, row in enumerate(rows, 1):
        D[i, :i] = D[:i, i] = row
    return D, list(_CITIES)


_CITIES = (
    "Athens",
    "Barcelona",
    "Brussels",
    "Calais",
    "Cherbourg",
    "Cologne",
    "Copenhagen",
    "Geneva",
    "Gibraltar",
    "Hamburg",
    "Hook of Holland",
    "Lisbon",
    "Lyons",
    "Madrid",
    "Marseilles",
    "Milan",
    "Munich",
    "Paris",
    "Rome",
    "Stockholm",
    "Vienna",
)

# Below the diagonal, from the second city on.
_EURODIST = """
3313
2963 1318
3175 1326 204
3339 1294 583 460
2762 1498 206 409 785
3276 2218 966 1136 1545 760
2610 803 677 747 853 1662 1418
4485 1172 2256 2224 2047 2436 3196 1975
2977 2018 597 714 1115 460 460 1118 2897
3030 1490 172 330 731 269 269 895 2428 550
4532 1305 2084 2052 1827 2290 2971 1936 676 2671 2280
2753 645 690 739 789 714 1458 158 1817 1159 863 1178
3949 636 1558 1550 1347 1764 2498 1439 698 2198 1730 668 1281
2865 521 1011 1059 1101 1035 1778 425 1693 1479 1183 1762 320 1157
2282 1014 925 1077 1209 911 1537 328 2185 1238 1098 2250 328 1724 618
2179 1365 747 977 1160 583 1104 591 2565 805 851 2507 724 2010 1109 331
3000 1033 285 280 340 465 1176 513 1971 877 457 1799 471 1273 792 856 821
817 1460 1511 1662 1794 1497 2050 995 2631 1751 1683 2700 1048 2097 1011 586 946 1476
3927 2868 1616 1786 2196 1403 650 2068 3886 949 1500 3231 2108 3188 2428 2187 1754 1827 2707
1991 1802 1175 1381 1588 937 1455 1019 2974 1155 1205 2937 1157 2409 1363 898 428 1249 1209 2105
"""
