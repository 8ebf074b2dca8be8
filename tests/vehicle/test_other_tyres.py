"""TMeasy against points of Chrono and of an own evaluator; Fiala and brush against closed forms and limits."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.ad import Evaluator, sparse_jacobian
from rtmbs.ad.trace import record
from rtmbs.vehicle import BrushTyre, FialaTyre, TMeasy
from rtmbs.vehicle.tyre import TyreInput

DATA = Path(rtmbs.__file__).parent / "vehicle" / "data"
POINTS = """
sedan_json 4000 0.05 0 3001.066521 0.000000 -0.000000
sedan_json 4000 0 -0.05 0.000000 -2517.157073 34.637827
sedan_json 4000 0.05 -0.05 2430.653014 -2430.653014 33.447472
sedan_json 4000 -0.2 0.1 -3691.787708 1845.893854 -14.068707
sedan_json 7000 0.02 0.15 840.488397 6303.662978 -40.373118
sedan_json 2000 0.3 -0.4 1079.332068 -1439.109424 -12.432520
sedan_json 6500 0 -0.3 0.000000 -5810.663518 -49.484555
hmmwv_models 4000 0.05 0 3097.533012 0.000000 -0.000000
hmmwv_models 4000 0 -0.05 0.000000 -1264.785251 26.218080
hmmwv_models 4000 0.05 -0.05 1741.177126 -1741.177126 36.093337
hmmwv_models 4000 -0.2 0.1 -3241.283451 1620.641725 -28.489333
hmmwv_models 7000 0.02 0.15 597.290314 4479.677354 -85.095288
hmmwv_models 2000 0.3 -0.4 906.564932 -1208.753243 -1.102371
hmmwv_models 6500 0 -0.3 0.000000 -4967.541587 21.604567
"""
FIALA = {
    "free_radius": 0.33, "width": 0.2, "vertical_stiffness": 2e5, "slip_stiffness": 8e4, "cornering_stiffness": 6e4,
    "friction": 1.0, "sliding_friction": 0.8, "rolling_resistance": 0.003,
}  # fmt: skip
BRUSH = {"free_radius": 0.33, "vertical_stiffness": 2e5, "tread_stiffness": 6e6, "friction": 0.9}


def tmeasy(file: str, variant: str) -> TMeasy:
    values = json.loads((DATA / f"{file}.json").read_text(encoding="utf-8"))["tyres"]["tmeasy"][variant]
    return TMeasy({name: value for name, value in values.items() if name not in ("source", "note")})


TMEASY = {"sedan_json": tmeasy("sedan", "from_json"), "hmmwv_models": tmeasy("hmmwv", "from_models")}


@pytest.mark.parametrize("line", POINTS.strip().splitlines())
def test_points_of_tmeasy(line):
    name, *numbers = line.split()
    load, sx, sy, *wanted = map(float, numbers)
    found = TMEASY[name].steady(load=load, slip=sx, slip_angle=-math.atan(sy))
    assert np.allclose((found.Fx, found.Fy, found.Mz), wanted, rtol=0.0, atol=6e-7)


def test_tmeasy_against_pieces_in_scalars():
    """Along x alone: slope, peak, sliding, and the formulas of each piece."""
    tyre, rng = TMEASY["sedan_json"], np.random.default_rng(3)
    for _ in range(300):
        load, s, m = rng.uniform(500, 11000), rng.uniform(0.0, 1.2), rng.uniform(0.4, 1.2)
        q = load / tyre.nominal_load
        pair = {name: tyre.pairs[name] for name in ("dfx0", "fxm", "fxs", "sxm", "sxs")}
        force = lambda y, q=q: q * (2 * y[0] - y[1] / 2 - (y[0] - y[1] / 2) * q)  # noqa: E731
        linear = lambda y, q=q: y[0] + (y[1] - y[0]) * (q - 1)  # noqa: E731
        dF, FM, FS = force(pair["dfx0"]), m * force(pair["fxm"]), m * force(pair["fxs"])
        sM, sS = m * linear(pair["sxm"]), m * linear(pair["sxs"])
        dF = max(dF, 2 * FM / sM)
        a = (FM / sM) ** 2 / (dF * sM)
        middle = sM + (FM - FS) / (a * (sS - sM))
        if s <= sM:
            wanted = dF * s / (1 + s / sM * (s / sM + dF * sM / FM - 2))
        elif s > sS:
            wanted = FS
        elif middle > sS:
            wanted = FM - (FM - FS) * ((s - sM) / (sS - sM)) ** 2 * (3 - 2 * (s - sM) / (sS - sM))
        elif s <= middle:
            wanted = FM - a * (s - sM) ** 2
        else:
            wanted = FS + a * (middle - sM) / (sS - middle) * (sS - s) ** 2
        assert tyre.steady(load=load, slip=s, friction=m).Fx == pytest.approx(wanted, rel=1e-7, abs=1e-6)


def test_fiala_closed_forms():
    tyre, load = FialaTyre(**FIALA), 4000.0
    small = tyre.steady(load=load, slip=0.01)
    assert small.Fx == pytest.approx(800.0, rel=1e-15)  # elastic: slip stiffness times slip
    slip = 0.1
    U = 1.0 - 0.2 * slip
    assert tyre.steady(load=load, slip=slip).Fx == pytest.approx(U * load - (U * load) ** 2 / (4 * slip * 8e4))
    alpha = 0.05
    t = math.tan(alpha)
    limit = (1.0 - 0.2 * t) * load
    H = 1.0 - 6e4 * t / (3.0 * limit)
    found = tyre.steady(load=load, slip_angle=alpha)
    assert found.Fy == pytest.approx(-limit * (1 - H**3), rel=1e-12)
    assert found.Mz == pytest.approx(limit * 0.2 * (1 - H) * H**3, rel=1e-12)
    assert found.My == pytest.approx(-12.0)
    slides = tyre.steady(load=load, slip_angle=0.8)
    assert (slides.Fy, slides.Mz) == pytest.approx((-0.8 * load, 0.0), abs=1e-9)


def test_brush_closed_forms():
    tyre, load = BrushTyre(**BRUSH), 4000.0
    a = math.sqrt(0.33 * load / 2e5)
    C = 2 * 6e6 * a * a
    d = 1e-7
    assert tyre.steady(load=load, slip=d).Fx / d == pytest.approx(C, rel=1e-5)
    assert tyre.steady(load=load, slip_angle=d).Mz / d == pytest.approx(C * a / 3.0, rel=1e-5)  # trail a / 3
    slides = math.atan(3 * 0.9 * load / C)
    at_limit = tyre.steady(load=load, slip_angle=slides)
    assert (at_limit.Fy, at_limit.Mz) == pytest.approx((-0.9 * load, 0.0), abs=1e-6)
    both = tyre.steady(load=load, slip=0.2, slip_angle=0.3)
    assert math.hypot(both.Fx, both.Fy) == pytest.approx(0.9 * load)
    assert both.Fx / -both.Fy == pytest.approx(0.2 / math.tan(0.3))


@pytest.mark.parametrize("tyre", [*TMEASY.values(), FialaTyre(**FIALA), BrushTyre(**BRUSH)], ids=lambda one: one.kind)
def test_derivatives(tyre):
    """The recorded formulas have the derivatives of the complex step."""

    def forces(x):
        return np.stack(tyre.forces(TyreInput(*x[:6], forward=1.0)))

    jacobian = sparse_jacobian(record(forces, 6, 5))
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(60):
        x = rng.uniform(-1, 1, 6) * (3000, 0.4, 0.4, 0.1, 20, 0.3) + (4500, 0, 0, 0, 25, 1.0)
        step = np.array([forces(x + 1e-30j * unit).imag / 1e-30 for unit in np.eye(6)]).T
        exact = np.zeros((5, 6))
        exact[jacobian.row, jacobian.column] = Evaluator(jacobian.tape).value(x)
        worst = max(worst, np.max(np.abs(exact - step) / np.maximum(np.abs(step), 1.0)))
    assert worst < 1e-9


@pytest.mark.parametrize("tyre", [*TMEASY.values(), FialaTyre(**FIALA), BrushTyre(**BRUSH)], ids=lambda one: one.kind)
def test_force_opposes_slip(tyre):
    """Sliding dissipates: the force has no component along the sliding velocity."""
    rng = np.random.default_rng(2)
    slip, angle, load = rng.uniform(-0.9, 0.9, 400), rng.uniform(-0.7, 0.7, 400), rng.uniform(100, 9000, 400)
    found = tyre.steady(load=load, slip=slip, slip_angle=angle)
    assert np.all(found.Fx * -slip + found.Fy * np.tan(angle) <= 0.0)


def test_refusals():
    with pytest.raises(rtmbs.errors.ModelError, match="friction is -1; it must be above zero"):
        BrushTyre(**BRUSH | {"friction": -1.0})
    with pytest.raises(rtmbs.errors.ModelError, match="rolling_resistance is -1; it must be zero or more"):
        FialaTyre(**FIALA | {"rolling_resistance": -1.0})
    with pytest.raises(rtmbs.errors.ModelError, match="dfx0, fxm, fxs"):
        TMeasy({})
    known = {name: [1.0, 1.0] for name in TMEASY["sedan_json"].pairs}
    known |= dict.fromkeys(("pn", "pn_max", "R0", "width", "rim_radius", "cz", "dz", "mu0", "rolling_resistance"), 1.0)
    with pytest.raises(rtmbs.errors.ModelError, match="there is no parameter named 'grip' of TMeasy"):
        TMeasy(known | {"grip": 1.0})
    with pytest.raises(rtmbs.errors.ModelError, match="pn is 0; it must be above zero"):
        TMeasy(known | {"pn": 0.0})
