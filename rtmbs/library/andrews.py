"""IFToMM benchmark A03: Andrews' squeezing mechanism, seven planar bodies driven by a constant torque.

Source: the benchmark's numbers as printed by Hairer and Wanner (Solving Ordinary Differential Equations II, VII.7) and
by the library of computational multibody benchmarks. Lengths in m, masses in kg, angles in rad. No gravity.
Bodies 1, 3, 5 and 7 turn about O, B and A on ground; bodies 2, 4 and 6 lead from them to the common point E.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.library.shapes import add_planar_body
from rtmbs.model import Model, Motor, Revolute, SpringDamper

Array = NDArray[np.float64]

Z = (0.0, 0.0, 1.0)
TORQUE = 0.033  # [N m] on body 1
STEP = 5e-5  # [s]: body 1 turns 15 times in the first 0.05 s

MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
MOMENT = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)  # about the mass centres [kg m^2]

A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
SPRING_STIFFNESS, SPRING_LENGTH = 4530.0, 0.07785  # c0, l0

D_, DA, E_, EA = 0.028, 0.0115, 0.02, 0.01421
RR, RA = 0.007, 0.00092
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, ZT = 0.02308, 0.00916, 0.04
U, UA, UB = 0.04, 0.01228, 0.00449
ZF, FA = 0.02, 0.01421

BETA, THETA, GAMMA = -0.0617138900142764, 0.0, 0.455279819163070
PHI, DELTA, OMEGA, EPSILON = 0.222668390165886, 0.487364979543843, -0.222668390165886, 1.23054744454982


def andrews(torque: float = TORQUE) -> Model:
    """Return the mechanism at rest in its initial pose, in the plane XY.

    Names: ``body_1`` .. ``body_7``; joints O, F, B, A5, G, A7, H and the cuts E2, E4, E6 to body 3; force ``torque`` on
    joint O, ``spring`` from D (body 3) to C (ground). Coordinates are zero in the initial pose; beta is the angle of O,
    Theta the angle of F.

    Parameters
    ----------
    torque : float, default 0.033
        Torque of the motor on joint O [N m].

    Returns
    -------
    Model
        The mechanism.
    """
    model = Model("Andrews' squeezing mechanism", gravity=(0.0, 0.0, 0.0), h=STEP)
    points = initial_points()
    for i, (joint, center) in enumerate(zip("OFBGAHA", mass_centers(points), strict=True)):
        add_planar_body(model, f"body_{i + 1}", _in_space(points[joint]), _in_space(center), MASS[i], MOMENT[i])

    for name, a, b in (
        ("O", "ground", "body_1"),
        ("F", "body_1", "body_2"),
        ("B", "ground", "body_3"),
        ("A5", "ground", "body_5"),
        ("G", "body_5", "body_4"),
        ("A7", "ground", "body_7"),
        ("H", "body_7", "body_6"),
    ):
        model.add_joint(name, Revolute(axis=Z), a, b, point=_in_space(points[name[0]]))
    for i in (2, 4, 6):
        model.add_joint(f"E{i}", Revolute(axis=Z), f"body_{i}", "body_3", point=_in_space(points["E"]), cut=True)

    model.add_force("torque", Motor(torque), joint="O")
    c = model.add_marker("C", model.ground, point=_in_space(points["C"]))
    d = model.add_marker("D", "body_3", point=_in_space(points["D"]))
    model.add_force("spring", SpringDamper(SPRING_STIFFNESS, length=SPRING_LENGTH), between=(c, d))
    return model


def initial_points() -> dict[str, Array]:
    """Return the named points of the initial pose, (2,) each [m]. E is reached from body 3."""
    a, b = np.array(A), np.array(B)
    f = RR * _unit(BETA)
    down = _down(GAMMA)
    return {
        "O": np.zeros(2),
        "A": a,
        "B": b,
        "C": np.array(C),
        "D": b + SC * down + SD * _unit(GAMMA),
        "E": b + SS * down,
        "F": f,
        "G": a + ZT * _unit(DELTA),
        "H": a + U * _down(EPSILON),
    }


def mass_centers(points: dict[str, Array]) -> list[Array]:
    """Return the mass centres of bodies 1 .. 7 in the initial pose, (2,) each [m]."""
    a, b = points["A"], points["B"]
    return [
        RA * _unit(BETA),
        points["F"] - DA * _unit(BETA + THETA),
        b + SA * _down(GAMMA) + SB * _unit(GAMMA),
        points["G"] + (E_ - EA) * _down(PHI + DELTA),
        a + TA * _unit(DELTA) + TB * _left(_unit(DELTA)),
        points["H"] + (ZF - FA) * _unit(OMEGA + EPSILON),
        a + UA * _down(EPSILON) - UB * _left(_down(EPSILON)),
    ]


def _unit(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])


def _down(angle: float) -> Array:
    return np.array([np.sin(angle), -np.cos(angle)])


def _left(vector: Array) -> Array:
    return np.array([-vector[1], vector[0]])


def _in_space(point: Array) -> tuple[float, float, float]:
    return (float(point[0]), float(point[1]), 0.0)
