"""SYSTEM: what to do with the model."""

import math

from rtmbs.language.build import Build
from rtmbs.language.document import Analysis
from rtmbs.language.given import Given
from rtmbs.language.kinds import statement

KINDS = {
    "kinematic analysis": "kinematic",
    "dynamic analysis": "dynamic",
    "static equilibrium": "static",
}
MOST_ROWS = 10_000_000  # of a result
MOST_STEPS = 1e9  # of a dynamic analysis: a million take a second or more
NUMBERS = {  # key: (field of Analysis, unit)
    "starting time": ("t0", "s"),
    "ending time": ("t1", "s"),
    "print interval": ("dt", "s"),
    "step": ("h", "s"),
    "assembly tolerance": ("assembly_tolerance", ""),
    "lu tolerance": ("lu_tolerance", ""),
}
POSITIVE = ("print interval", "step", "assembly tolerance", "lu tolerance")
CHOICES = {  # key: words
    "method": ("min_norm", "freeze"),
    "pivot": ("row", "full"),
    "weights": ("size", "mass"),
    "singular": ("pass", "stop"),
}
BELONGS = {"step": "dynamic"} | dict.fromkeys(CHOICES, "kinematic")  # key: the only kind of analysis that it is for


@statement("system", "system", keys=(*NUMBERS, *CHOICES, "gravity"), flags=tuple(KINDS), named=False)
def system(build: Build, given: Given) -> None:
    """Take the kind of analysis, its times and tolerances, and gravity."""
    if build.analysis is not None:
        raise given.source.error(given.at, "there is a second SYSTEM; a model has one")
    if len(given.flags) != 1:
        raise given.source.error(given.at, f"SYSTEM needs one of {', '.join(KINDS).upper()}", list(KINDS))
    kind = KINDS[next(iter(given.flags))]
    for key, other in BELONGS.items():
        if given.has(key) and kind not in (other, "static"):
            raise given.source.error(
                given.place(key), f"{key} is for a {other} analysis, and this is a {kind} one; take it away"
            )
    said: dict[str, object] = {"kind": kind}
    for key, (field, unit) in NUMBERS.items():
        if given.has(key):
            value = said[field] = given.number(key, 0.0, unit)
            if key in POSITIVE and value <= 0.0:
                raise given.source.error(given.place(key), f"{key} is {value:g}; it must be above zero")
            if key == "lu tolerance" and value >= 1.0:
                raise given.source.error(given.place(key), f"{key} is {value:g}; it must be below one")
    for key, words in CHOICES.items():
        said[key] = given.word(key, words)
    if given.has("gravity"):
        with given.refusals():
            build.set_gravity(given.row("gravity", "m/s^2"))
    analysis = build.analysis = Analysis(**said)  # type: ignore[arg-type]
    if analysis.t1 < analysis.t0:
        at = given.place("ending time" if given.has("ending time") else "starting time")
        raise given.source.error(
            at, f"ending time is {analysis.t1:g} and starting time {analysis.t0:g}; it must be later"
        )
    rows = (analysis.t1 - analysis.t0) / analysis.dt
    if not math.isfinite(rows) or rows > MOST_ROWS:
        at = given.place("print interval")
        raise given.source.error(
            at, f"print interval is {analysis.dt:g}: {rows:.3g} rows; a result has at most {MOST_ROWS:g}"
        )
    if analysis.h and not (steps := (analysis.t1 - analysis.t0) / analysis.h) <= MOST_STEPS:
        raise given.source.error(
            given.place("step"), f"step is {analysis.h:g}: {steps:.3g} steps; an analysis takes at most {MOST_STEPS:g}"
        )
