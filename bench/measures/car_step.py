"""Processor time of a 1 ms step of the sedan on a plane, by tyre: ``python -m bench.measures.car_step``.

Runs of 50 steps are timed by the processor clock of the process, so other processes on the machine do not count; the
numbers are the median and the 90th percentile of the runs over their steps. The car drives a slow sine of the steering.
"""

import time
import warnings

import numpy as np

import rtmbs
from rtmbs.vehicle.manoeuvres.sine import OneSine

STEPS, RUNS = 50, 60
CASES = {
    "TMeasy": {"tyres": "tmeasy"},
    "Magic Formula": {"tyres": "pac2002"},
    "Magic Formula, steady slip": {"tyres": "pac2002", "transient": False},
    "no tangential force": None,
}


def car_of(options):
    """Return the sedan at 20 m/s with a slow sine of the steering."""
    from rtmbs.vehicle.tyre import CarryingTyre

    given = {"steer": OneSine(0.2, 0.15, 0.5)} | (options or {"transient": False})
    car = rtmbs.vehicle.read("sedan", variant="from_models", **given)
    if options is None:
        tyres = {corner: CarryingTyre(tyre) for corner, tyre in car.tyres.items()}
        options = dict(car.options)
        rest = car.rest()
        return rtmbs.vehicle.Car(car.data, tyres, **options).at_speed(20.0, rest)
    return car.at_speed(20.0)


def measure(options):
    """Return median and 90th percentile of the time of a step [us], and the mean iterations."""
    sim = rtmbs.Simulation(car_of(options).compile(), h=1e-3)
    sim.run(0.1)
    times = []
    for _ in range(RUNS):
        end, began = sim.t + STEPS * sim.h, time.process_time()
        sim.run(end)
        times.append((time.process_time() - began) / STEPS)
    return 1e6 * np.median(times), 1e6 * np.percentile(times, 90)


def main():
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    print("| tyres | median us | p90 us |\n|---|---|---|")
    for name, options in CASES.items():
        median, high = measure(options)
        print(f"| {name} | {median:.1f} | {high:.1f} |", flush=True)


if __name__ == "__main__":
    main()
