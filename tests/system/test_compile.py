"""From words to tables: random mechanisms with every joint, force and closure type against direct computation."""

import numpy as np
import pytest

from rtmbs.errors import TopologyError
from rtmbs.model import (
    ConstantRate,
    Fixed,
    Floating,
    Input,
    Model,
    Motor,
    Planar,
    Prismatic,
    Revolute,
    Sine,
    Spherical,
    SpringDamper,
    TorsionSpring,
    Wrench,
)
from rtmbs.numerics.linear.symbolic import flops
from rtmbs.system.compile import arrays, candidates, write_draft
from rtmbs.system.pattern import uncondensed
from rtmbs.system.recorded_laws import LawRecorder
from tests import mechanisms
from tests.system.kinematics import (
    add_random_body,
    body_poses,
    closure_jacobian,
    closure_values,
    dof_frames,
    examples,
)

SEEDS = range(6)
X, Y, Z = np.eye(3)


def random_model(seed, count=10, loops=4):
    """Every joint type at random places of a random graph, both ways round, with forces, rods, drivers and markers."""
    rng = np.random.default_rng(seed)
    model = Model(f"random {seed}")
    bodies = [model.ground] + [add_random_body(model, f"body {k}", rng) for k in range(count)]
    types = list(examples(rng).values())
    for k in range(1, count + 1):
        pair = [bodies[k], bodies[rng.integers(k)]]
        rng.shuffle(pair)
        frame = ("world", bodies[rng.integers(count + 1)])[int(rng.integers(2))]
        model.add_joint(f"joint {k}", types[(k + seed) % len(types)], *pair, point=rng.normal(size=3), frame=frame)
    for k in range(loops):
        one, other = rng.choice(count + 1, 2, replace=False)
        type = types[rng.integers(len(types) - 1)]  # not Fixed
        model.add_joint(f"loop {k}", type, bodies[one], bodies[other], point=rng.normal(size=3), cut=k % 2 == 0)
        if type.coordinates and k < 2:  # auxiliary bodies
            model.add_force(f"torsion {k}", TorsionSpring(1.0), joint=(f"loop {k}", type.coordinates[-1]))
    for k in range(count + 1):
        model.add_marker(f"marker {k}", bodies[k], point=rng.normal(size=3))
    for k in range(3):
        one, other = (f"marker {i}" for i in rng.choice(count + 1, 2, replace=False))
        model.add_force(f"spring {k}", SpringDamper(100.0, 1.0), between=(one, other))
    model.add_force("push", Wrench(force=Input(), torque=(1, 2, 3)), body=bodies[-1], point=rng.normal(size=3))
    return model


def compiled(seed):
    """Compile, unless the random graph put a joint between bodies that a fixed joint holds."""
    for offset in range(20):
        model = random_model(seed + 1000 * offset)
        try:
            return model, model.compile()
        except TopologyError:
            continue
    raise AssertionError("no graph")


@pytest.mark.parametrize("seed", SEEDS)
def test_at_zero_coordinates_every_body_stands_in_its_reference_pose_and_every_loop_is_closed(seed):
    model, system = compiled(seed)
    poses = body_poses(system, np.zeros(system.n), np.tile(np.eye(3), (len(system.R0), 1, 1)))
    for name, body in model.bodies.items():
        np.testing.assert_allclose(poses[name][0], body.orientation, atol=1e-13)
        np.testing.assert_allclose(poses[name][1], body.position, atol=1e-13)
    assert np.abs(closure_values(system, np.zeros(system.n))).max() < 1e-13


@pytest.mark.parametrize("seed", SEEDS)
def test_markers_stand_where_their_bodies_carry_them(seed):
    model, system = compiled(seed)
    z = np.random.default_rng(seed).normal(size=system.n)
    A, r = dof_frames(system, z, system.R0)
    for name, marker in system.markers.items():
        turn, origin = body_poses(system, z)[marker.body]
        np.testing.assert_allclose(r[marker.dof] + A[marker.dof] @ marker.position, origin + turn @ marker.point)
        np.testing.assert_allclose(marker.point, model.markers[name].point)


