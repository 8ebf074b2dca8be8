"""Every error rtmbs raises on purpose. A message names the culprit, says what is wrong and what would be right."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

LISTED = 6  # names shown when one is unknown
LONGEST_SHOWN = 200  # letters of a value in a message


class RtmbsError(Exception):
    """Whatever rtmbs raises on purpose."""


class ModelError(RtmbsError, ValueError):
    """What a person wrote cannot be a mechanism: a wrong value, shape or name."""


class UnknownNameError(ModelError):
    """A name that nothing in the model carries; the message lists the nearest ones."""


class TopologyError(ModelError):
    """The graph of bodies and joints has a flaw: a body that hangs on nothing, a joint that holds nothing."""


class InputError(RtmbsError, ValueError):
    """An option or an input of a run is not usable: ``h <= 0``, an unknown input, a value that is not finite."""


class StateError(RtmbsError, ValueError):
    """A state or its file is damaged, not finite, another model's, or one that no step can have left behind."""


class ResultError(InputError):
    """A result file is truncated, damaged, or none at all."""


class BusyError(RtmbsError, RuntimeError):
    """A thread came into a Simulation while another one was inside."""


class StartError(RtmbsError):
    """No consistent start was found: the loops do not close, or pinned values contradict each other."""


class StepError(RtmbsError):
    """A step failed and the state is as it was before.

    ``step`` and ``t`` are those the step set out for, ``residuals`` the history of Newton's residual norms and
    ``culprits`` the joints or forces with the largest residual.
    """

    def __init__(
        self,
        message: str,
        *,
        step: int = -1,
        t: float = float("nan"),
        residuals: Sequence[float] = (),
        culprits: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.step = step
        self.t = t
        self.residuals = tuple(residuals)
        self.culprits = tuple(culprits)


class NotConvergedError(StepError):
    """Newton ran out of iterations."""


class SingularTangentError(StepError):
    """The Newton matrix has no usable factor."""


class NotFiniteError(StepError):
    """A force, a driver or the state is no longer finite."""


class LoopOpenError(StepError):
    """Newton was satisfied, but a loop is open by more than its bound."""


def shown(value: object) -> str:
    """Return a value as a message shows it: no longer than a line or two, and whatever its own ``repr`` does."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an integer of 5,000 digits, or whatever a user's object raises
        return f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def unknown_name(kind: str, name: object, valid: Iterable[str]) -> UnknownNameError:
    """Return the error for a ``name`` that no ``kind`` carries, with the nearest valid names."""
    names = list(valid)
    if not names:
        return UnknownNameError(f"there is no {kind} named {shown(name)}; the model has no {kind} yet")
    nearest = get_close_matches(name, names, n=LISTED, cutoff=0.5) if isinstance(name, str) else []
    listed = ", ".join(repr(known) for known in nearest or names[:LISTED])
    if nearest:
        return UnknownNameError(f"there is no {kind} named {shown(name)}; did you mean {listed}?")
    more = "" if len(names) <= LISTED else f" and {len(names) - LISTED} more"
    return UnknownNameError(f"there is no {kind} named {shown(name)}; there are {listed}{more}")
