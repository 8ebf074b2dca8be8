"""Objects show themselves: one line in a terminal, escaped tables in a notebook."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import rtmbs
from rtmbs.core.notebook import MOST_ROWS, folded_html, number_text, table_html

ODD = "<script>alert('x')</script> {0} %s & \"crank\""


class Reader(HTMLParser):
    """Collects tags and text, and checks that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def model(name="swing", body="crank"):
    made = rtmbs.Model(name)
    made.add_body(body, mass=2.5, inertia=(1.0, 1.0, 1.0))
    made.add_body("rod", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(0.0, 0.0, 1.0))
    made.add_joint("hinge", rtmbs.Revolute((1, 0, 0)), "ground", body)
    made.add_joint("knee", rtmbs.Revolute((1, 0, 0)), body, "rod", point=(0.0, 0.0, 1.0))
    made.add_marker("tip", "rod", (0.0, 0.0, 2.0))
    made.add_marker("nail", "ground", (0.0, 3.0, 2.0))
    made.add_force("spring", rtmbs.SpringDamper(10.0), between=("nail", "tip"))
    made.add_force("brake", rtmbs.TorsionSpring(1.0), joint="hinge")
    made.add_force("drag", lambda t, k, p: -0.1 * k.zd, joints="all")
    made.add_force("push", rtmbs.Wrench(rtmbs.Input()), body="rod")
    return made


@pytest.fixture(scope="module")
def sim():
    return rtmbs.Simulation(model().compile(), 1e-3, rtmbs.PenaltyTrapezoidal(penalty=2e6))


def test_a_model_shows_its_elements():
    made = model()
    assert repr(made) == "Model('swing': 2 bodies, 2 joints, 4 forces, 2 markers)"
    text = read(made._repr_html_()).text
    for word in ("2.5", "Revolute", "SpringDamper", "nail and tip", "hinge.angle", "all coordinates of the tree"):
        assert word in text
    assert text.count("rod") >= 3  # the body, its joint, the wrench
    assert "bodies (2)" in text
    assert "ground" in text  # of a joint; it is no row of the bodies


def test_a_system_shows_what_became_of_the_model(sim):
    assert repr(sim.system) == "System('swing': 2 bodies, 2 joints, 4 forces; 2 coordinates, 0 loop equations)"
    text = read(sim.system._repr_html_()).text
    assert {"hinge", "tree", "angle", "push.force", "0, 0, 0", "10"} <= set(text)


def test_a_simulation_shows_where_it_is(sim):
    sim.run(sim.t + 0.002)
    assert repr(sim) == (
        f"Simulation('swing', t = {sim.t:g} s, h = 0.001 s, method=PenaltyTrapezoidal(penalty=2000000.0): "
        "2 coordinates, 0 loop equations)"
    )
    text = read(sim._repr_html_()).text
    row = text.index("knee.angle")
    assert float(text[row + 1]) == pytest.approx(sim["knee.angle"], rel=1e-5)
    assert float(text[row + 2]) == pytest.approx(sim["knee.rate"], rel=1e-5)


def test_a_state_and_a_report_are_one_line(sim):
    report = sim.step()
    assert re.fullmatch(
        rf"StepReport\(CONVERGED, t = {sim.t:.6g} s: {report.iterations} iterations?(, \d projections?)?, loops .*\)",
        repr(report),
    )
    state = sim.state.copy()
    inputs = len(state.u)
    assert repr(state) == f"State(t = {state.t:g} s, step {state.k} of h = 0.001 s: 2 coordinates, {inputs} inputs)"
    failed = rtmbs.StepReport(rtmbs.Outcome.NOT_FINITE, 0.5, 3, tries=2, worst=("spring",))
    assert repr(failed) == "StepReport(NOT_FINITE, t = 0.5 s: 3 iterations, 2 further tries, at fault: spring)"


def test_a_state_and_a_report_have_tables(sim):
    report = sim.step()
    text = read(report._repr_html_()).text
    assert text[text.index("iterations") + 1] == str(report.iterations)
    state = sim.state.copy()
    text = read(state._repr_html_()).text
    assert text[0] == repr(state)
    row = text.index("1", text.index("acceleration [rad/s^2, m/s^2]"))
    assert [float(one) for one in text[row + 1 : row + 4]] == pytest.approx(
        [state.z[1], state.zd[1], state.zdd[1]], rel=1e-5
    )


