"""Units by name, with their size in SI units and their dimension."""

import math
import re
from typing import NamedTuple

Dimension = tuple[int, int, int]  # powers of metre, kilogram and second; angles have none


class Unit(NamedTuple):
    """A unit."""

    size: float  # in SI
    dimension: Dimension


LENGTH, MASS, TIME = (1, 0, 0), (0, 1, 0), (0, 0, 1)
FORCE, NOTHING = (1, 1, -2), (0, 0, 0)

UNITS = {
    "m": Unit(1.0, LENGTH),
    "mm": Unit(1e-3, LENGTH),
    "cm": Unit(1e-2, LENGTH),
    "km": Unit(1e3, LENGTH),
    "um": Unit(1e-6, LENGTH),
    "inch": Unit(0.0254, LENGTH),
    "ft": Unit(0.3048, LENGTH),
    "kg": Unit(1.0, MASS),
    "g": Unit(1e-3, MASS),
    "mg": Unit(1e-6, MASS),
    "t": Unit(1e3, MASS),
    "lb": Unit(0.45359237, MASS),
    "s": Unit(1.0, TIME),
    "ms": Unit(1e-3, TIME),
    "us": Unit(1e-6, TIME),
    "min": Unit(60.0, TIME),
    "h": Unit(3600.0, TIME),
    "Hz": Unit(2.0 * math.pi, (0, 0, -1)),
    "rpm": Unit(math.pi / 30.0, (0, 0, -1)),
    "rad": Unit(1.0, NOTHING),
    "deg": Unit(math.pi / 180.0, NOTHING),
    "turn": Unit(2.0 * math.pi, NOTHING),
    "N": Unit(1.0, FORCE),
    "mN": Unit(1e-3, FORCE),
    "kN": Unit(1e3, FORCE),
    "lbf": Unit(4.4482216152605, FORCE),
    "J": Unit(1.0, (2, 1, -2)),
    "W": Unit(1.0, (2, 1, -3)),
    "Pa": Unit(1.0, (-1, 1, -2)),
}
QUANTITIES = {  # of mechanics, that products of units are written for
    (1, 0, -1), (1, 0, -2), (0, 0, -1), (0, 0, -2), FORCE, (2, 1, -2), (2, 1, -3), (1, 1, -1), (-1, 1, -2), (0, 1, -2),
    (0, 1, -1), (2, 1, -1), (2, 1, 0), (-1, 1, 0), (-2, 1, 0), (-3, 1, 0),
}  # fmt: skip
FACTOR = re.compile(r"([*/]?)([^\W\d_]+)(?:\^(-?\d))?")


def compound(text: str) -> tuple[Unit | None, str]:
    """Return the unit that ``text`` such as ``kg*m^2`` means, or None and the word that is no unit."""
    size, dimension = 1.0, NOTHING
    if "".join(factor.group() for factor in FACTOR.finditer(text)) != text:
        return None, text
    for sign, name, power in FACTOR.findall(text):
        if name not in UNITS:
            return None, name
        n = int(power or 1) * (-1 if sign == "/" else 1)
        size *= UNITS[name].size ** n
        dimension = tuple(a + n * b for a, b in zip(dimension, UNITS[name].dimension, strict=True))  # type: ignore[assignment]
    return Unit(size, dimension), ""


def further_words(text: str) -> tuple[str, ...]:
    """Return the factors of a unit behind its first one, of which constants may be meant: g in ``m*g``.

    There are none behind a slash, with a power, or in the unit of a quantity of mechanics such as ``N*m``.
    """
    unit, _ = compound(text)
    if unit is None or unit.dimension in QUANTITIES:
        return ()
    return tuple(name for sign, name, power in FACTOR.findall(text)[1:] if sign == "*" and not power)


def dimension_of(text: str) -> Dimension:
    """Return the dimension of a unit that is known to be one; empty is none."""
    unit, _ = compound(text)
    assert unit is not None
    return unit.dimension


def written(dimension: Dimension) -> str:
    """Return a dimension in words, such as ``in m^2 kg``."""
    powers = zip(("m", "kg", "s"), dimension, strict=True)
    powers_text = " ".join(f"{name}^{n}" if n != 1 else name for name, n in powers if n)
    return f"in {powers_text}" if powers_text else "an angle or a number without a unit"
