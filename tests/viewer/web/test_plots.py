"""Plots of a page in a browser: numbers of the run, windows of time, wheel, click, curves over another, extremes."""

import json
import zlib
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from rtmbs.results.curves import Curve, Panel, frequency_range, least_span, spectrum, tick_texts, value_range
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.description import ChannelDescription
from rtmbs.viewer.scene.theme import WHITE
from rtmbs.viewer.session.connect import playback
from rtmbs.viewer.web.page import PageOptions, panel_data, plotted_of, recorded_curves, write_page
from tests.viewer.mechanisms import motored

MODEL = motored(torque=3.0)
MOUSE = """
    const { curves, player } = page;
    HTMLCanvasElement.prototype.setPointerCapture = () => {};
    document.getElementById("curves").hidden = false;
    const at = (canvas, x, y = 40) => {
      const box = canvas.getBoundingClientRect();
      return { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true, cancelable: true };
    };
    const tap = (canvas, x, y) => {
      canvas.dispatchEvent(new PointerEvent("pointerdown", at(canvas, x, y)));
      canvas.dispatchEvent(new PointerEvent("pointerup", at(canvas, x, y)));
    };
    const inner = (canvas, share) => 62 + share * (canvas.clientWidth - 76);
"""


@pytest.fixture(scope="module")
def result():
    return Simulation(MODEL.compile(), h=5e-3).run(4.0)


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("plots") / "page.html"
    wanted = PageOptions(channels=("coupler.velocity", "base.angle", "knee.angle"), theme="white")
    write_page(playback(result, MODEL), path, wanted)
    return path


def test_windows_wheel_and_click(browser, page, result):
    browser.open(page, (900, 700))
    told = browser.run(
        MOUSE
        + """
        player.pause(3);
        await drawn();
        told.names = curves.content.channels.map((one) => one.name);
        told.panels = curves.panels.map((one) => one.heading.innerText);
        told.t = [...curves.t];
        told.y = [...curves.values(1)];
        curves.show(2);
        told.followed = curves.span;
        const [panel] = curves.panels, { canvas } = panel;
        tap(canvas, inner(canvas, 0.25));
        told.sought = player.time;
        await drawn();
        told.stays = curves.span;
        const pen = canvas.getContext("2d"), { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
        told.colors = [...page.content.themes.white.plots].slice(0, 3).map((color) => {
          const [r, g, b] = [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16));
          let count = 0;
          for (let k = 0; k < data.length; k += 4) {
            const away = Math.abs(data[k] - r) + Math.abs(data[k + 1] - g) + Math.abs(data[k + 2] - b);
            count += away < 40 && data[k + 3] > 200;
          }
          return count;
        });
        canvas.dispatchEvent(new WheelEvent("wheel", { ...at(canvas, inner(canvas, 0.5)), deltaY: -100 }));
        told.zoomed = curves.span;
        told.same = curves.panels.every((one) => curves.timeAt(one, inner(one.canvas, 0)) === curves.span[0]);
        const turn = new WheelEvent("wheel", { ...at(canvas, 20), deltaY: -100 });
        canvas.dispatchEvent(turn);
        told.scrolls = !turn.defaultPrevented && curves.span[0] === told.zoomed[0];
        for (let k = 0; k < 99; k++) canvas.dispatchEvent(new WheelEvent("wheel", { ...at(canvas, 300), deltaY: 100 }));
        told.out = curves.span;
        canvas.dispatchEvent(new MouseEvent("dblclick"));
        told.back = curves.span;
        """
    )
    assert browser.said == []
    assert told["names"][:3] == [f"coupler.velocity[{axis}]" for axis in "xyz"]
    assert [one.split("\n")[0].split(" ")[0] for one in told["panels"]] == [
        "coupler.velocity",
        "base.angle",
        "knee.angle",
    ]
    np.testing.assert_allclose(told["t"], result.t, atol=1e-8)
    np.testing.assert_allclose(told["y"], result["coupler.velocity"][:, 1], atol=1e-4)
    assert told["followed"] == pytest.approx([1.0, 3.0])
    assert told["sought"] == pytest.approx(1.5, abs=0.02)
    assert told["stays"] == told["followed"]
    assert min(told["colors"][1:]) > 100, "every curve is drawn in its colour"
    assert told["zoomed"] == pytest.approx([1.2, 2.8])
    assert told["same"]
    assert told["scrolls"]
    assert told["out"] == pytest.approx([0.0, 4.0])
    assert told["back"][1] - told["back"][0] == pytest.approx(2.0)