@pytest.mark.parametrize("seed", SEEDS)
def test_welding_keeps_mass_first_and_second_moments(seed):
    model, system = compiled(seed)
    z = np.random.default_rng(seed).normal(size=system.n)
    poses = body_poses(system, z)
    A, r = dof_frames(system, z, system.R0)
    dofs = system.tables.dofs
    moved = [name for name in model.bodies if system.bodies[name].dof >= 0]
    bodies = [model.bodies[name] for name in moved]
    whole = total(
        [body.mass for body in bodies],
        [poses[name][1] + poses[name][0] @ model.bodies[name].center_of_mass for name in moved],
        [poses[name][0] @ model.bodies[name].inertia @ poses[name][0].T for name in moved],
    )
    n = system.n
    parts = total(
        dofs.mass,
        [r[i] + A[i] @ dofs.mass_center[i] for i in range(n)],
        [A[i] @ dofs.inertia[i] @ A[i].T for i in range(n)],
    )
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


def total(masses, centers, inertias):
    """Mass, first moment, and inertia about the origin."""
    masses, centers = np.asarray(masses), np.asarray(centers)
    steiner = [m * (c @ c * np.eye(3) - np.outer(c, c)) for m, c in zip(masses, centers, strict=True)]
    return masses.sum(), masses @ centers, np.sum(inertias, axis=0) + np.sum(steiner, axis=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_closures_depend_on_the_coordinates_of_their_branches_and_on_no_other(seed):
    _, system = compiled(seed)
    jacobian = closure_jacobian(system, np.random.default_rng(seed).normal(size=system.n))
    closures, connectors = system.tables.closures, system.tables.connectors
    for l in range(len(closures.point_a)):
        rows = slice(closures.row_pointer[l], closures.row_pointer[l + 1])
        branch = connectors.dof[connectors.pointer[l] : connectors.pointer[l + 1]]
        others = np.setdiff1d(np.arange(system.n), branch)
        assert np.abs(jacobian[rows][:, others]).max(initial=0.0) < 1e-8
        size = (rows.stop - rows.start) * len(branch)
        assert closures.entry_pointer[l + 1] - closures.entry_pointer[l] == size


@pytest.mark.parametrize("seed", SEEDS)
def test_branches_are_the_two_ways_below_the_last_common_ancestor(seed):
    _, system = compiled(seed)
    connectors, parent = system.tables.connectors, system.tables.dofs.parent
    for l in range(len(connectors.a)):
        ways = []
        for end in (connectors.a[l], connectors.b[l]):
            way = []
            while end >= 0:
                way.append(end)
                end = parent[end]
            ways.append(way[::-1])
        expected = [(s, -1.0) for s in ways[0] if s not in ways[1]] + [(s, 1.0) for s in ways[1] if s not in ways[0]]
        here = slice(connectors.pointer[l], connectors.pointer[l + 1])
        assert list(zip(connectors.dof[here].tolist(), connectors.sign[here].tolist(), strict=True)) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_paths_end_at_their_dof_and_start_at_ground(seed):
    _, system = compiled(seed)
    paths, parent = system.tables.paths, system.tables.dofs.parent
    for i in range(system.n):
        way = paths.dof[paths.pointer[i] : paths.pointer[i + 1]]
        assert way[-1] == i
        assert parent[way[0]] == system.tables.origins.row[i] < 0
        assert list(parent[way[1:]]) == list(way[:-1])
        assert all(parent[way] < way)


@pytest.mark.parametrize("seed", SEEDS)
def test_places_in_the_matrix_are_those_of_the_same_entry_everywhere(seed):
    """Two tables that mean one entry must name one place, and two entries never share one."""
    _, system = compiled(seed)
    tables = system.tables
    seen: dict[tuple[int, int], int] = {}

    def note(row, col, place):
        assert seen.setdefault((int(row), int(col)), int(place)) == place

    for i in range(system.n):
        for k in range(tables.paths.pointer[i], tables.paths.pointer[i + 1]):
            note(i, tables.paths.dof[k], tables.paths.entry[k])
            note(tables.paths.dof[k], i, tables.paths.entry_transposed[k])
    for l in range(len(tables.connectors.a)):
        branch = tables.connectors.dof[tables.connectors.pointer[l] : tables.connectors.pointer[l + 1]]
        block = tables.connectors.entry[tables.connectors.block_pointer[l] : tables.connectors.block_pointer[l + 1]]
        for row, line in zip(branch, block.reshape(len(branch), len(branch)), strict=True):
            for col, place in zip(branch, line, strict=True):
                note(row, col, place)
    for table in (tables.drivers, tables.joint_forces):
        for dof, place in zip(table.dof, table.entry, strict=True):
            note(dof, dof, place)
    assert len(set(seen.values())) == len(seen)
    assert max(seen.values()) < system.lu.size


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_are_contiguous_and_of_two_types_only(seed):
    for system in (compiled(seed)[1], single("Revolute").compile()):
        laws = system.tables.laws
        lanes, rates, begins = (part._replace(program=()) for part in (laws.lanes, laws.rates, laws.begins))
        laws = laws._replace(program=(), lanes=lanes, rates=rates, begins=begins)
        conditions = system.tables.conditions._replace(program=())
        for array in arrays(system.tables._replace(laws=laws, conditions=conditions)):
            assert array.flags.c_contiguous
            assert array.dtype in (np.int64, np.float64)


def test_a_model_without_laws_has_a_program_of_the_same_types():
    """Otherwise the kernels would be compiled twice."""
    with_laws, without = (
        system.tables.laws for system in (mechanisms.random_model(0, 9).compile(), single("Revolute").compile())
    )
    assert len(with_laws.slot) > len(without.slot) == 0
    for one, other in zip(arrays(with_laws), arrays(without), strict=True):
        assert (one.dtype, one.ndim) == (other.dtype, other.ndim)
        assert one.flags.c_contiguous
        assert other.flags.c_contiguous


def test_tables_of_a_small_mechanism_have_their_shapes():
    tables = single("Revolute").compile().tables
    assert tables.closures.point_a.shape == tables.closures.axis_a.shape == (0, 3)
    assert tables.forces.wrenches.axes.shape == (0, 3, 3)
    assert tables.closures.row_pointer.tolist() == tables.connectors.pointer.tolist() == [0]


@pytest.mark.parametrize("seed", SEEDS)
def test_compiling_twice_gives_the_same_arrays_and_fingerprint(seed):
    model, system = compiled(seed)
    again = model.compile()
    for one, other in zip(system.tables, again.tables, strict=True):
        for first, second in zip(arrays(one), arrays(other), strict=True):
            assert first.tobytes() == second.tobytes()
    assert system.fingerprint == again.fingerprint


def single(name, **body):
    model = Model("single")
    model.add_body("body", mass=1.0, inertia=(1, 1, 1), **body)
    model.add_joint("joint", examples(np.random.default_rng(0))[name], "ground", "body")
    return model


def test_the_fingerprint_sees_mass_names_and_geometry_but_not_start_values_and_defaults():
    plain = single("Revolute").compile().fingerprint
    heavy = Model("single")
    heavy.add_body("body", mass=2.0, inertia=(1, 1, 1))
    heavy.add_joint("joint", examples(np.random.default_rng(0))["Revolute"], "ground", "body")
    assert heavy.compile().fingerprint != plain
    assert single("Revolute", position=(1, 0, 0)).compile().fingerprint != plain
    started = single("Revolute")
    started.set_initial("joint", 0.3)
    assert started.compile().fingerprint == plain
    light = single("Revolute")
    light.gravity = np.zeros(3)
    assert light.compile().fingerprint == plain


# ---- auxiliary bodies ----------------------------------------------------------------------------------------------


def four_bar(*extra, needed=False, **option):
    model = Model("four-bar")
    for name, position in (("crank", (0, 0, 0)), ("rod", (0, 0, 1)), ("rocker", (1, 0, 0))):
        model.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=position)
    model.add_joint("a", Revolute(Y), "ground", "crank", point=(0, 0, 0))
    model.add_joint("b", Revolute(Y), "crank", "rod", point=(0, 0, 1))
    model.add_joint("d", Revolute(Y), "ground", "rocker", point=(1, 0, 0))
    model.add_joint("c", Revolute(Y), "rod", "rocker", point=(1, 0, 1), cut=True, **option)
    if needed:
        model.add_force("spring", TorsionSpring(10.0), joint="c")
    return model


