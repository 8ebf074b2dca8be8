"""A car with a driver in a Simulation: before each step the driver sets steering, drive torques and brakes.

The driver's memory stands in the State of the Simulation, as inputs of the force ``driver``, so a restored State goes
on with the same bytes.
"""

from math import cos, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model import Model
from rtmbs.model.checks import Array
from rtmbs.results import Result
from rtmbs.simulation.observers.observer import Every
from rtmbs.simulation.observers.recorder import Recorder
from rtmbs.simulation.running import retry
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.axle import CHASSIS
from rtmbs.vehicle.driveline import Driveline
from rtmbs.vehicle.driver import CarMotion, PedalDriver, Pedals, SteeringDriver
from rtmbs.vehicle.rest import Rest
from rtmbs.vehicle.roads import Road, RoadUnderWheels, TandemCams
from rtmbs.vehicle.steering import DRIVER

if TYPE_CHECKING:
    from rtmbs.vehicle.car import Car

MEMORY = ("arc_length", "speed_integral", "gear", "throttle", "brake")
HALVINGS = 6  # of a step that fails
SEEN = ("position", "orientation", "velocity", "angular_velocity")


def no_force(t: float, kinematics: Any, parameters: Any) -> Any:
    """Return no force: the law of the memory of a driver, which only has parameters."""
    return np.zeros(6)


def add_driver_memory(model: Model, gear: int = 1, arc_length: float = 0.0) -> None:
    """Add the force ``driver`` to a car: its inputs are the memory of the driver, which a State keeps.

    Parameters
    ----------
    model : Model
        Model of a car.
    gear : int, default 1
        Gear at the beginning.
    arc_length : float, default 0.0
        Arc length of the path at the beginning [m].
    """
    values = dict.fromkeys(MEMORY, 0.0) | {"gear": float(gear), "arc_length": arc_length}
    model.add_force("driver", no_force, body=CHASSIS, parameters=values)


