"""Speeds of a replay: simulated seconds for each second of wall time."""

SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def faster(speed: float) -> float:
    """Return the next higher of ``SPEEDS``."""
    return next((factor for factor in SPEEDS if factor > speed * 1.001), SPEEDS[-1])


def slower(speed: float) -> float:
    """Return the next lower of ``SPEEDS``."""
    return next((factor for factor in reversed(SPEEDS) if factor < speed * 0.999), SPEEDS[0])


def speed_text(factor: float) -> str:
    """Return a speed as users write it."""
    return "1 \N{MULTIPLICATION SIGN} real time" if factor == 1.0 else f"{factor:g} \N{MULTIPLICATION SIGN}"
