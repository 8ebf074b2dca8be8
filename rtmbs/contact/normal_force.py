"""Normal force of compliant contact: Hunt and Crossley's law, Hertz's among them, and its restitution."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Numbers, number

NEARLY_ONE = 1e-4  # of a restitution: below it 1 - 2 c v / 3 is exact enough, and differences lose digits


@dataclass(frozen=True)
class NormalForce:
    """Force N = k d^e (1 + c d') of the penetration d, never below zero (Hunt and Crossley 1975).

    Parameters
    ----------
    stiffness : float
        k [N/m^e, N m/rad^e].
    exponent : float, default 1.0
        e: 1.5 is Hertz's for balls and bars, 1 a linear spring.
    dissipation : float, default 0.0
        c [s/m, s/rad]: at an impact of small speed v the restitution is 1 - 2 c v / 3, for any mass, k and e.
        ``dissipation_for`` gives it from a restitution.

    Raises
    ------
    ModelError
        For a stiffness that is not positive, an exponent below 1 and a negative dissipation.
    """

    stiffness: float
    exponent: float = 1.0
    dissipation: float = 0.0

    def __call__(self, depth: Any, rate: Any) -> Any:
        """Return the force [N] at a penetration [m] that grows with ``rate`` [m/s]."""
        d = np.maximum(depth, 0.0)
        spring = self.stiffness * (d if self.exponent == 1.0 else d**self.exponent)
        return spring * np.maximum(1.0 + self.dissipation * rate, 0.0)

    def slope(self, depth: float) -> float:
        """Return the stiffness dN/dd at rest [N/m]."""
        return self.exponent * self.stiffness * depth ** (self.exponent - 1.0)


def checked_normal_force(what: str, stiffness: Numbers, exponent: Numbers, dissipation: Numbers) -> NormalForce:
    """Return a checked law; ``what`` begins the sentence of an error."""
    k, e = number(stiffness, f"{what}: stiffness"), number(exponent, f"{what}: exponent")
    c = number(dissipation, f"{what}: dissipation")
    if k <= 0.0:
        raise ModelError(f"{what}: stiffness is {k:g}; it must be above zero")
    if e < 1.0:
        raise ModelError(f"{what}: exponent is {e:g}; it must be 1 or more, for a smooth beginning of contact")
    if c < 0.0:
        raise ModelError(f"{what}: dissipation is {c:g}; it must be zero or more, for contact takes energy")
    return NormalForce(k, e, c)


def dissipation_for(restitution: Numbers, speed: Numbers) -> float:
    """Return the dissipation c [s/m] that gives a coefficient of restitution at an impact speed.

    A free impact of speed v ends with e v. With N = k d^n (1 + c d') the equation of motion separates, and x = c v is
    the root of x - ln(1 + x) = -e x - ln(1 - e x), the same for every mass, stiffness and exponent (Marhefka and Orin
    1999, Eq. 27). Slower impacts have a larger restitution.

    Parameters
    ----------
    restitution : float
        Speed after the impact over speed before it, above 0 and at most 1.
    speed : float
        Speed of the impact v [m/s].

    Returns
    -------
    float
        Dissipation c [s/m].

    Raises
    ------
    ModelError
        For a restitution out of range, and for a speed that is not positive.

    Examples
    --------
    >>> round(rtmbs.contact.dissipation_for(0.9, 1.0), 4)
    0.1665
    """
    e, v = number(restitution, "restitution"), number(speed, "speed")
    if not 0.0 < e <= 1.0:
        raise ModelError(f"restitution is {e:g}; it must be above 0 and at most 1 (a compliant contact always parts)")
    if v <= 0.0:
        raise ModelError(f"speed is {v:g}; it must be above zero")
    if 1.0 - e < NEARLY_ONE:
        return 1.5 * (1.0 - e) / v

    def left(x: float) -> float:
        return x - float(np.log1p(x)) + e * x + float(np.log1p(-e * x))

    from scipy.optimize import brentq  # it takes long to load

    most = (1.0 - 1e-15) / e
    return (most if left(most) > 0.0 else float(brentq(left, NEARLY_ONE, most, xtol=1e-15))) / v
