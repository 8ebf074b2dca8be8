"""Parameters of a run by name: inputs, initial values, numbers of the model (masses, points) with slopes of tables."""

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ModelError, RtmbsError, UnknownNameError, shown, unknown_name
from rtmbs.integrators.checks import is_number
from rtmbs.model.model import Model
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.loop_jacobian import loop_jacobian
from rtmbs.semirecursive.start.rank import effective_masses
from rtmbs.simulation.set_coordinate import cut_joint, no_coordinate, settable
from rtmbs.simulation.simulation import Simulation
from rtmbs.studies.analysis.neighbourhood import PLACES, STEP, WEIGHTS
from rtmbs.studies.sensitivities.initial_state import Pin
from rtmbs.studies.sensitivities.variations import (
    NO_SLOPES,
    SHRINK,
    InputSlopes,
    Variations,
    changing,
    check_lasting,
    timed_by,
    timed_slots,
    values_of,
)
from rtmbs.system.force_tables import AffineProfile
from rtmbs.system.system import CalledLaw, System
from rtmbs.system.tables import Tables
from rtmbs.system.user_functions import identity

Array = NDArray[np.float64]
Field = tuple[str, ...]
SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # entries of an inertia: xx, yy, zz, xy, xz, yz
SAME = 1e-9  # of its size: numbers of two tables that count as one
OWN = ("assembly_offset", "balance")  # fields that a Simulation finds, not the model
ORDERS = ("position", "rate")


@dataclass(frozen=True)
class ModelNumber:
    """One number of a model, and the model with another value of it."""

    name: str
    value: float
    size: float  # step of differences over STEP
    build: Callable[[float], Model]

    def systems(self, base: System, t: Array, level: int = 0) -> tuple[System, ...]:
        """Return the Systems at the places of the difference formula, for the step of a level (``timed.SHRINK``).

        Raises InputError when one is of another structure, or when building one changes functions of time of another,
        as seen at times t (T,).
        """
        found, seen = [], []
        for place in PLACES:
            value = self.value + STEP * self.size / SHRINK**level * place
            try:
                system = self.build(value).compile()
            except RtmbsError as error:
                raise InputError(f"no model can be built with {self.name} = {value:.6g}: {error}") from None
            check_structure(self.name, base, system)
            system = in_axes_of(base, system)
            check_called(self.name, base, system)
            check_start(self.name, base, system)
            found.append(in_units_of(base, system))
            seen.append([values_of(signal, t) for signal in found[-1].signals])
        for system, values in zip(found, seen, strict=True):
            check_lasting(system, values, t)
        return tuple(found)

    def slopes(self, systems: Sequence[System], read: Callable[[System], Array]) -> Array:
        """Return the derivative of the quantity ``read(system)``."""
        found = np.tensordot(WEIGHTS, np.array([read(one) for one in systems]), 1)
        return np.asarray(found / (STEP * self.size))


def model_numbers(model: Any, name: str, values: Mapping[str, float], length: float) -> list[ModelNumber]:
    """Return the numbers behind a name. Raises UnknownNameError, InputError."""
    if isinstance(model, Model):
        return [ModelNumber(label, value, size, build) for label, value, size, build in of_model(model, name, length)]
    if name not in values:
        raise unknown_name("parameter", name, values)
    value = values[name]
    if not is_number(value):
        raise InputError(f"{name!r} is {shown(value)} in at=; it must be a finite number")

    def build(other: float) -> Model:
        return built(model, {**values, name: other})

    return [ModelNumber(name, float(value), abs(float(value)) or 1.0, build)]


def checked_values(model: Any, at: Any) -> dict[str, float]:
    """Return the values of the arguments of a function that builds a model. Raises InputError, UnknownNameError."""
    if at is None:
        return {}
    if not isinstance(at, Mapping):
        raise InputError(f"at is {shown(at)}; it must map arguments of the function model= to their values")
    if isinstance(model, Model) or not callable(model):
        raise InputError("at= has values of the arguments of a function, and model= is none; leave at= out")
    try:
        arguments = inspect.signature(model).parameters
    except ValueError:  # a function that says nothing about itself
        return dict(at)
    if not any(one.kind is one.VAR_KEYWORD for one in arguments.values()):
        for name in at:
            if name not in arguments:
                raise unknown_name("argument of model=", name, arguments)
    return dict(at)


