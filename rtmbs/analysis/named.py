"""Values by the name of a part of the mechanism; an unknown name is answered with the nearest ones."""

from collections.abc import Iterable
from typing import Any, Generic, NoReturn, TypeVar

from rtmbs.errors import unknown_name

T = TypeVar("T")


class Named(dict[str, T], Generic[T]):
    """A dict whose brackets raise UnknownNameError, with the nearest names, where nothing carries a name."""

    def __init__(self, kind: str, values: "dict[str, T] | Iterable[tuple[str, T]]" = ()) -> None:
        super().__init__(values)
        self.kind = kind  # as a message calls what carries the names

    def __missing__(self, name: object) -> NoReturn:
        raise unknown_name(self.kind, name, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, dict(self))
