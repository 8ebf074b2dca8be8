"""Sway of a trailer behind a car, beside an own linear single-track model: ``python -m bench.measures.trailer_sway``.

A small sine of the steering wheel sets the trailer swaying. Frequency and damping of the angle between car and
trailer, after that sine, are those of two exponentials that fit it. The own model has car and trailer as two bodies
on three axles, with constant speed, cornering stiffness and pneumatic trail of the tyres at their static loads, and
their relaxation lengths. It knows nothing of roll, springs, camber and steering by the suspension, so the car is
measured with stiff springs too.
"""

import warnings
from dataclasses import replace

import numpy as np
from scipy.linalg import eig
from scipy.optimize import least_squares
from tqdm import tqdm

import rtmbs
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import Car, Spring, Trailer, TwoWheelModel, read
from rtmbs.vehicle.manoeuvres.report import run_open_loop
from rtmbs.vehicle.manoeuvres.steer_inputs import OneSine, held_torque

SIZES = {
    "hitch": (-2.3, 0.0, 0.05), "mass": 900.0, "com": (-2.5, 0.0, 0.2), "inertia": (300.0, 1900.0, 2000.0),
    "wheel_centre": (-2.6, 0.8, -0.1), "stiffness": 6e4, "damping": 4e3,
}  # fmt: skip
SPEEDS = (15.0, 20.0, 25.0)
STABILISER = 2000.0  # [N m s/rad]
CALM, END, H = 1.6, 5.0, 2e-3  # [s] begin of the fit, end, step
STIFFNESS = 5e4  # [N/m] of a spring
SMALL = 1e-3  # [rad] of slip angles for slopes of a tyre


def axle_of(tyre, load):
    """Return cornering stiffness [N/rad], pneumatic trail [m] and relaxation length [m] of a tyre under a load [N]."""
    found = tyre.steady(load=load, slip=0.0, slip_angle=np.array([-SMALL, SMALL]), camber=0.0, speed=20.0)
    stiffness = float(found.Fy[0] - found.Fy[1]) / (2.0 * SMALL)
    moment = float(found.Mz[1] - found.Mz[0]) / (2.0 * SMALL)
    return stiffness, moment / stiffness, float(tyre.relaxation_lengths(load)[1])


def sway_modes(car, rest, speed):
    """Return the eigenvalues of the single-track model with a trailer at a speed [1/s].

    M x' = K x with x = (v, r, rate of the angle, angle, three lateral forces); v is that of the centre of mass.
    """
    trailer = car.options["trailer"]
    alone = TwoWheelModel.of_car(car.changed(trailer=None), rest_of(car.changed(trailer=None)))
    m, Iz, a, b = alone.mass, alone.yaw_inertia, alone.front, alone.rear
    hung = trailer.mass + 2.0 * (trailer.arm_mass + trailer.wheel_mass)
    centre = (
        trailer.mass * trailer.com[0] + 2.0 * (trailer.arm_mass + trailer.wheel_mass) * trailer.wheel_centre[0]
    ) / hung
    d, axle, c = -centre, -trailer.wheel_centre[0], alone.x - trailer.hitch[0]
    moments = np.diag(np.broadcast_to(trailer.inertia, (3,)))[2, 2] + trailer.mass * (trailer.com[0] - centre) ** 2
    unsprung = trailer.arm_mass + trailer.wheel_mass
    moments += 2.0 * unsprung * ((trailer.wheel_centre[0] - centre) ** 2 + trailer.wheel_centre[1] ** 2)
    moments += 2.0 * (trailer.wheel_inertia[0] + trailer.arm_mass * trailer.arm_length**2 / 12.0)
    sim = rest.equilibrium.simulation
    loads = {corner: float(sim[f"tyre_{corner}.force"][2]) for corner in ("fl", "rl", "tl")}
    tyres = {"fl": car.tyres["fl"], "rl": car.tyres["rl"], "tl": car.trailer_tyre}
    (Cf, tf, sf), (Cr, tr, sr), (Ct, tt, st) = (axle_of(tyres[one], load) for one, load in loads.items())
    U = speed
    # rows: lateral and yaw of the car, yaw about the hitch of the trailer, lateral of both; hitch force is eliminated
    M, K = np.zeros((7, 7)), np.zeros((7, 7))
    M[0, :3] = m + hung, -hung * (c + d), -hung * d  # all forces
    K[0, 1], K[0, 4:] = -(m + hung) * U, 1.0
    M[1, :3] = (
        hung * -c,
        Iz + hung * c * (c + d),
        hung * c * d,
    )  # moments about the centre of the car: Y = F3 - hung acc
    K[1, 1], K[1, 4:] = hung * c * U, (a - tf, -b - tr, -c)
    M[2, :3] = -hung * d, moments + hung * d * (c + d), moments + hung * d * d  # of the trailer about the hitch
    K[2, 1], K[2, 6] = hung * d * U, -(axle + tt)
    K[2, 2] = -trailer.hitch_damping
    K[1, 2] += trailer.hitch_damping
    M[3, 3], K[3, 2] = 1.0, 1.0
    slips = ((1.0, a, 0.0, 0.0), (1.0, -b, 0.0, 0.0), (1.0, -c - axle, -axle, -U))  # lateral velocity of the wheels
    for k, (stiffness, length, slip) in enumerate(zip((2 * Cf, 2 * Cr, 2 * Ct), (sf, sr, st), slips, strict=True)):
        M[4 + k, 4 + k] = length / U
        K[4 + k, 4 + k], K[4 + k, :4] = -1.0, -stiffness / U * np.array(slip)
    return eig(K, M, right=False)