def built(function: Callable[..., Any], values: Mapping[str, float]) -> Model:
    """Return the Model that a function builds; InputError when it is none."""
    found = function(**values)
    if not isinstance(found, Model):
        raise InputError(f"model= built {shown(found)}; it must return a Model")
    return found


Number = tuple[str, float, float, Callable[[float], Model]]


def of_model(model: Model, name: str, length: float) -> list[Number]:
    """Return label, value, size and builder of every number of a model behind a name."""
    owner, _, what = name.rpartition(".")
    kinds: dict[str, Mapping[str, Any]] = dict.fromkeys(("mass", "center_of_mass", "inertia"), model.bodies)
    if what == "point":
        kinds["point"] = {**model.joints, **model.markers}
    if what not in kinds or owner not in kinds[what]:
        raise unknown_name("parameter", name, list(names_of(model)))
    if what == "mass":
        mass = model.bodies[owner].mass
        return [
            (name, mass, mass or 1.0, lambda value: edited(model, owner, lambda body: setting(body, "mass", value)))
        ]
    if what == "inertia":
        J = model.bodies[owner].inertia
        size = float(np.trace(J)) / 3.0 or 1.0
        return [(f"{name}[{k}]", J[i, j], size, inertia_builder(model, owner, i, j)) for k, (i, j) in enumerate(SIX)]
    start = reference_point(model, owner, what)
    return [(f"{name}[{k}]", start[k], length, point_builder(model, owner, what, k)) for k in range(3)]


def names_of(model: Model) -> Iterator[str]:
    """Yield the names of all numbers of a model."""
    for body in list(model.bodies)[1:]:
        yield from (f"{body}.mass", f"{body}.center_of_mass", f"{body}.inertia")
    yield from (f"{one}.point" for one in (*model.joints, *model.markers))


def setting(element: Any, field: str, value: Any) -> None:
    """Set a field of an element of a private copy of a model."""
    object.__setattr__(element, field, value)


def edited(model: Model, body: str, edit: Callable[[Any], None]) -> Model:
    """Return a copy of a model with one body changed."""
    other = copy.deepcopy(model)
    edit(other.bodies[body])
    return other


def inertia_builder(model: Model, body: str, i: int, j: int) -> Callable[[float], Model]:
    """Return the builder of the model with another entry of an inertia."""

    def build(value: float) -> Model:
        J = np.array(model.bodies[body].inertia)
        J[i, j] = J[j, i] = value
        return edited(model, body, lambda one: setting(one, "inertia", J))

    return build


def reference_point(model: Model, owner: str, what: str) -> Array:
    """Return a mass centre in body axes, or the point of a joint or marker in world axes."""
    if what == "center_of_mass":
        return np.asarray(model.bodies[owner].center_of_mass)
    if owner in model.joints:
        joint = model.joints[owner]
        return joint.a.world(joint.point_a)
    return model.markers[owner].reference()


def point_builder(model: Model, owner: str, what: str, k: int) -> Callable[[float], Model]:
    """Return the builder of the model with another component of a point; a joint's moves on both bodies."""
    start = reference_point(model, owner, what)

    def build(value: float) -> Model:
        other = copy.deepcopy(model)
        move = np.zeros(3)
        move[k] = value - start[k]
        if what == "center_of_mass":
            setting(other.bodies[owner], what, other.bodies[owner].center_of_mass + move)
        elif owner in other.joints:
            joint = other.joints[owner]
            setting(joint, "point_a", joint.point_a + joint.a.orientation.T @ move)
            setting(joint, "point_b", joint.point_b + joint.b.orientation.T @ move)
        else:
            marker = other.markers[owner]
            setting(marker, "point", marker.point + marker.body.orientation.T @ move)
        return other

    return build


# ---- tables ---------------------------------------------------------------------------------------------------------


def fields(table: Any, path: Field = ()) -> Iterator[tuple[Field, Array]]:
    """Yield the path and the array of every field of nested tables."""
    for name in table._fields:
        value = getattr(table, name)
        if hasattr(value, "_fields"):
            yield from fields(value, (*path, name))
        elif name not in OWN:
            yield (*path, name), np.asarray(value)


