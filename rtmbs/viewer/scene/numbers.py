"""Text of numbers: significant figures, units with SI prefixes, plurals."""

import math

PREFIXES = (
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "\N{MICRO SIGN}"),
    (1e-9, "n"),
    (1e-12, "p"),
)
DASH = "\N{EN DASH}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 body, 2 bodies, 3 coordinates."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else many}"


def figures(value: float, digits: int = 3) -> str:
    """Return a number with ``digits`` significant figures; a dash for one that is not finite."""
    if not math.isfinite(value):
        return DASH
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        places = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
        return f"{value:.{places}f}"
    return f"{value:.{digits - 1}e}"


def brief(value: float, unit: str) -> str:
    """Return a number with the prefix of its unit, without zeros at its end: 5 kN."""
    number, rest = with_unit(value, unit).split(" ", 1)
    return f"{float(number):g} {rest}" if number != DASH else f"{number} {rest}"


def with_unit(value: float, unit: str, digits: int = 3) -> str:
    """Return a number with the prefix of its unit that leaves one to three figures before the point."""
    if not math.isfinite(value):
        return f"{DASH} {unit}"
    if value == 0.0:
        return f"0 {unit}"
    size = abs(value)
    factor, prefix = next(((f, p) for f, p in PREFIXES if size >= f * (1.0 - 0.5 * 10.0**-digits)), PREFIXES[-1])
    scaled = value / factor
    places = max(digits - 1 - math.floor(math.log10(abs(scaled)) + 1e-9), 0)
    if size < 1e-12:
        return f"{value:.1e} {unit}"
    return f"{scaled:.{places}f} {prefix}{unit}"
