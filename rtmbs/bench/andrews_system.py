"""Andrews' squeezer in the seven angles of the test set for initial value problems, six rows, forces in closed form."""

from math import pi

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.planar_linkage import Arm, LinearSpring, Link, Place, PlanarLinkage
from rtmbs.library.andrews import (
    BETA,
    D_,
    DA,
    DELTA,
    E_,
    EA,
    EPSILON,
    FA,
    GAMMA,
    MASS,
    MOMENT,
    OMEGA,
    PHI,
    RA,
    RR,
    SA,
    SB,
    SC,
    SD,
    SPRING_LENGTH,
    SPRING_STIFFNESS,
    SS,
    TA,
    TB,
    THETA,
    TORQUE,
    UA,
    UB,
    ZF,
    ZT,
    A,
    B,
    C,
    U,
)

Array = NDArray[np.float64]

NAMES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
START = np.array([BETA, THETA, GAMMA, PHI, DELTA, OMEGA, EPSILON])
END = np.array(  # at t = 0.03 s, from the test set
    [
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    ]
)
RIGHT = pi / 2


def along(*names: str) -> tuple[float, ...]:
    """Return the row that adds these angles."""
    return tuple(float(name in names) for name in NAMES)


def andrews_system() -> PlanarLinkage:
    """Return the mechanism without gravity. Arms are at angles from x: (sin a, -cos a) is the arm at a - 90 degrees."""
    b, g = along("beta"), along("gamma")
    bt, pd, oe = along("beta", "Theta"), along("Phi", "delta"), along("Omega", "epsilon")
    de, ep, origin = along("delta"), along("epsilon"), (0.0, 0.0)
    crank = Arm(RR, b)
    e3 = Place(B, (Arm(SS, g, -RIGHT),))
    e2 = Place(origin, (crank, Arm(-D_, bt)))
    e4 = Place(A, (Arm(ZT, de), Arm(E_, pd, -RIGHT)))
    e6 = Place(A, (Arm(U, ep, -RIGHT), Arm(ZF, oe)))
    centers = (
        Place(origin, (Arm(RA, b),)),
        Place(origin, (crank, Arm(-DA, bt))),
        Place(B, (Arm(SA, g, -RIGHT), Arm(SB, g))),
        Place(A, (Arm(ZT, de), Arm(E_ - EA, pd, -RIGHT))),
        Place(A, (Arm(TA, de), Arm(TB, de, RIGHT))),
        Place(A, (Arm(U, ep, -RIGHT), Arm(ZF - FA, oe))),
        Place(A, (Arm(UA, ep, -RIGHT), Arm(-UB, ep))),
    )
    rows = (b, bt, g, pd, de, oe, ep)
    links = [Link(*parts) for parts in zip(centers, MASS, MOMENT, rows, strict=True)]
    spring = LinearSpring(Place(B, (Arm(SC, g, -RIGHT), Arm(SD, g))), Place(C), SPRING_STIFFNESS, SPRING_LENGTH)
    torques = TORQUE * np.array(b)
    return PlanarLinkage(
        7, links, [(e2, e3), (e4, e3), (e6, e3)], springs=[spring], torques=torques, gravity=(0.0, 0.0)
    )
