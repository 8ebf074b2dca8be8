"""Mechanisms of model files (.mks) that a session steps, or moves by the mouse."""

from typing import Any

import numpy as np

from rtmbs.errors import InputError
from rtmbs.kinematics import PointDriver
from rtmbs.language import read
from rtmbs.model import Model
from rtmbs.viewer.session.describe import drawable


def steppable_model(path: str) -> Model:
    """Return the mechanism of a model file with the step that its dynamic analysis states.

    That of a kinematic analysis is ``draggable``. Raises InputError for another analysis, and as ``language.read``.
    """
    document = read(path)
    analysis = document.analysis
    if analysis.kind == "kinematic":
        return draggable(document)
    if analysis.kind != "dynamic":
        raise InputError(
            f"{path!r} asks for a {analysis.kind} analysis, which a window cannot step; make its result with "
            f"rtmbs run {path} --out FILE.h5, and view that"
        )
    document.model.h = analysis.h or analysis.dt
    return document.model


def draggable(document: Any) -> Model:
    """Return the mechanism of a kinematic file to be moved by the mouse: free of drivers and gravity, with unit masses.

    InputError for points on curves, cams and gears, which a kinematic analysis alone follows.
    """
    for one in document.constraints:
        if not isinstance(one, PointDriver):
            raise InputError(
                f"{document.path!r} has {one.name!r}, which a KINEMATIC ANALYSIS alone follows; make its result with "
                f"rtmbs run {document.path} --out FILE.h5, and view that"
            )
    document.model.drivers.clear()
    document.model.gravity = np.zeros(3)
    return drawable(document.model, heavy=True)
