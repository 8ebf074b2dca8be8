"""Names in brackets: ``result["crank.*"]``, ``result[["crank.angle", "crank.rate"]]``, and completion by tab."""

from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from rtmbs.errors import UnknownNameError, nearest_names, shown, unknown_name

MARKS = frozenset("*?[")


class Keyed:
    """An object that takes names in brackets: ``keys`` lists them, and IPython completes them by tab."""

    def keys(self) -> list[str]:
        """Return the names that may stand in brackets."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.keys())


def selected(kind: str, wanted: Any, names: Collection[str]) -> list[str] | None:
    """Return the names that a pattern or a list means, each once and in the order of the list; None for one name.

    Parameters
    ----------
    kind : what carries the names, as a message calls it
    wanted : what stands in brackets: a name, a pattern of ``fnmatch`` with ``*``, ``?`` or ``[abc]``, or a list or
        tuple of names and patterns
    names : all names

    Raises UnknownNameError for a pattern without a match and for an unknown name in a list.
    """
    if isinstance(wanted, list | tuple):
        found = [one for each in wanted for one in (selected(kind, each, names) or [known(kind, each, names)])]
        return list(dict.fromkeys(found))
    if not isinstance(wanted, str) or not MARKS.intersection(wanted) or wanted in names:
        return None
    matched = [name for name in names if fnmatchcase(name, wanted)]
    if not matched:
        raise unmatched(kind, wanted, names)
    return matched


def known(kind: str, name: Any, names: Collection[str]) -> str:
    """Return a name of a list; UnknownNameError for one that does not exist."""
    if not isinstance(name, str) or name not in names:
        raise unknown_name(kind, name, names)
    return name


def unmatched(kind: str, pattern: str, names: Iterable[str]) -> UnknownNameError:
    """Return the error for a pattern that no name matches, with the patterns and names most like it."""
    names = list(names)
    owners = [f"{owner}.*" for owner in dict.fromkeys(name.rpartition(".")[0] for name in names) if owner]
    near = nearest_names(pattern, owners) or nearest_names(pattern, names)
    if not near:
        return unknown_name(kind, pattern, names)
    return UnknownNameError(
        f"there is no {kind} that matches {shown(pattern)}; did you mean {', '.join(map(repr, near))}?"
    )
