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
        if name not in names_of(kind) and name not in self.__dict__:
            self._check_name(name)
        object.__setattr__(self, name, value)

    def _check_name(self, name: str) -> None:
        """Refuse an attribute that the class does not know, or that is for reading: AttributeError."""
        kind: Any = type(self)
        if not kind.__module__.startswith("rtmbs."):
            return
        found = getattr(kind, name, None)
        if isinstance(found, property) and found.fset is None:
            raise AttributeError(self._refusal(name, f"attribute {name!r} of a {kind.__name__} is for reading"))
        if found is None:
            article = "an" if kind.__name__[0] in VOWELS else "a"
            raise AttributeError(self._refusal(name, f"{article} {kind.__name__} has no attribute {name!r}"))

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
    """Return the own names of a class but properties, looked up once: short runs make many a Result."""
    return frozenset(name for name in kind._own_names() if not isinstance(getattr(kind, name, None), property))


def annotated(kind: type) -> set[str]:
    """Return the names that a class and those it inherits from annotate."""
    return {name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())}