def at(table: Any, path: Field) -> Array:
    """Return the field at a path."""
    for name in path:
        table = getattr(table, name)
    return np.asarray(table)


def check_structure(name: str, base: System, other: System) -> None:
    """Refuse a System whose tree, equations or inputs are others than those of ``base``."""
    ours, theirs = dict(fields(plain(base.tables))), dict(fields(plain(other.tables)))
    same = ours.keys() == theirs.keys() and base.coordinate_names == other.coordinate_names
    same = same and base.row_names == other.row_names and base.u0.shape == other.u0.shape
    same = same and [one[:2] for one in base.signals] == [one[:2] for one in other.signals]
    for path, value in ours.items() if same else ():
        one = theirs[path]
        same = same and value.shape == one.shape and (value.dtype.kind == "f" or np.array_equal(value, one))
    if not same:
        raise InputError(
            f"a small change of {name} gives a mechanism of other coordinates, equations or inputs than the Simulation "
            "has; build the same mechanism, and mark the joints that are cut"
        )


def in_axes_of(base: System, other: System) -> System:
    """Return a System with rotations about the same axes of their bodies as those of ``base``.

    ``compile`` takes the principal axes, which turn with masses and points. Any axes fixed in the body serve, and the
    states of the Simulation are counted along those of ``base``.
    """
    axis, zd0 = other.tables.dofs.axis.copy(), other.zd0.copy()
    for first in np.flatnonzero(base.tables.dofs.reference >= 0):
        own = slice(first, first + 3)
        axis[own] = base.tables.dofs.axis[own]
        zd0[own] = axis[own] @ (other.tables.dofs.axis[own].T @ zd0[own])
    tables = other.tables._replace(dofs=other.tables.dofs._replace(axis=axis))
    return replace(other, tables=tables, zd0=zd0)


def check_called(name: str, base: System, other: System) -> None:
    """Refuse a System with other Python-called force laws: numbers that they close over are no parameters."""
    for own, theirs in zip(base.called, other.called, strict=True):
        law, other_law = getattr(own.function, "__self__"), getattr(theirs.function, "__self__")  # noqa: B009
        same = identity(law.law.function) == identity(other_law.law.function)
        if not same or any(not np.array_equal(*values, equal_nan=True) for values in tried(law, own, theirs)):
            raise changed_inside(name, f"force law {own.name!r}")


def tried(law: Any, own: CalledLaw, theirs: CalledLaw) -> Iterator[tuple[Array, Array]]:
    """Yield the values of two called laws at inputs near the reference pose; a law may refuse such inputs."""
    for x, p in law.trials():
        try:
            yield own.function(x, p), theirs.function(x, p)
        except ModelError:
            continue


def changed_inside(name: str, what: str) -> InputError:
    """Return the error for a parameter inside the code of a function."""
    return InputError(f"{name} changes numbers inside of {what}; make them parameters of it by parameters=")


def check_start(name: str, base: System, other: System) -> None:
    """Refuse a System with another start: the run begins at the state of the Simulation.

    Driven coordinates begin where their drivers are, in a run as in its derivative.
    """
    free = np.ones(base.n, np.bool_)
    free[base.tables.drivers.dof] = False
    for before, after, what in ((base.z0, other.z0, "first position"), (base.zd0, other.zd0, "first rate")):
        if np.any(moved := free & (np.abs(after - before) > SAME * np.maximum(np.abs(before), 1.0))):
            coordinate = base.coordinate_names[int(np.argmax(moved))]
            raise InputError(
                f"{name} changes the {what} of {coordinate} (set_initial), and the run begins at the state of the "
                "Simulation; leave it out of set_initial, and ask for the coordinate or its rate in by= beside it"
            )
    if not np.allclose(other.R0, base.R0, rtol=0.0, atol=SAME):
        raise InputError(
            f"{name} changes the first orientation of a ball or floating joint (set_initial), and the run begins at "
            "the state of the Simulation; leave it out of set_initial"
        )
    for own, theirs in zip(base.states, other.states, strict=True):
        if abs(theirs.first - own.first) > SAME * max(abs(own.first), 1.0):
            raise InputError(
                f"{name} changes the first value of the state {own.name!r} of force {own.force!r}, and the run begins "
                f"at the state of the Simulation; ask for {own.force + '.' + own.name!r} in by= beside it"
            )


