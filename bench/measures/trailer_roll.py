"""Sway of a trailer beside an own linear model with roll: ``python -m bench.measures.trailer_roll``.

The coordinates are lateral displacement, yaw and roll of the car, travels of both axles, left wheel up and right wheel
down, and yaw, roll and travel of the trailer. Each axle has a filtered slip angle. Curves of the axles are those of the
rig, tyres have their slopes at the static loads, camber and toe. Four copies of the model lack one effect each, which
tells what takes the damping that the single-track model has.
"""

import argparse
import warnings

import numpy as np
from scipy.linalg import eig

import rtmbs
from bench.measures.trailer_sway import SPEEDS, least_damped, measured, rest_of, stiffened, towing
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import rig

NAMES = ("y", "psi", "phi", "front", "rear", "theta", "sway", "arms")  # the last three of the trailer
LACKS = ("", "roll steer", "roll camber", "load transfer at toe", "gyroscopic torques")
DZ = 2e-3  # [m] of travels for second derivatives
EPS = {"slip_angle": 1e-3, "camber": 1e-3, "load": 50.0}


def row(**values):
    """Return a linear function of the coordinates (8,)."""
    found = np.zeros(len(NAMES))
    for name, value in values.items():
        found[NAMES.index(name)] = value
    return found


def quad(**values):
    """Return the second derivatives of a sum of products such as ``phi__front``."""
    H = np.zeros((len(NAMES), len(NAMES)))
    for names, value in values.items():
        a, b = (NAMES.index(one) for one in names.split("__"))
        H[a, b] += value
        H[b, a] += value
    return H


def slopes(tyre, load, slip_angle, camber, speed):
    """Return derivatives of Fy and Mz by slip angle, camber and load, and of Mx by the first two."""
    at = {"load": load, "slip_angle": slip_angle, "camber": camber}

    def force(**changes):
        found = tyre.steady(**(at | changes), slip=0.0, speed=speed)
        return np.array([float(found.Fy), float(found.Mz), float(found.Mx)])

    return {
        name: (force(**{name: at[name] + e}) - force(**{name: at[name] - e})) / (2.0 * e) for name, e in EPS.items()
    }


class Equations:
    """M q'' + D q' + K q = sum of F s, length / U s' + s = slip angle; built by adding parts."""

    def __init__(self, speed):
        n = len(NAMES)
        self.M, self.D, self.K, self.U = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), speed
        self.tyres = []  # generalised force by the filtered slip, slip by q, by q', relaxation length

    def mass(self, mass, *rows):
        """Add a mass with displacements."""
        for one in rows:
            self.M += mass * np.outer(one, one)

    def spin(self, momentum, roll, yaw):
        """Add the gyroscopic torques of a wheel with an angular momentum to the left."""
        self.D += momentum * (np.outer(yaw, roll) - np.outer(roll, yaw))

    def axle(self, tyre, where, static, lack):
        """Add both tyres of an axle: ``where`` has contact, heading, inclination, deflection and roll of the wheel."""
        load, toe, camber, k, damping = static
        contact, heading, roll, rise = where
        found = slopes(tyre, load, -toe, camber, self.U)
        if lack == "roll camber":
            found["camber"] = 0.0 * found["camber"]
        if lack == "load transfer at toe":
            found["load"] = 0.0 * found["load"]
        force = 2.0 * np.stack([contact, heading, roll])  # of both wheels: Fy, Mz, Mx
        self.tyres.append(
            (found["slip_angle"] @ force, -heading, contact / self.U, float(tyre.relaxation_lengths(load)[1]))
        )
        self.K -= np.outer(found["camber"] @ force, roll) - np.outer(found["load"] @ force, k * rise)
        self.K += 2.0 * k * np.outer(rise, rise)
        self.D += 2.0 * damping * np.outer(rise, rise)

    def eigenvalues(self):
        """Return the eigenvalues [1/s]."""
        n, m = len(NAMES), len(self.tyres)
        A, B = np.eye(2 * n + m), np.zeros((2 * n + m, 2 * n + m))
        A[n : 2 * n, n : 2 * n] = self.M
        B[:n, n : 2 * n] = np.eye(n)
        B[n : 2 * n, :n], B[n : 2 * n, n : 2 * n] = -self.K, -self.D
        for j, (force, by_q, by_rate, length) in enumerate(self.tyres):
            B[n : 2 * n, 2 * n + j] = force
            A[2 * n + j, 2 * n + j] = length / self.U
            B[2 * n + j, 2 * n + j] = -1.0
            B[2 * n + j, :n], B[2 * n + j, n : 2 * n] = by_q, by_rate
        return eig(B, A, right=False)


