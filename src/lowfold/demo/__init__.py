"""The demo: the figures of the lecture notes that the methods come from, on data that need no network."""

from lowfold.demo.page import planned, run

__all__ = ["planned", "run"]
