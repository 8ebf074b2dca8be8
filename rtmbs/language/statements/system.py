"""SYSTEM: the analysis of the model, and gravity."""

import math

from rtmbs.language.arguments import Arguments
from rtmbs.language.builder import ModelBuilder, statement
from rtmbs.language.document import Analysis

ANALYSES = {
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
    "ranks": ("ranks", ""),
    "alpha": ("alpha", ""),
    "beta": ("beta", ""),
    "relative tolerance": ("rtol", ""),
    "absolute tolerance": ("atol", ""),
}
POSITIVE = (
    "print interval", "step", "assembly tolerance", "lu tolerance", "ranks", "relative tolerance", "absolute tolerance",
)  # fmt: skip
CHOICES = {  # key: words
    "method": ("min_norm", "freeze"),
    "pivot": ("row", "full"),
    "weights": ("size", "mass"),
    "singular": ("pass", "stop"),
    "recursion": ("rk4", "bdf"),
}
RECURSION = ("recursion", "ranks", "alpha", "beta", "relative tolerance", "absolute tolerance")
BELONGS = dict.fromkeys(CHOICES, "kinematic") | dict.fromkeys(
    ("step", *RECURSION), "dynamic"
)  # key: the only kind of analysis that it is for


@statement("system", "system", keys=(*NUMBERS, *CHOICES, "gravity"), flags=tuple(ANALYSES), named=False)
def system(builder: ModelBuilder, args: Arguments) -> None:
    """Take the kind of analysis, its times and tolerances, and gravity."""
    if builder.analysis is not None:
        raise args.source.error(args.at, "there is a second SYSTEM; a model has one")
    if len(args.flags) != 1:
        raise args.source.error(args.at, f"SYSTEM needs one of {', '.join(ANALYSES).upper()}", list(ANALYSES))
    kind = ANALYSES[next(iter(args.flags))]
    for key, other in BELONGS.items():
        if args.has(key) and kind not in (other, "static"):
            raise args.source.error(
                args.place(key), f"{key} is for a {other} analysis, and this is a {kind} one; take it away"
            )
    values: dict[str, object] = {"kind": kind}
    for key, (field, unit) in NUMBERS.items():
        if args.has(key):
            value = values[field] = args.number(key, 0.0, unit)
            if key in POSITIVE and value <= 0.0:
                raise args.source.error(args.place(key), f"{key} is {value:g}; it must be above zero")
            if key == "ranks":
                values[field] = round(value)
                if value != round(value):
                    raise args.source.error(args.place(key), f"ranks is {value:g}; it must be a whole number")
            if key == "lu tolerance" and value >= 1.0:
                raise args.source.error(args.place(key), f"{key} is {value:g}; it must be below one")
    for key, words in CHOICES.items():
        values[key] = args.word(key, words)
    if args.has("gravity"):
        with args.refusals():
            builder.set_gravity(args.row("gravity", "m/s^2"))
    if kind == "static" and not args.has("ending time"):
        values["t1"] = values.get("t0", 0.0)  # a pose has no end
    analysis = builder.analysis = Analysis(**values)  # type: ignore[arg-type]
    if analysis.t1 < analysis.t0:
        given = args.has("ending time")
        said = f"ending time is {analysis.t1:g}{'' if given else ' where none is given'}"
        at = args.place("ending time" if given else "starting time")
        raise args.source.error(at, f"{said}, and starting time {analysis.t0:g}; it must be later")
    rows = (analysis.t1 - analysis.t0) / analysis.dt
    if not math.isfinite(rows) or rows > MOST_ROWS:
        at = args.place("print interval")
        raise args.source.error(
            at, f"print interval is {analysis.dt:g}: {rows:.3g} rows; a result has at most {MOST_ROWS:g}"
        )
    if analysis.h and not (steps := (analysis.t1 - analysis.t0) / analysis.h) <= MOST_STEPS:
        raise args.source.error(
            args.place("step"), f"step is {analysis.h:g}: {steps:.3g} steps; an analysis takes at most {MOST_STEPS:g}"
        )