def add_axle(eq, car, sim, axle, lack):
    """Add an axle of the car: its wheels, springs, dampers and tyres."""
    g, letter = 9.81, axle[0]
    corner, q = f"{letter}l", axle
    R, x0 = rotations(sim["chassis.orientation"]), sim["chassis.position"]
    here = R.T @ (sim[f"wheel_{corner}.position"] - x0)
    design = car.axle(letter).wheel_centre
    z = float(here[2] - design[2])
    at = rig(car, axle, "bump", values=np.unique((min(z, 0.0) - DZ, z - DZ, z, z + DZ, 0.0, max(z, 0.0) + DZ))).left
    k = int(np.argmin(np.abs(at.z - z)))
    rate = {name: float(values[k]) for name, values in at.rates.items()}
    height, half, x = float(sim[f"wheel_{corner}.position"][2]), float(here[1]), float(here[0])
    zw, pitch = height - float(x0[2]), float(np.arcsin(-R[2, 0]))
    roll = row(phi=1.0, **{q: rate["camber"]})
    turn = 0.0 if lack == "roll steer" else rate["toe"]
    heading = row(psi=1.0, **{q: turn})
    centre = row(y=1.0, psi=x, phi=-zw, **{q: rate["y"]})
    contact = centre + height * roll
    along = row(psi=-half, **{q: rate["x"] + pitch})
    up = row(phi=half, **{q: 1.0})
    mass, moment = carried(car, corner)
    eq.mass(2.0 * mass, centre, along, up)
    eq.mass(2.0 * moment[0], roll, heading)
    wheel = car.tyres[corner]
    load = float(sim[f"tyre_{corner}.force"][2])
    spin = eq.U / wheel.effective_radius(load, height)
    if lack != "gyroscopic torques":
        eq.spin(2.0 * moment[1] * spin, roll, heading)
    # second-order heights: of the centre phi y' q - phi^2 zw / 2, and of the lowest point height roll^2 / 2 more
    second = quad(**{f"phi__{q}": 2.0 * rate["y"]}) - quad(phi__phi=zw)
    lower = 2.0 * height * np.outer(roll, roll)
    eq.K += mass * g * second - load * (second + lower)
    for strut in car.axle(letter).struts:
        lengths, slope = at.lengths[strut.name], rate[strut.name]
        bend = (at.rates[strut.name][k + 1] - at.rates[strut.name][k - 1]) / (at.z[k + 1] - at.z[k - 1])
        law, length = strut.law, float(lengths[k])
        travel = row(**{q: 1.0})
        if hasattr(law, "stiffness"):
            e = 1e-6
            stiffness = -(law.force(length + e) - law.force(length - e)) / (2.0 * e)
            eq.K += 2.0 * (stiffness * slope**2 - float(law.force(length)) * bend) * np.outer(travel, travel)
        else:
            eq.D += 2.0 * law.damping * slope**2 * np.outer(travel, travel)
    toe, camber = np.arctan2(*turned(car, sim, corner, R)), tilt(car, sim, corner)
    eq.axle(wheel, (contact, heading, roll, up), (load, toe, camber, *vertical(wheel)), lack)


def vertical(tyre):
    """Return vertical stiffness and damping of a tyre."""
    return float(tyre.vertical_stiffness), float(tyre.vertical_damping)


def turned(car, sim, corner, R):
    """Return sine and cosine of the toe of a wheel."""
    n = R.T @ rotations(sim[f"wheel_{corner}.orientation"]) @ car.spin_axis(corner)
    return -n[0], n[1]


def tilt(car, sim, corner):
    """Return the camber of a wheel."""
    return float(np.arcsin((rotations(sim[f"wheel_{corner}.orientation"]) @ car.spin_axis(corner))[2]))


def carried(car, corner):
    """Return the mass that moves with a wheel, and the inertia of the wheel about a diameter and its axis."""
    bodies, mass = car.bodies, 0.0
    for name, body in bodies.items():
        if name.endswith(f"_{corner}") and body.mass > 0.0:
            mass += body.mass * (1.0 if name.startswith(("wheel", "upright")) else 0.5)
    wheel = bodies[f"wheel_{corner}"].inertia
    return mass, (float(wheel[0, 0]), float(wheel[1, 1]))


