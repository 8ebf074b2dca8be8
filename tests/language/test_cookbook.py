"""Every file of docs/gallery/cookbook against a closed form of its motion."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rtmbs import language
from rtmbs.kinematics import Analysis
from rtmbs.language.measures import with_measures

FOLDER = Path(__file__).parents[2] / "docs" / "gallery" / "cookbook"
FILES = sorted(FOLDER.glob("*.mks"))
W = 2.0 * np.pi
LEGS = [(-10, -50), (10, 50), (110, 70), (130, 170), (230, 190), (250, 290)]  # base and top [deg]


def smooth(t, t0=0.0, t1=1.0):
    s = np.clip((t - t0) / (t1 - t0), 0.0, 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def slider_crank(t):
    return {"x": np.cos(W * t) + np.sqrt(9.0 - (0.4 - np.sin(W * t)) ** 2)}


def four_bar(t):
    B = 2.0 * np.exp(1j * W * t)
    d = 8.0 - B
    turn = np.angle(d) + np.arccos((49.0 + np.abs(d) ** 2 - 25.0) / (14.0 * np.abs(d)))
    tip = B + (3.5 + 2.0j) * np.exp(1j * turn)
    C = B + 7.0 * np.exp(1j * turn)
    rocker = np.angle(C - 8.0)
    return {"rocker_angle": rocker, "x": tip.real, "y": tip.imag}


def scotch_yoke(t):
    return {"x": 0.05 * np.cos(W * t)}


def quick_return(t):
    return {"swing": np.arctan2(0.2 * np.sin(W * t), 0.5 + 0.2 * np.cos(W * t))}


def elliptic_trammel(t):
    a = 0.3 + W * t
    return {"x": 1.5 * np.cos(a), "y": -np.sin(a) + 1.5 * np.sin(a)}


def cardan_shaft(t):
    return {"turned": np.unwrap(np.arctan2(np.sin(W * t), np.cos(W * t) * np.cos(np.pi / 6)))}


def eccentric_cam(t):
    return {"lift": 0.01 * np.sin(W * t) + np.sqrt(0.048**2 - (0.01 * np.cos(W * t)) ** 2)}


def harmonic_cam(t):
    return {"lift": 0.04 + 0.005 * np.cos(2.0 * (np.pi / 2 - W * t))}


def gear_pair(t):
    return {"turned": -W * t / 3.0}


def planetary_gear(t):
    return {"turned": W * t / (1.0 + 3.5)}


def rack(t):
    return {"x": 0.03 * np.sin(W * t)}


def screw_jack(t):
    return {"height": -0.006 * 10.0 * t}


def toggle_press(t):
    x = 0.5 * np.sin(np.deg2rad(40)) - 0.25 * smooth(t)
    return {"y": -2.0 * np.sqrt(0.25 - x * x)}


def pantograph(t):
    return {"x": 4.0 + 0.4 * np.sin(W * t), "y": 0.4 * (1.0 - np.cos(W * t))}


def peaucellier(t):
    turn = 0.4 * np.sin(W * t)
    return {"x": np.full(len(t), 6.25), "y": 6.25 * np.tan(0.5 * turn)}


def scissor_lift(t):
    w = np.cos(np.pi / 6) - 0.3 * smooth(t)
    return {"height": 3.0 * np.sqrt(1.0 - w * w)}


def parallelogram(t):
    a = 1.2 * np.sin(W * t)
    return {"tilt": 0.0 * t, "x": 0.5 - 0.3 * np.sin(a), "y": 0.3 * np.cos(a)}


def stewart_platform(t):
    place = np.stack([0.1 * np.sin(W * t), 0.1 * np.sin(2 * W * t), 1.2 + 0.1 * t], axis=1)
    R = Rotation.from_euler("ZYX", np.stack([0.2 * np.sin(W * t), 0.1 * t, -0.1 * t**2], axis=1)).as_matrix()
    found = {}
    for k, (base, top) in enumerate(
        np.deg2rad([(-10, -50), (10, 50), (110, 70), (130, 170), (230, 190), (250, 290)]), 1
    ):
        head = place + R @ np.array([0.6 * np.cos(top), 0.6 * np.sin(top), 0.0])
        found[f"leg_{k}_length"] = np.linalg.norm(head - [np.cos(base), np.sin(base), 0.0], axis=1)
    return found


def oldham_coupling(t):
    return {"turned": W * t, "x": 0.02 * np.cos(W * t) ** 2, "y": 0.02 * np.cos(W * t) * np.sin(W * t)}


def bead_on_helix(t):
    return {"z": -0.05 * 2.0 * t}


def robot_arm(t):
    x, y = 1.0 + 0.2 * np.sin(W * t), 0.8 - 0.2 * (1.0 - np.cos(W * t))
    inner = np.arccos((1.0 + 0.64 - x * x - y * y) / 1.6)
    return {"bend": np.pi - inner - np.pi / 2}


def excavator_boom(t):
    d = 2.5 + 0.4 * smooth(t)
    return {"raised": np.arccos((4.0 + 2.25 - d * d) / 6.0) - np.pi / 2}


def link_chain(t):
    lengths = [0.5, 0.4, 0.3, 0.2, 0.1]
    tip = sum(l * np.exp(0.3j * (k + 1) * t) for k, l in enumerate(lengths))
    return {"x": tip.real, "y": tip.imag}


def indexing_table(t):
    return {"turned": np.deg2rad(60) * (smooth(t, 0.0, 0.3) + smooth(t, 0.5, 0.8))}


def rssr(t):
    """|p - q|^2 = l^2 with p = a (cos, sin, 0) and q = (g, h + b cos swing, b sin swing)."""
    x, y = 0.4 * np.cos(W * t) - 0.5, 0.4 * np.sin(W * t) + 1.2
    return {"swing": np.arccos((x * x + y * y + 1.0 - 1.44) / (2.0 * y))}


def double_cardan(t):
    return {"turned": W * t}


FORMS = {
    one.__name__: one
    for one in (
        slider_crank, four_bar, scotch_yoke, quick_return, elliptic_trammel, cardan_shaft, eccentric_cam, harmonic_cam,
        gear_pair, planetary_gear, rack, screw_jack, toggle_press, pantograph, peaucellier, scissor_lift, parallelogram,
        stewart_platform, oldham_coupling, bead_on_helix, robot_arm, excavator_boom, link_chain, indexing_table, rssr,
        double_cardan,
    )
}  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_motion_is_the_closed_form(path):
    document = language.read(path)
    analysis = document.analysis
    motion = Analysis(document.model, document.constraints).run(analysis.t0, analysis.t1, analysis.dt)
    assert motion.report.mobility.degrees_of_freedom == 0
    found, wanted = with_measures(document, motion), FORMS[path.stem](motion.t)
    assert set(wanted) == set(document.measures)
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=2e-9, err_msg=name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_is_in_its_usual_form_and_reads_back(path):
    text = path.read_text(encoding="utf-8")
    assert language.format(text) == text
    document = language.read(path)
    again = language.build(language.write(document))
    assert language.write(again) == language.write(document)
    assert len(again.constraints) == len(document.constraints)


def test_there_are_25_and_more_each_with_a_closed_form():
    assert len(FILES) >= 25
    assert {path.stem for path in FILES} == set(FORMS)
