"""Cars with random tolerances in a lane change, by ``rtmbs.sweep``: ``python -m bench.measures.car_sweep --cars 50``.

Each car is the sedan with hard points moved by 2 mm, masses by 5 %, springs and dampers by 10 %, and the friction of
the road by 10 %, standard deviations. At 25 m/s it steers one sine to the left lane and one back. A car that fails
has a row with the reason in the table of the sweep; ``--first`` is the seed of the first car.

Nobody adjusts a car: moved seats of its stiff springs leave the front wheels with up to 2 degrees of toe. Front tyres
that toe in so far work against each other at their limit, so the car hardly answers its steering. Cars with less than
two thirds of the median offset are listed with their toe. ``--adjusted`` sets the tie rods so that the toe at rest is
zero, as a workshop does.

A bar says how far it is. ``--folder`` keeps finished cars, so that an interrupted sweep goes on (extra ``sweep``).
After an interrupt, by Ctrl+C or a signal to end, the table of the cars so far is printed.
"""

import argparse
import signal
import time
import warnings
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

import rtmbs
from rtmbs.model.profiles import Numeric
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle.axle import part
from rtmbs.vehicle.car import Car
from rtmbs.vehicle.manoeuvres.report import signals_of, wheel_loads
from rtmbs.vehicle.manoeuvres.steer_inputs import OneSine

SPEED, END, H = 25.0, 5.5, 2e-3
POINTS, MASSES, LAWS, FRICTION = 2e-3, 0.05, 0.1, 0.1  # [m], and shares
ROUNDS, STRAIGHT = 6, 1e-5  # secants of the toe, and what is straight [rad]
SLOW = 2.0 / 3.0  # of the median offset: cars that are listed


@dataclass(frozen=True)
class LaneChange(Numeric):
    """Angle of the pinion: a sine that leads to the left lane, and one that leads back [rad]."""

    angle: float = 0.18

    def __call__(self, t):
        parts = OneSine(0.3, self.angle, 0.5)(t), OneSine(2.8, -self.angle, 0.5)(t)
        return tuple(np.sum(parts, axis=0).tolist())


def scaled(law, share):
    """Return a spring or damper with its forces times ``share``."""
    changes = {
        name: share * value
        for name in ("preload", "stiffness", "damping")
        if (value := getattr(law, name, None)) is not None
    }
    if law.table is not None:
        changes["table"] = [(x, share * force) for x, force in law.table]
    return replace(law, **changes)


def car_of(seed):
    """Return the sedan with the tolerances of a seed."""
    rng = np.random.default_rng(seed)
    car = rtmbs.vehicle.read(
        "sedan", variant="from_models", friction=float(np.clip(rng.normal(1.0, FRICTION), 0.5, 1.5))
    )
    axles = {}
    for name in ("front", "rear"):
        axle = getattr(car.data, name)
        moved = {one: point + rng.normal(0.0, POINTS, 3) for one, point in axle.hard_points.items()}
        axle = axle.with_points(moved | {"wheel_centre": axle.wheel_centre})
        struts = tuple(replace(one, law=scaled(one.law, float(rng.normal(1.0, LAWS)))) for one in axle.struts)
        axles[name] = replace(axle, struts=struts)
    body, share = car.data.chassis, float(rng.normal(1.0, MASSES))
    chassis = part("chassis", share * body.mass, body.com, share * body.inertia, "chassis")
    return Car(car.data._replace(chassis=chassis, **axles), car.tyres, **car.options)


def make(seed, adjusted=False):
    """Return the Simulation of a car at its start."""
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    car = car_of(seed).changed(steer=0.0)
    rest = adjust(car) if adjusted else car.rest()
    moving = car.changed(steer=LaneChange()).at_speed(SPEED, rest)
    return rtmbs.Simulation(moving.compile(), h=H)


def adjust(car):
    """Set the front tie rods of a car so that its toe at rest is zero, by secants, and return the rest."""
    designed = {name: car.rods[name].length for name in ("tie_rod_fl", "tie_rod_fr")}

    def toe_of(longer):
        for name, length in designed.items():
            car.rods[name] = replace(car.rods[name], length=length + longer)
        rest = car.rest()
        return rest.toe["fl"], rest

    (last, toe), (longer, (now, rest)) = (0.0, toe_of(0.0)[0]), (1e-3, toe_of(1e-3))
    for _ in range(ROUNDS):
        if abs(now) < STRAIGHT:
            break
        last, toe, longer = longer, now, longer - now * (longer - last) / (now - toe)
        now, rest = toe_of(longer)
    return rest


@cache
def sedan():
    """Return the car without tolerances, for its names."""
    return rtmbs.vehicle.read("sedan", variant="from_models")


def measure(result):
    """Return peaks of a run."""
    car = sedan()
    signals = signals_of(car, result)
    return {
        "offset": float(np.max(signals["y"])), "acceleration": float(np.max(np.abs(signals["lateral_acceleration"]))),
        "roll": float(np.max(np.abs(signals["roll"]))),
        "load": float(min(np.min(load) for load in wheel_loads(car, result).values())),
        "toe": toe_at_start(car, result),
    }  # fmt: skip


def toe_at_start(car, result):
    """Return the toe of the front left wheel at the start of a run [degrees]; toe-in is negative."""
    axis = rotations(result["upright_fl.orientation"][0]) @ car.spin_axis("fl")
    return float(np.degrees(np.arctan2(-axis[0], axis[1])))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cars", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--folder", help="folder of finished cars; the same sweep goes on from there")
    parser.add_argument("--adjusted", action="store_true", help="tie rods are set to zero toe at rest")
    options, began = parser.parse_args(), time.process_time()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    seeds = list(range(options.first, options.first + options.cars))
    try:
        table = rtmbs.sweep(
            partial(make, adjusted=options.adjusted), {"seed": seeds}, measure, t_end=END, h=H, engine=rtmbs.Serial(),
            folder=options.folder, progress=True,
        )  # fmt: skip
    except KeyboardInterrupt as stopped:
        table = getattr(stopped, "result", None)  # none before the first car
    if table is None:
        print("interrupted before the first car")
        return
    tell(table, time.process_time() - began)


def tell(table, seconds):
    """Print the table of the finished cars."""
    errors = [str(error) for error in table["error"] if error]
    print(f"{len(table)} cars, {len(errors)} failed, {seconds / max(len(table), 1):.2f} s of processor time each")
    for error in sorted(set(errors)):
        print(f"{errors.count(error)} times: {error}")
    good = table["error"] == ""
    if not np.any(good):
        return
    print("\n| quantity | smallest | median | largest |\n|---|---|---|---|")
    for name, unit in {"offset": "m", "acceleration": "m/s²", "roll": "rad", "load": "N", "toe": "degrees"}.items():
        values = table[name][good]
        print(f"| {name} {unit} | {np.min(values):.4g} | {np.median(values):.4g} | {np.max(values):.4g} |")
    slow = np.flatnonzero(good & (table["offset"] < SLOW * np.median(table["offset"][good])))
    for k in slow.tolist():
        print(f"car {table['seed'][k]}: offset {table['offset'][k]:.3g} m, toe {table['toe'][k]:.3g} degrees")


if __name__ == "__main__":
    main()
