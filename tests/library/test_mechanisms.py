"""Every mechanism of the library builds, is described, and has the counts and the geometry of its source."""

import math

import numpy as np
import pytest

from rtmbs import library
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.library.benchmarks import BETA, D_, DELTA, E_, EPSILON, OMEGA, PHI, ZF, _polygon, initial_points
from rtmbs.library.linkages import LENGTHS, corners

CASES = [
    ("fourbar", {"ny": 2, "nz": 3}),
    ("fourbar", {"ny": 2, "nz": 3, "layout": "parallel", "closure": "line"}),
    ("single_joint", {"joint": "prismatic", "frame": "tilted"}),
    ("single_joint", {"joint": "universal"}),
    ("driven_fourbar", {"profile": "constant"}),
    ("loop", {"k": 5}),
    ("windows", {"n": 10}),
]


@pytest.mark.parametrize("name", library.names())
def test_every_mechanism_builds_and_is_described(name):
    model = library.build(name)
    assert len(model.bodies) > 1
    assert model.joints
    assert len(library.describe(name)) > 100


@pytest.mark.parametrize(("name", "options"), CASES)
def test_options_are_taken(name, options):
    assert library.build(name, **options).joints


def test_names_are_sorted_and_defaults_are_values():
    assert library.names() == sorted(library.names())
    for name in library.names():
        assert all(isinstance(value, int | float | str) for value in library.defaults(name).values())


def test_unknown_words_name_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'fourbar'"):
        library.build("forbar")
    with pytest.raises(UnknownNameError, match="did you mean 'closure'"):
        library.build("fourbar", closures="line")
    with pytest.raises(UnknownNameError, match="'universal'"):
        library.build("single_joint", joint="univrsal")
    with pytest.raises(UnknownNameError, match="'origin'"):
        library.build("single_joint", frame="orign")
    with pytest.raises(UnknownNameError, match="'sine'"):
        library.build("driven_fourbar", profile="sin")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ny": 0}, "ny is 0; it must be a whole number of at least 1"),
        ({"nz": 1.5}, "nz is 1.5"),
        ({"layout": "heap"}, "layout is 'heap'; it must be one of stacked, parallel"),
        ({"closure": "glue"}, "closure is 'glue'; it must be one of line, point, revolute"),
    ],
)
def test_fourbar_refuses(options, sentence):
    with pytest.raises(InputError, match=sentence):
        library.build("fourbar", **options)


def test_loop_refuses_what_cannot_move():
    with pytest.raises(InputError, match="at least 4"):
        library.build("loop", k=3)


@pytest.mark.parametrize("layout", ["stacked", "parallel"])
@pytest.mark.parametrize(("ny", "nz"), [(1, 1), (2, 3), (4, 10)])
def test_fourbar_counts_are_those_of_the_paper(layout, ny, nz):
    model = library.build("fourbar", ny=ny, nz=nz, layout=layout)
    assert len(model.bodies) == (1 + 2 * ny) * nz + 1
    assert sum(joint.cut for joint in model.joints.values()) == ny * nz
    assert sum(not joint.cut for joint in model.joints.values()) == (1 + 2 * ny) * nz


def test_fourbar_is_built_storey_by_storey():
    joints = library.build("fourbar", ny=2, nz=2).joints
    pairs = {name: (joint.a.name, joint.b.name) for name, joint in joints.items()}
    assert pairs["pin_1_2"] == ("ground", "rod_1_2")
    assert pairs["hinge_1_0"] == ("rod_1_0", "coupler_1_0")
    assert pairs["hinge_1_1"] == ("coupler_1_0", "coupler_1_1")
    assert pairs["cut_1_1"] == ("coupler_1_1", "rod_1_2")
    assert pairs["pin_2_0"] == ("coupler_1_0", "rod_2_0")
    assert pairs["pin_2_1"] == ("coupler_1_0", "rod_2_1")
    assert pairs["pin_2_2"] == ("coupler_1_1", "rod_2_2")


def test_parallel_frames_all_hang_on_ground():
    joints = library.build("fourbar", ny=1, nz=3, layout="parallel").joints
    assert {joint.a.name for name, joint in joints.items() if name.startswith("pin")} == {"ground"}


def test_andrews_closes_from_four_sides():
    """E reached over bodies 2, 3, 4 and 6 is one point, to the digits that the angles are printed with."""
    points = initial_points()
    g, h, f, e = (points[name] for name in "GHFE")
    tilt, turn = PHI + DELTA, OMEGA + EPSILON
    over_2 = f - D_ * np.array([math.cos(BETA), math.sin(BETA)])
    over_4 = g + E_ * np.array([math.sin(tilt), -math.cos(tilt)])
    over_6 = h + ZF * np.array([math.cos(turn), math.sin(turn)])
    for point in (over_2, over_4, over_6):
        np.testing.assert_allclose(point, e, atol=1e-14)


@pytest.mark.parametrize("degrees", [0.0, 60.0, 135.0, 260.0])
def test_the_linkage_has_its_lengths(degrees):
    a, b, c, d = (np.array(corner) for corner in corners(math.radians(degrees)))
    lengths = [np.linalg.norm(side) for side in (d - a, b - a, c - b, c - d)]
    np.testing.assert_allclose(lengths, LENGTHS, rtol=1e-14)


@pytest.mark.parametrize("k", [4, 15, 251])
def test_the_generated_loop_closes(k):
    polygon = np.array(_polygon(k, 2.0))
    sides = np.linalg.norm(np.diff(polygon, axis=0, append=polygon[:1]), axis=1)
    np.testing.assert_allclose(sides, 2.0, rtol=1e-12)
    np.testing.assert_allclose(polygon[-1], (0.0, 2.0, 0.0), atol=1e-11)
    assert polygon[:, 2].max() <= 1e-11