def test_over_another_channel_by_unit_and_in_degrees(browser, page, result):
    browser.open(page, (900, 700))
    told = browser.run(
        MOUSE
        + """
        Object.assign(curves, { together: "unit", degrees: true, over: "coupler.velocity[y]" });
        curves.fill();
        player.pause(2);
        await drawn();
        told.panels = curves.panels.map((one) => one.heading.innerText);
        const panel = curves.panels[1], k = 100;
        told.angle = curves.values(3)[k];
        tap(panel.canvas, panel.x(curves.across()[k]), panel.y(told.angle));
        told.sought = player.time;
        """
    )
    assert len(told["panels"]) == 2
    assert "[deg]" in told["panels"][1]
    assert "over coupler.velocity[y]" in told["panels"][1]
    assert told["angle"] == pytest.approx(np.rad2deg(result["base.angle"][100]), abs=1e-2)
    assert told["sought"] == pytest.approx(result.t[100], abs=0.03)


def test_peaks_offsets_gaps_and_ticks(browser, page):
    t = np.linspace(0.0, 10.0, 200_001)
    far, spike = 1e6 + 1e-3 * np.sin(5.0 * t), np.sin(t)
    spike[123_457] = 9.0
    spike[150_000:160_000] = np.nan
    described = SimpleNamespace(channels=[ChannelDescription(name, (), "m") for name in ("far", "spike")])
    plotted = plotted_of(described, ("far", "spike"))
    curves = {name: [Curve(name, "m", t, y)] for name, y in (("far", far), ("spike", spike))}
    content = recorded_curves(plotted, curves, 3000)
    browser.open(page, (900, 700))
    told = browser.run(
        f"const content = {json.dumps(content)};"
        + MOUSE
        + """
        content.curve_t = [await numbers(content.curve_t[0])];
        for (const one of content.channels) one.values = (await numbers(one.values)).map((value) => one.base + value);
        curves.take(content.curve_t, content.channels, undefined, content.panels);
        await drawn();
        told.count = curves.t.length;
        told.t = [...curves.t];
        told.far = [...curves.values(0)];
        told.most = Math.max(...curves.values(1).filter(Number.isFinite));
        told.gaps = curves.values(1).filter((value) => Number.isNaN(value)).length;
        told.heading = curves.panels[0].heading.innerText;
        told.ticks = [[-1, 1, 4], [0, 3e-6, 3], [36000, 36005, 5], [0, 2.6e7, 4]].map((asked) => ticks(...asked));
        """
    )
    assert told["count"] < 4000
    np.testing.assert_allclose(told["far"], np.interp(told["t"], t, far), atol=1e-7)
    assert told["most"] == pytest.approx(9.0, abs=1e-3)
    assert told["gaps"] > 30
    assert "axis counts from 1000000" in told["heading"]
    for one in told["ticks"]:
        places = one["places"]
        assert one["texts"] == tick_texts(places, places[1] - places[0]), "as the window writes them"


def test_rounding_noise_is_a_constant_as_in_the_window(browser, page):
    """An axis is that of ``value_range``: a span that is rounding in the unit of a plot is none."""
    noise, known = 1e-17 * np.array([-1.0, 0.5, 1.0]), np.array([-1.0, 0.25, 2.0])
    cases = [(noise, "rad"), (noise, "m/s"), (noise, "N"), (known, "m"), (3.0 + 1e-14 * known, "rad")]
    panels = [panel_data(Panel(unit, (Curve("one", unit, known, y),), (0,)), {(0, "one"): 0}) for y, unit in cases]
    browser.open(page, (900, 700))
    told = browser.run(
        f"const cases = {json.dumps([[list(y), one['least']] for (y, _), one in zip(cases, panels, strict=True)])};"
        "told.ranges = cases.map(([y, least]) => "
        "page.curves.range([{ y, from: 0, end: y.length }], 'y', false, least));"
    )
    for (y, unit), seen in zip(cases, told["ranges"], strict=True):
        np.testing.assert_allclose(seen, value_range([y], least_span(unit)), rtol=1e-12, err_msg=unit)
    assert told["ranges"][0] == [-1.0, 1.0]
    assert told["ranges"][2][1] < 1e-16, "no size of a force is known to be rounding"


def test_moments_that_are_rounding_beside_their_forces_are_constant(browser, page):
    told = browser.run(
        """
        const { content } = page.curves, channels = content.channels, times = content.curve_t;
        const full = (k, value) => ({ ...channels[k], values: channels[k].values.map(() => value) });
        const [force, moment] = [full(0, 6), full(1, 1e-14)];
        moment.values[3] = 0;
        Object.assign(content, { channels: [force, moment] });
        const least = (forces) => page.curves.least({ least: 0, forces, curves: [[1, "", 0, 0, ""]] });
        told.least = [least([0]), least([])];
        Object.assign(content, { channels, curve_t: times });
        """
    )
    assert told["least"] == pytest.approx([6e-12, 0.0])


