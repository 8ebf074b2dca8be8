"""Time of a 1 ms step of the sedan on a plane, by tyre: ``python -m bench.measures.car_step [NAME ...]``.

The car drives a slow sine of the steering. The first time is that of the compiled step, the sum of its phases, by the
counter of the processor. It counts all that happens meanwhile, so other processes on the machine show in the high
percentiles. The second is the processor time of the process over the steps of a run, of 50 and of 500 steps. It has the
functions of time, which are Python, the recording, and what every run begins and ends with.
"""

import sys
import time
import warnings

import numpy as np

import rtmbs
from rtmbs.integrators.settings import EVALUATIONS, FACTORISATIONS, JACOBIANS, PHASES, RESIDUAL_TICKS, Chunk
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.simulation.observers.observer import Meter
from rtmbs.vehicle.manoeuvres.steer_inputs import OneSine

RUNS = {50: 40, 500: 6}  # by their steps
COUNTS = {"iterations": EVALUATIONS, "tangents": JACOBIANS, "factors": FACTORISATIONS}
CASES = {
    "TMeasy": {"tyres": "tmeasy"},
    "Magic Formula": {"tyres": "pac2002"},
    "Magic Formula, steady slip": {"tyres": "pac2002", "transient": False},
    "no tangential force": None,
}


class StepPhases(Meter):
    """Meter of every step's time in the compiled step, by phase [s], and of its counts."""

    def __init__(self):
        super().__init__()
        self.phases, self.counts = [], []

    def look(self, sim, report):
        self.phases.append([report.phases[name] for name in PHASES])
        self.counts.append([getattr(report, name) for name in ("evaluations", "jacobians", "factorisations")])

    def look_at_chunk(self, sim, t, chunk: Chunk):
        ticks = chunk.stats[:, RESIDUAL_TICKS : RESIDUAL_TICKS + len(PHASES)]
        self.phases += (seconds_per_tick() * ticks).tolist()
        self.counts += chunk.stats[:, list(COUNTS.values())].tolist()

    def summary(self):
        """Return the time of a step [us] at percentiles."""
        times = 1e6 * np.sum(self.phases, axis=1)
        return {f"p{share:g} us": float(np.percentile(times, share)) for share in (50, 90, 99, 99.9)}


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
    """Return the System, the meter of the longest runs, and the median processor time of a step [us] by kind of run."""
    sim = rtmbs.Simulation(car_of(options).compile(), h=1e-3)
    sim.run(0.1)
    medians = []
    for steps, runs in RUNS.items():
        meter, times = StepPhases(), []
        for _ in range(runs):
            end, began = sim.t + steps * sim.h, time.process_time()
            sim.run(end, observers=[meter])
            times.append(1e6 * (time.process_time() - began) / steps)
        medians.append(float(np.median(times)))
    return sim.system, meter, medians


def main():
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    print("| tyres | step: p50 us | p90 | p99 | p99.9 | runs of 50 | of 500 |\n|---|---|---|---|---|---|---|")
    told = []
    for name in sys.argv[1:] or CASES:
        system, meter, medians = measure(CASES[name])
        row = " | ".join(f"{value:.1f}" for value in (*meter.summary().values(), *medians))
        print(f"| {name} | {row} |", flush=True)
        counts = ", ".join(
            f"{value:.2f} {what}" for what, value in zip(COUNTS, np.mean(meter.counts, axis=0), strict=True)
        )
        phases = zip(PHASES, 1e6 * np.median(meter.phases, axis=0), strict=True)
        spent = ", ".join(f"{what} {value:.1f}" for what, value in phases)
        told.append(f"{name}: {system.n} coordinates, {system.m} equations; {counts} a step; median us: {spent}")
    print("\n" + "\n".join(told))


if __name__ == "__main__":
    main()
