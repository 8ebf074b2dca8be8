"""Magic Formula tyre: points of MFeval, a second implementation in scalars, limits, and derivatives.

Tyre property files: units, comments, sides, and one sentence for each flaw.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.ad import Evaluator, sparse_jacobian
from rtmbs.ad.trace import record
from rtmbs.vehicle import MagicFormula
from rtmbs.vehicle.magic_formula import read_tir
from rtmbs.vehicle.tyre import TyreInput

FILE = json.loads((Path(__file__).parent / "data" / "tyre_points.json").read_text(encoding="utf-8"))
PARAMETERS = {name: entry["values"] for name, entry in FILE["parameters"].items()}
AGREEMENT = 1e-6  # relative, or absolute below one
ELLIPSE = [  # tyre, Fz, kappa, alpha, Fx, Fy: friction ellipse (tyre without coefficients of combined slip)
    ("B", 4100, 0.02, 0.0001, 1855.698818, -26.491573),
    ("B", 4100, 0.0001, 0.03, 103.884394, -1955.083337),
    ("B", 4100, -0.03, 0.04, -1883.630216, -2282.907308),
    ("C", 4100, -0.03, 0.04, -1598.314326, -1024.615783),
    ("C", 7000, 0.1, -0.08, 4821.817503, 2584.720172),
    ("B", 7000, 0.1, -0.08, 5402.039116, 3873.462996),
]


def close(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= AGREEMENT * max(abs(wanted), 1.0)


@pytest.mark.parametrize("point", FILE["points"], ids=lambda point: f"{point['tyre']}{point['Fz']}")
def test_points_of_mfeval(point):
    tyre, Fz, gamma = MagicFormula(PARAMETERS[point["tyre"]]), point["Fz"], point["gamma"]
    forces = tyre.steady(load=Fz, slip=point["kappa"], slip_angle=point["alpha"], camber=gamma, speed=point["Vx"])
    for name, value in forces._asdict().items():
        assert close(value, point[name]), name
    (Kx, Ky), (Dx, Dy), sigma = tyre.stiffnesses(Fz, gamma), tyre.peaks(Fz, gamma), tyre.relaxation_lengths(Fz, gamma)
    found = {"Kx": Kx, "Ky": -Ky, "mu_x": Dx / Fz, "mu_y": Dy / Fz, "Re": tyre.effective_radius(Fz)}
    found |= {"sigma_kappa": sigma[0], "sigma_alpha": sigma[1]}
    for name, value in found.items():
        assert close(value, point[name]), name


@pytest.mark.parametrize("case", ELLIPSE)
def test_friction_ellipse(case):
    tyre, Fz, kappa, alpha, Fx, Fy = case
    forces = MagicFormula(PARAMETERS[tyre], combined="ellipse").steady(load=Fz, slip=kappa, slip_angle=alpha)
    assert close(forces.Fx, Fx)
    assert close(forces.Fy, Fy)


def second_implementation(p, Fz, kappa, alpha, gamma, Vx, friction):
    """Return Fx, Fy, Mx, My, Mz by the equations as they stand in books, with B = K / (C D), in scalars."""
    c = lambda name: p.get(name, 1.0 if name in SCALE else 0.0)  # noqa: E731
    R0, Fz0, LMUX, LMUY = p["UNLOADED_RADIUS"], p["FNOMIN"], c("LMUX") * friction, c("LMUY") * friction
    atan, sgn = math.atan, lambda x: (x > 0) - (x < 0)
    dfz = (Fz - c("LFZO") * Fz0) / (c("LFZO") * Fz0)
    inner = lambda B, E, x: B * x - E * (B * x - atan(B * x))  # noqa: E731
    # longitudinal
    gx, gy, gz = gamma * c("LGAX"), gamma * c("LGAY"), gamma * c("LGAZ")
    kx = kappa + (c("PHX1") + c("PHX2") * dfz) * c("LHX")
    Cx, mux = c("PCX1") * c("LCX"), (c("PDX1") + c("PDX2") * dfz) * (1 - c("PDX3") * gx**2) * LMUX
    Ex = (c("PEX1") + c("PEX2") * dfz + c("PEX3") * dfz**2) * (1 - c("PEX4") * sgn(kx)) * c("LEX")
    Kx = Fz * (c("PKX1") + c("PKX2") * dfz) * math.exp(c("PKX3") * dfz) * c("LKX")
    Bx, SVx = Kx / (Cx * mux * Fz), Fz * (c("PVX1") + c("PVX2") * dfz) * c("LVX") * LMUX
    Fx0 = mux * Fz * math.sin(Cx * atan(inner(Bx, min(Ex, 1), kx))) + SVx
    # lateral
    SHy = (c("PHY1") + c("PHY2") * dfz) * c("LHY") + c("PHY3") * gy
    ay, Cy = alpha + SHy, c("PCY1") * c("LCY")
    Ky = c("PKY1") * Fz0 * math.sin(2 * atan(Fz / (c("PKY2") * Fz0 * c("LFZO")))) * (1 - c("PKY3") * abs(gy))
    Ky *= c("LFZO") * c("LKY")
    muy = (c("PDY1") + c("PDY2") * dfz) * (1 - c("PDY3") * gy**2) * LMUY
    Ey = (c("PEY1") + c("PEY2") * dfz) * (1 - (c("PEY3") + c("PEY4") * gy) * sgn(ay)) * c("LEY")
    SVy = Fz * ((c("PVY1") + c("PVY2") * dfz) * c("LVY") + (c("PVY3") + c("PVY4") * dfz) * gy) * LMUY
    By = Ky / (Cy * muy * Fz)
    Fy0 = muy * Fz * math.sin(Cy * atan(inner(By, min(Ey, 1), ay))) + SVy
    # combined
    G = lambda B, C, E, x: math.cos(C * atan(inner(B, E, x)))  # noqa: E731
    Bxa, Exa = c("RBX1") * math.cos(atan(c("RBX2") * kappa)) * c("LXAL"), min(c("REX1") + c("REX2") * dfz, 1)
    Fx = Fx0 * G(Bxa, c("RCX1"), Exa, alpha + c("RHX1")) / G(Bxa, c("RCX1"), Exa, c("RHX1"))
    Byk = c("RBY1") * math.cos(atan(c("RBY2") * (alpha - c("RBY3")))) * c("LYKA")
    Eyk, SHyk = min(c("REY1") + c("REY2") * dfz, 1), c("RHY1") + c("RHY2") * dfz
    DV = muy * Fz * (c("RVY1") + c("RVY2") * dfz + c("RVY3") * gamma) * math.cos(atan(c("RVY4") * alpha))
    SVyk = DV * math.sin(c("RVY5") * atan(c("RVY6") * kappa)) * c("LVYKA")
    Fy = Fy0 * G(Byk, c("RCY1"), Eyk, kappa + SHyk) / G(Byk, c("RCY1"), Eyk, SHyk) + SVyk
    # moments
    a_t = alpha + c("QHZ1") + c("QHZ2") * dfz + (c("QHZ3") + c("QHZ4") * dfz) * gz
    a_r = alpha + SHy + SVy / Ky
    both = lambda a: sgn(a) * atan(math.sqrt(math.tan(a) ** 2 + (Kx / Ky * kappa) ** 2))  # noqa: E731
    Bt = (c("QBZ1") + c("QBZ2") * dfz + c("QBZ3") * dfz**2) * (1 + c("QBZ4") * gz + c("QBZ5") * abs(gz))
    Bt *= c("LKY") / LMUY
    Dt = Fz * (c("QDZ1") + c("QDZ2") * dfz) * (1 + c("QDZ3") * gz + c("QDZ4") * gz**2) * R0 / Fz0 * c("LTR")
    Et = c("QEZ1") + c("QEZ2") * dfz + c("QEZ3") * dfz**2
    Et *= 1 + (c("QEZ4") + c("QEZ5") * gz) * 2 / math.pi * atan(Bt * c("QCZ1") * a_t)
    t = Dt * G(Bt, c("QCZ1"), min(Et, 1), both(a_t)) * math.cos(alpha)
    Br = c("QBZ9") * c("LKY") / LMUY + c("QBZ10") * By * Cy
    Dr = (c("QDZ6") + c("QDZ7") * dfz) * c("LRES") + (c("QDZ8") + c("QDZ9") * dfz) * gz
    Mzr = Fz * Dr * R0 * LMUY * math.cos(atan(Br * both(a_r))) * math.cos(alpha)
    s = (c("SSZ1") + c("SSZ2") * Fy / Fz0 + (c("SSZ3") + c("SSZ4") * dfz) * gamma) * R0 * c("LS")
    Mz = -t * (Fy - SVyk) + Mzr + s * Fx
    Mx = R0 * Fz * (c("QSX1") * c("LVMX") - c("QSX2") * gamma + c("QSX3") * Fy / Fz0) * c("LMX")
    V = abs(Vx / p["LONGVL"])
    My = -R0 * Fz * (c("QSY1") + c("QSY2") * Fx / Fz0 + c("QSY3") * V + c("QSY4") * V**4) * c("LMY") * sgn(Vx)
    return np.array([Fx, Fy, Mx, My, Mz])


SCALE = {name for name in PARAMETERS["A"] if name.startswith("L") and name != "LONGVL"}


@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_second_implementation_with_scale_factors(name):
    """Random points, with every scale factor away from one."""
    rng = np.random.default_rng(36)
    worst = 0.0
    for _ in range(300):
        p = PARAMETERS[name] | {key: rng.uniform(0.7, 1.3) for key in SCALE if key != "LFZO" and key in PARAMETERS["A"]}
        p |= {"QSY3": rng.uniform(0, 0.01), "QSY4": rng.uniform(0, 0.01), "QSY2": rng.uniform(0, 0.01)}
        p |= {"QBZ10": rng.uniform(0, 0.3), "QSX1": rng.uniform(-0.01, 0.01), "LVY": 1.2, "LMX": 0.8}
        load, speed = rng.uniform(0.1, 2.0) * p["FNOMIN"] * p["LFZO"], rng.uniform(-40, 40)
        kappa, alpha, gamma = rng.uniform(-0.9, 0.9), rng.uniform(-0.8, 0.8), rng.uniform(-0.2, 0.2)
        friction = rng.uniform(0.2, 1.2)
        wanted = second_implementation(p, load, kappa, alpha, gamma, abs(speed), friction)
        wanted[3] *= np.sign(speed)
        at = TyreInput(*map(np.float64, (load, kappa, alpha, gamma, speed, friction)))
        found = np.array(MagicFormula({k: v for k, v in p.items() if k != "LGYR"}).forces(at))
        found[3] *= np.sign(speed)
        worst = max(worst, np.max(np.abs(found - wanted) / np.maximum(np.abs(wanted), 1.0)))
    assert worst < 1e-9


def test_arrays_equal_numbers():
    tyre = MagicFormula(PARAMETERS["A"])
    slip = np.linspace(-0.5, 0.5, 7)[:, None]
    loads = np.array([0.0, 50.0, 4000.0])
    found = tyre.steady(load=loads, slip=slip, slip_angle=0.03, camber=0.02)
    assert found.Fx.shape == found.My.shape == (7, 3)
    for i, j in np.ndindex(7, 3):
        alone = tyre.steady(load=loads[j], slip=slip[i, 0], slip_angle=0.03, camber=0.02)
        assert np.allclose([one[i, j] for one in found], alone, rtol=1e-14, atol=1e-12)


def test_limits():
    """No load, no force; stiffness at no slip; peak friction; far slip stays below the peak."""
    tyre = MagicFormula(PARAMETERS["A"])
    assert np.allclose(tyre.steady(load=0.0, slip=0.1, slip_angle=0.2, camber=0.1), 0.0, atol=1e-12)
    Kx, Ky = tyre.stiffnesses(4000.0)
    assert Ky == pytest.approx(30632.315, rel=1e-6)
    symmetric = MagicFormula({k: v for k, v in PARAMETERS["A"].items() if not k.startswith(("PH", "PV", "R"))})
    d = 1e-7
    slope = symmetric.steady(load=4000.0, slip=d).Fx / d, -symmetric.steady(load=4000.0, slip_angle=d).Fy / d
    assert slope == pytest.approx((Kx, Ky), rel=1e-6)
    x = np.linspace(0.0, 0.3, 3001)
    assert np.max(symmetric.steady(load=4000.0, slip=x).Fx) == pytest.approx(symmetric.peaks(4000.0)[0], rel=1e-6)


def test_mirrored_tyre():
    """The other side sees slip angle and camber reversed; without offsets both sides agree."""
    left = MagicFormula(PARAMETERS["A"])
    right = left.other_side()
    one = left.steady(load=5000.0, slip=0.03, slip_angle=0.05, camber=0.02)
    two = right.steady(load=5000.0, slip=0.03, slip_angle=-0.05, camber=-0.02)
    assert two == pytest.approx((one.Fx, -one.Fy, -one.Mx, one.My, -one.Mz), rel=1e-14)
    assert right.steady(load=5000.0).Fy == pytest.approx(-left.steady(load=5000.0).Fy)
    assert left.steady(load=5000.0).Fy != 0.0  # ply steer and conicity


@pytest.mark.parametrize("combined", ["formula", "ellipse"])
@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_derivatives(name, combined):
    """The recorded formulas have the derivatives of the complex step."""
    tyre = MagicFormula(PARAMETERS[name], combined=combined)

    def forces(x):
        return np.stack(tyre.forces(TyreInput(*x[:6], forward=1.0)))

    jacobian = sparse_jacobian(record(forces, 6, 5))
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(40):
        x = np.array([*(rng.uniform(-1, 1, 6) * (3000, 0.4, 0.4, 0.1, 20, 0.3) + (4500, 0, 0, 0, 25, 1.0))])
        step = np.array([forces(x + 1e-30j * unit).imag / 1e-30 for unit in np.eye(6)]).T
        exact = np.zeros((5, 6))
        exact[jacobian.row, jacobian.column] = Evaluator(jacobian.tape).value(x)
        worst = max(worst, np.max(np.abs(exact - step) / np.maximum(np.abs(step), 1.0)))
    assert worst < 1e-9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"load": -1.0}, "load is -1.0; it must be zero or more"),
        ({"load": "much"}, "load is 'much'; it must be a number or an array"),
        ({"load": 4000.0, "slip": np.nan}, "slip is nan; every number must be finite"),
        ({"load": 4000.0, "friction": 0.0}, "friction is 0.0; it must be above zero"),
        ({"load": np.ones(3), "slip": np.ones(2)}, "do not fit together"),
    ],
)
def test_what_steady_refuses(given, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        MagicFormula(PARAMETERS["A"]).steady(**given)


def test_left_out_by_name():
    tyre = MagicFormula(PARAMETERS["B"] | {"PDXP1": 0.4, "LKG": 1.0})
    assert tyre.left_out == ("QTZ1", "PDXP1", "MBELT")


VALUES = json.loads((Path(__file__).parent / "data" / "tyre_points.json").read_text(encoding="utf-8"))["parameters"][
    "A"
]
HEAD = """[MDI_HEADER]
FILE_TYPE ='tir'
$ a comment
[UNITS]
LENGTH ='{length}'
FORCE ='{force}'
ANGLE ='degrees'
MASS ='kg'
TIME ='second'
[MODEL]
PROPERTY_FILE_FORMAT ='PAC2002'
TYRESIDE ='LEFT'  $side
[SHAPE]
{{radial width}}
1.0 0.0
1.0 0.5
[INERTIA]
MASS = 11.5
[COEFFICIENTS]
"""
SIZES = {"UNLOADED_RADIUS": 1e3, "WIDTH": 1e3, "RIM_RADIUS": 1e3, "RIM_WIDTH": 1e3, "LONGVL": 1e3, "VXLOW": 1e3}
SIZES |= {"FNOMIN": 1e-3, "FZMIN": 1e-3, "FZMAX": 1e-3, "VERTICAL_STIFFNESS": 1e-6, "VERTICAL_DAMPING": 1e-6}
SIZES |= dict.fromkeys(("ALPMIN", "ALPMAX", "CAMMIN", "CAMMAX"), 57.29577951308232)


def written(folder, sizes=None, length="meter", force="newton", extra="", without="", end="\n", **changed):
    """Write a file of tyre A and return its path."""
    lines = [
        f"{key} = {value * (sizes or {}).get(key, 1.0)!r}   $ {key}"
        for key, value in (VALUES["values"] | changed).items()
        if key != without
    ]
    path = folder / "tyre.tir"
    text = HEAD.format(length=length, force=force) + "\n".join([*lines, extra]) + "\n"
    path.write_bytes(text.replace("\n", end).encode())
    return path


def test_units_of_a_file(tmp_path):
    """mm and kN, and m and N, with both ends of lines, are one tyre."""
    metres = MagicFormula(written(tmp_path, end="\r\n"))
    millimetres = MagicFormula(written(tmp_path, SIZES, "mm", "KiloNewton"))
    assert millimetres.c.given == pytest.approx(metres.c.given | {k: millimetres.c.given[k] for k in SIZES}, rel=1e-12)
    for key in SIZES:
        if "M" not in key[:4]:
            assert millimetres.c.given[key] == pytest.approx(VALUES["values"][key], rel=1e-12)
    wanted = MagicFormula(VALUES["values"]).steady(load=4000.0, slip=0.05, slip_angle=0.02)
    assert millimetres.steady(load=4000.0, slip=0.05, slip_angle=0.02) == pytest.approx(wanted, rel=1e-12)
    assert millimetres.c.side == "LEFT"
    assert millimetres.c.given["MASS"] == 11.5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"without": "PKY1"}, "PKY1 is missing"),
        ({"extra": "PCX1 = 1.3"}, r"line \d+: PCX1 stands in line \d+ too"),
        ({"extra": "PCX9 = 1.3"}, r"line \d+: there is no key named 'PCX9' in PAC2002; did you mean"),
        ({"extra": "PEX = 1,3"}, "there is no key named 'PEX'"),
        ({"without": "PEX1", "extra": "PEX1 = 1,3"}, "PEX1 is '1,3'; it must be a number"),
        ({"without": "PEX1", "extra": "PEX1 = nan"}, "PEX1 is nan; it must be one finite number"),
        ({"length": "furlong"}, "LENGTH is in 'furlong'; it must be one of m, meter"),
        ({"FITTYP": 61.0}, "FITTYP is 61; it must be 6 or 21, which are MF-Tyre 5.2"),
        ({"FNOMIN": -4000.0}, "FNOMIN is -4000; it must be above zero"),
        ({"extra": "nonsense"}, "'nonsense' is no assignment; it must be KEY = value"),
        ({"extra": "[DEFLECTION_LOAD_CURVE]\n0.0 0.0"}, "a deflection load curve cannot be read"),
        ({"extra": "[UNITS]\nWEIGHT = 'kg'"}, "there is no unit of WEIGHT"),
    ],
)
def test_flaws(tmp_path, changes, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words) as caught:
        read_tir(written(tmp_path, **changes))
    assert str(caught.value).startswith("tyre file ")
    assert "\n" not in str(caught.value)


def test_other_formats_and_sides(tmp_path):
    for old, new, words in (
        ("PAC2002", "PAC89", "PROPERTY_FILE_FORMAT is 'PAC89'; it must be one of PAC2002"),
        ("'LEFT'", "'UP'", "TYRESIDE is 'UP'; it must be one of LEFT"),
    ):
        path = written(tmp_path)
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        with pytest.raises(rtmbs.errors.ModelError, match=words):
            read_tir(path)


def test_no_file(tmp_path):
    with pytest.raises(rtmbs.errors.ModelError, match="does not exist"):
        read_tir(tmp_path / "none.tir")


def test_dictionary():
    with pytest.raises(rtmbs.errors.ModelError, match="there is no key named 'PCX7' in PAC2002"):
        MagicFormula(VALUES["values"] | {"PCX7": 1.0})
    with pytest.raises(rtmbs.errors.ModelError, match="FNOMIN, UNLOADED_RADIUS"):
        MagicFormula({})
    with pytest.raises(rtmbs.errors.ModelError, match="combined is 'both'"):
        MagicFormula(VALUES["values"], combined="both")
