"""Requests of a browser become commands, or one sentence; nothing else can be asked for."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.errors import RtmbsError
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.description import ChannelDescription
from rtmbs.viewer.session import commands
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.web.requests import LONGEST, REQUESTS, Drawn, GoTo, RequestReader, ShowSpectrum, ShowWindow
from tests.viewer.mechanisms import motored

CHANNELS = ChannelDescription("base.angle", (), "rad"), ChannelDescription("crank.position", ("x", "y", "z"), "m")
PARAMETERS = {"ny": 2, "angle": 0.5, "layout": "stacked", "fixed": True, "table": "road.csv"}
DESCRIPTION = replace(describe(Simulation(motored().compile(), h=5e-3)), channels=CHANNELS, parameters=PARAMETERS)
ALLOWED = (
    *(commands.Play, commands.Pause, commands.StepForward, commands.StepBack, commands.Seek, commands.Loop),
    *(commands.SetSpeed, commands.Reset, commands.Reload, commands.SetInput, commands.SetOption, commands.Grab),
    *(commands.MoveGrab, commands.Release, commands.Subscribe, commands.ShowReactions, ShowWindow, GoTo),
    *(commands.Drag, commands.Undo, commands.Redo, commands.Rebuild, ShowSpectrum, Drawn),
)
GOOD = {
    '{"do": "play"}': commands.Play(),
    '{"do": "step", "count": 3}': commands.StepForward(3),
    '{"do": "step", "count": -2}': commands.StepBack(2),
    '{"do": "seek", "step": 120}': commands.Seek(120),
    '{"do": "speed", "factor": 0.5}': commands.SetSpeed(0.5),
    '{"do": "input", "name": "gravity", "value": [0, 0, -1.6]}': commands.SetInput("gravity", (0.0, 0.0, -1.6)),
    '{"do": "option", "name": "h", "value": 0.002}': commands.SetOption("h", 0.002),
    '{"do": "option", "name": "jacobian", "value": "complex-step"}': commands.SetOption("jacobian", "complex-step"),
    '{"do": "grab", "body": "crank", "point": [0, 0, 0], "target": [1, 2, 3]}': commands.Grab(
        "crank", (0.0, 0.0, 0.0), (1.0, 2.0, 3.0)
    ),
    '{"do": "drag", "body": "crank", "point": [0, 0, 0], "target": [1, 2, 3], "gesture": 7}': commands.Drag(
        "crank", (0.0, 0.0, 0.0), (1.0, 2.0, 3.0), 7
    ),
    '{"do": "subscribe", "names": ["Energy balance", "base.angle"]}': commands.Subscribe(("base.angle",), 1),
    '{"do": "rebuild", "parameters": {"ny": 4, "angle": 1, "layout": "parallel", "fixed": false}}': commands.Rebuild(
        {"ny": 4, "angle": 1.0, "layout": "parallel", "fixed": False}
    ),
    '{"do": "undo"}': commands.Undo(),
    '{"do": "redo"}': commands.Redo(),
    '{"do": "spectrum", "on": true}': ShowSpectrum(True),
    '{"do": "drawn", "picture": 17}': Drawn(17),
    '{"do": "window", "window": 5}': ShowWindow(5.0),
    '{"do": "window", "window": [1, 2.5]}': ShowWindow((1.0, 2.5)),
    '{"do": "window", "window": null}': ShowWindow(None),
    '{"do": "time", "t": 0.25}': GoTo(0.25),
    '{"do": "subscribe", "names": ["base.angle", "crank.position[x]"]}': commands.Subscribe(
        ("base.angle", "crank.position[x]"), 1
    ),
}


def test_plots_stay_when_the_mechanism_is_described_anew():
    """The tickets go on, so that curves of before are not taken for those of the new description."""
    reader = RequestReader(DESCRIPTION)
    assert reader.change_description(DESCRIPTION) is None, "nothing was plotted"
    reader.read('{"do": "subscribe", "names": ["Energy balance", "base.angle", "crank.position[x]"]}')
    plotted = reader.plotted
    assert reader.change_description(DESCRIPTION) == commands.Subscribe(("base.angle", "crank.position[x]"), 2)
    assert reader.plotted == plotted
    fewer = replace(DESCRIPTION, channels=CHANNELS[:1])
    assert reader.change_description(fewer) == commands.Subscribe(("base.angle",), 3)
    assert reader.change_description(replace(DESCRIPTION, channels=(), live=False)) is None
    assert not reader.plotted.names


@pytest.mark.parametrize("text", GOOD)
def test_a_request_is_a_command(text):
    assert RequestReader(DESCRIPTION).read(text) == GOOD[text]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("play", "a request is a JSON object"),
        ("[]", "a request is a JSON object, not list"),
        ("[" * 5000, "a request is a JSON object"),
        (b"\x00\x01", f"a request is text of at most {LONGEST} letters"),
        (" " * LONGEST + "{}", f"a request is text of at most {LONGEST} letters"),
        ('{"do": "save_results", "path": "/etc/passwd"}', "there is no request named 'save_results'"),
        ('{"do": "play", "path": "x"}', "a request to 'play' takes nothing else"),
        ('{"do": "seek"}', "a request to 'seek' takes step"),
        ('{"do": "seek", "step": 1e9}', "step is a whole number"),
        ('{"do": "seek", "step": true}', "step is a whole number"),
        ('{"do": "step", "count": 100000}', "count is a whole number of at most 1000"),
        ('{"do": "speed", "factor": 0}', "factor is above zero"),
        ('{"do": "speed", "factor": NaN}', "factor is a number"),
        ('{"do": "speed", "factor": 1e999}', "factor is a number"),
        ('{"do": "input", "name": "gravty", "value": 1}', "gravity"),
        ('{"do": "input", "name": "gravity", "value": 1}', "needs 3 numbers for value"),
        ('{"do": "option", "name": "jacobian", "value": "none"}', "there is no jacobian named 'none'"),
        ('{"do": "option", "name": "__class__", "value": 1}', "there is no option named '__class__'"),
        ('{"do": "grab", "body": "ground", "point": [0,0,0], "target": [0,0,0]}', "there is no body named 'ground'"),
        ('{"do": "grab", "body": "crank", "point": [0,0], "target": [0,0,0]}', "needs 3 numbers for point"),
        ('{"do": "subscribe", "names": ["x"]}', "there is no channel named 'x'"),
        ('{"do": "subscribe", "names": 3}', "names is a list of at most"),
        ('{"do": "window", "window": [2, 1]}', "it must be the last seconds (5.0) or two times"),
        ('{"do": "window", "window": [1, 2, 3]}', "it must be the last seconds (5.0) or two times"),
        ('{"do": "window", "window": "all"}', "window is a number"),
        ('{"do": "time", "t": "now"}', "t is a number"),
        ('{"do": "loop", "on": 1}', "on is true or false"),
        ('{"do": "rebuild", "parameters": [4]}', "parameters is an object of names and values"),
        ('{"do": "rebuild", "parameters": {"n": 4}}', "there is no parameter named 'n'"),
        ('{"do": "rebuild", "parameters": {"ny": 4.5}}', "ny is a whole number of at most 100"),
        ('{"do": "rebuild", "parameters": {"ny": 101}}', "ny is a whole number of at most 100"),
        ('{"do": "rebuild", "parameters": {"angle": "wide"}}', "angle is a number"),
        ('{"do": "rebuild", "parameters": {"fixed": 0}}', "fixed is true or false"),
        ('{"do": "rebuild", "parameters": {"layout": "round"}}', "there is no layout named 'round'"),
        ('{"do": "rebuild", "parameters": {"table": "/etc/passwd"}}', "table is a text, which is set where"),
    ],
)
def test_a_bad_request_is_one_sentence(text, sentence):
    with pytest.raises(RtmbsError) as told:
        RequestReader(DESCRIPTION).read(text)
    assert sentence in str(told.value)
    assert len(str(told.value)) < 400


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["crank", "gravity"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
NAMES = sorted({name for wanted, _ in REQUESTS.values() for name in wanted} | {"do", "path"})


@given(st.one_of(
    VALUES,
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
    st.builds(
        lambda do, values: {"do": do, **dict(zip(REQUESTS[do][0], values, strict=False))},
        st.sampled_from(sorted(REQUESTS)), st.lists(VALUES, min_size=3, max_size=3),
    ),
))  # fmt: skip
def test_whatever_is_asked_gives_an_allowed_command_or_a_sentence(request):
    try:
        command = RequestReader(DESCRIPTION).read(json.dumps(request))
    except RtmbsError:
        return
    assert type(command) in ALLOWED
