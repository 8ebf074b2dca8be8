"""TMeasy tyre (Rill): forces from the slopes, peaks and ends of two curves at two loads."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import number, numbers
from rtmbs.vehicle.smooth import at_least, at_most, magnitude
from rtmbs.vehicle.tyre import Tyre, TyreForces, TyreInput

PAIRS = ("dfx0", "fxm", "fxs", "sxm", "sxs", "dfy0", "fym", "fys", "sym", "sys", "nL0", "sq0", "sqe")
SINGLE = ("pn", "pn_max", "R0", "width", "rim_radius", "cz", "dz", "mu0", "rolling_resistance")
BY_PARABOLA = ("dfx0", "fxm", "fxs", "dfy0", "fym", "fys")  # forces and slopes; others are linear in the load
TINY = 1e-30  # under a root: keeps its derivative at zero


class Curve(NamedTuple):
    """A force over slip at one load: slope at zero, peak, and beginning of full sliding."""

    dF0: Any  # [N]
    sM: Any
    FM: Any  # [N]
    sS: Any
    FS: Any  # [N]


class TMeasy(Tyre):
    """TMeasy tyre.

    Parameters
    ----------
    parameters : numbers by name. Pairs are values at the load ``pn`` [N] and at twice that load: ``dfx0``, ``dfy0``
        slopes at zero slip [N]; ``fxm``, ``fym`` peaks [N] at the slips ``sxm``, ``sym``; ``fxs``, ``fys`` forces of
        full sliding [N] from the slips ``sxs``, ``sys`` on; ``nL0`` trail over contact length, ``sq0`` its first
        zero, ``sqe`` its end. Numbers are ``pn_max`` largest load of the curves [N], ``R0`` free radius, ``width``,
        ``rim_radius`` [m], ``cz``, ``dz`` vertical stiffness and damping [N/m, N s/m], ``mu0`` friction that the
        curves hold for, and ``rolling_resistance``.
    relaxation_length : longitudinal and lateral [m], of ``add_tyre``

    Raises ModelError for a parameter that is missing, unknown or impossible.
    """

    kind: ClassVar[str] = "TMeasy"

    def __init__(self, parameters: Mapping[str, Any], *, relaxation_length: Sequence[float] = (0.3, 0.3)) -> None:
        known = (*PAIRS, *SINGLE)
        if missing := [name for name in known if name not in parameters]:
            raise ModelError(f"tyre: {', '.join(missing)} is missing; TMeasy needs every number of it")
        if unknown := [name for name in parameters if name not in known]:
            raise ModelError(f"tyre: there is no parameter named {shown(unknown[0])} of TMeasy; there are {known}")
        self.pairs = {name: numbers(parameters[name], f"tyre: {name}", (2,)) for name in PAIRS}
        values = {name: number(parameters[name], f"tyre: {name}") for name in SINGLE}
        for name, value in values.items():
            if value < 0.0 or (value == 0.0 and name not in ("dz", "rolling_resistance")):
                raise ModelError(f"tyre: {name} is {value:g}; it must be above zero")
        self.nominal_load, self.largest_load = values["pn"], values["pn_max"]
        self.free_radius, self.width, self.mu0 = values["R0"], values["width"], values["mu0"]
        self.vertical_stiffness, self.vertical_damping = values["cz"], values["dz"]
        self.rolling_resistance = values["rolling_resistance"]
        self.lengths = tuple(numbers(relaxation_length, "tyre: relaxation_length", (2,)).tolist())

    def at_load(self, name: str, load: Any) -> Any:
        """Return a parameter at a load: forces by a parabola through zero, the others linear."""
        q = at_most(load, self.largest_load) / self.nominal_load
        one, two = self.pairs[name]
        if name in BY_PARABOLA:
            return q * (2.0 * one - 0.5 * two - (one - 0.5 * two) * q)
        return one + (two - one) * (q - 1.0)

    def forces(self, at: TyreInput) -> TyreForces:
        """Return force and moment; the slips are slip and -tan(slip_angle)."""
        return self.of_slips(at, at.slip, -np.tan(at.slip_angle))

    def of_slips(self, at: TyreInput, sx: Any, sy: Any) -> TyreForces:
        """Return force and moment of the slips (sx, sy), which point as the force does."""
        Fx, Fy = self.tangential(at.load, sx, sy, at.friction)
        n = self.trail_share(at.load, sy)
        length = 2.0 * np.sqrt(self.free_radius * at.load / self.vertical_stiffness + 1e-12)
        Mx = -(self.width**2) * self.vertical_stiffness / 12.0 * at.camber + 0.0 * Fy
        My = -self.rolling_resistance * self.free_radius * at.load * at.forward
        return TyreForces(Fx, Fy, Mx, My, -Fy * length * n * at.forward)

    def tangential(self, load: Any, sx: Any, sy: Any, friction: Any = 1.0) -> tuple[Any, Any]:
        """Return Fx and Fy [N] of the slips by the curve in their direction."""
        s = np.sqrt(sx * sx + sy * sy + TINY)
        cos, sin = sx / s, sy / s
        curve = self.curve(load, cos * cos, sin * sin, friction)
        F = force_of_slip(curve, s)
        return F * cos, F * sin

    def curve(self, load: Any, cos2: Any, sin2: Any, friction: Any) -> Curve:
        """Return the curve in the direction with these squares of cosine and sine."""

        def between(x: str, y: str) -> Any:
            one, two = self.at_load(x, load), self.at_load(y, load)
            return np.sqrt(one * one * cos2 + two * two * sin2 + TINY)

        dF0, sM, FM = between("dfx0", "dfy0"), between("sxm", "sym") * friction, between("fxm", "fym") * friction
        sS, FS = between("sxs", "sys") * friction, between("fxs", "fys") * friction
        return Curve(at_least(dF0, 2.0 * FM / sM), sM, FM, sS, FS)

    def trail_share(self, load: Any, sy: Any) -> Any:
        """Return the pneumatic trail over the contact length."""
        n0, s0, sE = (self.at_load(name, load) for name in ("nL0", "sq0", "sqe"))
        s, w = magnitude(sy), s0 / sE
        x = at_most(s / s0, 1.0)
        near = (1.0 - w) * n0 * (1.0 - x) + w * n0 * (1.0 - (3.0 - 2.0 * x) * x * x)
        y = at_most(at_least(s, s0), sE)
        far = -n0 * (1.0 - w) * ((y - s0) / s0) * ((sE - y) / (sE - s0)) ** 2
        return np.where(s.real <= s0.real, near, far)

    def relaxation_lengths(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the given relaxation lengths [m]."""
        return self.lengths[0], self.lengths[1]

    def stiffnesses(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the slopes at zero slip [N]."""
        return self.at_load("dfx0", load), self.at_load("dfy0", load)

    def peaks(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the peaks [N]."""
        return self.at_load("fxm", load), self.at_load("fym", load)


def force_of_slip(curve: Curve, s: Any) -> Any:
    """Return the force of a slip ``s`` >= 0: a fraction up to the peak, two parabolas or a cubic down to sliding."""
    dF0, sM, FM, sS, FS = curve
    x = at_most(s, sM) / sM
    rising = dF0 * x * sM / (1.0 + x * (x + dF0 * sM / FM - 2.0))
    y = at_most(at_least(s, sM), sS)
    a = (FM / sM) ** 2 / (dF0 * sM)
    bend = sM + (FM - FS) / (a * (sS - sM))
    inside = bend.real <= sS.real
    kept = np.where(inside, bend, sM + 0.5 * (sS - sM))  # keeps the side that is not taken finite
    b = a * (kept - sM) / at_least(sS - kept, 1e-12)
    parabolas = np.where(y.real <= kept.real, FM - a * (y - sM) ** 2, FS + b * (sS - y) ** 2)
    z = (y - sM) / (sS - sM)
    cubic = FM - (FM - FS) * z * z * (3.0 - 2.0 * z)
    return np.where(s.real <= sM.real, rising, np.where(inside, parabolas, cubic))
