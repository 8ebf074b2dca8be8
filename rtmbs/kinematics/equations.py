"""All equations of a Model in seven coordinates a body, and their compiled programs.

All equations of a Model in seven coordinates a body: Phi(q, f) with f the values of drivers at a time.

Programs of Phi and its derivatives, compiled from one recorded tape.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtmbs.ad.derivative_tapes import gradient_tape, sparse_jacobian, tangent_tape
from rtmbs.ad.evaluator import ProgramRunner
from rtmbs.ad.operations import INPUT
from rtmbs.ad.tape import Tape
from rtmbs.ad.trace import record
from rtmbs.errors import InputError, ModelError, shown
from rtmbs.kinematics.coordinates import NAMES, reference_coordinates
from rtmbs.kinematics.element_equations import (
    RULES,
    Constraint,
    RowTable,
    Writer,
    write_bodies,
    write_coupler,
    write_driver,
    write_joint,
    write_kept,
    write_phi,
    write_rod,
)
from rtmbs.model import Model
from rtmbs.model.description import characteristic_length

Array = NDArray[np.float64]


class KinematicEquations:
    """Rows and unknowns of a Model by name, and Phi as a function that the recorder follows.

    Rows: one norm a body, six that hold ground, then joints, rods, constraints and drivers in the order of the model.
    """

    def __init__(self, model: Model, constraints: Iterable[Constraint] = ()) -> None:
        self.model, self.length = model, characteristic_length(model)
        for name in model.constraints:
            raise ModelError(
                f"constraint {name!r} is a function that a Simulation follows; a kinematic analysis takes "
                "PointOnCurve, or couplers of the model"
            )
        for name in model.contacts:
            raise ModelError(
                f"nonholonomic constraint {name!r} binds rates, and the equations of this analysis bind positions; "
                "take a Simulation, or a coupler of the model for a wheel that rolls along a line"
            )
        writer, reference = Writer(model, self.length), reference_coordinates(model)
        write_bodies(writer, reference)
        for joint in model.joints.values():
            write_joint(writer, joint)
        for rod in model.rods.values():
            write_rod(writer, rod)
        for coupler in model.couplers.values():
            write_coupler(writer, coupler)
        known = (*model.joints, *model.rods, *model.couplers, *model.drivers)
        given = checked(list(constraints), known)
        for driver in model.drivers.values():
            write_driver(writer, driver)
        for element in given:
            RULES[type(element)](writer, element)
        write_kept(writer)
        self.rows: RowTable = writer.rows
        self.bodies = list(writer.number)
        self.profiles, self.turns, self.extra = writer.profiles, writer.turns, writer.extra
        self.carried = writer.carried
        self.start = np.concatenate([reference.ravel(), [start for _, start in writer.extra]])
        self.n, self.m = len(self.start), len(self.rows.owner)
        self.nf = len(self.profiles) + len(self.turns)
        self.is_length = np.array(self.rows.is_length)

    @property
    def coordinate_names(self) -> list[str]:
        """Names of the unknowns q."""
        return [f"{body}.{name}" for body in self.bodies for name in NAMES] + [name for name, _ in self.extra]

    @property
    def row_names(self) -> list[str]:
        """Names of the rows of Phi."""
        return [f"{owner}.{label}" for owner, label in zip(self.rows.owner, self.rows.label, strict=True)]

    @property
    def fixed_rows(self) -> NDArray[np.bool_]:
        """Rows (m,) that hold ground, its norm among them: nothing else has a part in them."""
        return np.array([owner == self.bodies[0] for owner in self.rows.owner])

    def phi(self, q: Any, f: Any) -> Any:
        """Return Phi (m,) at q (n,) and f (nf,)."""
        return write_phi(self.rows, len(self.bodies), q, f)

    def turned(self, q: Any, f: Any) -> Any:
        """Return the angles (turns,) whose whole turns are counted: what f holds of them, and the change since."""
        from rtmbs.kinematics.coordinates import BodyPoses

        pose, first = BodyPoses(q, len(self.bodies)), len(self.profiles)
        return np.stack([f[first + k] + one.value(pose, f[first + k]) for k, one in enumerate(self.turns)])

    def drivers_at(self, t: Array) -> Array:
        """Return values, rates and accelerations of the drivers (S, 3, nf) at times (S,), turns left at zero.

        Raises InputError naming the driver and the time where one fails or is not finite.
        """
        values = np.zeros((len(t), 3, self.nf))
        for slot, (name, profile) in enumerate(self.profiles):
            values[:, :, slot] = profile_values(name, profile, t)
        return values

    def sizes(self) -> Array:
        """Return typical changes of coordinates (n,) when a body turns by one radian: L, and 1/2."""
        body = np.array([self.length] * 3 + [0.5] * 4)
        return np.concatenate([np.tile(body, len(self.bodies)), np.ones(len(self.extra))])

    def table(self) -> list[tuple[str, str, int]]:
        """Return (what, name, equations) of every element, as the paper counts them."""
        counts: dict[str, int] = {}
        for owner, label in zip(self.rows.owner, self.rows.label, strict=True):
            key = "normalisation" if label == "norm" else owner
            counts[key] = counts.get(key, 0) + 1
        return [(self.kind(name), name, count) for name, count in counts.items()]

    def kind(self, name: str) -> str:
        """Return the kind of the element that owns rows."""
        if name == "normalisation":
            return "Euler parameters"
        if name == self.bodies[0]:
            return "ground"
        if name in self.model.joints:
            return type(self.model.joints[name].type).__name__.lower()
        if name in self.model.rods:
            return "rod"
        if name in self.model.couplers:
            return self.model.couplers[name].kind
        return "driver" if any(name == driver for driver, _ in self.profiles) else "constraint"


def profile_values(name: str, profile: Any, t: Array) -> Array:
    """Return f, fd, fdd (S, 3) of one driver; a profile that answers for many times at once has a method ``many``."""
    try:
        if hasattr(profile, "many"):
            found = np.asarray(profile.many(t), np.float64).reshape(3, len(t)).T
        else:
            found = np.array([profile(time) for time in t.tolist()], np.float64).reshape(len(t), 3)
    except Exception as error:  # whatever a user's function raises
        raise InputError(f"driver {name!r} fails between t = {t[0]:g} and {t[-1]:g} s: {error}") from error
    if not np.all(np.isfinite(found)):
        first = int(np.argmin(np.all(np.isfinite(found), axis=1)))
        raise InputError(
            f"driver {name!r} is not finite at t = {t[first]:g} s; it gives {shown(found[first].tolist())}"
        )
    return found


def checked(elements: list[Any], known: tuple[str, ...]) -> list[Any]:
    """Return elements that there is a rule for, each with a name of its own."""
    taken = set(known)
    for element in elements:
        if type(element) not in RULES:
            kinds = ", ".join(kind.__name__ for kind in RULES)
            raise ModelError(f"{shown(element)} is no constraint of kinematics; there are {kinds}")
        if element.name in taken:
            raise ModelError(f"{type(element).__name__} {element.name!r}: there is already an element of this name")
        taken.add(element.name)
    return elements


Integers = NDArray[np.int64]

KINDS = VALUES, BY_DRIVERS, SECOND, BEND = (  # of evaluations of the tape, as they are counted
    "values and Jacobian",
    "derivatives by drivers",
    "second derivatives",
    "least velocity",
)


class SparseProgram(NamedTuple):
    """Program of the entries of a matrix, after the values of the function where it has these."""

    run: ProgramRunner
    row: Integers
    column: Integers


class Programs:
    """Programs from the tape of Phi(q, f): q (n,) are unknowns, f (nf,) drivers and counted turns.

    Along a motion x = (q, f): Phi_q qd + Phi_f fd = 0 and Phi_q qdd + Phi_f fdd + (Phi_x xd)_x xd = 0, where
    Phi_f fd = Phi_t, and the last term and Phi_f fdd are (Phi_q qd)_q qd + 2 Phi_qt qd + Phi_tt.
    """

    def __init__(self, equations: KinematicEquations) -> None:
        self.n, self.m, self.nf = equations.n, equations.m, equations.nf
        self.drivers = len(equations.profiles)
        self.equations = equations
        self.tape: Tape = recorded(equations.phi, self.n, self.nf)
        self.calls = dict.fromkeys(KINDS, 0)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for pickle without machine code: programs are made anew at their first use."""
        made = {name for name, value in vars(type(self)).items() if isinstance(value, cached_property)}
        return {name: value for name, value in vars(self).items() if name not in made}

    @cached_property
    def values(self) -> SparseProgram:
        """Phi, then the entries of Phi_q."""
        return sparse_program(self.tape, values=True)

    @cached_property
    def by_drivers(self) -> SparseProgram:
        """The entries of Phi_f, columns of the drivers only; its independents are f, its parameters q."""
        found = sparse_jacobian(swapped(self.tape))
        return SparseProgram(ProgramRunner(found.tape), found.row.astype(np.int64), found.column.astype(np.int64))

    @cached_property
    def second(self) -> ProgramRunner:
        """(Phi_x v)_x v (m,) with independents x = (q, f) and v twice as parameters."""
        return ProgramRunner(tangent_tape(tangent_tape(whole(self.tape))))

    @cached_property
    def bend(self) -> ProgramRunner:
        """(lam . Phi)_xx v (n + nf,) with independents x = (q, f) and parameters lam (m,), v (n + nf,)."""
        return ProgramRunner(tangent_tape(gradient_tape(whole(self.tape))))

    @cached_property
    def turned(self) -> ProgramRunner:
        """The angles whose turns are counted, by q with parameters f."""
        return ProgramRunner(recorded(self.equations.turned, self.n, self.nf))

    # ---- readable forms: one call each

    def phi(self, q: Array, f: Array) -> Array:
        """Return Phi (m,)."""
        self.calls[VALUES] += 1
        return self.values.run(q, f)[: self.m].copy()

    def jacobian(self, q: Array, f: Array) -> csr_array:
        """Return Phi_q (m, n)."""
        self.calls[VALUES] += 1
        program = self.values
        entries = program.run(q, f)[self.m :].copy()
        return csr_array((entries, (program.row, program.column)), shape=(self.m, self.n))

    def by_time(self, q: Array, f: Array, rate: Array) -> Array:
        """Return Phi_f rate (m,): Phi_t for the rates of the drivers."""
        self.calls[BY_DRIVERS] += 1
        program, result = self.by_drivers, np.zeros(self.m)
        np.add.at(result, program.row, program.run(f, q) * rate[program.column])
        return result

    def acceleration_side(self, q: Array, qd: Array, drivers: Array) -> Array:
        """Return -(Phi_q qd)_q qd - 2 Phi_qt qd - Phi_tt (m,) for f, fd, fdd (3, nf)."""
        self.calls[SECOND] += 1
        v = np.concatenate((qd, drivers[1]))
        curved = self.second(np.concatenate((q, drivers[0])), np.concatenate((v, v))).copy()
        return -curved - self.by_time(q, drivers[0], drivers[2])

    def bent(self, q: Array, qd: Array, drivers: Array, lam: Array) -> Array:
        """Return d(Phi_q^T)/dt lam (n,)."""
        self.calls[BEND] += 1
        x, v = np.concatenate((q, drivers[0])), np.concatenate((qd, drivers[1]))
        return self.bend(x, np.concatenate((lam, v)))[: self.n].copy()

    def turns(self, q: Array, f: Array) -> Array:
        """Return f with the turns counted at q."""
        f = f.copy()
        if self.nf > self.drivers:
            f[self.drivers :] = self.turned(q, f)
        return f


def recorded(function: Callable[[Any, Any], Any], n: int, k: int) -> Tape:
    """Record a function of q and f, also when there is no f."""
    if k:
        return record(function, n, k=k)
    return record(lambda q: function(q, np.zeros(0)), n)


def sparse_program(known: Tape, values: bool) -> SparseProgram:
    """Return the sparse Jacobian of a tape, ready to run."""
    found = sparse_jacobian(known, values)
    return SparseProgram(ProgramRunner(found.tape), found.row.astype(np.int64), found.column.astype(np.int64))


def whole(known: Tape) -> Tape:
    """Return the tape with its parameters as independents too."""
    return replace(known, n=known.n + known.k, k=0)


def swapped(known: Tape) -> Tape:
    """Return the tape with parameters as independents and independents as parameters."""
    leaf = known.op == INPUT
    number = known.a[leaf]
    a = known.a.copy()
    a[leaf] = np.where(number < known.n, number + known.k, number - known.n)
    return replace(known, a=a, n=known.k, k=known.n)
