"""Tyre property files (``.tir``): the keys of PAC2002 and MF-Tyre 5.2, their units, and the required ones."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from rtmbs.core.files import DamagedFile, text
from rtmbs.errors import ModelError, nearest_names, shown
from rtmbs.model.checks import as_floats

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
