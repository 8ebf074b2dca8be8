"""OpenCRG roads: files that are written here by the text of the format, and heights and slopes of closed forms."""

import struct

import numpy as np
import pytest

import rtmbs
from rtmbs.vehicle import DrivenCar, HeldSteering, OpenCrgRoad, PedalTable, read

pytest.importorskip("pyopencrg")
pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
LENGTH, STEP, V = 20.0, 0.5, np.array((-1.5, -0.5, 0.5, 1.5))
U = np.arange(0.0, LENGTH + 0.5 * STEP, STEP)
Z = 0.02 * np.round(np.sin(U), 3)[:, None] + 0.01 * V


def head(kind, lines=(), channels=()):
    """Return the text of a header with the ``lines`` of ROAD_CRG."""
    sections = [f"D:long section {k},m" for k in range(1, len(V) + 1)]
    road = [
        "REFERENCE_LINE_START_U = 0.0", f"REFERENCE_LINE_END_U = {LENGTH}", f"REFERENCE_LINE_INCREMENT = {STEP}",
        f"LONG_SECTION_V_RIGHT = {V[0]}", f"LONG_SECTION_V_LEFT = {V[-1]}", f"LONG_SECTION_V_INCREMENT = {V[1] - V[0]}",
    ]  # fmt: skip
    first = f"U:reference line u,m,0.0,{STEP}"
    parts = ("$CT", "test", "$", "$ROAD_CRG", *road, *lines, "$", "$KD_DEFINITION", f"#:{kind}", first)
    return "\n".join((*parts, *channels, *sections, "$", "$" * 80)) + "\n"


def text_file(path, lines=(), channels=(), columns=None):
    """Write a file of the format LRFI: fields of ten characters."""
    table = Z if columns is None else np.column_stack((columns, Z))
    rows = ["".join(f"{value:10.6f}" for value in row) for row in table.tolist()]
    path.write_text(head("LRFI", lines, channels) + "\n".join(rows) + "\n", encoding="ascii")
    return path


def own_height(u, v):
    """Return the bilinear height of the grid."""
    i, k = np.clip((u / STEP).astype(int), 0, len(U) - 2), np.clip((v - V[0]).astype(int), 0, len(V) - 2)
    s, t = u / STEP - i, v - V[0] - k
    return (1 - s) * (1 - t) * Z[i, k] + s * (1 - t) * Z[i + 1, k] + (1 - s) * t * Z[i, k + 1] + s * t * Z[i + 1, k + 1]


def places(seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.3, LENGTH - 0.3, 50), rng.uniform(-1.4, 1.4, 50)


@pytest.mark.parametrize("kind", ["LRFI", "KRBI", "KDBI"])
def test_formats(tmp_path, kind):
    """Text and binary files have the bilinear heights and slopes of their grid."""
    path = tmp_path / "road.crg"
    if kind == "LRFI":
        text_file(path)
    else:
        start = head(kind).encode("ascii")
        letter, block = ("f", 20) if kind == "KRBI" else ("d", 10)  # big-endian, in blocks of 80 bytes
        values = Z.ravel().tolist() + [np.nan] * (-Z.size % block)
        path.write_bytes(start + struct.pack(f">{len(values)}{letter}", *values))
    road, (x, y) = OpenCrgRoad(path), places()
    assert road.height(x, y) == pytest.approx(own_height(x, y), abs=2e-6)
    dx, dy = road.slopes(x, y)
    h = 1e-4
    inside = np.abs(x / STEP - np.round(x / STEP)) * STEP > h
    wanted = (own_height(x + h, y) - own_height(x - h, y)) / (2 * h)
    assert dx[inside] == pytest.approx(wanted[inside], abs=2e-5)
    assert dy == pytest.approx(0.01, abs=2e-5)


def test_curved_banked_and_sloped(tmp_path):
    """On a circle with a slope and a banking the height is that of the grid plus both, at the polar coordinates."""
    heading, banking = 0.05 * (U - 0.5 * STEP), 0.03
    heading[0] = 0.0
    lines = ("REFERENCE_LINE_START_PHI = 0.0", "REFERENCE_LINE_START_Z = 1.0", "REFERENCE_LINE_END_Z = 1.4",
             "REFERENCE_LINE_START_B = 0.03", "REFERENCE_LINE_END_B = 0.03", "REFERENCE_LINE_START_S = 0.02",
             "REFERENCE_LINE_END_S = 0.02")  # fmt: skip
    path = text_file(tmp_path / "road.crg", lines, ("D:reference line phi,rad",), heading)
    radius, road = STEP / (2.0 * np.sin(0.5 * 0.05 * STEP)), OpenCrgRoad(path, modifiers=False)
    u, v = places(1)
    angle = 0.05 * u
    x, y = (radius - v) * np.sin(angle), radius - (radius - v) * np.cos(angle)
    wanted = own_height(u, v) + 1.0 + 0.02 * u + banking * v
    assert road.height(x, y) == pytest.approx(wanted, abs=1e-4)  # the polygon lies within 2 mm of its circle
    assert OpenCrgRoad(path).height(0.0, 0.0) == pytest.approx(own_height(np.zeros(1), np.zeros(1))[0], abs=1e-9)


def test_drive(tmp_path):
    """A car rolls over a road of a file; beside a file without heights it is refused by name."""
    car = read("sedan", variant="from_models")
    road = OpenCrgRoad(text_file(tmp_path / "road.crg"))
    pedals = PedalTable(lambda t: 0.0, lambda t: 0.0)
    driven = DrivenCar(car, 10.0, pedals, HeldSteering(0.0), road=road)
    result = driven.run(0.3)
    under = road.height(*result["wheel_fl.position"][:, :2].T)
    assert np.ptp(under) > 0.03
    over = (result["wheel_fl.position"][:, 2] - under)[150:]  # it begins pressed into the road
    assert np.max(np.abs(over - 0.33)) < 0.02


def test_refusals(tmp_path):
    with pytest.raises(rtmbs.errors.ModelError, match="cannot be read"):
        OpenCrgRoad(tmp_path / "none.crg")
    path = tmp_path / "bad.crg"
    path.write_text("no road\n", encoding="ascii")
    with pytest.raises(rtmbs.errors.ModelError, match=r"bad.crg.* cannot be read"):
        OpenCrgRoad(path)
    holes = text_file(tmp_path / "holes.crg")
    lines = holes.read_text(encoding="ascii").splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("$$$$"))
    for k in range(first + 11, first + 21):
        lines[k] = " *missing*" + lines[k][10:]
    holes.write_text("\n".join(lines) + "\n", encoding="ascii")
    with pytest.raises(rtmbs.errors.ModelError, match=r"has no height at x = 7, y = -1.2"):
        OpenCrgRoad(holes, modifiers=False).height(7.0, -1.2)
