"""Where an analysis ends: memory, size, a pose beyond all numbers, a motion without a sample."""

import pytest

from bench.measures import driven as m
from rtmbs import Fixed, Model, Prismatic, Revolute, Spherical
from rtmbs.errors import InputError, StartError
from rtmbs.kinematics import Analysis, MotionError, coordinates
from rtmbs.kinematics.assembly import DENSE


def test_more_times_than_the_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(coordinates, "machine_memory", lambda: 1e6)
    with pytest.raises(InputError, match=r"10001 times take .* and this machine has 1 MB of memory; take a longer"):
        Analysis(m.four_bar()).run(0.0, 1.0, 1e-4)


def test_free_bodies_of_a_large_mechanism_are_not_named():
    def chain(count):
        model = Model("chain")
        for k in range(count):
            model.add_body(f"b{k}", mass=0.0, position=(k, 0.0, 0.0))
            model.add_joint(f"j{k}", Revolute(axis=(0, 0, 1)), f"b{k - 1}" if k else "ground", f"b{k}", point=(k, 0, 0))
        return Analysis(model).check()

    assert "free: b1 takes part in 2 free directions" in chain(2)
    assert f"free: not named beyond {DENSE:,} unknowns" in chain(DENSE // 7 + 1)


def test_many_welds_of_one_body_are_counted():
    """As many rows as they like: the free directions are those of a basis."""
    model = Model("welds")
    model.add_body("b", mass=0.0)
    for k in range(300):
        model.add_joint(f"w{k}", Fixed(), "ground", "b", point=(0, 0, 0))
    text = Analysis(model).check()
    assert "redundant                                 1794" in text


def test_a_motion_without_a_sample_has_all_its_channels():
    """The slider's pin touches the circle of the groove in one point, where nothing can be solved."""
    model = Model("tangent")
    model.add_body("arm", mass=0.0)
    model.add_body("slider", mass=0.0, position=(1.0, 0.0, 0.0))
    model.add_joint("shoulder", Revolute(axis=m.Z), "ground", "arm", point=(0, 0, 0))
    model.add_joint("groove", Prismatic(axis=m.X), "arm", "slider", point_a=(1, 0, 0), point_b=(0, 1, 0))
    model.add_joint("bolt", Revolute(axis=m.Z), "ground", "slider", point=(1, 0, 0))
    with pytest.raises(MotionError, match="0 samples are good") as caught:
        Analysis(model).run_at([0.0, 0.1])
    result = caught.value.result
    assert {len(result[name]) for name in result.names()} == {0}


def test_a_pose_beyond_squares_is_refused_without_a_warning(recwarn):
    model = Model("far")
    model.add_body("arm", mass=0.0)
    model.add_joint("ball", Spherical(), "ground", "arm", point=(0, 0, 0))
    model.add_marker("anchor", "ground", point=(2.0, 1e99, 0.0))
    model.add_marker("end", "arm", point=(1.0, 0.0, 0.0))
    model.add_rod("link", ("anchor", "end"), length=2.5)
    with pytest.raises(StartError, match="cannot be assembled"):
        Analysis(model).assemble()
    assert not recwarn.list


def test_what_a_rod_misses_is_a_length():
    """(d^2 - L^2) / (2 L) of a rod of length L over a distance d is in metres."""
    model = Model("held")
    model.add_body("arm", mass=0.0)
    model.add_joint("pin", Revolute(axis=m.Z), "ground", "arm", point=(0, 0, 0))
    model.add_marker("anchor", "ground", point=(1.0, 2.0, 0.0))
    model.add_marker("end", "arm", point=(1.0, 0.0, 0.0))
    model.add_rod("link", ("anchor", "end"), length=2.0)
    motion = Analysis(model).run_at([0.0])
    assert motion.about("link.violation")[1] == "m"
    assert motion["link.violation"] == pytest.approx([0.0], abs=1e-9)