def in_units_of(base: System, other: System) -> System:
    """Return a System with couplers divided by the same of their factors as those of ``base``.

    Each is divided by the factor that weighs most. Beside a ratio of one, a small change makes it another one.
    """
    ratio, tables = base.tables.couplers.ratio, other.tables
    closures, connectors = tables.closures, tables.connectors
    own, length, u0, signals = tables.couplers.ratio.copy(), closures.length.copy(), other.u0.copy(), [*other.signals]
    numbers = closures.connector[int(tables.couplers.first[0]) :]
    first = int(connectors.pointer[numbers[0]]) if len(numbers) else 0
    for row, number in enumerate(numbers, len(closures.kind) - len(numbers)):
        entries = slice(*(connectors.pointer[number : number + 2] - first))
        divisor = float(own[entries][int(np.argmax(ratio[entries] == 1.0))])
        if divisor == 1.0:
            continue
        own[entries] /= divisor
        length[row] /= divisor
        for k, signal in enumerate(signals):
            if signal.slot == closures.slot[row]:
                u0[signal.slot : signal.slot + signal.size] /= divisor
                signals[k] = signal._replace(function=AffineProfile(signal.function, 0.0, divisor))  # type: ignore[arg-type]
    tables = tables._replace(couplers=tables.couplers._replace(ratio=own), closures=closures._replace(length=length))
    return replace(other, tables=tables, u0=u0, signals=tuple(signals))


def check_same(base: System, model: Any, values: Mapping[str, float], t: Array) -> None:
    """Refuse a model other than that of the Simulation: derivatives would belong to another mechanism.

    Functions of time are compared at the times t (T,) of the run.
    """
    other = (model if isinstance(model, Model) else built(model, values)).compile()
    check_structure("model=", base, other)
    other = in_units_of(base, other)
    theirs, differs = dict(fields(plain(other.tables))), ""
    for path, value in fields(plain(base.tables)):
        if value.dtype.kind == "f" and not np.allclose(
            theirs[path], value, rtol=SAME, atol=SAME * np.abs(value).max(initial=0.0)
        ):
            differs = differs or f"{'.'.join(path)} of its tables"
    timed = timed_slots(base)
    for name, place in base.inputs.items():
        if not np.allclose(other.u0[place], base.u0[place], rtol=SAME, atol=0.0) and not np.any(timed[place]):
            differs = differs or f"the default of {name!r}"
    differs = differs or next((f"{name!r}, a function of time," for name in changing(base, other, t)), "")
    if differs:
        given = "model=" if isinstance(model, Model) else "model= with at="
        raise InputError(
            f"{given} is another mechanism than the Simulation has: {differs} differs; give the model, or the values, "
            "that were compiled"
        )


def plain(tables: Tables) -> Tables:
    """Return tables without the values that a Simulation computes."""
    return tables._replace(
        balance=tables.balance._replace(component=np.zeros(0, np.int64), first=np.zeros(0, np.int64))
    )


def table_slopes(design: ModelNumber, systems: Sequence[System]) -> dict[Field, Array]:
    """Return the derivatives of all fields that change."""
    found = {}
    for path, value in fields(systems[0].tables):
        if value.dtype.kind != "f" or "balance" in path:
            continue
        if all(np.array_equal(value, at(one.tables, path)) for one in systems[1:]):
            continue
        if "program" in path:
            raise changed_inside(design.name, "a force law" if "laws" in path else "a constraint")
        found[path] = design.slopes(systems, lambda one, path=path: at(one.tables, path))  # type: ignore[misc]
    return found


def with_offset(system: System, offset: Array) -> System:
    """Return a System with loops measured from the offset that a Simulation found."""
    closures = system.tables.closures._replace(assembly_offset=offset)
    return replace(system, tables=system.tables._replace(closures=closures))