def test_a_cut_joint_whose_coordinate_is_needed_gets_an_auxiliary_body():
    system = four_bar(needed=True).compile()
    joint = system.joints["c"]
    assert (joint.in_tree, joint.auxiliary, joint.closure) == (True, True, 0)
    assert (system.n, system.m) == (4, 6)
    assert system.tables.dofs.mass[joint.dofs[0]] == 0.0
    assert system.tables.dofs.parent[joint.dofs[0]] == system.bodies["rod"].dof
    a, b, c, d = (system.joints[name].dofs[0] for name in "abcd")
    for angle in (0.3, -0.7):  # a parallelogram: the rod does not turn
        z = np.zeros(4)
        z[[a, b, c, d]] = angle, -angle, angle, angle
        np.testing.assert_allclose(closure_values(system, z), 0.0, atol=1e-15)
        z[c] += 0.1
        assert np.abs(closure_values(system, z)).max() > 0.09
    assert len(system.closures[0].aligned_a) == 3


def test_a_needed_joint_comes_into_the_tree_before_the_others():
    model = four_bar()
    model.joints.clear()
    for name, bodies, point in (
        ("a", ("ground", "crank"), (0, 0, 0)),
        ("b", ("crank", "rod"), (0, 0, 1)),
        ("d", ("ground", "rocker"), (1, 0, 0)),
        ("c", ("rod", "rocker"), (1, 0, 1)),
    ):
        model.add_joint(name, Revolute(Y), *bodies, point=point)
    assert not model.compile().joints["c"].in_tree
    model.add_force("motor", Motor(), joint="c")
    system = model.compile()
    assert system.joints["c"].in_tree
    assert not system.joints["c"].auxiliary
    assert system.topology.cuts[0].auxiliary is False


