"""Chrono's sedan and rtmbs's in the same step steer: errors by the step, and processor times in turns.

``python -m bench.peers.chrono_car --chrono FOLDER --data FOLDER``. ``--chrono`` is a folder with
``ChronoConfig.cmake``, of a build or an installation of Project Chrono 10 with its module Vehicle; ``--data`` is
``data/vehicle`` of its sources. ``--program PATH`` takes a compiled ``chrono_car.cpp`` in place of ``--chrono``.

Both cars coast, then the rack moves within 0.1 s. The error of a step is the largest difference from the program's own
limit of steps, over speed, side speed, yaw rate, roll, yaw and loads at seven instants, each by its largest value.
The limits are extrapolated: Chrono is of first order in the step, rtmbs of second. Chrono's tyres keep their forces for
a step. Its steering input is read a step ahead, which is its better way. The time is processor time of 3 s of steering.

Of Chrono's solvers SparseLU is the fastest exact one, with its pattern locked, and 30 iterations of Barzilai-Borwein
the fastest that add no error at 1 ms. Chrono's vehicles have 150 of them by themselves.
"""

import argparse
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.documents import DOCS, insert, table
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import Car, read
from rtmbs.vehicle.car import CORNERS
from rtmbs.vehicle.steering import Ramp

Rows = NDArray[np.float64]
Run = Callable[[float], tuple[Rows, float]]
Errors = dict[str, dict[float, float]]
Times = dict[str, dict[float, list[float]]]
COMMAND, PAGE, SOURCE = "python -m bench.peers.chrono_car", DOCS / "vehicle.md", Path(__file__).with_suffix(".cpp")
SAMPLES = np.array([0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0])  # s, from where the rack begins to move
LENGTH, RACK, SPEED = 3.0, -0.0040579, 17.8213  # s, m, m/s when the rack begins to move
SETTLE = 2.0  # s in rtmbs; its car begins in equilibrium
SOLVERS = {"Chrono, SparseLU": "lu", "Chrono, Barzilai-Borwein, 30 iterations": "bb:30"}  # limits are of the first
DIRECT, RTMBS = next(iter(SOLVERS)), "rtmbs"
STEPS = dict(zip(SOLVERS, ((1e-3, 5e-4, 2.5e-4), (1e-3,)), strict=True))
STEPS[RTMBS] = (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4)
CMAKE = """cmake_minimum_required(VERSION 3.18)
project(chrono_car CXX)
find_package(Chrono COMPONENTS Vehicle CONFIG REQUIRED)
add_executable(chrono_car {source})
target_link_libraries(chrono_car PRIVATE Chrono::Chrono_vehicle)
"""


def main() -> None:
    """Measure, print the table, and with ``--write`` put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chrono", type=Path, help="folder with ChronoConfig.cmake")
    parser.add_argument("--program", type=Path, help="a compiled chrono_car.cpp")
    parser.add_argument("--data", type=Path, required=True, help="data/vehicle of Chrono's sources")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    with tempfile.TemporaryDirectory() as folder:
        program = options.program or built(options.chrono, Path(folder))
        run = partial(chrono_run, program, options.data)
        speed = speed_at_start(run)
        runs: dict[str, Run] = {name: partial(run, solver, speed) for name, solver in SOLVERS.items()}
        runs[RTMBS] = rtmbs_run
        text = told(*measured(runs, options.rounds))
    print(text)
    if options.write:
        insert(PAGE, COMMAND, text)


def built(chrono: Path, folder: Path) -> Path:
    """Compile the car in Chrono; return the program."""
    (folder / "CMakeLists.txt").write_text(CMAKE.format(source=SOURCE), encoding="utf-8")
    configure: list[str | Path] = [
        "cmake",
        "-S",
        folder,
        "-B",
        folder / "build",
        f"-DChrono_DIR={chrono}",
        "-DCMAKE_BUILD_TYPE=Release",
    ]
    subprocess.run(configure, check=True)
    subprocess.run(["cmake", "--build", folder / "build"], check=True)
    return folder / "build" / "chrono_car"


def speed_at_start(run: Callable[[str, float, float], tuple[Rows, float]]) -> float:
    """Return the speed with which Chrono's car has the wanted one when the rack begins to move."""
    h, speed = max(STEPS[DIRECT]), 20.0
    for _ in range(3):
        speed += SPEED - float(run(SOLVERS[DIRECT], speed, h)[0][0, 0])
    return speed


def chrono_run(program: Path, data: Path, solver: str, speed: float, h: float) -> tuple[Rows, float]:
    """Return the samples of a run, and processor time of a second of it [s]."""
    command: list[str | Path] = [program, f"{data}/", repr(h), repr(speed), solver, "linearized", "1"]
    *lines, last = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()
    rows = np.array([[float(word) for word in line.split()] for line in lines])
    return rows[:, [1, 2, 3, 4, 5, 10, 11, 12, 13]], float(last.split()[1]) / LENGTH


