"""Who may call what on an object that has scratch of its own: one thread, and no function that it asks itself."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from types import CodeType
from typing import Any, NamedTuple, TypeVar, cast

from rtmbs.errors import BusyError

M = TypeVar("M", bound=Callable[..., Any])

NOTHING, LOOK, CHANGE, STEP = range(4)  # what a call does to the object; who may do one may do those before it
VERBS = ("call", "look at", "change", "step")
OTHER_THREAD = "another thread is stepping it; let one thread hold a Simulation, or make one for each thread"
GUARDS: set[CodeType] = set()  # the code of ``inside``
ASKED = "a force law, or a function of time or of a constraint"


class Visitor(NamedTuple):
    """A function of the user that is being called, and what it may do."""

    thread: int
    most: int  # LOOK, ...
    who: str


def guarded(needs: int, name: str = "", nests: bool = False) -> Callable[[M], M]:
    """Let one thread at a time into the guarded methods of an object.

    Parameters
    ----------
    needs : what the method does: LOOK, CHANGE or STEP
    name : of the method in messages; its own unless given
    nests : the method calls guarded methods itself. Otherwise each of them is refused until it ends: a function of the
        user that it asks would find the object halfway

    The object has ``_inside``: None, the identity of the thread in a method that nests, its complement in one that does
    not, or a Visitor. Raises BusyError in a second thread, and for a call that a function of the user may not make.
    There is no call between the look and the claim, nor between the claim and ``try``: the interpreter changes threads
    and raises KeyboardInterrupt at calls, so neither can come in between.
    """

    def decorate(method: M) -> M:
        called = name or method.__name__

        @wraps(method)
        def inside(self: Any, *args: Any, **kwargs: Any) -> Any:
            me = get_ident()
            owner = self._inside
            if owner is not None and owner != me:
                check_visitor(self, owner, needs, called)
            self.__dict__["_inside"] = me if nests else ~me  # an assignment to the attribute would be a call
            try:
                return method(self, *args, **kwargs)
            finally:
                self.__dict__["_inside"] = owner

        GUARDS.add(cast(Any, inside).__code__)
        return cast(M, inside)

    return decorate


def check_visitor(held: Any, owner: Any, needs: int, called: str) -> None:
    """Refuse a call on ``held`` while ``owner`` is inside, unless it is a visitor that may make it: BusyError."""
    what, me = f"{type(held).__name__}.{called}", get_ident()
    if not isinstance(owner, Visitor):
        owner = Visitor(~owner, NOTHING, ASKED) if owner == ~me else Visitor(owner, STEP, "another thread")
    if owner.thread != me:
        raise BusyError(f"{what}: {OTHER_THREAD}")
    if not is_inside(held, sys._getframe(1)):
        return  # an exception at the very end of a method left the claim
    if needs > owner.most:
        raise BusyError(
            f"{what} was called by {owner.who}, while the Simulation waits for its answer; {owner.who} may "
            + ("use only its arguments" if owner.most == NOTHING else f"only {VERBS[owner.most]} the Simulation")
            + f". Call {called} after the step or the run"
        )


def is_inside(held: Any, caller: Any) -> bool:
    """True when a method of ``held`` that is guarded has called ``caller``, which may be the guard of another one."""
    frame = caller.f_back
    while frame is not None:
        if frame.f_code in GUARDS and frame.f_locals.get("self") is held:
            return True
        frame = frame.f_back
    return False


@contextmanager
def visited(held: Any, most: int, who: str) -> Iterator[None]:
    """Let functions of the user do so much on ``held``: BusyError for more. ``who`` names them in the message."""
    owner = held._inside
    held.__dict__["_inside"] = Visitor(get_ident(), most, who)
    try:
        yield
    finally:
        held.__dict__["_inside"] = owner
