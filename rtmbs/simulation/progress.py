"""The bar that shows how far a run is, in a terminal and in a notebook."""

from typing import Any


def progress_bar(total: float, unit: str) -> Any:
    """Return a bar of tqdm: a widget in a notebook, a line in a terminal, nothing where the output is no terminal."""
    from tqdm.auto import tqdm  # it looks for a notebook, which takes a while

    return tqdm(total=total, disable=None, unit=unit)
