"""Parameters of a run by name: inputs, initial coordinates and rates, and numbers of the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.differences import PLACES, STEP, WEIGHTS
from rtmbs.errors import InputError, UnknownNameError, shown, unknown_name
from rtmbs.model.model import Model
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.loop_jacobian import loop_jacobian
from rtmbs.sensitivities.initial_state import Pin
from rtmbs.sensitivities.model_numbers import SAME, ModelNumber, check_same, model_numbers, names_of, table_slopes
from rtmbs.sensitivities.variations import NO_SLOPES, InputSlopes, Variations, timed_by, timed_slots
from rtmbs.simulation.set_coordinate import cut_joint, no_coordinate, settable
from rtmbs.simulation.simulation import Simulation
from rtmbs.start.effective_masses import effective_masses
from rtmbs.system.system import System

Array = NDArray[np.float64]
ORDERS = ("position", "rate")


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

    @property
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
