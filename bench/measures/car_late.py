"""Double lane changes at 1 kHz beside an empty loop: ``python -m bench.measures.car_late --seconds 120``.

The sedan with Magic Formula tyres drives the course of ISO 3888-1 at 80 km/h again and again, steered by the driver
with preview. Turns of 100 periods go to the car and to the empty loop, one after the other, until each had its seconds.
So both meet what else the machine does. A period is late when its work ends after the next one is due. ``--unpaced``
takes the steps as fast as they come, for their times alone. Take a quiet machine.
"""

import argparse
import time
import warnings

import numpy as np

import rtmbs
from rtmbs.vehicle.driven_car import DrivenCar
from rtmbs.vehicle.driver import PathFollower, SpeedController, TwoWheelModel
from rtmbs.vehicle.manoeuvres.closed_loop import DoubleLaneChange, iso_3888_1

H, TURN, SPIN, SPEED, ENTRY = 1e-3, 100, 1e-4, 80.0 / 3.6, 30.0


class Course:
    """Course that is driven again from its beginning when the car is behind its end."""

    def __init__(self):
        test, car = DoubleLaneChange(), rtmbs.vehicle.read("sedan", variant="from_models")
        rest, lanes = car.changed(steer=0.0).rest(), iso_3888_1(test.width_of(car), test.offset)
        steering = PathFollower(test.path(lanes, ENTRY), TwoWheelModel.of_car(car, rest), test.preview)
        self.drive = DrivenCar(car, SPEED, SpeedController.of_car(car, SPEED), steering, rest=rest, h=H)
        self.end, self.passes, self.kernel, self.whole = ENTRY + lanes[-1].end, 0, [], []
        self.begin = self.drive.simulation.snapshot()

    def work(self):
        """Take one step with the driver; its time in the compiled step, and with all Python [s]."""
        began = time.thread_time()
        report = self.drive.step()
        self.whole.append(time.thread_time() - began)
        self.kernel.append(sum(report.phases.values()))

    def go_on(self):
        """Begin anew behind the end of the course."""
        if self.drive.motion().x > self.end:
            self.drive.simulation.restore(self.begin)
            self.passes += 1


def nothing():
    """Work of the empty loop."""


def wait_until(due):
    """Sleep, then spin for the last 0.1 ms."""
    if (left := due - SPIN - time.perf_counter()) > 0.0:
        time.sleep(left)
    while time.perf_counter() < due:
        pass


def late_in_turn(work):
    """Return the late periods of one turn."""
    due, late = time.perf_counter() + H, 0
    for _ in range(TURN):
        wait_until(due)
        work()
        late += time.perf_counter() > due + H
        due += H
    return late


def percentiles(what, seconds):
    values = ", ".join(f"p{share:g} {1e6 * np.percentile(seconds, share):.1f}" for share in (50, 99, 99.9, 100))
    print(f"{what} [us]: {values}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each loop")
    parser.add_argument("--unpaced", action="store_true", help="as fast as the steps come, no empty loop")
    given = parser.parse_args()
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    course, turns, late = Course(), round(given.seconds / H / TURN), [0, 0]
    for _ in range(TURN):
        course.work()
    course.kernel.clear()
    course.whole.clear()
    for _ in range(turns):
        if given.unpaced:
            for _ in range(TURN):
                course.work()
        else:
            late = [count + late_in_turn(work) for count, work in zip(late, (course.work, nothing), strict=True)]
        course.go_on()
    print(f"{turns * TURN} steps, {course.passes} whole courses")
    if not given.unpaced:
        print(f"late: car {late[0]}, empty loop {late[1]} of {turns * TURN}")
    percentiles("compiled step", course.kernel)
    percentiles("step with driver and Python, processor time", course.whole)


if __name__ == "__main__":
    main()