def test_the_page_has_the_colours_of_the_window(page):
    assert json.dumps(WHITE.plots, separators=(",", ":")) in page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def compared(result, tmp_path_factory):
    """A page of a run beside another one, with the energy balance."""
    folder = tmp_path_factory.mktemp("compared")
    other = Simulation(motored(torque=2.0).compile(), h=1e-2).run(2.0)
    other.save(folder / "other.npz")
    wanted = PageOptions(channels=("energy", "base.angle"), theme="white", compared=folder / "other.npz")
    assert write_page(playback(result, MODEL), folder / "page.html", wanted).warnings == ()
    return folder / "page.html", other


def test_spectra_energies_and_another_run(browser, compared, result):
    page, other = compared
    browser.open(page, (900, 700))
    told = browser.run(
        """
        const { curves } = page;
        document.getElementById("curves").hidden = false;
        page.redraw();
        await drawn();
        told.names = curves.content.channels.map(({ name, run }) => [name, run]);
        told.gravity = [...curves.values(1)];
        told.other = [...curves.values(5)];
        told.t = [...curves.timesOf(1)];
        told.headings = curves.panels.map((one) => one.heading.innerText);
        curves.over = curves.FREQUENCY;
        curves.fill();
        await drawn();
        [told.f, told.a] = curves.content.spectra[0].map((one) => [...one]);
        told.drawn = curves.panels.length;
        const end = (panel) => curves.frequencies(curves.curvesOf(panel), curves.least(panel))[1];
        const ends = () => curves.panels.map(end);
        told.ends = ends();
        const box = curves.panels[0].canvas.getBoundingClientRect();
        const at = { clientX: box.left + 200, clientY: box.top + 20, cancelable: true };
        const turn = (deltaY) => curves.panels[0].canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ...at }));
        turn(-1);
        told.nearer = ends();
        for (let k = 0; k < 60; k++) turn(1);
        told.all = ends();
        curves.panels[0].canvas.dispatchEvent(new MouseEvent("dblclick"));
        told.again = ends();
        """
    )
    assert browser.said == []
    both = [[spectrum(one.t, one[name]) for one in (result, other)] for name in ("energy.kinetic", "base.angle")]
    wanted = [frequency_range(found)[1] for found in both]
    assert told["ends"][-1] == pytest.approx(wanted[-1], rel=1e-6)
    assert told["again"] == told["ends"]
    assert told["nearer"][-1] == pytest.approx(0.8 * wanted[-1], rel=1e-6)
    assert told["all"][-1] == pytest.approx(max(f[-1] for f, _ in both[-1]), rel=1e-6)
    numbers = ["kinetic", "gravity", "elastic", "total, change", "base.angle"]
    assert told["names"] == [[name, run] for run in (0, 1) for name in numbers]
    assert all("other.npz" in heading for heading in told["headings"])
    np.testing.assert_allclose(told["t"], other.t, atol=1e-8)
    f, a = spectrum(result.t, result["energy.kinetic"])
    np.testing.assert_allclose(told["gravity"], result["energy.weight"], atol=2e-5 * np.ptp(result["energy.weight"]))
    np.testing.assert_allclose(told["other"], other["energy.kinetic"], atol=2e-5 * np.ptp(other["energy.kinetic"]))
    np.testing.assert_allclose(told["f"], f, rtol=1e-6)
    np.testing.assert_allclose(told["a"], a, atol=2e-5 * a.max())
    assert told["drawn"] == 2


def test_figures_of_a_stated_size(browser, compared):
    browser.open(compared[0], (900, 700))
    told = browser.run(
        """
        const bytes = async (look) => [...new Uint8Array(await (await figureFile(page.curves, look)).arrayBuffer())];
        told.png = await bytes({ size: "column", style: "white", kind: "png" });
        const own = { size: "", width: 120, height: 90, style: "grey", kind: "svg" };
        told.svg = await (await figureFile(page.curves, own)).text();
        """
    )
    assert browser.said == []
    png = bytes(told["png"])
    at = png.index(b"pHYs")
    width, height = (int.from_bytes(png[k : k + 4], "big") for k in (16, 20))
    dots = int.from_bytes(png[at + 4 : at + 8], "big")
    assert (width, height) == (round(89 / 25.4 * 300), round(67 / 25.4 * 300))
    assert width / dots == pytest.approx(0.089, rel=2e-3)
    assert zlib.crc32(png[at : at + 13]) == int.from_bytes(png[at + 13 : at + 17], "big")
    drawing = ElementTree.fromstring(told["svg"])
    assert (drawing.get("width"), drawing.get("height")) == ("120mm", "90mm")
    words = [one.text for one in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"time [s]", "kinetic", "other.npz: base.angle", "Energy balance [J]"} <= {*words}
