"""The `lowfold` command."""

from lowfold.cli.main import main

__all__ = ["main"]
