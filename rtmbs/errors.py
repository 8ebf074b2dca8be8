"""Errors and warnings of rtmbs. A message names what is at fault, says what is wrong and what would be right."""

import sys
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

ERRORS_PAGE = "docs/errors.md"
LISTED = 6  # names shown when one is unknown
OWN = 16  # names of an element shown when the element alone was named
LONGEST_SHOWN = 200  # letters of a value in a message
LONGEST_LINE = 160  # letters of a line that a picture shows
COMPARED, LONGEST_COMPARED = 2000, 60  # names, and letters of one, that are compared with an unknown name


PACKAGE = str(Path(__file__).parent)
WARNED: Any = {}  # what was said before, for the filters of ``warnings``


class RtmbsError(Exception):
    """Base class of errors of rtmbs. ``page`` is the page of the documentation for its kind.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.

    Examples
    --------
    >>> try:
    ...     rtmbs.Model("crane").add_body("boom", mass=-1.0)
    ... except rtmbs.RtmbsError as error:
    ...     print(error.page)
    docs/errors.md#modelerror
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self.add_note(f"see {self.page}, or run: rtmbs explain (it asks for the message)")

    @property
    def page(self) -> str:
        """Page and anchor of this kind of error."""
        return f"{ERRORS_PAGE}#{type(self).__name__.lower()}"


class RtmbsWarning(UserWarning):
    """Warning about a model or a run that goes on; ``warnings.simplefilter`` makes it an error."""


class ModelError(RtmbsError, ValueError):
    """Error of a model that cannot be a mechanism: a wrong value, shape or name.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class UnknownNameError(ModelError):
    """Error of a name that is not in the model; the message lists the nearest ones.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class TopologyError(ModelError):
    """Error of the graph of bodies and joints: an unconnected body, a joint that cannot move.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class InputError(RtmbsError, ValueError):
    """Error of an option or an input of a run: ``h <= 0``, an unknown input, a value that is not finite.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class ArgumentError(RtmbsError, TypeError):
    """Error of an unknown keyword argument; the message names the nearest one and lists all.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class LanguageError(InputError):
    """Error of a model file. The message is one line; ``picture`` shows the file's line with a caret.

    Parameters
    ----------
    message : str
        Sentence for the user.
    file : str, optional
        Path of the model file.
    line : int, default 0
        Number of the line, from 1; 0 for an error of the whole file.
    column : int, default 0
        Number of the column, from 1; 0 for an error of the whole file.
    text : str, optional
        Text of the line.
    expected : Sequence[str], optional
        Words that the grammar takes at this place.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int = 0,
        column: int = 0,
        text: str = "",
        expected: Sequence[str] = (),
    ) -> None:
        place = f"{file}:{line}:{column}: " if line else f"{file}: " if file else ""
        super().__init__("".join(letter if letter.isprintable() else "?" for letter in place + message))
        self.file, self.line, self.column = file, line, column  # line and column from 1; 0: of the whole file
        self.text = text  # of the line
        self.expected = tuple(expected)  # what might have stood there instead

    @property
    def picture(self) -> str:
        """The line of the file, and a caret below the place; empty for an error of the whole file."""
        if not self.line:
            return ""
        first = max(self.column - 1 - LONGEST_LINE // 2, 0)
        part = self.text[first : first + LONGEST_LINE]
        line = "".join(letter if letter.isprintable() else " " for letter in part)
        return f"{line}\n{' ' * (self.column - 1 - first)}^"


class StateError(RtmbsError, ValueError):
    """Error of a state or its file: damaged, not finite, or of another model.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class ResultError(InputError):
    """Error of a result file that is truncated, damaged, or none at all.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class BusyError(RtmbsError, RuntimeError):
    """Error of a second thread inside a Simulation.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class StartError(RtmbsError):
    """Error of a start without a consistent state: loops do not close, or pinned values contradict each other.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class StepError(RtmbsError):
    """Error of a failed step; the state is as it was before.

    ``result`` is the Result up to that step when it failed in ``Simulation.run``, otherwise None.

    Parameters
    ----------
    message : str
        Sentence for the user.
    step : int, default -1
        Number of the step that failed.
    t : float, default nan
        Time at the end of that step [s].
    residuals : Sequence[float], optional
        History of Newton's scaled corrections.
    worst : Sequence[str], optional
        Names of the elements at fault: drivers, force laws, loops or coordinates.
    reason : str, optional
        Sentence about the elements at fault.
    """

    result: Any = None

    def __init__(
        self,
        message: str,
        *,
        step: int = -1,
        t: float = float("nan"),
        residuals: Sequence[float] = (),
        worst: Sequence[str] = (),
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.step = step
        self.t = t
        self.residuals = tuple(residuals)
        self.worst = tuple(worst)
        self.reason = reason


class MotionError(RtmbsError):
    """A motion cannot go on: a step failed, it is no longer finite, or no position follows the drivers.

    ``result`` is the Result up to there, or None where there is none.

    Parameters
    ----------
    message : str
        Sentence for the user.
    t : float, default nan
        Time of the fault [s], where it is known.
    worst : Sequence[str], optional
        Elements at fault, where they are known.
    outcome : Outcome, optional
        Outcome that a Simulation reports of such a step; None means NOT_CONVERGED.
    """

    result: Any = None

    def __init__(self, message: str, t: float = float("nan"), worst: Sequence[str] = (), outcome: Any = None) -> None:
        super().__init__(message)
        self.t, self.worst, self.outcome = t, tuple(worst), outcome


class NotConvergedError(StepError):
    """Error of Newton's iteration without convergence.

    Parameters
    ----------
    message : str
        Sentence for the user.
    step : int, default -1
        Number of the step that failed.
    t : float, default nan
        Time at the end of that step [s].
    residuals : Sequence[float], optional
        History of Newton's scaled corrections.
    worst : Sequence[str], optional
        Names of the elements at fault: drivers, force laws, loops or coordinates.
    reason : str, optional
        Sentence about the elements at fault.
    """


class SingularTangentError(StepError):
    """Error of a singular Newton matrix.

    Parameters
    ----------
    message : str
        Sentence for the user.
    step : int, default -1
        Number of the step that failed.
    t : float, default nan
        Time at the end of that step [s].
    residuals : Sequence[float], optional
        History of Newton's scaled corrections.
    worst : Sequence[str], optional
        Names of the elements at fault: drivers, force laws, loops or coordinates.
    reason : str, optional
        Sentence about the elements at fault.
    """


class NotFiniteError(StepError):
    """Error of a force, a driver or a state that is not finite.

    Parameters
    ----------
    message : str
        Sentence for the user.
    step : int, default -1
        Number of the step that failed.
    t : float, default nan
        Time at the end of that step [s].
    residuals : Sequence[float], optional
        History of Newton's scaled corrections.
    worst : Sequence[str], optional
        Names of the elements at fault: drivers, force laws, loops or coordinates.
    reason : str, optional
        Sentence about the elements at fault.
    """


class LoopOpenError(StepError):
    """Error of a loop that is open by more than its bound after convergence.

    Parameters
    ----------
    message : str
        Sentence for the user.
    step : int, default -1
        Number of the step that failed.
    t : float, default nan
        Time at the end of that step [s].
    residuals : Sequence[float], optional
        History of Newton's scaled corrections.
    worst : Sequence[str], optional
        Names of the elements at fault: drivers, force laws, loops or coordinates.
    reason : str, optional
        Sentence about the elements at fault.
    """


class HalfTurnError(StepError):
    """Error of a bushing turned past half a turn, where its rotation vector and torque jump.

    Parameters
    ----------
    message : str
        Sentence for the user.
    step : int, default -1
        Number of the step that failed.
    t : float, default nan
        Time at the end of that step [s].
    residuals : Sequence[float], optional
        History of Newton's scaled corrections.
    worst : Sequence[str], optional
        Names of the elements at fault: drivers, force laws, loops or coordinates.
    reason : str, optional
        Sentence about the elements at fault.
    """


def warn(message: str, file: str = "", line: int = 0) -> None:
    """Issue an RtmbsWarning at ``line`` of ``file``; unless given, at the user's call of the package.

    The filters of ``warnings`` show the same words at the same place once.

    Parameters
    ----------
    message : str
        Sentence for the user.
    file : str, optional
        File of the warning; unless given, the one with the user's call of the package.
    line : int, default 0
        Line of the file.
    """
    if not file:
        frame: Any = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        file, line = frame.f_code.co_filename, frame.f_lineno
    warnings.warn_explicit(message, RtmbsWarning, file, line, registry=WARNED)


def with_count(count: int, what: str, several: str = "") -> str:
    """Return a number with its noun, singular or plural.

    Parameters
    ----------
    count : int
        Number of things.
    what : str
        Noun in the singular.
    several : str, optional
        Noun in the plural; ``what`` with an s unless given.

    Returns
    -------
    str
        Number and noun, such as "2 bodies".

    Examples
    --------
    >>> rtmbs.errors.with_count(2, "body", "bodies")
    '2 bodies'
    """
    return f"{count} {what if count == 1 else several or what + 's'}"


def shown(value: object) -> str:
    """Return a value as text for a message: at most a line or two, whatever its own ``repr`` does.

    Parameters
    ----------
    value : object
        Value of any type.

    Returns
    -------
    str
        The ``repr`` of the value, cut after 200 letters; the name of its type where ``repr`` fails.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an integer of 5,000 digits, or whatever a user's object raises
        return f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def unknown_name(kind: str, name: object, valid: Iterable[str]) -> UnknownNameError:
    """Return the error for a ``name`` that no ``kind`` carries: with the names of an element, or the nearest ones.

    Parameters
    ----------
    kind : str
        Noun of the elements, such as "body".
    name : object
        Name that was given.
    valid : Iterable[str]
        Names of all elements of this kind.

    Returns
    -------
    UnknownNameError
        Error to raise. Its message lists ``name.`` channels of an element, the nearest names, or the first six names.
    """
    names = list(valid)
    if not names:
        return UnknownNameError(f"there is no {kind} named {shown(name)}; the model has no {kind} yet")
    if isinstance(name, str) and (own := [known for known in names if known.startswith(f"{name}.")]):
        listed = ", ".join(map(repr, own[:OWN]))
        more = "" if len(own) <= OWN else f" and {len(own) - OWN} more"
        return UnknownNameError(f"there is no {kind} named {shown(name)}; there are {listed}{more}")
    nearest = nearest_names(name, names) if isinstance(name, str) else []
    listed = ", ".join(repr(known) for known in nearest or names[:LISTED])
    if nearest:
        return UnknownNameError(f"there is no {kind} named {shown(name)}; did you mean {listed}?")
    more = "" if len(names) <= LISTED else f" and {len(names) - LISTED} more"
    return UnknownNameError(f"there is no {kind} named {shown(name)}; there are {listed}{more}")


