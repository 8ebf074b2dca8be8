"""Published problems: IFToMM A01 to A05, the spatial slider-crank, single joints of ADAMS with their reactions."""

import pytest

from bench.measures import published
from rtmbs import Simulation, TorsionSpring, library


def test_a01_pendulum():
    assert published.pendulum()["position"] < 5e-5


def test_a02_windows_through_their_singular_poses():
    found = published.windows()
    assert found["position"] < 5e-5
    assert found["energy"] < 1.5e-3
    assert found["first energy"] == pytest.approx(3.5 * 9.81 + 1.5, abs=1e-9)
    assert found["horizontal"] >= 8, "it passed singular poses"
    assert found["branch"] < 1e-5, "and kept its branch: the posts stay parallel"
    assert found["iterations"] < 2.05


def test_a03_andrews():
    found = published.andrews()
    assert found["first accelerations"] < 1e-12
    assert found["angles"] < 2e-4, "of 16 rad"
    assert found["slow angles"] < 3e-6


def test_a03_andrews_converges_to_the_reference():
    """The published values and ours are limits of one another: errors fall by four at least when h is halved."""
    coarse, fine = published.andrews(5e-5), published.andrews(2.5e-5)
    assert max(coarse["angles"], fine["angles"]) < 3e-5
    assert max(coarse["slow angles"], fine["slow angles"]) < 3e-6


def test_a04_bricard():
    found = published.bricard()
    assert found["angle at 0.5 s"] < 2e-5
    assert found["angle at 1 s"] < 2e-5
    assert found["period"] < 5e-5
    assert found["swing"] < 1e-5
    assert found["third joint"] < 1e-5
    assert (found["degrees of freedom"], found["redundant"]) == (1, 1)


def test_a04_has_rank_five_of_six():
    """All six revolutes in the tree, held by the six equations of an auxiliary body: one is redundant, and the start
    names it.
    """
    model = library.build("bricard")
    model.add_force("idle", TorsionSpring(0.0), joint="joint_4")
    sim = Simulation(model.compile(), h=5e-3)
    report = sim.start_report
    assert (sim.equations.m, report.rank) == (6, 5)
    assert len(report.redundant) == 1
    assert report.redundant[0].startswith("joint_4.")
    assert report.degrees_of_freedom == report.degrees_of_freedom_nearby == 1
    assert "redundant equations  1" in str(report)


def test_a05_governor():
    found = published.governor()
    for t in published.GOVERNOR:
        assert found[f"height at {t:g} s"] < 1e-6
    assert found["largest"] == pytest.approx(0.743, abs=1e-3)


def test_spatial_slider_crank():
    found = published.slider_crank()
    assert found["period"] < 5e-5
    assert found["mean period"] < 1e-4, "of eight turns: the energy drifts by 2e-4 in 5 s"
    assert found["range"] < 1e-5


@pytest.mark.parametrize(("joint", "frame"), published.ADAMS)
def test_adams_single_joints(joint, frame):
    found = published.adams(joint, frame)
    assert found["position"] < 2e-3
    assert found["reaction"] < 2e-2