def least_damped(values):
    """Return frequency [Hz] and damping ratio of the least damped oscillation."""
    swings = values[np.abs(values.imag) > 0.5]
    one = swings[np.argmax(swings.real)]
    return abs(one) / (2.0 * np.pi), -one.real / abs(one)


def angle_of(result):
    """Return the yaw of the trailer against the car over time [rad]."""
    turns = {name: rotations(result[f"{name}.orientation"]) for name in ("chassis", "trailer")}
    yaw = {name: np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0])) for name, R in turns.items()}
    return yaw["trailer"] - yaw["chassis"]


def fitted(t, angle, guess):
    """Return frequency [Hz] and damping ratio of an oscillation, with an offset, that fits an angle."""

    def rest(x):
        wave = np.exp(x[0] * t) * (x[2] * np.cos(x[1] * t) + x[3] * np.sin(x[1] * t)) + x[4]
        return (wave - angle) / np.max(np.abs(angle))

    frequency, damping = guess
    w = 2.0 * np.pi * frequency
    x = least_squares(rest, (-damping * w, w, angle[0], 0.0, 0.0), x_scale=(1.0, 1.0, 0.01, 0.01, 0.01)).x
    size = float(np.hypot(x[0], x[1]))
    return size / (2.0 * np.pi), -x[0] / size, float(np.sqrt(np.mean(rest(x) ** 2)))


def rest_of(car):
    """Return the rest of a car with straight steering."""
    return car.changed(steer=0.0).rest()


def swaying(car, rest, speed, angle=0.003):
    """Return the Result of a run at a speed with one sine of the steering wheel, throttle held."""
    torque = held_torque(car, speed, H, 1.0, rest)
    return run_open_loop(car, speed, OneSine(0.2, angle, 1.0), torque, rest, END, H)


def measured(car, rest, speed):
    """Return frequency, damping ratio and what is left of the fit, and those of the own model."""
    result, own = swaying(car, rest, speed), least_damped(sway_modes(car, rest, speed))
    late = result["t"] > CALM
    return fitted(result["t"][late] - CALM, angle_of(result)[late], own), own


def stiffened(car, share=40.0):
    """Return a car whose springs are stiffer, with the forces and lengths of its rest: it hardly rolls and steers."""
    sim, axles = rest_of(car).equilibrium.simulation, {}
    for name in ("front", "rear"):
        axle, struts = getattr(car.data, name), []
        for one in axle.struts:
            if isinstance(one.law, Spring):
                spring = f"{one.name}_{name[0]}l"
                ends = [sim[f"{spring}.{end}.position"] for end in "ab"]
                length = float(np.linalg.norm(ends[1] - ends[0]))
                force = float(one.law.force(length))
                one = replace(one, law=Spring(free_length=length, preload=force, stiffness=share * STIFFNESS))
            struts.append(one)
        axles[name] = replace(axle, struts=tuple(struts))
    trailer = replace(car.options["trailer"], stiffness=share * car.options["trailer"].stiffness)
    return Car(car.data._replace(**axles), car.tyres, **(car.options | {"trailer": trailer}))


def towing(**changes):
    """Return the sedan with the trailer."""
    return read("sedan", variant="from_models", trailer=Trailer(**(SIZES | changes)))


def main():
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    head = ("car", "speed m/s", "sway Hz", "single track Hz", "damping ratio", "single track")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    plain, damped = stiffened(towing()), stiffened(towing(hitch_damping=STABILISER))
    cases = [("stiff springs", plain, speed) for speed in SPEEDS]
    cases += [("stiff springs, stabiliser", damped, SPEEDS[-1])]
    cases += [("springs of the data", towing(), speed) for speed in SPEEDS[:2]]
    for name, car, speed in tqdm(cases, disable=None):
        (f, zeta, _), own = measured(car, rest_of(car), speed)
        tqdm.write(f"| {name} | {speed:g} | {f:.4f} | {own[0]:.4f} | {zeta:.4f} | {own[1]:.4f} |")


if __name__ == "__main__":
    main()