def nearest_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the names most like ``name``, the nearest first; long names and long lists are not looked through.

    Parameters
    ----------
    name : str
        Name that was given; one of more than 60 letters has no nearest names.
    names : Iterable[str]
        Names to compare with: the first 2000 of at most 60 letters.

    Returns
    -------
    list[str]
        At most six names, the nearest first.

    Examples
    --------
    >>> rtmbs.errors.nearest_names("stifness", ["damping", "stiffness"])
    ['stiffness']
    """
    if len(name) > LONGEST_COMPARED:
        return []
    compared = [known for known in names if len(known) <= LONGEST_COMPARED][:COMPARED]
    same = [known for known in compared if known.lower() == name.lower()]
    return [*same, *(one for one in get_close_matches(name, compared, n=LISTED, cutoff=0.5) if one not in same)][
        :LISTED
    ]


# ---- derivatives -----------------------------------------------------------------------------------------------------


class DerivativeError(RtmbsError, ValueError):
    """Error of a derivative that cannot be computed: a wrong shape, a wrong name, a function that is not one.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class TraceError(DerivativeError, TypeError):
    """Error of a function that used a traced value in a way that a tape cannot hold, such as an ``if``.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class UnsupportedFunctionError(TraceError):
    """Error of a NumPy function that met a traced value and has no rule.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class TapeSizeError(DerivativeError):
    """Error of a tape, or of its derivative, with more steps than allowed.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class TapeFileError(DerivativeError):
    """Error of a tape file that is truncated, of another version, or no tape at all.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """


class DerivativeMismatchError(DerivativeError, AssertionError):
    """Error of two sources of one derivative that disagree; the message names output, input and values.

    Parameters
    ----------
    *arguments : object
        Text of the error: the culprit, the fault and the remedy.
    """