def rtmbs_run(h: float) -> tuple[Rows, float]:
    """Return the samples of a run, and processor time of a second of it [s]."""
    car = rtmbs_car()
    sim = rtmbs.Simulation(car.compile(), h)
    sim.run(SETTLE)
    began = time.process_time()
    result = sim.run(SETTLE + LENGTH)
    seconds = time.process_time() - began
    rows = [sample(car, result, int(np.argmin(np.abs(result["t"] - SETTLE - t)))) for t in SAMPLES]
    return np.array(rows), seconds / LENGTH


def rtmbs_car() -> Car:
    """Return the sedan with tyres as Chrono has them: velocities of the wheel centre, no relaxation."""
    car = read("sedan", variant="from_json", tyres="tmeasy", transient=False, slip_point="centre", steer=None)
    front, rear = (replace(axle, shaft_inertia=0.0) for axle in (car.data.front, car.data.rear))
    data = car.data._replace(front=front, rear=rear)
    steer = Ramp(SETTLE, SETTLE + 0.1, 0.0, RACK / data.steering.ratio)
    return Car(data, car.tyres, **(car.options | {"steer": steer})).at_speed(18.212858)


def sample(car: Car, result: rtmbs.Result, k: int) -> list[float]:
    """Return velocity of the chassis' centre of mass along and across, yaw rate, roll, yaw and loads of a step."""
    R, w = rotations(result["chassis.orientation"][k]), result["chassis.angular_velocity"][k]
    v = R.T @ (result["chassis.velocity"][k] + np.cross(w, R @ car.data.chassis.com))
    loads = [float(result[f"tyre_{corner}.force"][k][2]) for corner in CORNERS]
    return [v[0], v[1], (R.T @ w)[2], np.arctan2(R[2, 1], R[2, 2]), np.arctan2(R[1, 0], R[0, 0]), *loads]


def measured(runs: dict[str, Run], rounds: int) -> tuple[Errors, Times, dict[str, Rows]]:
    """Return errors and all times by program and step, and limits by program; the programs run in turns."""
    found: dict[str, dict[float, Rows]] = {name: {} for name in runs}
    times: Times = {name: {} for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            for h in STEPS[name]:
                found[name][h], seconds = run(h)
                times[name].setdefault(h, []).append(seconds)
    limits = dict.fromkeys(SOLVERS, limit(found[DIRECT], 1)) | {RTMBS: limit(found[RTMBS], 2)}
    errors = {name: {h: error(rows[h], limits[name]) for h in rows} for name, rows in found.items()}
    return errors, times, limits


def limit(rows: dict[float, Rows], order: int) -> Rows:
    """Return what the two smallest steps, one twice the other, tend to."""
    fine, coarse = sorted(rows)[:2]
    weight = 2.0**order
    return (weight * rows[fine] - rows[coarse]) / (weight - 1.0)


def error(rows: Rows, limit: Rows) -> float:
    return float(np.max(np.abs(rows - limit) / np.max(np.abs(limit), axis=0)))


def told(errors: Errors, times: Times, limits: dict[str, Rows]) -> str:
    """Return the table; the last column is Chrono's time by that of the largest step of rtmbs without more error."""
    rows = []
    for name in errors:
        for h, e in errors[name].items():
            least, middle = 1e6 * min(times[name][h]), 1e6 * float(np.median(times[name][h]))
            cells = [name, f"{1e3 * h:g}", f"{e:.1e}", f"{least * h:.0f}, {middle * h:.0f}"]
            rows.append([*cells, f"{1e-3 * least:.1f}, {1e-3 * middle:.1f}", ratio(errors, times, name, h)])
    head = ["program", "step, ms", "error", "us a step: least, median", "ms a second: least, median", "beside rtmbs"]
    return f"{table(head, rows)}\n\nThe limits differ by {error(limits[RTMBS], limits[DIRECT]):.1e}."


def ratio(errors: Errors, times: Times, name: str, h: float) -> str:
    """Return a step of Chrono in words: its time by that of the largest step of rtmbs without more error."""
    fit = max((g for g, other in errors[RTMBS].items() if other <= errors[name][h]), default=None)
    if name == RTMBS or fit is None:
        return ""
    least, middle = (f(times[name][h]) / f(times[RTMBS][fit]) for f in (np.min, np.median))
    return f"{least:.0f}, {middle:.0f} times at {1e3 * fit:g} ms"


if __name__ == "__main__":
    main()