@pytest.mark.parametrize(("closure", "rows"), [(None, 5), ("point", 3), ("line", 2)])
def test_a_cut_revolute_closes_as_asked(closure, rows):
    system = four_bar(closure=closure).compile()
    assert system.m == rows
    z = np.zeros(3)
    z[[system.joints[name].dofs[0] for name in "abd"]] = 0.4, -0.4, 0.4
    np.testing.assert_allclose(closure_values(system, z), 0.0, atol=1e-15)
    assert np.linalg.matrix_rank(closure_jacobian(system, z), tol=1e-6) == 2


def test_rows_fall_into_one_block_of_translations_and_one_of_rotations():
    model = four_bar()
    model.add_marker("p", "crank", (0, 0, 0.5))
    model.add_marker("q", "rocker", (1, 0, 0.5))
    model.add_rod("bar", ("p", "q"))
    model.add_driver("drive", ConstantRate(1.0), joint="a")
    system = model.compile()
    assert system.closure_names == ["c", "bar"]
    assert system.row_names == ["c.x", "c.y", "c.z", "c.tilt_1", "c.tilt_2", "bar.distance", "drive"]
    assert system.block_of_row.tolist() == [0, 0, 0, 1, 1, 2, 3]
    assert system.closure_of_row.tolist() == [0, 0, 0, 0, 0, 1, -1]
    assert system.row_is_rotation.tolist() == [False, False, False, True, True, False, True]
    assert system.topology.equations == system.m


# ---- welding, tree choice ------------------------------------------------------------------------------------------


def test_a_welded_body_sits_on_the_dof_of_its_carrier_and_adds_no_coordinate():
    model = Model("welded")
    model.add_body("arm", mass=1.0, inertia=(1, 1, 1))
    model.add_body("tool", mass=2.0, position=(0, 0, 3), orientation=(1, 1, 0, 0))
    model.add_joint("weld", Fixed(), "tool", "arm")
    model.add_joint("pin", Revolute(Y), "ground", "arm")
    system = model.compile()
    assert system.n == 1
    assert system.joints["weld"].dofs == (-1,)
    np.testing.assert_allclose(system.tables.dofs.mass, 3.0)
    np.testing.assert_allclose(system.tables.dofs.mass_center, [[0, 0, 2]], atol=1e-15)
    np.testing.assert_allclose(np.diag(system.tables.dofs.inertia[0]), [1 + 6, 1 + 6, 1])


