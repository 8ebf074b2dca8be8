"""Values by the name of a part of the mechanism; an unknown name is answered with the nearest ones."""

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from rtmbs.errors import unknown_name

T = TypeVar("T")


class Named(dict[str, T], Generic[T]):
    """A dict whose brackets raise UnknownNameError, with the nearest names, where nothing carries a name.

    also: second names, with the key that each stands for; brackets, ``in`` and ``get`` know them.
    """

    def __init__(
        self,
        kind: str,
        values: "dict[str, T] | Iterable[tuple[str, T]]" = (),
        also: "Mapping[str, str] | None" = None,
    ) -> None:
        super().__init__(values)
        self.kind = kind  # as a message calls what carries the names
        self._also = dict(also or {})

    def __missing__(self, name: object) -> T:
        if isinstance(name, str) and name in self._also:
            return self[self._also[name]]
        raise unknown_name(self.kind, name, [*self, *self._also])

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._also

    def get(self, name: object, default: Any = None) -> Any:
        """Return the value of a name, or ``default``."""
        return self[name] if isinstance(name, str) and name in self else default

    def _ipython_key_completions_(self) -> list[str]:
        return [*self, *self._also]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, dict(self), self._also)
