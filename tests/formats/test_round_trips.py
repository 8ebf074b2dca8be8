"""Random mechanisms written and read again: the same mechanics to 1e-12, as URDF, SDF and MJCF.

``bench.campaigns written_robots`` has more of them, with all joints, against plain NumPy and MuJoCo.
"""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.errors import TopologyError
from tests.formats.test_files import same_mechanics

KINDS = ("hinge", "slide", "ball", "fixed")
SIZES = st.floats(-0.7, 0.7).map(lambda x: round(x, 3))
POINTS = st.tuples(SIZES, SIZES, SIZES)
TURNS = POINTS.map(lambda turn: Rotation.from_rotvec(turn).as_matrix())
AXES = POINTS.filter(lambda axis: np.linalg.norm(axis) > 0.1)


def joint_type(kind, axis):
    """Return a joint type."""
    if kind == "hinge":
        return rtmbs.Revolute(axis)
    if kind == "slide":
        return rtmbs.Prismatic(axis)
    return rtmbs.Spherical() if kind == "ball" else rtmbs.Fixed()


@st.composite
def mechanisms(draw):
    """Return a Model: a tree of two to four bodies with skew frames, perhaps a floating base, a loop and a coupler."""
    model, count, names = rtmbs.Model("random", gravity=draw(POINTS)), draw(st.integers(2, 4)), ["ground"]
    floating = draw(st.booleans())
    single = []
    for k in range(count):
        name, mass = f"b{k}", draw(st.floats(0.3, 3.0))
        R = draw(TURNS)
        tensor = R @ np.diag(mass * np.array([0.2, 0.3, 0.4])) @ R.T
        model.add_body(name, mass=mass, center_of_mass=draw(POINTS),
                       inertia=(*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]))  # fmt: skip
        if k == 0 and floating:
            still = {"point_a": np.zeros(3), "point_b": np.zeros(3), "axes_a": np.eye(3), "axes_b": np.eye(3)}
            model.add_joint("root_joint", rtmbs.Floating(), "ground", name, **still)
        else:
            kind = draw(st.sampled_from(KINDS))
            frames = {"point_a": draw(POINTS), "point_b": draw(POINTS), "axes_a": draw(TURNS), "axes_b": draw(TURNS)}
            parent = draw(st.sampled_from(names))
            backwards = draw(st.booleans())
            pair = (name, parent) if backwards else (parent, name)
            model.add_joint(f"j{k}", joint_type(kind, draw(AXES)), *pair, **frames)
            single += [f"j{k}"] if kind in ("hinge", "slide") else []
        names.append(name)
    if draw(st.booleans()):
        ends = draw(st.permutations(names).filter(lambda order: order[0] != order[1]))
        frames = {"point_a": draw(POINTS), "point_b": draw(POINTS), "axes_a": draw(TURNS), "axes_b": draw(TURNS)}
        model.add_joint("loop", rtmbs.Spherical(), ends[0], ends[1], cut=True, **frames)
    if len(single) > 1 and draw(st.booleans()):
        model.add_coupler("gear", {single[0]: 1.0, single[1]: draw(st.sampled_from((-2.5, 0.7)))}, draw(SIZES))
    return model


@pytest.mark.parametrize("ending", [".urdf", ".sdf", ".xml"])
@settings(
    max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=[Phase.generate]
)  # fmt: skip
@given(model=mechanisms())
def test_random_mechanisms(tmp_path_factory, ending, model):
    if ending == ".xml":
        pytest.importorskip("mujoco")
    try:
        rtmbs.Robot(model)
    except TopologyError:  # a loop within one rigid part
        assume(False)
    path = tmp_path_factory.mktemp("trip") / f"out{ending}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notes = rtmbs.write(model, path).notes
        again = rtmbs.read(path, meshes=False)
    assert {note.element for note in notes} <= ({"gravity"} if ending == ".urdf" else set())
    again.gravity = model.gravity
    same_mechanics(model, again)