def test_the_cheapest_spanning_tree_is_kept():
    """A row of links that all have feet on ground; the user listed the row first, so the tree would be a chain."""
    model = Model("row")
    previous = "ground"
    for k in range(12):
        model.add_body(f"link {k}", mass=1.0, inertia=(1, 1, 1), position=(k, 0, 0))
        model.add_joint(f"pin {k}", Revolute(Y), previous, f"link {k}", point=(k, 0, 0))
        previous = f"link {k}"
    for k in range(12):
        model.add_joint(f"foot {k}", Revolute(Y), "ground", f"link {k}", point=(k, 0, -1))
    drafts = [write_draft(model, topology, 1.0, LawRecorder(model, 1.0), []) for topology in candidates(model, {})]
    costs = [flops(draft.lu) for draft in drafts]
    assert len(set(costs)) > 1
    assert flops(model.compile().lu) == min(costs) < costs[0]


def test_stacked_four_bars_factor_as_cheaply_as_the_design_says():
    """With all pairs of a path in the pattern; interfaces leave a third of the arithmetic."""
    from rtmbs.library.linkages import fourbar

    system = fourbar(4, 40).compile()
    full = uncondensed(system).lu
    assert full.factor_nonzeros < 33_000
    assert flops(full) < 1_900_000
    assert system.lu.factor_nonzeros < 24_000
    assert flops(system.lu) < 700_000


# ---- inputs, signals, drivers --------------------------------------------------------------------------------------


def test_inputs_and_signals_have_their_slots_and_defaults():
    model = four_bar()
    model.add_body("slider", mass=1.0)
    model.add_joint("slide", Prismatic(Z), "ground", "slider")
    model.add_marker("p", "crank", (0, 0, 1))
    model.add_marker("q", "ground", (0, 3, 5))
    model.add_force("spring", SpringDamper(100.0, 2.0), between=("p", "q"))
    model.add_force("torsion", TorsionSpring(7.0, angle=0.5), joint="a")
    model.add_force("motor", Motor(Input(3.0)), joint="d")
    model.add_force("pull", Motor(lambda t: 4.0 + t), joint="slide")
    model.add_force("push", Wrench(force=lambda t: (t, 1.0, 2.0), torque=Input((1, 2, 3))), body="crank")
    system = model.compile()
    found = {name: system.u0[place].tolist() for name, place in system.inputs.items()}
    assert found == {
        "gravity": [0.0, 0.0, -9.81],
        "spring.stiffness": [100.0], "spring.damping": [2.0], "spring.length": [5.0], "spring.tension": [0.0],
        "torsion.stiffness": [7.0], "torsion.damping": [0.0], "torsion.angle": [0.5], "torsion.load": [0.0],
        "motor.torque": [3.0], "pull.force": [4.0], "push.force": [0.0, 1.0, 2.0], "push.torque": [1.0, 2.0, 3.0],
    }  # fmt: skip
    tables = system.tables
    assert system.inputs["gravity"] == slice(0, 3)
    assert tables.forces.springs.slot[0] == system.inputs["spring.stiffness"].start
    assert tables.joint_forces.slot[1] + 3 == system.inputs["motor.torque"].start
    assert tables.forces.wrenches.slot[0] == system.inputs["push.force"].start
    assert [(signal.name, signal.slot, signal.size) for signal in system.signals] == [
        ("push.force", system.inputs["push.force"].start, 3),
        ("pull.force", system.inputs["pull.force"].start, 1),
    ]
    assert list(system.signals[1].function(2.0)) == [6.0]


def test_a_driven_coordinate_starts_where_its_driver_does():
    model = four_bar()
    model.add_driver("drive", Sine(0.5, 2.0, phase=0.3, offset=0.1), joint="a")
    system = model.compile()
    dof = system.joints["a"].dofs[0]
    assert system.z0[dof] == pytest.approx(0.1 + 0.5 * np.sin(0.3))
    assert system.zd0[dof] == pytest.approx(np.cos(0.3))
    assert system.tables.drivers.dof.tolist() == [dof]
    assert "drive" not in system.inputs


