"""Road distances between 21 cities of Europe, the example of R's `eurodist`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Name, latitude and longitude in degrees, and the kilometres by road to each city above it.
_TABLE = """
Athens; 37.98 23.73;
Barcelona; 41.39 2.17; 3313
Brussels; 50.85 4.35; 2963 1318
Calais; 50.95 1.86; 3175 1326 204
Cherbourg; 49.64 -1.62; 3339 1294 583 460
Cologne; 50.94 6.96; 2762 1498 206 409 785
Copenhagen; 55.68 12.57; 3276 2218 966 1136 1545 760
Geneva; 46.20 6.15; 2610 803 677 747 853 1662 1418
Gibraltar; 36.14 -5.35; 4485 1172 2256 2224 2047 2436 3196 1975
Hamburg; 53.55 9.99; 2977 2018 597 714 1115 460 460 1118 2897
Hook of Holland; 51.98 4.13; 3030 1490 172 330 731 269 269 895 2428 550
Lisbon; 38.72 -9.14; 4532 1305 2084 2052 1827 2290 2971 1936 676 2671 2280
Lyons; 45.76 4.84; 2753 645 690 739 789 714 1458 158 1817 1159 863 1178
Madrid; 40.42 -3.70; 3949 636 1558 1550 1347 1764 2498 1439 698 2198 1730 668 1281
Marseilles; 43.30 5.37; 2865 521 1011 1059 1101 1035 1778 425 1693 1479 1183 1762 320 1157
Milan; 45.46 9.19; 2282 1014 925 1077 1209 911 1537 328 2185 1238 1098 2250 328 1724 618
Munich; 48.14 11.58; 2179 1365 747 977 1160 583 1104 591 2565 805 851 2507 724 2010 1109 331
Paris; 48.86 2.35; 3000 1033 285 280 340 465 1176 513 1971 877 457 1799 471 1273 792 856 821
Rome; 41.90 12.50; 817 1460 1511 1662 1794 1497 2050 995 2631 1751 1683 2700 1048 2097 1011 586 946 1476
Stockholm; 59.33 18.07; 3927 2868 1616 1786 2196 1403 650 2068 3886 949 1500 3231 2108 3188 2428 2187 1754 1827 2707
Vienna; 48.21 16.37; 1991 1802 1175 1381 1588 937 1455 1019 2974 1155 1205 2937 1157 2409 1363 898 428 1249 1209 2105
"""


class Eurodist(NamedTuple):
    """distances (21, 21) in km by road, the cities' names, and their places (21, 2): degrees east and north."""

    distances: NDArray[np.float64]
    cities: list[str]
    places: NDArray[np.float64]

    @property
    def kilometres(self) -> NDArray[np.float64]:
        """The places on a flat map in km, east and north of its middle: longitudes shrunk as at the mean latitude."""
        degree = 111.2  # km of latitude
        east, north = self.places.T
        flat = np.column_stack([degree * np.cos(np.radians(north.mean())) * east, degree * north])
        return np.asarray(flat - flat.mean(axis=0))


def eurodist() -> Eurodist:
    """The road distances of 21 cities with their names and their places on the map."""
    rows = [line.split(";") for line in _TABLE.strip().splitlines()]
    D = np.zeros((len(rows), len(rows)))
    for i, (_, _, kilometres) in enumerate(rows):
        D[i, :i] = [float(entry) for entry in kilometres.split()]
    places = np.array([[float(entry) for entry in place.split()][::-1] for _, place, _ in rows])
    return Eurodist(D + D.T, [name for name, _, _ in rows], places)