def roll_modes(car, rest, speed, lack=""):
    """Return the eigenvalues of the model with roll [1/s]."""
    eq, sim, g = Equations(speed), rest.equilibrium.simulation, 9.81
    R, chassis = rotations(sim["chassis.orientation"]), car.data.chassis
    zs, xs = float(R[2] @ chassis.com), float(np.hypot(R[0, 0], R[1, 0]) * chassis.com[0])
    rest_mass = sum(body.mass for name, body in car.bodies.items() if "_t" not in name and name != "trailer")
    sprung = rest_mass - 2.0 * (carried(car, "fl")[0] + carried(car, "rl")[0])
    eq.mass(sprung, row(y=1.0, psi=xs, phi=-zs))
    eq.mass(float(chassis.inertia[0, 0]), row(phi=1.0))
    eq.mass(float(chassis.inertia[2, 2]), row(psi=1.0))
    eq.K -= quad(phi__phi=0.5 * sprung * g * zs)
    for axle in ("front", "rear"):
        add_axle(eq, car, sim, axle, lack)
    add_trailer(eq, car, sim, lack)
    return eq.eigenvalues()


def add_trailer(eq, car, sim, lack):
    """Add the trailer behind its ball."""
    trailer, g = car.options["trailer"], 9.81
    R, x0 = rotations(sim["chassis.orientation"]), sim["chassis.position"]
    arm = R @ np.asarray(trailer.hitch)
    xh, zh = float(np.linalg.norm(arm[:2])) * np.sign(trailer.hitch[0]), float(arm[2])
    ball = x0 + arm
    T = rotations(sim["trailer.orientation"])
    tilted = float(np.arcsin(-T[2, 0]))  # pitch, nose down
    c, s = np.cos(tilted), np.sin(tilted)
    com = np.array([c * trailer.com[0] + s * trailer.com[2], 0.0, -s * trailer.com[0] + c * trailer.com[2]])
    hitch = {"y": 1.0, "psi": xh, "phi": -zh}
    inertia = np.broadcast_to(trailer.inertia, (3,))
    eq.mass(trailer.mass, row(**hitch, theta=com[0], sway=-com[2]))
    eq.mass(float(inertia[0]), row(sway=1.0))
    eq.mass(float(inertia[2]), row(theta=1.0))
    wheel, half = sim["wheel_tl.position"] - ball, trailer.wheel_centre[1]
    x, zw = -float(np.sqrt(wheel[:2] @ wheel[:2] - half * half)), float(wheel[2])
    height = float(sim["wheel_tl.position"][2])
    mass, roll, heading = trailer.wheel_mass + trailer.arm_mass, row(sway=1.0), row(theta=1.0)
    centre, up = row(**hitch, theta=x, sway=-zw), row(sway=half, arms=1.0)
    across, along = trailer.wheel_inertia
    eq.mass(2.0 * mass, centre, row(theta=-half), up)
    eq.mass(2.0 * across, roll, heading)
    tyre, load = car.trailer_tyre, float(sim["tyre_tl.force"][2])
    if lack != "gyroscopic torques":
        eq.spin(2.0 * along * eq.U / tyre.effective_radius(load, height), roll, heading)
    own = quad(sway__sway=-zw)
    eq.K += (mass * g - load) * own - load * 2.0 * height * np.outer(roll, roll)
    eq.K -= quad(sway__sway=0.5 * trailer.mass * g * com[2])
    held = (trailer.mass + 2.0 * mass) * g - 2.0 * load  # on the ball
    eq.K -= held * quad(phi__phi=0.5 * zh)
    travel = row(arms=1.0)
    eq.K += 2.0 * trailer.stiffness * np.outer(travel, travel)
    eq.D += 2.0 * trailer.damping * np.outer(travel, travel)
    turn = row(theta=1.0, psi=-1.0)
    eq.D += trailer.hitch_damping * np.outer(turn, turn)
    eq.axle(tyre, (centre + height * roll, heading, roll, up), (load, 0.0, 0.0, *vertical(tyre)), lack)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speeds", type=float, nargs="*", default=(10.0, *SPEEDS))
    speeds = parser.parse_args().speeds
    warnings.simplefilter("ignore", rtmbs.RtmbsWarning)
    head = ("car", "speed m/s", "sway Hz", "with roll Hz", "damping ratio", "with roll")
    head += (*(f"without {one}" for one in LACKS[1:]), "single track")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name, car in (("stiff springs", stiffened(towing())), ("springs of the data", towing())):
        rest = rest_of(car)
        for speed in speeds:
            own = [least_damped(roll_modes(car, rest, speed, lack)) for lack in LACKS]
            (f, zeta, _), single = measured(car, rest, speed)
            ratios = " | ".join(f"{one[1]:.4f}" for one in own)
            print(f"| {name} | {speed:g} | {f:.4f} | {own[0][0]:.4f} | {zeta:.4f} | {ratios} | {single[1]:.4f} |")


if __name__ == "__main__":
    main()
