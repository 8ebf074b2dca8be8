"""One thread at a time in an object that has scratch of its own: the second one is refused, in words."""

from collections.abc import Callable
from functools import wraps
from threading import get_ident
from typing import Any, TypeVar, cast

from rtmbs.errors import BusyError

M = TypeVar("M", bound=Callable[..., Any])


def one_thread(method: M) -> M:
    """Let one thread at a time into the guarded methods of an object; methods of one thread may call each other.

    The object has ``_inside: int | None``, the identity of the thread that is in one of them.

    Raises BusyError in a second thread. There is no call between the look and the claim, nor between the claim and
    ``try``: the interpreter changes threads and raises KeyboardInterrupt at calls, so neither can come in between.
    """

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        me = get_ident()
        owner = self._inside
        if owner is None:
            self.__dict__["_inside"] = me  # an assignment to the attribute would be a call (model/closed.py)
        elif owner != me:
            raise BusyError(
                f"{type(self).__name__}.{method.__name__}: another thread is stepping it; let one thread hold a "
                "Simulation, or make one for each thread"
            )
        try:
            return method(self, *args, **kwargs)
        finally:
            self.__dict__["_inside"] = owner

    return cast(M, guarded)