def test_a_driven_distance_is_a_closure_whose_length_stands_in_u():
    model = four_bar()
    model.add_marker("p", "crank", (0, 0, 1))
    model.add_marker("q", "ground", (0, 3, 5))
    model.add_driver("jack", ConstantRate(0.5, start=5.0), between=("p", "q"))
    system = model.compile()
    slot = system.tables.closures.slot[-1]
    assert system.closure_names == ["c", "jack"]
    assert system.u0[slot : slot + 3].tolist() == [5.0, 0.5, 0.0]
    assert system.tables.closures.length[-1] == 5.0
    assert closure_values(system)[-1] == pytest.approx(0.0, abs=1e-15)


def test_wrench_in_body_axes_of_a_welded_body_turns_with_it():
    model = Model("welded")
    model.add_body("arm", mass=1.0, inertia=(1, 1, 1))
    model.add_body("tool", mass=2.0, position=(0, 0, 3), orientation=(1, 1, 0, 0))
    model.add_joint("weld", Fixed(), "arm", "tool")
    model.add_joint("pin", Spherical(), "ground", "arm")
    model.add_force("thrust", Wrench(force=(0, 0, 1), axes="body"), body="tool", point=(0, 1, 0))
    wrenches = model.compile().tables.forces.wrenches
    np.testing.assert_allclose(wrenches.point, [[0, 0, 4]], atol=1e-15)
    np.testing.assert_allclose(wrenches.axes[0] @ Z, -Y, atol=1e-15)
    assert wrenches.follows.tolist() == [1]


def test_initial_values_reach_their_coordinates_with_pins_and_weights():
    model = Model("table")
    model.add_body("puck", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("table", Planar(Z), "puck", "ground", point=(1, 2, 0))
    model.set_initial("table", position=(1, 2, 0.5), pin=False, weight=5.0)
    system = model.compile()
    assert system.coordinate_names == ["table.angle", "table.y", "table.x"]  # walked from ground, which is b
    assert system.z0.tolist() == [0.5, 2.0, 1.0]
    assert system.weights.tolist() == [5.0] * 3
    assert not system.pinned_z.any()
    assert system.typical.tolist() == [1.0, system.length, system.length]


# ---- scales --------------------------------------------------------------------------------------------------------


def test_rounding_of_a_place_is_no_length():
    """A joint at the mass centre, but for the last bit: the length is a radius of gyration, not 5e-17 m."""
    model = Model("ball")
    center = np.array((0.1, 0.2, 0.3))
    model.add_body("ball", mass=2.0, inertia=(0.08, 0.02, 0.06), center_of_mass=center)
    model.add_joint("free", Floating(), "ground", "ball", point=center * (1.0 + 2.3e-16))
    assert model.compile().length == pytest.approx(0.2)


def test_characteristic_length_grows_with_the_model():
    for scale in (1e-3, 1.0, 1e3):
        model = Model("scaled")
        model.add_body("long", mass=1.0, inertia=(1, 1, 1))
        model.add_body("short", mass=1.0, inertia=(1, 1, 1))
        model.add_joint("a", Revolute(Y), "ground", "long", point=(0, 0, 0))
        model.add_joint("b", Revolute(Y), "long", "short", point=(0, 0, 3 * scale))
        assert model.compile().length == pytest.approx(3 * scale)
    pendulum = Model("pendulum")
    pendulum.add_body("bob", mass=1.0, center_of_mass=(0, 0, -2))
    pendulum.add_joint("pin", Revolute(Y), "ground", "bob", point=(0, 0, 0))
    assert pendulum.compile().length == pytest.approx(2.0)
    assert single("Floating").compile().length == pytest.approx(1.0)  # radius of gyration


def test_massless_bodies_that_something_holds_are_accepted():
    model = four_bar()
    model.add_body("coupler", mass=0.0)
    model.add_joint("e", Revolute(Y), "crank", "coupler", point=(0, 0, 1))
    model.add_joint("f", Revolute(Y), "coupler", "rocker", point=(1, 0, 1), cut=True)
    model.add_body("frame", mass=0.0)
    model.add_body("head", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("yaw", Revolute(Z), "ground", "frame")
    model.add_joint("pitch", Revolute(Y), "frame", "head")
    model.add_body("hand", mass=0.0)
    model.add_joint("dial", Revolute(Z), "ground", "hand")
    model.add_driver("clock", ConstantRate(1.0), joint="dial")
    assert model.compile().n == 7