def test_one_of_a_kind_is_singular():
    one = rtmbs.library.build("pendulum")
    assert repr(one) == "Model('pendulum': 1 body, 1 joint, 1 marker)"
    assert repr(one.compile()) == "System('pendulum': 1 body, 1 joint, 0 forces; 1 coordinate, 0 loop equations)"
    assert "1 coordinate, " in repr(rtmbs.Simulation(one.compile(), h=1e-3).state)


def test_warnings_stand_in_the_line_of_what_they_warn_of():
    swing = rtmbs.library.build("pendulum")
    joint = next(iter(swing.joints))
    swing.add_force("odd", lambda t, motion, parameters: -float(str(motion.z)), joint=joint)
    with pytest.warns(rtmbs.RtmbsWarning, match="called in Python"):
        system = swing.compile()
    called = "; warning: force laws called in Python: 'odd'"
    assert repr(system).endswith(f"{called})")
    assert repr(rtmbs.Simulation(system, h=1e-3)).endswith(f"{called})")
    swing.add_force("late", rtmbs.Motor(1.0), joint=joint)
    stale = f"{called}; warning: the model was changed since; compile it again)"
    assert repr(system).endswith(stale)
    with pytest.warns(rtmbs.RtmbsWarning, match="force 'late' was added"):
        assert repr(rtmbs.Simulation(system, h=1e-3)).endswith(stale)
    assert repr(swing.compile()).endswith(f"{called})")


def test_a_workload_and_an_integration_are_one_line(sim):
    load = rtmbs.workload(sim, sim.t + 0.01)
    assert repr(load).startswith("Workload('swing': t = ")
    assert "samples; 5 elements with power, 2 joints; energy missed" in repr(load)
    assert "array(" not in repr(load)
    assert "spring:" in read(load._repr_html_()).text[0]
    ring = rtmbs.formulations.FunctionSystem(
        2,
        1,
        lambda q, t: np.eye(2),
        lambda q, v, t: np.array([0.0, -9.81]),
        lambda q, t: np.array([q[0] ** 2 + q[1] ** 2 - 1.0]),
    )
    motion = rtmbs.dae.integrate(ring, rtmbs.dae.RungeKutta(), np.array([1.0, 0.0]), np.zeros(2), 0.1, 0.01)
    work = f"10 steps, {motion.counts.evaluations} evaluations, {motion.wall:.3g} s of wall time"
    assert repr(motion) == f"Result('FunctionSystem', 11 samples of 16 channels; {work})"


def test_a_sweep_shows_its_rows():
    table = rtmbs.sweep(
        lambda rate: rtmbs.library.build("crank_rocker", rate=rate),
        {"rate": [5.0, 6.0]},
        {"peak": "largest crank_pivot.rate"},
        t_end=0.1,
        engine=rtmbs.Serial(),
    )
    assert repr(table) == "SweepResult(2 runs of rate: peak)"
    text = read(table._repr_html_()).text
    assert text[:5] == [repr(table), "run", "rate", "peak", "error"]
    assert float(text[7]) == pytest.approx(table["peak"][0], rel=1e-5)


def test_names_of_the_user_are_escaped():
    made = model(ODD, ODD + " body")
    system = made.compile()
    sim = rtmbs.Simulation(system)
    result, load = sim.run(0.01), rtmbs.workload(sim, 0.02)
    for one in (made, system, sim, result, load):
        html = one._repr_html_()
        assert "<script" not in html
        assert "script" not in read(html).tags
        named = any("<script>alert(" in text for text in read(html).text)
        assert named == (one is not load)  # a workload lists forces and joints


def test_long_tables_end_with_what_is_left_out():
    rows = [(str(k),) for k in range(MOST_ROWS + 3)]
    reader = read(table_html("many <of> them", ("row",), rows))
    assert reader.text[0] == "many <of> them"
    assert reader.text[-1] == "and 3 more"
    assert reader.tags.count("tr") == MOST_ROWS + 2
    assert folded_html("none", ("row",), []) == ""
    assert number_text(np.array([1.0, 2.5])) == "1, 2.5"
    assert number_text(0.1234567) == "0.123457"
