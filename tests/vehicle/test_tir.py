"""Tyre property files: units, comments, sides, and one sentence for each flaw."""

import json
from pathlib import Path

import pytest

import rtmbs
from rtmbs.vehicle import MagicFormula
from rtmbs.vehicle.tir import read_tir

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
