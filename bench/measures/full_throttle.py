"""Where the torque of a full throttle goes, newton by newton: ``python -m bench.measures.full_throttle``.

Each wheel turns by its drive torque, the inertia of its spin, its rolling resistance and the longitudinal force of its
tyre at the loaded radius. Side force and longitudinal force of a wheel with toe share the direction of travel. The
terms come from channels of the record and from masses and inertias of the Model, so they check the run without its
equations. Their sum is the mass of the car times its acceleration.
"""

import warnings

import numpy as np

import rtmbs
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import DrivenCar, PedalTable, read
from rtmbs.vehicle.rest import wheel_axis

TIMES = (0.3, 0.7, 1.4)


class Row(dict):
    """Channels of a record at one sample."""

    def __init__(self, result, k):
        self.result, self.k = result, k

    def __missing__(self, name):
        return self.result[name][self.k]


def mass_times_acceleration(car, at):
    """Return the sum of mass times acceleration of the centre of mass over all bodies (3,) [N]."""
    total = np.zeros(3)
    for name, body in car.bodies.items():
        if body.mass:
            arm = rotations(at[f"{name}.orientation"]) @ np.asarray(body.center_of_mass)
            w, turned = at[f"{name}.angular_velocity"], at[f"{name}.angular_acceleration"]
            total += body.mass * (at[f"{name}.acceleration"] + np.cross(turned, arm) + np.cross(w, np.cross(w, arm)))
    return total


def account(car, result, k):
    """Return the forces along x at a sample [N], whose sum is mass times acceleration, and that product."""
    at = Row(result, k)
    found = dict.fromkeys(("torque over loaded radius", "inertia of the spin", "rolling resistance", "toe"), 0.0)
    for corner in car.tyres:
        n, wheel = wheel_axis(car, at, corner), f"wheel_{corner}"
        R, w = rotations(at[f"{wheel}.orientation"]), at[f"{wheel}.angular_velocity"]
        inertia = R @ car.bodies[wheel].inertia @ R.T
        spun = n @ (inertia @ at[f"{wheel}.angular_acceleration"] + np.cross(w, inertia @ w))
        drive = n @ at[f"drive_{corner}.torque"] if corner in car.driven else 0.0
        ahead = np.array((n[1], -n[0], 0.0)) / np.hypot(n[0], n[1])  # x_W
        radius = at[f"{wheel}.position"][2] / np.hypot(n[0], n[1])
        force, torque = at[f"tyre_{corner}.force"], at[f"tyre_{corner}.torque"]
        along = float(force @ ahead)
        found["torque over loaded radius"] += drive / radius
        found["inertia of the spin"] -= spun / radius
        found["rolling resistance"] += (n @ torque + along * radius) / radius
        found["toe"] += force[0] - along
    return found, mass_times_acceleration(car, at)[0]


def run(h=1e-3, t_end=1.5):
    """Return the sedan from 20 m/s at full throttle, its driven axle in front, and the record."""
    car = read("sedan", variant="from_models", steer=0.0)
    driven = DrivenCar(car, 20.0, PedalTable(lambda t: 1.0, lambda t: 0.0), h=h)
    return driven.car, driven.run(t_end)


def main():
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    car, result = run()
    mass = sum(body.mass for body in car.bodies.values())
    columns = [account(car, result, round(t / 1e-3)) for t in TIMES]
    print("| N at the time | " + " | ".join(f"{t} s" for t in TIMES) + " |\n|---|" + "---|" * len(TIMES))
    for name in columns[0][0]:
        print(f"| {name} | " + " | ".join(f"{terms[name]:.1f}" for terms, _ in columns) + " |")
    print("| mass times acceleration | " + " | ".join(f"{force:.1f}" for _, force in columns) + " |")
    gaps = " | ".join(f"{sum(terms.values()) - force:.4f}" for terms, force in columns)
    print(f"| sum without it | {gaps} |")
    rolling = 20.0 / result["hub_fl.angle_rate"][0]
    simple = columns[0][0]["torque over loaded radius"] * result["wheel_fl.position"][300, 2] / rolling
    shares = " | ".join(f"{100.0 * (force / simple - 1.0):.1f} %" for _, force in columns)
    print(f"| beside torque over rolling radius, {simple:.1f} N | {shares} |")
    print(f"mass {mass:.1f} kg, rolling radius {rolling:.4f} m, loads", end=" ")
    print(result["tyre_fl.force"][0, 2].round(0), result["tyre_fl.force"][-1, 2].round(0))


if __name__ == "__main__":
    main()