class DrivenCar:
    """Car with a driver, driveline and brakes in a Simulation.

    Before each step the driver looks at the car and sets the inputs for the end of the step. All that the driver
    remembers are inputs of the force ``driver``: ``driver.arc_length`` [m], ``driver.speed_integral`` [m],
    ``driver.gear``, ``driver.throttle`` and ``driver.brake``. So ``simulation.restore`` of a State goes on with the
    same bytes.

    Parameters
    ----------
    car : Car
        Car; with a PathFollower its option ``steer`` is ignored.
    speed : float
        Speed at the beginning [m/s].
    pedals : SpeedController or PedalTable
        Driver of throttle and brake.
    steering : PathFollower or HeldSteering, optional
        Driver of the steering; the option ``steer`` of the car unless given.
    driveline : Driveline, optional
        Driveline; that of the car's file unless given.
    rest : Rest, optional
        Equilibrium of the car, which saves its search.
    road : Road, optional
        Road under the wheels, at whose height the car begins; one plane unless given.
    envelope : TandemCams, optional
        Enveloping contact on that road.
    h : float, default 1e-3
        Step [s].

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", steer=0.0)
    >>> driven = rtmbs.vehicle.DrivenCar(  # doctest: +SKIP
    ...     car, 20.0, rtmbs.vehicle.SpeedController.of_car(car, 25.0)
    ... )
    >>> result = driven.run(10.0)  # doctest: +SKIP
    """

    def __init__(
        self,
        car: "Car",
        speed: float,
        pedals: PedalDriver,
        steering: SteeringDriver | None = None,
        *,
        driveline: Driveline | None = None,
        rest: Rest | None = None,
        road: Road | None = None,
        envelope: TandemCams | None = None,
        h: float = 1e-3,
    ) -> None:
        standing = car.changed(steer=0.0).rest() if rest is None else rest
        given: dict[str, Any] = (
            {"steer": None} if steering is not None else {"steer": 0.0} if car.options["steer"] is None else {}
        )
        given = given if road is None else given | {"uneven": True}
        self.car = car.changed(**given).at_speed(speed, standing, road)
        if any(f"brake_{corner}" not in self.car.forces for corner in self.car.tyres):
            raise ModelError(
                f"car {car.name!r} has no brakes that a driver sets; leave the options brakes and spin out"
            )
        self.driveline = driveline or Driveline.of_file(car.data.powertrain, car.data.max_brake_torque)
        self.pedals, self.steering, self.ratio = pedals, steering, car.data.steering.ratio
        self._wheels = [f"hub_{corner}.angle_rate" for corner in self.car.driven]
        self._gains = [f"hub_{corner}.angle_acceleration" for corner in self.car.driven]
        self._names = [*(f"{CHASSIS}.{name}" for name in SEEN), *self._wheels, *self._gains]
        radius = car.tyres[self.car.driven[0]].free_radius
        begin = CarMotion(0.0, 0.0, 0.0, 0.0, speed, 0.0, 0.0, speed / radius)
        first = 0.0 if steering is None else steering.start(begin)
        self._add_memory(self.driveline.gear_at(begin.wheels), first)
        self.simulation = self._simulation(h)
        self._torques = self.car.drive_inputs(1.0)  # shares
        self._brakes = [(f"brake_{corner}.torque", corner[0] == "f") for corner in self.car.tyres]
        brakes = (name for name, _ in self._brakes)
        self.simulation.inputs.ramp(*self._torques, *brakes, *(f"driver.{n}" for n in MEMORY))
        self.road = None if road is None else RoadUnderWheels(self.simulation, self.car, road, envelope)
        self.controls: dict[str, list[float]] = {}

    def _add_memory(self, gear: int, arc_length: float) -> None:
        """Add the memory of the driver to the car; a car with more elements adds them here."""
        add_driver_memory(self.car, gear, arc_length)

    def _simulation(self, h: float) -> Simulation:
        """Return the Simulation of the car."""
        return Simulation(self.car.compile(), h)

    def motion(self) -> CarMotion:
        """Return the motion of the car as the driver sees it.

        Returns
        -------
        CarMotion
            Position, heading and velocities in the road.
        """
        return self._seen()[0]

    def _seen(self) -> tuple[CarMotion, float]:
        """Return the motion of the car, and the mean acceleration of the driven wheels [rad/s^2]."""
        sim = self.simulation
        x, y, _, e0, e1, e2, e3, vx, vy, _, _, _, wz, *wheels = sim.read(self._names).tolist()
        count = len(self._wheels)
        yaw = float(np.arctan2(2.0 * (e1 * e2 + e0 * e3), e0 * e0 + e1 * e1 - e2 * e2 - e3 * e3))
        c, s = cos(yaw), sin(yaw)
        mean, gain = sum(wheels[:count]) / count, sum(wheels[count:]) / count
        return CarMotion(sim.t, x, y, yaw, c * vx + s * vy, c * vy - s * vx, wz, mean), gain

    def act(self) -> CarMotion:
        """Let the driver set the inputs for the end of the next step.

        Returns
        -------
        CarMotion
            Motion that the driver saw.
        """
        inputs: Any = self.simulation.inputs
        (at, gain), h = self._seen(), self.simulation.h
        gear = self.driveline.shifted(at.wheels, round(inputs["driver.gear"]))
        pedals, integral = self.pedals.pedals(at, inputs["driver.speed_integral"], self.driveline, gear, h)
        pedals = Pedals(*(min(max(value, 0.0), 1.0) for value in pedals))
        ending = at.wheels + h * gain  # at the end, to second order
        torque = self.driveline.torque(pedals.throttle, ending, gear)
        wanted = {name: torque * share for name, share in self._torques.items()}
        front = self.driveline.front_brakes
        for name, ahead in self._brakes:
            share = front if ahead else 1.0 - front
            wanted[name] = 2.0 * share * pedals.brake * self.driveline.max_brake_torque
        if self.steering is not None:
            f, fd, fdd = (float(value) / self.ratio for value in inputs[DRIVER])
            most, near = self.car.data.steering.max_angle, inputs["driver.arc_length"]
            turned, wanted["driver.arc_length"] = self.steering.next(at, (f, fd, fdd), near, most, h)
            inputs[DRIVER] = [self.ratio * value for value in turned]
        wanted |= {"driver.speed_integral": integral, "driver.gear": float(gear)}
        wanted |= {"driver.throttle": pedals.throttle, "driver.brake": pedals.brake}
        inputs.ramp_to({name: value for name, value in wanted.items() if value != inputs[name]})
        return at

    def step(self) -> Any:
        """Take one step with the driver.

        Returns
        -------
        StepReport
            Report of the step.

        Raises
        ------
        StepError
            When the step fails, also in parts.
        """
        self.act()
        if self.road is not None:
            self.road.act()
        report = self.simulation.step()
        return report if report.outcome.accepted else retry(self.simulation, report, "halve", HALVINGS)

    def run(self, t_end: float, *, until: Any = None, every: float | None = None) -> Result:
        """Drive to a time and return the record; ``controls`` has the driver's inputs at the samples.

        Parameters
        ----------
        t_end : float
            End of the run [s].
        until : function, optional
            Function of the CarMotion at the beginning of a step; the run ends where it is true.
        every : float, optional
            Distance of samples [s]; every step unless given.

        Returns
        -------
        Result
            Channels of the run.

        Raises
        ------
        StepError
            When a step fails for good.
        """
        sim = self.simulation
        steps = max(round((t_end - sim.t) / sim.h), 0)
        stride = 1 if every is None else max(round(every / sim.h), 1)
        recorder = Recorder(None if every is None else Every(stride * sim.h))
        recorder.begin(sim, steps)
        self.controls = {name: [] for name in ("t", "steering_angle", "throttle", "brake", "gear")}
        self._note()
        for k in range(1, steps + 1):
            recorder.observe(sim, self.step())
            if k % stride == 0:
                self._note()
            if until is not None and until(self.motion()):
                break
        recorder.end(sim)
        return recorder.result()

    def _note(self) -> None:
        """Keep the driver's inputs of the present time."""
        inputs: Any = self.simulation.inputs
        angle = inputs[DRIVER][0] if self.steering is not None else self.simulation[self._steering_channel()]
        found = {"t": self.simulation.t, "steering_angle": float(angle) / self.ratio}
        found |= {name: inputs[f"driver.{name}"] for name in ("throttle", "brake", "gear")}
        for name, value in found.items():
            self.controls[name].append(value)

    def _steering_channel(self) -> str:
        """Return the channel of the steering's coordinate."""
        return "rack.displacement" if "rack" in self.car.joints else "sector_shaft.angle"

    def controls_as_arrays(self) -> dict[str, Array]:
        """Return the controls of the last run.

        Returns
        -------
        dict[str, ndarray]
            Arrays (k,): t [s], steering_angle of the pinion [rad], throttle, brake, gear.
        """
        return {name: np.array(values) for name, values in self.controls.items()}
