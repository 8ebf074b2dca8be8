"""A truck with Pitman arm tows a trailer into a bend. Checked: the trailer follows the tractrix of its hitch."""

import warnings

import numpy as np
from gallery import Shown, finish
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs.numerics.rotations.quaternions import rotations

LENGTH = 2.6  # [m] from the hitch to the axle
CENTRE = np.array((-2.45, 0.0, 0.3))  # [m] from the hitch to the centre of mass


def build():
    trailer = rtmbs.vehicle.Trailer(
        hitch=(-2.6, 0.0, 0.1), mass=900.0, com=CENTRE, inertia=(300.0, 1500.0, 1600.0),
        wheel_centre=(-LENGTH, 0.91, -0.126), stiffness=6e4, damping=4e3,
    )  # fmt: skip
    steer = rtmbs.vehicle.Ramp(t0=0.3, t1=2.3, start=0.0, end=0.35)
    truck = rtmbs.vehicle.read("hmmwv", trailer=trailer, steer=steer).at_speed(3.0)
    truck.add_marker("ball", "trailer", truck.bodies["trailer"].position - CENTRE)
    return truck


def yaw_of(turn):
    """Return the headings of rotations [rad]."""
    R = rotations(turn)
    return np.unwrap(np.arctan2(R[..., 1, 0], R[..., 0, 0]))


def main(t_end=11.0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rtmbs.RtmbsWarning)  # the data have an inertia that no body has
        truck = build()
    result = rtmbs.Simulation(truck.compile(), h=2e-3).run(t_end, record=rtmbs.Every(0.02))
    t, ball, heading = result["t"], result["ball.position"], yaw_of(result["trailer.orientation"])
    rate = [np.gradient(ball[:, k], t) for k in range(2)]

    def drawn(now, yaw):  # the axle does not slide: the hitch turns the trailer by its speed across it
        x, y = (np.interp(now, t, one) for one in rate)
        return (y * np.cos(yaw) - x * np.sin(yaw)) / LENGTH

    wanted = solve_ivp(drawn, (t[0], t[-1]), heading[:1], t_eval=t, rtol=1e-8).y[0]
    error = np.abs(heading - wanted).max()
    return Shown(truck, result, "heading of the trailer beside the tractrix of its hitch [rad]", error, 0.02, "trailer")


if __name__ == "__main__":
    finish(main())
