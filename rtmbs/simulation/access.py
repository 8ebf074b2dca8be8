"""Access to a Simulation: one thread at a time, and bounded rights for functions of the user that it calls."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from threading import get_ident
from types import CodeType
from typing import Any, NamedTuple, TypeVar, cast

from rtmbs.core.names import optional
from rtmbs.errors import BusyError

M = TypeVar("M", bound=Callable[..., Any])

NOTHING, LOOK, CHANGE, STEP = range(4)  # rights, each with those before it
VERBS = ("call", "look at", "change", "step")
OTHER_THREAD = "another thread is stepping it; let one thread hold a Simulation, or make one for each thread"
GUARDS: set[CodeType] = set()  # the code of ``inside``
ASKED = "a force law, or a function of time or of a constraint"


class Callback(NamedTuple):
    """A function of the user that is being called, and its rights."""

    thread: int
    most: int  # LOOK, ...
    who: str


class Claim:
    """The present owner of a Simulation, shared with its parts.

    ``owner`` is None, the identity of the thread in a method that nests, its complement in one that does not, or a
    Callback. Copies and pickles have no owner.
    """

    __slots__ = ("owner",)

    def __init__(self) -> None:
        self.owner: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Claim, ()


def guarded(needs: int, name: str = "", nests: bool = False) -> Callable[[M], M]:
    """Let one thread at a time into the guarded methods of an object with a ``_claim``.

    Parameters
    ----------
    needs : right that the method takes: LOOK, CHANGE or STEP
    name : of the method in messages; its own unless given
    nests : the method calls guarded methods itself. Otherwise each of them is refused until it ends: a function of the
        user that it calls would find the object halfway

    Raises BusyError in a second thread, and for a call that a function of the user may not make. There is no call
    between the look and the claim, nor between the claim and ``try``: the interpreter changes threads and raises
    KeyboardInterrupt at calls, so neither can come in between.
    """

    def decorate(method: M) -> M:
        called, kinds = name or method.__name__, [one.kind for one in signature(method).parameters.values()]
        if len(kinds) in (1, 3) and set(kinds) == {Parameter.POSITIONAL_OR_KEYWORD} and not optional(method):
            return guarded_in_every_step(method, needs, called, nests)

        @wraps(method)
        def inside(self: Any, *args: Any, **kwargs: Any) -> Any:
            me, claim = get_ident(), self._claim
            owner = claim.owner
            if owner is not None and owner != me:
                check_access(claim, owner, needs, called)
            claim.owner = me if nests else ~me
            try:
                return method(self, *args, **kwargs)
            finally:
                claim.owner = owner

        GUARDS.add(cast(Any, inside).__code__)
        return cast(M, inside)

    return decorate


def guarded_in_every_step(method: M, needs: int, called: str, nests: bool) -> M:
    """Return what ``guarded`` makes of a method of no arguments, or of two by position, for loops in Python.

    Arguments of any number and name take as long as all else that a guard does.
    """
    if cast(Any, method).__code__.co_argcount == 1:

        @wraps(method)
        def inside(self: Any) -> Any:
            me, claim = get_ident(), self._claim
            owner = claim.owner
            if owner is not None and owner != me:
                check_access(claim, owner, needs, called)
            claim.owner = me if nests else ~me
            try:
                return method(self)
            finally:
                claim.owner = owner
    else:

        @wraps(method)
        def inside(self: Any, first: Any, second: Any) -> Any:
            me, claim = get_ident(), self._claim
            owner = claim.owner
            if owner is not None and owner != me:
                check_access(claim, owner, needs, called)
            claim.owner = me if nests else ~me
            try:
                return method(self, first, second)
            finally:
                claim.owner = owner

    GUARDS.add(cast(Any, inside).__code__)
    return cast(M, inside)


def check_access(claim: Claim, owner: Any, needs: int, called: str) -> None:
    """Refuse a call while ``owner`` holds the claim, unless it is a Callback with the right to make it: BusyError."""
    what, me = f"Simulation.{called}", get_ident()
    if not isinstance(owner, Callback):
        owner = Callback(~owner, NOTHING, ASKED) if owner == ~me else Callback(owner, STEP, "another thread")
    if owner.thread != me:
        raise BusyError(f"{what}: {OTHER_THREAD}")
    if needs <= owner.most or not is_inside(claim, sys._getframe(1)):
        return  # allowed, or an exception at the very end of a method left the claim
    raise BusyError(
        f"{what} was called by {owner.who}, while the Simulation waits for its answer; {owner.who} may "
        + ("use only its arguments" if owner.most == NOTHING else f"only {VERBS[owner.most]} the Simulation")
        + f". Call {called} after the step or the run"
    )


def is_inside(claim: Claim, caller: Any) -> bool:
    """Return whether a guarded method with this claim has called ``caller``, which may be the guard of another one."""
    frame = caller.f_back
    while frame is not None:
        if frame.f_code in GUARDS and getattr(frame.f_locals.get("self"), "_claim", None) is claim:
            return True
        frame = frame.f_back
    return False


@contextmanager
def callback_rights(held: Any, most: int, who: str) -> Iterator[None]:
    """Give functions of the user these rights on a Simulation: BusyError for more. ``who`` names them in messages."""
    claim = held._claim
    owner = claim.owner
    claim.owner = Callback(get_ident(), most, who)
    try:
        yield
    finally:
        claim.owner = owner