@dataclass(frozen=True)
class SensitivityParameter:
    """One number: of an input (``slot``), of the initial motion (``pin``, ``state``), or of the model (``design``)."""

    name: str
    slot: int = -1
    pin: tuple[int, int] | None = None
    state: int = -1  # number of a state of a force law
    design: ModelNumber | None = None
    systems: tuple[System, ...] = ()  # at the places of the difference formula
    timed: InputSlopes = NO_SLOPES  # how functions of time change with it

    @property
    def of_motion(self) -> bool:
        """True for an initial value, which no channel depends on explicitly."""
        return self.pin is not None or self.state >= 0

    def inputs(self, base: System, k: int, u: Array, t: Array) -> Array:
        """Return inputs (T, nu) of a run at times t (T,) with a number of the model at place ``k`` of the formula."""
        assert self.design is not None
        found = u + np.where(timed_slots(base), 0.0, self.systems[k].u0 - base.u0)
        found[:, self.timed.slots] += STEP * self.design.size * PLACES[k] * self.timed(t)
        return np.asarray(found)


@dataclass(frozen=True)
class SensitivityParameters:
    """Parameters of a sensitivity, in order."""

    found: tuple[SensitivityParameter, ...]
    variations: Variations

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each number."""
        return tuple(one.name for one in self.found)

    @property
    def sizes(self) -> Array:
        """Sizes (np,) of the parameters: of a number of the model its own, or a length."""
        return np.array([1.0 if one.design is None else one.design.size for one in self.found])

    @property
    def pins(self) -> list[Pin]:
        """Coordinates and rates that parameters set."""
        return [Pin(j, *one.pin, one.name) for j, one in enumerate(self.found) if one.pin is not None]

    def states(self, count: int) -> Array:
        """Return the derivatives (count, np) of the first states of force laws."""
        return np.array([[float(one.state == k) for one in self.found] for k in range(count)]).reshape(
            count, len(self.found)
        )

    def with_alpha(self, sim: Simulation, moved: Array) -> "SensitivityParameters":
        """Return the parameters with the slopes of penalty factors; ``moved`` (n, np) are those of the first pose."""
        alpha = np.zeros_like(self.variations.alpha)
        for j, one in enumerate(self.found):
            if one.design is not None and sim.system.m:
                alpha[j] = penalty_slopes(sim, one, moved[:, j])
        return replace(self, variations=replace(self.variations, alpha=alpha))


def parameters_of(sim: Simulation, by: Any, model: Any, values: Mapping[str, float], t: Array) -> SensitivityParameters:
    """Return the parameters behind names, for a run with the times t (T,).

    Raises UnknownNameError with the nearest names, and InputError.
    """
    if isinstance(by, str) or not isinstance(by, Sequence) or not by or not all(isinstance(one, str) for one in by):
        raise InputError(f"by is {shown(by)}; it must be a list of names such as 'spring.stiffness'")
    found: list[SensitivityParameter] = []
    if isinstance(model, Model) or callable(model):
        check_same(sim.system, model, values, t)
    for name in by:
        found += named(sim, name, model, values, t)
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice!r} stands in by= twice; name each parameter once")
    nu, m, count = len(sim.system.u0), sim.system.m, len(found)
    inputs, timed = np.zeros((count, nu)), timed_slots(sim.system)
    slopes: dict[tuple[str, ...], Array] = {}
    for j, one in enumerate(found):
        if one.slot >= 0:
            inputs[j, one.slot] = 1.0
        if one.design is not None:
            inputs[j] = np.where(timed, 0.0, one.design.slopes(one.systems, lambda system: system.u0))
            check_not_set(sim, one.name, inputs[j])
            for path, slope in table_slopes(one.design, one.systems).items():
                slopes.setdefault(path, np.zeros((count, *slope.shape)))[j] = slope
    drift = tuple((j, one.timed) for j, one in enumerate(found) if one.timed.parts)
    return SensitivityParameters(
        tuple(found), Variations(count, inputs, np.zeros((count, m)), tuple(slopes.items()), drift)
    )


def check_not_set(sim: Simulation, name: str, slopes: Array) -> None:
    """Refuse a parameter that changes (nu,) defaults of inputs set since: the run has other values."""
    changed = (slopes != 0.0) & ~np.isclose(sim.state.u, sim.system.u0, rtol=SAME, atol=0.0)
    for label, place in sim.system.inputs.items() if np.any(changed) else ():
        if np.any(changed[place]):
            raise InputError(
                f"{name} changes the default of {label!r}, which was set since, and the run begins with what was set; "
                f"ask for {label!r} in by= beside it"
            )


def named(sim: Simulation, name: str, model: Any, values: Mapping[str, float], t: Array) -> list[SensitivityParameter]:
    """Return the parameters behind one name."""
    if name in sim.inputs:
        return of_input(sim, name)
    known = coordinates(sim.system)
    if name in known:
        dof, order = settable(sim.system, known[name])
        if dof in sim.system.tables.drivers.dof:
            raise InputError(f"{name!r} follows a driver and is no parameter; take the profile of the driver")
        return [SensitivityParameter(name, pin=(dof, order))]
    states = [f"{state.force}.{state.name}" for state in sim.system.states]
    if name in states:
        return [SensitivityParameter(name, state=states.index(name))]
    if "." in name and not name.endswith(".point") and cut_joint(sim.system, name):
        raise no_coordinate(sim.system, name, known, "is no parameter")
    offered = [*sim.inputs, *known, *states]
    if model is None:
        of_bodies = [f"{body}.{what}" for body in sim.system.bodies for what in ("mass", "center_of_mass", "inertia")]
        if name in [*of_bodies, *(f"{one}.point" for one in (*sim.system.joints, *sim.system.markers))]:
            raise InputError(f"{name!r} is a number of the model; give model= the Model that was compiled")
        raise unknown_name("parameter", name, [*offered, *of_bodies])
    try:
        designs = model_numbers(model, name, values, sim.system.length)
    except UnknownNameError:
        more = names_of(model) if isinstance(model, Model) else values
        raise unknown_name("parameter", name, [*offered, *more]) from None
    return [of_design(sim.system, one, t) for one in designs]


def of_design(base: System, design: ModelNumber, t: Array) -> SensitivityParameter:
    """Return the parameter of a number of a model, for a run with the times t (T,)."""
    finer = cache(partial(design.systems, base, t[[0, len(t) // 2, -1]]))
    timed = timed_by(design.name, base, finer, design.size, t)
    return SensitivityParameter(design.name, design=design, systems=finer(0), timed=timed)


def of_input(sim: Simulation, name: str) -> list[SensitivityParameter]:
    """Return the numbers of an input; InputError for one that a function of time writes."""
    place = sim.system.inputs[name]
    for signal in sim.system.signals:
        if signal.slot < place.stop and place.start < signal.slot + signal.size:
            raise InputError(f"{name!r} follows a function of time and is no parameter; make it an Input")
    drivers = sim.system.tables.drivers.slot
    if np.any((drivers >= place.start) & (drivers < place.stop)):
        raise InputError(f"{name!r} moves a driver, and value, rate and acceleration are not free of each other")
    count = place.stop - place.start
    labels = [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
    return [SensitivityParameter(label, slot=place.start + k) for k, label in enumerate(labels)]


def coordinates(system: System) -> dict[str, str]:
    """Return names of settable coordinates and rates, with JOINT.position and JOINT.rate of joints that have one."""
    found: dict[str, str] = {}
    for joint, info in system.joints.items():
        if not info.in_tree:
            continue
        for coordinate in info.coordinates:
            found |= {f"{joint}.{coordinate}": f"{joint}.{coordinate}"}
            found |= {f"{joint}.{coordinate}_rate": f"{joint}.{coordinate}_rate"}
        if len(info.coordinates) == 1:
            found[f"{joint}.position"] = f"{joint}.{info.coordinates[0]}"
            found[f"{joint}.rate"] = f"{joint}.{info.coordinates[0]}_rate"
    return found


def penalty_slopes(sim: Simulation, parameter: SensitivityParameter, moved: Array) -> Array:
    """Return the derivatives (m,) of the penalty factors, which follow the effective masses at the first pose."""
    assert parameter.design is not None
    state, size = sim.state, parameter.design.size
    found = []
    for k, (place, system) in enumerate(zip(PLACES, parameter.systems, strict=True)):
        equations = SemiRecursiveEquations(system)
        equations.u = parameter.inputs(sim.system, k, state.u[None], np.array([state.t]))[0]
        equations.close(state.z + STEP * size * place * moved, state.R0)
        equations.masses, _ = effective_masses(equations, loop_jacobian(equations.system))
        found.append(sim.method.penalties(equations, state.h))
    return np.asarray(sum(w * one for w, one in zip(WEIGHTS, found, strict=True)) / (STEP * size))
