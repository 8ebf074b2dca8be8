"""Whether a recorded motion is one of the mechanism that is to be drawn: of its dimensions, not only of its names."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.model import Model
from rtmbs.results.result import Result
from rtmbs.system.system import System
from rtmbs.viewer.mouse_spring import compiled_with_mouse_spring
from rtmbs.viewer.scene.description import SceneDescription

if TYPE_CHECKING:
    from rtmbs.viewer.recording import Recording

Array = NDArray[np.float64]

EXACT = 1e-6  # of the size: what rounding may do to a recorded place
OTHER = "is a run of another design than"  # in the error of a motion that does not fit
OPEN = 1e-3  # of the size: what a step may leave open in a cut joint
POINT = ("Revolute", "Universal", "Spherical", "Fixed")  # joints that hold two points together
AXIS = ("Prismatic", "Cylindrical")  # joints that hold them on their axis


def check_design(recording: "Recording", scene: SceneDescription) -> None:
    """Raise InputError where joints, mass centres or markers of ``scene`` do not fit the recording."""
    size = max(scene.length, 1e-300) + EXACT * float(np.max(np.abs(recording.positions), initial=0.0))
    last = len(recording.t) - 1
    for sample in sorted({0, last // 2, last}):  # points of a wrong joint may lie together at the start
        for what, off, bound in misfits(recording, scene, sample):
            if off <= bound * size:
                continue
            raise InputError(
                f"result {recording.result.name!r} {OTHER} {scene.name!r}: "
                f"{what} by {off:.3g} m; build the model with the parameters of the run"
            )


def misfits(recording: "Recording", scene: SceneDescription, sample: int) -> Iterator[tuple[str, float, float]]:
    """Yield what may not fit at a sample, by how much [m], and the bound in sizes."""
    r, A = recording.poses(sample)
    for body, center in zip(scene.bodies[1:], recording.centers, strict=True):
        yield f"the mass centre of body {body.name!r} is off", distance(center - body.center_of_mass), EXACT
    for joint in scene.joints:
        gap = r[joint.b] + A[joint.b] @ joint.point_b - r[joint.a] - A[joint.a] @ joint.point_a
        if joint.type in AXIS:
            axis = A[joint.a] @ joint.axes_a[0]
            gap = gap - axis * (axis @ gap) / (axis @ axis)
        if joint.type in (*POINT, *AXIS):
            yield f"joint {joint.name!r} is torn apart", distance(gap), OPEN if joint.cut else EXACT
    for marker in scene.markers:
        if (name := f"{marker.name}.position") in recording.result and recording.result.about(name)[0] == (
            "x",
            "y",
            "z",
        ):
            place = r[marker.body] + A[marker.body] @ marker.point
            yield f"marker {marker.name!r} is off", distance(recording.result[name][sample] - place), EXACT


def distance(vector: Array) -> float:
    """Return the length of a vector; 0 where a number is missing, of which nothing is known."""
    length = float(np.linalg.norm(vector))
    return 0.0 if np.isnan(length) else length


def other_numbers(result: Result, system: System, model: Model) -> tuple[str, ...]:
    """Return a warning when the run had other numbers than ``model``, of which ``system`` is made."""
    if not result.fingerprint or result.fingerprint == system.fingerprint:
        return ()
    if result.fingerprint == compiled_with_mouse_spring(model).fingerprint:
        return ()  # saved while a hand had pulled
    return (
        f"result {result.name!r} was recorded from a model with other numbers than {system.name!r}: masses, inertias, "
        "forces or dimensions differ from those of the run",
    )
