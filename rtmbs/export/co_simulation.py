"""Co-simulation: FMUs of others in the loop of a Simulation, each sampled at its communication step, through fmpy.

At a communication point t_k of an FMU with the communication step H:

    y_k = channels of the mechanism at t_k, as inputs of the FMU
    the FMU steps from t_k to t_k + H; w = its outputs
    inputs of the mechanism = w, which hold from t_k to t_k + H       (order "gauss-seidel")

A sampled controller answers y_k at t_k that way, without a delay. With order "jacobi" the mechanism takes the outputs
that the FMU had before this step: its values at t_k. FMUs that are due at the same time step in the order of the list.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, MotionError, shown, unknown_name
from rtmbs.export.channels import split
from rtmbs.integrators.checks import is_number
from rtmbs.results.channel import Source
from rtmbs.results.result import Result
from rtmbs.simulation.access import LOOK, callback_rights
from rtmbs.simulation.observers.observer import Observer, Schedule
from rtmbs.simulation.observers.recorder import Recorder
from rtmbs.simulation.running import WATCHING, observers_of, retry, steps_to
from rtmbs.simulation.simulation import Simulation

Array = NDArray[np.float64]

ORDERS = ("gauss-seidel", "jacobi")
WHOLE = 1e-9  # relative distance of a communication step from a whole number of steps


@dataclass(frozen=True)
class CoupledFMU:
    """FMU for co-simulation, such as a controller, and its connections to a mechanism.

    Parameters
    ----------
    path : str or Path
        Archive of FMI 2.0 or 3.0.
    every : float
        Communication step [s], a whole number of steps of the Simulation.
    inputs : mapping of str to str
        Channels of the mechanism, or components such as ``slider.position[x]``, by the FMU's input that takes them.
    outputs : mapping of str to str
        Outputs of the FMU by the input of the Simulation that takes them: ``{"motor.torque": "torque"}``. A component
        of an input is ``gravity[2]``.
    start : mapping of str to float, optional
        Start values of inputs and parameters of the FMU.
    """

    path: str | Path
    every: float
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    start: Mapping[str, float] = field(default_factory=dict)


def co_simulate(
    sim: Simulation,
    t_end: float,
    fmus: Sequence[CoupledFMU],
    *,
    order: str = "gauss-seidel",
    record: Schedule | None = None,
    observers: Iterable[Observer] = (),
) -> Result:
    """Run a Simulation with FMUs of others in the loop, each sampled at its communication step.

    Parameters
    ----------
    sim : Simulation
        Simulation, which goes on from its present state in steps of ``h``.
    t_end : float
        End of the run [s].
    fmus : sequence of CoupledFMU
        FMUs; those that are due at the same time step in this order.
    order : str, default "gauss-seidel"
        "gauss-seidel": the mechanism takes the outputs that an FMU has after its step, as of a sampled controller
        without delay. "jacobi": those that it had before, its values at the communication point.
    record : Schedule, optional
        Samples of the Result, every step unless given.
    observers : iterable of Observer, optional
        Further observers.

    Returns
    -------
    Result
        Result of the mechanism. The bytes are those of a loop that sets the inputs by hand before the steps.

    Raises
    ------
    InputError
        For an archive that fmpy refuses, a communication step that is no whole number of steps, and without fmpy.
    UnknownNameError
        For an unknown channel, input, or variable of an FMU.
    MotionError
        For an FMU that refuses a step; ``result`` is the Result up to there.
    StepError
        For a step of the mechanism that fails.

    Examples
    --------
    >>> controller = rtmbs.CoupledFMU(
    ...     "speed.fmu", every=0.01, inputs={"speed": "pivot.rate"}, outputs={"motor.torque": "torque"}
    ... )  # doctest: +SKIP
    >>> result = rtmbs.co_simulate(sim, 2.0, [controller])  # doctest: +SKIP
    """
    if not isinstance(sim, Simulation):
        raise InputError(f"co_simulate takes a Simulation, not {shown(sim)}")
    if order not in ORDERS:
        raise InputError(f"order is {shown(order)}; it must be {' or '.join(map(repr, ORDERS))}")
    if isinstance(fmus, CoupledFMU) or not all(isinstance(one, CoupledFMU) for one in fmus):
        raise InputError(f"fmus is {shown(fmus)}; it must be a list of CoupledFMU")
    recorder, steps = Recorder(record), steps_to(sim, t_end)
    watching: list[Observer] = [recorder, *observers_of(observers)]
    connections = [Connection(sim, one) for one in fmus]
    try:
        for connection in connections:
            connection.open()
        take_steps(sim, steps, connections, order == "jacobi", watching)
    except MotionError as error:
        error.result = recorder.result() if recorder.count else None
        raise
    finally:
        for connection in connections:
            connection.close()
    return recorder.result()


def take_steps(
    sim: Simulation, steps: int, connections: Sequence["Connection"], delayed: bool, watching: Sequence[Observer]
) -> None:
    """Take steps of the mechanism, and before each those of the FMUs that are due."""
    with callback_rights(sim, LOOK, WATCHING):
        for one in watching:
            one.begin(sim, steps)
    for k in range(steps):
        for connection in connections:
            if k % connection.steps == 0:
                connection.communicate(delayed)
        report = sim.step()
        if not report.outcome.accepted:
            report = retry(sim, report, "raise", 0)
        with callback_rights(sim, LOOK, WATCHING):
            for one in watching:
                one.observe(sim, report)
    with callback_rights(sim, LOOK, WATCHING):
        for one in watching:
            one.end(sim)


class Connection:
    """One FMU at one Simulation."""

    def __init__(self, sim: Simulation, given: CoupledFMU) -> None:
        self.sim, self.given = sim, given
        self.name = Path(given.path).name
        if not is_number(given.every) or not given.every > 0.0:
            raise InputError(f"every is {shown(given.every)}; it must be a communication step in seconds")
        self.steps = round(given.every / sim.h)
        if self.steps < 1 or abs(given.every / sim.h - self.steps) > WHOLE * self.steps:
            raise InputError(
                f"the communication step of {self.name}, {given.every:g} s, is no whole number of steps of "
                f"h = {sim.h:g} s; give a multiple"
            )
        offered = sim._channels().sources(sim.state)
        self.reads = [(variable, *place_of(offered, channel)) for variable, channel in given.inputs.items()]
        self.writes = [(variable, *input_place(sim, target)) for target, variable in given.outputs.items()]
        self.slave: Slave | None = None

    def open(self) -> None:
        """Instantiate and initialise the FMU with what the mechanism is at."""
        self.slave = Slave(Path(self.given.path)).loaded()
        self.slave.check([*self.given.inputs, *self.given.start], self.given.outputs.values())
        self.slave.start(self.sim.t, {**self.given.start, **self.read()})

    def read(self) -> dict[str, float]:
        """Return the inputs of the FMU at the present state."""
        return {variable: float(np.ravel(self.sim[channel])[place]) for variable, channel, place in self.reads}

    def communicate(self, delayed: bool) -> None:
        """Hand over inputs, let the FMU step, and set the inputs of the mechanism."""
        assert self.slave is not None
        names, t = list(self.given.outputs.values()), self.sim.t
        try:
            before = self.slave.get(names) if delayed else []
            self.slave.set(self.read())
            self.slave.step(t, self.given.every)
            values = before if delayed else self.slave.get(names)
        except (OSError, self.slave.refusals) as error:
            sentence = f"FMU {self.name} refused the step from t = {t:g} s by {self.given.every:g} s: {error}"
            raise MotionError(sentence, t=t) from error
        for (_, name, place), value in zip(self.writes, values, strict=True):
            if place < 0:
                self.sim.inputs[name] = value
            else:
                numbers = np.array(self.sim.inputs[name], np.float64)
                numbers.flat[place] = value
                self.sim.inputs[name] = numbers

    def close(self) -> None:
        """Terminate the FMU and remove what was unpacked."""
        if self.slave is not None:
            self.slave.close()


def place_of(offered: Mapping[str, Source], name: str) -> tuple[str, int]:
    """Return the channel and the number of a component; UnknownNameError for another name."""
    channel, axis = (name, "") if name in offered else split(name)
    axes = offered[channel].axes if channel in offered else ()
    if channel in offered and not axes and not axis:
        return channel, 0
    if axis in axes:
        return channel, list(axes).index(axis)
    raise unknown_name("channel", name, [*offered, *(f"{channel}[{one}]" for one in axes)])


def input_place(sim: Simulation, name: str) -> tuple[str, int]:
    """Return the input of a Simulation and the number of a component, -1 for an input of one number."""
    if name in sim.inputs and np.size(sim.inputs[name]) == 1:
        return name, -1
    base, place = split(name)
    if base in sim.inputs and place.isdigit() and int(place) < np.size(sim.inputs[base]):
        return base, int(place)
    known = [
        one if np.size(value) == 1 else f"{one}[{k}]"
        for one, value in sim.inputs.items()
        for k in range(np.size(value))
    ]
    raise unknown_name("input", name, known)


class Slave:
    """An instance of an FMU for co-simulation: variables by name, FMI 2.0 and 3.0 alike."""

    def __init__(self, path: Path) -> None:
        self.path, self.folder = path, ""
        self.fmu: Any = None
        self.running = False
        self.refusals: type[Exception] = OSError

    def loaded(self) -> Self:
        """Read the description, unpack the archive and load its library; InputError for what fmpy refuses."""
        try:
            import fmpy
            from fmpy.fmi1 import FMICallException
            from fmpy.simulation import instantiate_fmu
        except ImportError:
            raise InputError("FMUs need fmpy; pip install 'rtmbs[export]' brings it") from None
        if not self.path.exists():
            raise InputError(f"FMU {self.path.name} cannot be loaded: there is no file {str(self.path)!r}")
        try:
            self.description = fmpy.read_model_description(str(self.path))
            self.three = self.description.fmiVersion.startswith("3")
            if not self.three and self.description.fmiVersion != "2.0":
                raise InputError(
                    f"FMU {self.path.name} is of FMI {self.description.fmiVersion}; give one of 2.0 or 3.0"
                )
            if self.description.coSimulation is None:
                raise InputError(f"FMU {self.path.name} is not for co-simulation; export it as one")
            self.folder = fmpy.extract(str(self.path))
            silent = (lambda *_: None) if self.three else None
            self.fmu = instantiate_fmu(self.folder, self.description, "CoSimulation", logger=silent)
        except InputError:
            raise
        except Exception as error:  # fmpy raises plain Exceptions
            self.close()
            raise InputError(f"FMU {self.path.name} cannot be loaded: {error}") from error
        self.refusals = FMICallException
        self.variables = {one.name: one for one in self.description.modelVariables}
        self.read = self.fmu.getFloat64 if self.three else self.fmu.getReal
        self.write = self.fmu.setFloat64 if self.three else self.fmu.setReal
        return self

    def check(self, inputs: Iterable[str], outputs: Iterable[str]) -> None:
        """Refuse variables that do not exist, and those that are no real numbers."""
        real = [name for name, one in self.variables.items() if one.type in ("Real", "Float64") and not one.dimensions]
        for name in (*inputs, *outputs):
            if name not in real:
                raise unknown_name(f"real variable of FMU {self.path.name}", name, real)

    def start(self, t: float, values: Mapping[str, float]) -> None:
        """Initialise at ``t`` [s] with these inputs and parameters; InputError when the FMU refuses."""
        try:
            if not self.three:
                self.fmu.setupExperiment(startTime=t)
            fixed = {name: value for name, value in values.items() if self.variables[name].causality != "input"}
            self.set(fixed)
            self.fmu.enterInitializationMode(**({"startTime": t} if self.three else {}))
            self.set({name: value for name, value in values.items() if name not in fixed})
            self.fmu.exitInitializationMode()
        except Exception as error:
            raise InputError(f"FMU {self.path.name} cannot start at t = {t:g} s: {error}") from error
        self.running = True

    def set(self, values: Mapping[str, float]) -> None:
        """Set variables by name."""
        if values:
            self.write([self.variables[name].valueReference for name in values], list(values.values()))

    def get(self, names: Sequence[str]) -> list[float]:
        """Return variables by name."""
        return list(self.read([self.variables[name].valueReference for name in names])) if names else []

    def step(self, t: float, size: float) -> None:
        """Step from ``t`` by ``size`` [s]; raises one of ``refusals``, or OSError."""
        said = self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=size)
        if self.three and any(said[1:3]):
            raise OSError("it asks to end, or returned early")

    def close(self) -> None:
        """Terminate and free the instance, and remove what was unpacked."""
        try:
            if self.fmu is not None and self.running:
                self.fmu.terminate()
            if self.fmu is not None:
                self.fmu.freeInstance()
        except Exception:  # noqa: BLE001 - an FMU that cannot end has no more to say
            pass
        self.fmu, self.running = None, False
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
