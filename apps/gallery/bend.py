"""A driver takes a sedan round a bend of 14 m at 8 m/s. Checked: powers of all its elements balance its energy."""

from gallery import Shown, finish

import rtmbs
from rtmbs.drive.origin import dress
from rtmbs.vehicle import DrivenCar, Path, PathFollower, SpeedController, TwoWheelModel, power_balance

STATIONS = (0.0, 4.0, 14.0, 44.0, 54.0, 90.0)  # [m] along the path
CURVATURES = (0.0, 0.0, 1.0 / 14.0, 1.0 / 14.0, 0.0, 0.0)  # [1/m] to the left
SPEED = 8.0  # [m/s]


def drive():
    car = rtmbs.vehicle.read("sedan", variant="from_models", impossible_inertia="nearest")
    rest = car.changed(steer=0.0).rest()
    path, model = Path.of_curvature(STATIONS, CURVATURES), TwoWheelModel.of_car(car, rest)
    driven = DrivenCar(car, SPEED, SpeedController.of_car(car, SPEED), PathFollower(path, model, 0.6), rest=rest)
    dress(driven.car)
    return driven


def main(t_end=7.5):
    driven = drive()
    result = driven.run(t_end)
    error = power_balance(driven.car, result).error
    told = "residual of the power balance over the exchanged energy"
    return Shown(driven.car, result[::20], told, error, 1e-6, "chassis")


if __name__ == "__main__":
    finish(main())
