"""One steady turn reached in four ways: ``python -m bench.measures.steady_turn``.

The driver of the steady circle, a held angle at a held speed, a step steer with held throttle, and a held angle with a
push at the centre of mass. A step steer slows down: its drive torques do not balance the drag of the turn, so inertia
pushes its car. The push of the last row is that inertia, at the speed of the step steer.
"""

import warnings
from typing import NamedTuple

import numpy as np

import rtmbs
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import DrivenCar, HeldSteering, Ramp, SpeedController, SteadyCircle, StepSteer, read
from rtmbs.vehicle.manoeuvres.report import signals_of, steady

SPEED = 20.0


class Turn(NamedTuple):
    """A turn at the end of a run."""

    angle: float  # of the pinion [rad]
    speed: float  # of the centre of mass of the chassis [m/s]
    radius: float  # of its path [m]
    roll: float  # [rad]
    slows: float  # [m/s^2]


def ended(car, result, angle):
    """Return the turn at the end of a run."""
    signals = signals_of(car, result)
    speed = float(np.hypot(steady(signals, "speed"), steady(signals, "lateral_velocity")))
    slows = -float(np.polyfit(signals["t"][-500:], signals["speed"][-500:], 1)[0])
    return Turn(angle, speed, speed / steady(signals, "yaw_rate"), steady(signals, "roll"), slows)


def held(car, angle, speed, rest, t_end=9.0):
    """Return the turn of a held angle at a held speed."""
    driven = DrivenCar(car, speed, SpeedController.of_car(car, speed), HeldSteering(angle), rest=rest)
    return ended(driven.car, driven.run(t_end), angle)


def stepped(car, angle, speed, duration=6.0):
    """Return the turn at the end of a step steer, and its drive torque [N m]."""
    result = StepSteer(speed=speed, angle=angle, duration=duration).run(car).result
    return ended(car, result, angle), float(np.linalg.norm(result[f"drive_{car.driven[0]}.torque"][-1]))


def pushed(car, angle, step, torque, rest, t_end=6.0):
    """Return the turn of a held angle that the inertia of a step steer pushes, at its speed."""
    moving = car.changed(steer=Ramp(0.2, 0.4, 0.0, angle)).at_speed(step.speed, rest)
    standing = rest.equilibrium.simulation
    bodies = {name: body.mass for name, body in moving.bodies.items() if body.mass}
    centre = sum(mass * standing[f"{name}.mass_center"] for name, mass in bodies.items()) / sum(bodies.values())
    centre = rotations(standing["chassis.orientation"]).T @ (centre - standing["chassis.position"])
    moving.add_force(
        "push", rtmbs.Wrench(force=rtmbs.Input((0.0, 0.0, 0.0)), axes="body"), body="chassis", point=centre
    )
    sim = rtmbs.Simulation(moving.compile(), h=1e-3)
    spin = sum(float(moving.bodies[f"wheel_{corner}"].inertia[1, 1]) for corner in car.tyres)
    force = (sum(bodies.values()) + spin * (sim["hub_fl.angle_rate"] / step.speed) ** 2) * step.slows
    sim.inputs["push.force"] = (float(force), 0.0, 0.0)
    for corner in moving.driven:
        sim.inputs[f"drive_{corner}.torque"] = torque
    return ended(moving, sim.run(t_end), angle)


def main():
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    car = read("sedan", variant="from_models")
    rest = car.changed(steer=0.0).rest()
    circle = SteadyCircle(radius=100.0, most=4.0)
    signals = circle.run(car).signals
    angle, speed = (float(signals[f"level_{name}"][-1]) for name in ("steering_angle", "speed"))
    radius, roll = float(signals["level_radius"][-1]), float(signals["level_roll"][-1])
    step, torque = stepped(car, angle, speed)
    rows = {
        "driver on the circle": Turn(angle, speed, radius, roll, 0.0),
        "held angle, held speed": held(car, angle, speed, rest),
        "step steer, held throttle": step,
        "held angle at its speed": held(car, angle, step.speed, rest),
        "held angle at its speed, pushed by its inertia": pushed(car, angle, step, torque, rest),
    }
    print("| turn | angle rad | speed m/s | radius m | speed times yaw rate | slows m/s2 |\n|---|---|---|---|---|---|")
    for name, one in rows.items():
        ay = one.speed**2 / one.radius
        print(f"| {name} | {one.angle:.5f} | {one.speed:.4f} | {one.radius:.3f} | {ay:.4f} | {one.slows:.4f} |")


if __name__ == "__main__":
    main()
