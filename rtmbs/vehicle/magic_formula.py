"""Magic Formula tyre PAC2002 / MF-Tyre 5.2: steady forces and moments, relaxation lengths, and its ``.tir`` files.

Equations and coefficient names are those of Pacejka, Tyre and Vehicle Dynamics, and of the Adams/Tyre manual; see
docs/vehicle.md. Turn slip is left out: its factors zeta are 1.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from rtmbs.core.files import DamagedFile, text
from rtmbs.errors import ModelError, nearest_names, shown
from rtmbs.model.checks import as_floats
from rtmbs.vehicle.tyre import Tyre, TyreForces, TyreInput, at_least, at_most, magnitude, sign

LARGEST = 1e6  # bytes of a file; usual are 10 kB
FITTYPES = (6, 21)  # both are MF-Tyre 5.2
FORMATS = ("PAC2002", "MF-TYRE", "MF_05", "MFTYRE")
SIDES = ("LEFT", "RIGHT", "SYMMETRIC", "UNKNOWN")
REQUIRED = ("FNOMIN", "UNLOADED_RADIUS", "PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1", "PKY2")
POSITIVE = ("FNOMIN", "UNLOADED_RADIUS", "LONGVL", "VXLOW", "LFZO", "LMUX", "LMUY", "LKY", "PCX1", "PCY1")


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


def numbered(pattern: str) -> tuple[str, ...]:
    """Return names such as PCX1 PDX1 PDX2 PDX3 of ``PCX1 PDX1-3``."""
    found = []
    for word in pattern.split():
        stem, first, last = re.fullmatch(r"([A-Z]+)(\d+)(?:-(\d+))?", word).groups()  # type: ignore[union-attr]
        found += [f"{stem}{k}" for k in range(int(first), int(last or first) + 1)]
    return tuple(found)


SCALES = words(
    "LFZO LCX LMUX LEX LKX LHX LVX LGAX LCY LMUY LEY LKY LHY LVY LGAY LTR LRES LGAZ LXAL LYKA LVYKA LS LSGKP LSGAL "
    "LMX LVMX LMY LCZ LIP"
)
COEFFICIENTS = numbered(
    "PCX1 PDX1-3 PEX1-4 PKX1-3 PHX1-2 PVX1-2 PPX1-4 PTX1-3 PCY1 PDY1-3 PEY1-4 PKY1-3 PHY1-3 PVY1-4 PPY1-4 PTY1-2 "
    "RBX1-2 RCX1 REX1-2 RHX1 RBY1-3 RCY1 REY1-2 RHY1-2 RVY1-6 QSX1-3 QSY1-4 "
    "QBZ1-5 QBZ9-10 QCZ1 QDZ1-4 QDZ6-9 QEZ1-5 QHZ1-4 QPZ1-2 SSZ1-4"
)
LEFT_OUT = (  # known coefficients and scale factors that MagicFormula does not use
    *numbered("PTX4 PTY3 QSX4-11 QSY5-8 QPX1 QTZ1 PECP1-2 PDXP1-3 PKYP1 PDYP1-4 PHYP1-4 QDTP1 QCRP1-2 QBRP1 QDRP1-2"),
    *words("MBELT LGYR LKG BOTTOMING_RADIUS BOTTOMING_STIFFNESS DYNAMIC_STIFFNESS DYNAMIC_DAMPING"),
)
FACTORS_LEFT_OUT = ("LGYR", "LKG")  # 1 means nothing
DIMENSIONS: dict[str, tuple[int, int, int, int]] = {  # powers of length, force, time, angle
    **dict.fromkeys(("UNLOADED_RADIUS", "WIDTH", "RIM_RADIUS", "RIM_WIDTH", "BOTTOMING_RADIUS"), (1, 0, 0, 0)),
    **dict.fromkeys(("LONGVL", "VXLOW"), (1, 0, -1, 0)),
    **dict.fromkeys(("FNOMIN", "FZMIN", "FZMAX"), (0, 1, 0, 0)),
    **dict.fromkeys(("VERTICAL_STIFFNESS", "BOTTOMING_STIFFNESS", "DYNAMIC_STIFFNESS"), (-1, 1, 0, 0)),
    **dict.fromkeys(("VERTICAL_DAMPING", "DYNAMIC_DAMPING"), (-1, 1, 1, 0)),
    **dict.fromkeys(("ALPMIN", "ALPMAX", "CAMMIN", "CAMMAX"), (0, 0, 0, 1)),
    **dict.fromkeys(("IP", "IP_NOM"), (-2, 1, 0, 0)),
}
OTHERS = words(  # keys of which MagicFormula takes BREFF, DREFF, FREFF, FITTYP and the format only
    "FITTYP USE_MODE ASPECT_RATIO KPUMIN KPUMAX BREFF DREFF FREFF FE_METHOD PROPERTY_FILE_FORMAT TYPE TYRESIDE "
    "FUNCTION_NAME USER_SUB_ID N_TIRE_STATES COMMENT MASS IXX IYY IZZ GRAVITY TREAD_DEPTH LOADED_RADIUS "
    "MFSAFE1 MFSAFE2 MFSAFE3 CONTACT_MODEL SWITCH_INTEG"
)
WORDS = ("PROPERTY_FILE_FORMAT", "TYPE", "TYRESIDE", "FUNCTION_NAME", "FE_METHOD", "COMMENT", "CONTACT_MODEL")
KNOWN = frozenset((*SCALES, *COEFFICIENTS, *LEFT_OUT, *DIMENSIONS, *OTHERS))
USED_OTHERS = {"BREFF": 0.0, "DREFF": 0.0, "FREFF": 0.0, "VERTICAL_STIFFNESS": 0.0, "VERTICAL_DAMPING": 0.0}
USED_OTHERS |= {"LONGVL": 15.0, "VXLOW": 1.0, "IP": 0.0, "IP_NOM": 0.0, "FNOMIN": 0.0, "UNLOADED_RADIUS": 0.0}
UNITS = {
    "LENGTH": {"m": 1.0, "meter": 1.0, "metre": 1.0, "mm": 1e-3, "millimeter": 1e-3, "cm": 1e-2, "centimeter": 1e-2,
               "km": 1e3, "inch": 0.0254, "foot": 0.3048},
    "FORCE": {"n": 1.0, "newton": 1.0, "kn": 1e3, "kilonewton": 1e3, "kilogram_force": 9.80665, "kgf": 9.80665,
              "pound_force": 4.4482216152605, "lbf": 4.4482216152605},
    "TIME": {"s": 1.0, "sec": 1.0, "second": 1.0, "ms": 1e-3, "millisecond": 1e-3, "min": 60.0, "minute": 60.0},
    "ANGLE": {"rad": 1.0, "radian": 1.0, "deg": np.pi / 180.0, "degree": np.pi / 180.0},
    "MASS": {"kg": 1.0, "kilogram": 1.0, "g": 1e-3, "gram": 1e-3, "tonne": 1e3, "pound_mass": 0.45359237},
}  # fmt: skip


class Coefficients:
    """Coefficients of PAC2002 as attributes: what was not given is 0, a scale factor 1."""

    def __init__(self, given: Mapping[str, float], side: str) -> None:
        self.given, self.side = dict(given), side
        defaults = dict.fromkeys(COEFFICIENTS, 0.0) | dict.fromkeys(SCALES, 1.0) | USED_OTHERS
        self.__dict__.update({name: float(given.get(name, value)) for name, value in defaults.items()})

    def __getattr__(self, name: str) -> float:  # for type checkers: all are set above
        raise AttributeError(name)

    def left_out(self) -> tuple[str, ...]:
        """Return the names of given coefficients that are not used, and that would change something."""
        neutral = {name: 1.0 if name in FACTORS_LEFT_OUT else 0.0 for name in LEFT_OUT}
        return tuple(name for name in LEFT_OUT if self.given.get(name, neutral[name]) != neutral[name])


class Line(NamedTuple):
    """One ``KEY = value`` of a file."""

    section: str
    key: str
    value: str
    number: int


def read_tir(path: str | os.PathLike[str]) -> Coefficients:
    """Return the coefficients of a ``.tir`` file in SI units.

    Raises ModelError naming the file, the line and what is wrong: a key that is missing, doubled or unknown, an
    unknown unit, another FITTYP.
    """
    what = f"tyre file {shown(str(path))}"
    try:
        content = text(path, LARGEST)
    except DamagedFile as error:
        raise ModelError(f"{what} {error}") from None
    units = dict.fromkeys(UNITS, 1.0)
    values: dict[str, Any] = {}
    seen: dict[str, int] = {}
    for section, key, value, number in lines_of(content, what):
        place = f"{what}, line {number}"
        if section == "UNITS":
            units[key] = unit(place, key, value)
            continue
        if section in ("MDI_HEADER", "SHAPE"):
            continue
        if key in seen:
            raise ModelError(f"{place}: {key} stands in line {seen[key]} too; it must stand once")
        seen[key] = number
        if key not in KNOWN:
            raise ModelError(f"{place}: {unknown_key(key)}")
        values[key] = value.strip("'\"") if key in WORDS else value_of(place, key, value)
    factors = [units[name] for name in ("LENGTH", "FORCE", "TIME", "ANGLE")]
    for key, powers in DIMENSIONS.items():
        if key in values:
            values[key] *= float(np.prod([factor**power for factor, power in zip(factors, powers, strict=True)]))
    return checked_coefficients(values, what)


def lines_of(content: str, what: str) -> Iterator[Line]:
    """Yield the assignments of a file; comments begin with ! or $, tables have no equal sign."""
    section = ""
    for number, raw in enumerate(content.splitlines(), 1):
        line = re.split(r"[!$]", raw, maxsplit=1)[0].strip()
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            section = heading[1].upper()
        elif "=" in line:
            key, _, value = line.partition("=")
            yield Line(section, key.strip().upper(), value.strip(), number)
        elif line and section not in ("SHAPE", "DEFLECTION_LOAD_CURVE", "MDI_HEADER") and not line.startswith("{"):
            raise ModelError(f"{what}, line {number}: {shown(line)} is no assignment; it must be KEY = value")
        elif line and section == "DEFLECTION_LOAD_CURVE":
            raise ModelError(f"{what}, line {number}: a deflection load curve cannot be read; give VERTICAL_STIFFNESS")


def unit(place: str, key: str, value: str) -> float:
    """Return the size of a unit in SI units."""
    word = value.strip("'\"").strip().lower()
    if key not in UNITS:
        raise ModelError(f"{place}: there is no unit of {key}; it must be one of {', '.join(UNITS)}")
    known = UNITS[key]
    found = known.get(word, known.get(word.removesuffix("s"))) if word else None
    if found is None:
        raise ModelError(f"{place}: {key} is in {shown(word)}; it must be one of {', '.join(known)}")
    return found


def value_of(place: str, key: str, value: str) -> float:
    """Return the number of a key."""
    try:
        return float(value.strip("'\"").replace("D", "E").replace("d", "e"))
    except ValueError:
        raise ModelError(f"{place}: {key} is {shown(value)}; it must be a number") from None


def unknown_key(key: str) -> str:
    """Return the sentence about a key that no PAC2002 file has."""
    nearest = nearest_names(key, sorted(KNOWN))
    meant = f"did you mean {', '.join(map(repr, nearest[:3]))}?" if nearest else "take it out"
    return f"there is no key named {key!r} in PAC2002; {meant}"


def checked_coefficients(values: Mapping[str, Any], what: str = "tyre") -> Coefficients:
    """Return coefficients in SI units; ModelError for keys or numbers that PAC2002 cannot have."""
    numbers = {}
    for key, value in values.items():
        if key not in KNOWN:
            raise ModelError(f"{what}: {unknown_key(str(key))}")
        if key not in WORDS:
            numbers[key] = finite(what, key, value)
    fitted = numbers.get("FITTYP", FITTYPES[0])
    if fitted not in FITTYPES:
        raise ModelError(f"{what}: FITTYP is {fitted:g}; it must be 6 or 21, which are MF-Tyre 5.2")
    form = str(values.get("PROPERTY_FILE_FORMAT", FORMATS[0])).upper()
    if form not in FORMATS:
        raise ModelError(f"{what}: PROPERTY_FILE_FORMAT is {shown(form)}; it must be one of {', '.join(FORMATS)}")
    side = str(values.get("TYRESIDE", "UNKNOWN")).upper()
    if side not in SIDES:
        raise ModelError(f"{what}: TYRESIDE is {shown(side)}; it must be one of {', '.join(SIDES)}")
    if missing := [key for key in REQUIRED if key not in numbers]:
        raise ModelError(f"{what}: {', '.join(missing)} is missing; give it, for no other tyre's value takes its place")
    for key in POSITIVE:
        if not numbers.get(key, 1.0) > 0.0:
            raise ModelError(f"{what}: {key} is {numbers[key]:g}; it must be above zero")
    return Coefficients(numbers, side)


def finite(what: str, key: str, value: Any) -> float:
    """Return a finite number."""
    try:
        number = as_floats(value)
    except ValueError:
        number = np.array([])
    if number.shape != () or not np.isfinite(number):
        raise ModelError(f"{what}: {key} is {shown(value)}; it must be one finite number")
    return float(number)


Combined = Literal["formula", "ellipse"]
TINY = 1e-30  # under a root: keeps its derivative at zero


class Side(NamedTuple):
    """Pure slip of one direction: F0 = D sin(C atan(B x - E (B x - atan(B x)))) + SV at x = slip + SH."""

    F0: Any
    x: Any
    mu: Any
    BC: Any  # B times C: stiffness over peak
    K: Any  # slip stiffness over load
    SH: Any
    SV: Any  # over load


class MagicFormula(Tyre):
    """Magic Formula tyre (PAC2002, MF-Tyre 5.2) of a ``.tir`` file.

    Equations and coefficient names are those of Pacejka, Tyre and Vehicle Dynamics, and of the Adams/Tyre manual.

    Parameters
    ----------
    parameters : Mapping[str, float], str or path
        Path of a ``.tir`` file, or its keys and numbers in SI units. Coefficients that are not given are 0, scale
        factors 1.
    combined : {'formula', 'ellipse'}, default 'formula'
        "formula" couples Fx and Fy by the R coefficients (RBX1 ... RVY6) and not at all when there are none;
        "ellipse" by the friction ellipse of Adams (FE_METHOD).
    mirrored : bool, default False
        True for a tyre of the other side of the car: forces with slip_angle and camber, Fy, Mx and Mz reversed.

    Attributes
    ----------
    left_out : tuple[str, ...]
        Names of coefficients that are given and not zero, and that this model does not use, as those of turn
        slip or of the gyroscopic couple of the belt.

    Raises
    ------
    ModelError
        For keys that are missing or unknown, for another FITTYP, and for numbers that cannot be.

    Examples
    --------
    >>> tyre = rtmbs.vehicle.MagicFormula("tyre.tir")  # doctest: +SKIP
    >>> tyre.steady(load=4000.0, slip=0.05, slip_angle=0.02).Fx  # doctest: +SKIP
    """

    kind: ClassVar[str] = "Magic Formula"

    def __init__(
        self,
        parameters: Mapping[str, float] | str | os.PathLike[str],
        *,
        combined: Combined = "formula",
        mirrored: bool = False,
    ) -> None:
        if combined not in ("formula", "ellipse"):
            raise ModelError(f"tyre: combined is {shown(combined)}; it must be one of formula, ellipse")
        given = checked_coefficients(parameters) if isinstance(parameters, Mapping) else read_tir(parameters)
        self.c: Coefficients = given
        self.combined, self.mirrored, self.left_out = combined, bool(mirrored), given.left_out()
        self.free_radius, self.nominal_load = given.UNLOADED_RADIUS, given.FNOMIN
        self.vertical_stiffness = given.VERTICAL_STIFFNESS * given.LCZ
        self.vertical_damping = given.VERTICAL_DAMPING
        self.low_speed, self.reference_speed = given.VXLOW, given.LONGVL
        ranges = given.given
        self.largest_load = ranges.get("FZMAX") or np.inf
        self.camber_range = ranges.get("CAMMIN") or -np.inf, ranges.get("CAMMAX") or np.inf
        self.dpi = (given.IP - given.LIP * given.IP_NOM) / (given.LIP * given.IP_NOM) if given.IP_NOM else 0.0

    def __repr__(self) -> str:
        side = ", mirrored" if self.mirrored else ""
        return f"MagicFormula(R0={self.free_radius:g} m, Fz0={self.nominal_load:g} N, combined={self.combined!r}{side})"

    def other_side(self) -> "MagicFormula":
        """Return the same tyre mounted on the other side of the car.

        Returns
        -------
        MagicFormula
            Tyre with ``mirrored`` reversed.
        """
        return MagicFormula(self.c.given, combined=self.combined, mirrored=not self.mirrored)

    # ---- force and moment ------------------------------------------------------------------------------------------

    def forces(self, at: TyreInput) -> TyreForces:
        """Return force and moment at steady slip."""
        s = -at.side if self.mirrored else at.side
        Fx, Fy, Mx, My, Mz = self.of_measured_side(at._replace(slip_angle=s * at.slip_angle, camber=s * at.camber))
        return TyreForces(Fx, s * Fy, s * Mx, My, s * Mz)

    def of_measured_side(self, at: TyreInput) -> TyreForces:
        """Return force and moment on the side that the file was measured on.

        Parameters
        ----------
        at : TyreInput
            Load, slips, camber, speed and friction of the wheel.

        Returns
        -------
        TyreForces
            Force Fx, Fy [N] and moment Mx, My, Mz [N m] of the road on the wheel at the contact point, W axes.
        """
        c = self.c
        dfz = self.dfz(at.load)
        x, y = self.pure_longitudinal(at, dfz), self.pure_lateral(at, dfz)
        if self.combined == "formula":
            Fx, Fy, SVyk = self.by_formula(at, dfz, x, y)
        else:
            (Fx, Fy), SVyk = friction_ellipse(at.load, x, y), 0.0
        kappa_moment = x.K / y.K * at.slip  # slip as the aligning moment sees it
        trail, residual = self.trail(at, dfz, kappa_moment), self.residual(at, dfz, y, kappa_moment)
        lever = self.free_radius * c.LS
        arm = (c.SSZ1 + c.SSZ2 * Fy / c.FNOMIN + (c.SSZ3 + c.SSZ4 * dfz) * at.camber) * lever
        Mz = -trail * (Fy - SVyk) + residual + arm * Fx
        leaning = c.QSX1 * c.LVMX * at.fade - c.QSX2 * at.camber + c.QSX3 * Fy / c.FNOMIN
        return TyreForces(Fx, Fy, self.free_radius * at.load * leaning * c.LMX, self.rolling_resistance(at, Fx), Mz)

    def dfz(self, load: Any) -> Any:
        """Return the change of the load from the nominal one, relative to it.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].

        Returns
        -------
        float or ndarray
            Relative change dfz = (Fz - LFZO FNOMIN) / (LFZO FNOMIN).
        """
        nominal = self.c.LFZO * self.c.FNOMIN
        return (load - nominal) / nominal

    def pure_longitudinal(self, at: TyreInput, dfz: Any) -> Side:
        """Return the longitudinal force at a slip angle of zero.

        Parameters
        ----------
        at : TyreInput
            Load, slip, camber and friction of the wheel.
        dfz : float or ndarray
            Relative change of the load.

        Returns
        -------
        Side
            Force [N] with the shifted slip, friction, stiffness and shifts.
        """
        c, gamma = self.c, at.camber * self.c.LGAX
        SH = (c.PHX1 + c.PHX2 * dfz) * c.LHX * at.fade
        kx = at.slip + SH
        mu = (c.PDX1 + c.PDX2 * dfz) * (1.0 - c.PDX3 * gamma * gamma) * c.LMUX * at.friction
        mu = mu * (1.0 + c.PPX3 * self.dpi + c.PPX4 * self.dpi**2)
        E = (c.PEX1 + c.PEX2 * dfz + c.PEX3 * dfz * dfz) * (1.0 - c.PEX4 * sign(kx)) * c.LEX
        K = (c.PKX1 + c.PKX2 * dfz) * np.exp(c.PKX3 * dfz) * c.LKX * (1.0 + c.PPX1 * self.dpi + c.PPX2 * self.dpi**2)
        SV = (c.PVX1 + c.PVX2 * dfz) * c.LVX * c.LMUX * at.friction * at.fade
        return pure_slip(at.load, kx, mu, c.PCX1 * c.LCX, E, K, SH, SV)

    def pure_lateral(self, at: TyreInput, dfz: Any) -> Side:
        """Return the lateral force at no longitudinal slip.

        Parameters
        ----------
        at : TyreInput
            Load, slip angle, camber and friction of the wheel.
        dfz : float or ndarray
            Relative change of the load.

        Returns
        -------
        Side
            Force [N] with the shifted slip angle, friction, stiffness and shifts.
        """
        c, gamma = self.c, at.camber * self.c.LGAY
        SH = ((c.PHY1 + c.PHY2 * dfz) * c.LHY + c.PHY3 * gamma) * at.fade
        ay = at.slip_angle + SH
        mu = (c.PDY1 + c.PDY2 * dfz) * (1.0 - c.PDY3 * gamma * gamma) * c.LMUY * at.friction
        mu = mu * (1.0 + c.PPY3 * self.dpi + c.PPY4 * self.dpi**2)
        E = (c.PEY1 + c.PEY2 * dfz) * (1.0 - (c.PEY3 + c.PEY4 * gamma) * sign(ay)) * c.LEY
        K = self.cornering(at.load, gamma)
        SV = ((c.PVY1 + c.PVY2 * dfz) * c.LVY + (c.PVY3 + c.PVY4 * dfz) * gamma) * c.LMUY * at.friction * at.fade
        return pure_slip(at.load, ay, mu, c.PCY1 * c.LCY, E, K, SH, SV)

    def cornering(self, load: Any, gamma: Any) -> Any:
        """Return Ky over the load; sin(2 atan u) is 2 u / (1 + u^2), so a load of zero has its limit.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        gamma : float or ndarray
            Camber times its scale factor LGAY [rad].

        Returns
        -------
        float or ndarray
            Cornering stiffness over load [1/rad], negative as PKY1 is.
        """
        c = self.c
        scale = c.PKY2 * (1.0 + c.PPY2 * self.dpi)
        u = load / (scale * c.FNOMIN * c.LFZO)
        peak = 2.0 * c.PKY1 * (1.0 + c.PPY1 * self.dpi) / scale
        return peak / (1.0 + u * u) * (1.0 - c.PKY3 * magnitude(gamma)) * c.LKY

    def by_formula(self, at: TyreInput, dfz: Any, x: Side, y: Side) -> tuple[Any, Any, Any]:
        """Return Fx, Fy and SVyk by the coefficients of combined slip.

        Parameters
        ----------
        at : TyreInput
            Load, slip, slip angle, camber and friction of the wheel.
        dfz : float or ndarray
            Relative change of the load.
        x : Side
            Longitudinal force of pure slip.
        y : Side
            Lateral force of pure slip.

        Returns
        -------
        tuple
            Fx, Fy, and the part SVyk of Fy that slip causes [N].
        """
        c, kappa, alpha = self.c, at.slip, at.slip_angle
        B = c.RBX1 * np.cos(np.arctan(c.RBX2 * kappa)) * c.LXAL
        Fx = x.F0 * weight(B, c.RCX1, at_most(c.REX1 + c.REX2 * dfz, 1.0), alpha, c.RHX1)
        B = c.RBY1 * np.cos(np.arctan(c.RBY2 * (alpha - c.RBY3))) * c.LYKA
        SH = c.RHY1 + c.RHY2 * dfz
        Fy = y.F0 * weight(B, c.RCY1, at_most(c.REY1 + c.REY2 * dfz, 1.0), kappa, SH)
        DV = y.mu * at.load * (c.RVY1 + c.RVY2 * dfz + c.RVY3 * at.camber) * np.cos(np.arctan(c.RVY4 * alpha))
        SV = DV * np.sin(c.RVY5 * np.arctan(c.RVY6 * kappa)) * c.LVYKA * at.fade
        return Fx, Fy + SV, SV

    def trail(self, at: TyreInput, dfz: Any, kappa: Any) -> Any:
        """Return the pneumatic trail.

        Parameters
        ----------
        at : TyreInput
            Load, slip angle, camber and friction of the wheel.
        dfz : float or ndarray
            Relative change of the load.
        kappa : float or ndarray
            Slip times the ratio of the slip stiffnesses Kx / Ky.

        Returns
        -------
        float or ndarray
            Trail [m], positive when the force acts behind the contact point.
        """
        c, gamma = self.c, at.camber * self.c.LGAZ
        at_ = at.slip_angle + c.QHZ1 + c.QHZ2 * dfz + (c.QHZ3 + c.QHZ4 * dfz) * gamma
        B = (c.QBZ1 + c.QBZ2 * dfz + c.QBZ3 * dfz * dfz) * (1.0 + c.QBZ4 * gamma + c.QBZ5 * magnitude(gamma))
        B = B * c.LKY / (c.LMUY * at.friction)
        D = at.load * (c.QDZ1 + c.QDZ2 * dfz) * (1.0 + c.QDZ3 * gamma + c.QDZ4 * gamma * gamma)
        D = D * (self.free_radius / c.FNOMIN) * c.LTR * (1.0 - c.QPZ1 * self.dpi)
        bent = (c.QEZ4 + c.QEZ5 * gamma) * (2.0 / np.pi) * np.arctan(B * c.QCZ1 * at_)
        E = at_most((c.QEZ1 + c.QEZ2 * dfz + c.QEZ3 * dfz * dfz) * (1.0 + bent), 1.0)
        return at.forward * D * cosine(B, c.QCZ1, E, equivalent(at_, kappa)) * np.cos(at.slip_angle)

    def residual(self, at: TyreInput, dfz: Any, y: Side, kappa: Any) -> Any:
        """Return the residual aligning moment.

        Parameters
        ----------
        at : TyreInput
            Load, slip angle, camber and friction of the wheel.
        dfz : float or ndarray
            Relative change of the load.
        y : Side
            Lateral force of pure slip.
        kappa : float or ndarray
            Slip times the ratio of the slip stiffnesses Kx / Ky.

        Returns
        -------
        float or ndarray
            Moment Mzr [N m], positive when it turns the wheel to the left.
        """
        c, gamma = self.c, at.camber * self.c.LGAZ
        ar = at.slip_angle + y.SH + y.SV / y.K
        B = c.QBZ9 * c.LKY / (c.LMUY * at.friction) + c.QBZ10 * y.BC
        cambered = (c.QDZ8 + c.QDZ9 * dfz) * gamma * (1.0 + c.QPZ2 * self.dpi)
        D = at.load * ((c.QDZ6 + c.QDZ7 * dfz) * c.LRES + cambered) * self.free_radius * c.LMUY * at.friction * at.fade
        return D * np.cos(np.arctan(B * equivalent(ar, kappa))) * np.cos(at.slip_angle)

    def rolling_resistance(self, at: TyreInput, Fx: Any) -> Any:
        """Return the rolling resistance moment My, against the rolling.

        Parameters
        ----------
        at : TyreInput
            Load, speed and direction of rolling of the wheel.
        Fx : float or ndarray
            Longitudinal force [N].

        Returns
        -------
        float or ndarray
            Moment My [N m], negative when the wheel rolls forward.
        """
        c, share = self.c, at.speed / self.reference_speed
        sum_ = c.QSY1 + c.QSY2 * Fx / c.FNOMIN + c.QSY3 * magnitude(share) + c.QSY4 * share**4
        return -self.free_radius * at.load * sum_ * c.LMY * at.forward

    # ---- stiffness, friction, radius, relaxation -------------------------------------------------------------------

    def stiffnesses(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return Kx and -Ky, both positive."""
        at = TyreInput(load, 0.0, 0.0, camber, self.reference_speed)
        dfz = self.dfz(load)
        return load * self.pure_longitudinal(at, dfz).K, -load * self.cornering(load, at.camber * self.c.LGAY)

    def peaks(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the peak factors Dx and Dy."""
        at = TyreInput(load, 0.0, 0.0, camber, self.reference_speed)
        dfz = self.dfz(load)
        return load * self.pure_longitudinal(at, dfz).mu, load * self.pure_lateral(at, dfz).mu

    def effective_radius(self, load: Any, loaded_radius: Any = 0.0) -> Any:
        """Return the effective rolling radius by BREFF, DREFF and FREFF; Rill's estimate where there are none.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        loaded_radius : float or ndarray, default 0.0
            Distance of the wheel centre from the contact point [m], for Rill's estimate.

        Returns
        -------
        float or ndarray
            Effective rolling radius [m].

        Raises
        ------
        ModelError
            When the coefficients are given and VERTICAL_STIFFNESS is missing.
        """
        c = self.c
        if not (c.DREFF or c.FREFF):
            return super().effective_radius(load, loaded_radius)
        u = load / c.FNOMIN
        sunk = c.DREFF * np.arctan(c.BREFF * u) + c.FREFF * u
        return self.free_radius - c.FNOMIN / self.file_stiffness() * sunk

    def relaxation_lengths(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the relaxation lengths sigma_kappa and sigma_alpha."""
        c, dfz = self.c, self.dfz(load)
        along = load * (c.PTX1 + c.PTX2 * dfz) * np.exp(-c.PTX3 * dfz) * (self.free_radius / c.FNOMIN) * c.LSGKP
        gamma = camber * c.LGAY
        u = load / (c.PTY2 * c.FNOMIN * c.LFZO) if c.PTY2 else 0.0 * load
        across = c.PTY1 * 2.0 * u / (1.0 + u * u) * (1.0 - c.PKY3 * magnitude(gamma))
        return along, across * self.free_radius * c.LFZO * c.LSGAL

    def file_stiffness(self) -> float:
        """Return VERTICAL_STIFFNESS without its scale factor.

        Returns
        -------
        float
            Vertical stiffness [N/m].

        Raises
        ------
        ModelError
            When the file has none.
        """
        if not self.c.VERTICAL_STIFFNESS > 0.0:
            raise ModelError("tyre: VERTICAL_STIFFNESS is missing; it must be a positive number [N/m]")
        return self.c.VERTICAL_STIFFNESS


def pure_slip(load: Any, x: Any, mu: Any, C: float, E: Any, K: Any, SH: Any, SV: Any) -> Side:
    """Return the magic formula with slip stiffness ``K`` over the load; E is at most 1."""
    BC = K / mu
    F0 = load * (mu * np.sin(C * np.arctan(bend(BC / C, at_most(E, 1.0), x))) + SV)
    return Side(F0, x, mu, BC, K, SH, SV)


def bend(B: Any, E: Any, x: Any) -> Any:
    """Return B x - E (B x - atan(B x))."""
    return B * x - E * (B * x - np.arctan(B * x))


def cosine(B: Any, C: Any, E: Any, x: Any) -> Any:
    """Return cos(C atan(B x - E (B x - atan(B x))))."""
    return np.cos(C * np.arctan(bend(B, E, x)))


def weight(B: Any, C: Any, E: Any, x: Any, SH: Any) -> Any:
    """Return the cosine weight of combined slip, 1 at x = 0."""
    return cosine(B, C, E, x + SH) / cosine(B, C, E, SH)


def equivalent(angle: Any, kappa: Any) -> Any:
    """Return the size of the slip angle that stands for a slip angle and a longitudinal slip together [rad]."""
    return np.arctan(np.sqrt(np.tan(angle) ** 2 + kappa * kappa + TINY))


def friction_ellipse(load: Any, x: Side, y: Side) -> tuple[Any, Any]:
    """Return Fx and Fy of combined slip for a tyre without coefficients for it (Adams, FE_METHOD).

    With kc = kx + SVx / Kx and as = sin(ay + SVy / Ky): Fx = Fx0 |kc| / sqrt(kc^2 + (mux_act as / muy)^2), and
    likewise Fy; mu_act are the forces of pure slip without SV over the load.
    """
    kc, as_ = x.x + x.SV / x.K, np.sin(y.x + y.SV / y.K)
    floor = at_least(load, 1.0)
    mux, muy = (x.F0 - load * x.SV) / floor, (y.F0 - load * y.SV) / floor
    Fx = x.F0 * magnitude(kc) / np.sqrt(kc * kc + (mux * as_ / y.mu) ** 2 + 1e-20)
    Fy = y.F0 * magnitude(as_) / np.sqrt(as_ * as_ + (muy * kc / x.mu) ** 2 + 1e-20)
    return Fx, Fy
