"""Where joints start."""

from rtmbs.language.build import Build
from rtmbs.language.given import Given
from rtmbs.language.kinds import statement

SIZES = tuple(range(1, 8))


@statement("initial", "initial", keys=("position", "rate", "pin", "weight"))
def initial(build: Build, given: Given) -> None:
    """Say where the joint of this name starts, as ``Model.set_initial`` takes it."""
    joint = build.joint(given.name, given.at, given)
    values = {key: given.row(key, None, SIZES) for key in ("position", "rate") if given.has(key)}
    pin, weight = given.switch("pin", True), given.number("weight", 1.0)
    with given.refusals():
        build.model.set_initial(joint, **values, pin=pin, weight=weight)
