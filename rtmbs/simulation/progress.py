"""The bar that shows how far a run is, in a terminal and in a notebook."""

from types import TracebackType
from typing import Any, Self


def progress_bar(total: float, unit: str) -> Any:
    """Return a bar of tqdm: a widget in a notebook, a line in a terminal, nothing where the output is no terminal."""
    from tqdm.auto import tqdm  # it looks for a notebook, which takes a while

    return tqdm(total=total, disable=None, unit=unit)


class TimeBar:
    """A bar from ``t`` to ``t_end`` [s] that never goes back: a run that begins anew shows nothing until it is farther.

    There is no bar at all unless ``progress``: an interrupt inside tqdm may keep the lock that all bars share.
    """

    def __init__(self, t: float, t_end: float, progress: bool) -> None:
        self.farthest = t
        self.bar: Any = progress_bar(t_end - t, "s") if progress else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.close()

    def show(self, t: float) -> None:
        """Show that the run is at ``t`` [s]."""
        if self.bar is not None and t > self.farthest:
            self.bar.update(t - self.farthest)
            self.farthest = t
