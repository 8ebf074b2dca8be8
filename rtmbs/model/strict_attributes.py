"""Objects that refuse unknown attributes: a misspelt one would be kept without effect."""

from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar

ALIKE = 0.75  # share of letters from which another name may be meant
VOWELS = "AEIOU"


class StrictAttributes:
    """Refuses an attribute that its class does not know, by AttributeError with the nearest known name.

    Known are methods, properties and annotated names of the class and those it inherits from. A class of the user that
    inherits from one of these takes what it likes.
    """

    _remedy: ClassVar[str] = ""  # advice about an unknown attribute; {name} stands for the attribute

    def __setattr__(self, name: str, value: Any) -> None:
        kind: Any = type(self)
        if name not in self.__dict__ and kind.__module__.startswith("rtmbs."):
            found = getattr(kind, name, None)
            if isinstance(found, property) and found.fset is None:
                raise AttributeError(self._refusal(name, f"attribute {name!r} of a {kind.__name__} is for reading"))
            if found is None and name not in names_of(kind):
                article = "an" if kind.__name__[0] in VOWELS else "a"
                raise AttributeError(self._refusal(name, f"{article} {kind.__name__} has no attribute {name!r}"))
        object.__setattr__(self, name, value)

    @classmethod
    def _own_names(cls) -> set[str]:
        """Return the names of attributes that objects of the class may have beside methods and properties."""
        return annotated(cls)

    def _refusal(self, name: str, what: str) -> str:
        """Return the sentence about an attribute that cannot be set.

        Parameters
        ----------
        name : str
            Name of the attribute.
        what : str
            Name of the object.

        Returns
        -------
        str
            Sentence about an attribute that cannot be set.
        """
        known = [one for one in (*dir(type(self)), *self._own_names()) if not one.startswith("_")]
        near = get_close_matches(name, known, 1, ALIKE)
        meant = f"; did you mean {near[0]!r}?" if near and near[0] != name else ""
        return what + (meant or self._remedy.format(name=name))


@cache
def names_of(kind: type[StrictAttributes]) -> frozenset[str]:
    """Return the own names of a class of the package, looked up once: a Result has seven, and short runs make many."""
    return frozenset(kind._own_names())


def annotated(kind: type) -> set[str]:
    """Return the names that a class and those it inherits from annotate."""
    return {name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())}
