"""Table of keys and mouse: source of the shortcuts, the menus, the map of keys (F1), the pages and the manual."""

from typing import NamedTuple


class Key(NamedTuple):
    """An action of the window, with its keys and its description."""

    action: str  # method of ``actions.Actions``
    keys: tuple[str, ...]  # as Qt writes them
    group: str  # menu
    text: str


RUN, LOOK, SHOW, FILES = "Run", "Camera", "Show", "File"

KEYS = (
    Key("play_or_pause", ("Space",), RUN, "play or pause"),
    Key("step_forward", ("Right",), RUN, "one step forward"),
    Key("step_back", ("Left",), RUN, "one step back"),
    Key("ten_forward", ("Shift+Right",), RUN, "ten steps forward"),
    Key("ten_back", ("Shift+Left",), RUN, "ten steps back"),
    Key("loop", ("O",), RUN, "play what is stored over and over, or go on"),
    Key("mark", ("M",), RUN, "mark this step, or take its mark away"),
    Key("mark_before", (",",), RUN, "back to the mark before"),
    Key("mark_after", (".",), RUN, "on to the next mark"),
    Key("faster", ("+", "="), RUN, "faster"),
    Key("slower", ("-",), RUN, "slower"),
    Key("real_time", ("1",), RUN, "back to real time"),
    Key("reset", ("Backspace",), RUN, "reset to the start"),
    Key("reload", ("Ctrl+L",), RUN, "reload the model, keep sliders and camera"),
    Key("open_model", ("Ctrl+O",), FILES, "open a model or a recorded result"),
    Key("save_results", ("Ctrl+S",), FILES, "save results"),
    Key("save_state", ("Ctrl+Shift+S",), FILES, "save the state"),
    Key("load_state", ("Ctrl+Shift+O",), FILES, "go on from a saved state"),
    Key("history", ("Ctrl+H",), FILES, "keep the history on disk, or in memory only"),
    Key("copy_state", ("Ctrl+C",), FILES, "copy the state as text"),
    Key("screenshot", ("Ctrl+P",), FILES, "screenshot"),
    Key("record", ("Ctrl+R",), FILES, "begin or end recording a video"),
    Key("record_as", ("Ctrl+Shift+R",), FILES, "record as video, GIF or pictures"),
    Key("stamp", ("N",), FILES, "name, time, speed on pictures"),
    Key("quit", ("Ctrl+Q",), FILES, "quit"),
    Key("fit", ("F",), LOOK, "fit the picture"),
    Key("look_isometric", ("I",), LOOK, "look from a corner"),
    Key("look_front", ("X",), LOOK, "look along x"),
    Key("look_side", ("Y",), LOOK, "look along y"),
    Key("look_top", ("Z",), LOOK, "look down along z"),
    Key("parallel", ("P",), LOOK, "perspective or parallel lines"),
    Key("follow", ("C",), LOOK, "follow the chosen body, or let it go"),
    Key("help", ("F1",), SHOW, "this map of keys"),
    Key("info", ("F2",), SHOW, "info"),
    Key("profiler", ("F3",), SHOW, "profiler"),
    Key("plots", ("F4",), SHOW, "plots"),
    Key("full_screen", ("F5",), SHOW, "full screen"),
    Key("parameters", ("F6",), SHOW, "parameters"),
    Key("log", ("F7",), SHOW, "log of commands"),
    Key("theme", ("F8",), SHOW, "white or dark"),
    Key("model", ("F9",), SHOW, "model: tree, inspector, measure"),
    Key("hide", ("H",), SHOW, "hide or show what is chosen"),
    Key("isolate", ("Shift+H",), SHOW, "show only the chosen, or all"),
    Key("copy_inspected", ("Ctrl+Shift+C",), FILES, "copy what the inspector shows"),
    Key("labels", ("L",), SHOW, "labels"),
    Key("legend", ("K",), SHOW, "what the colours mean"),
    Key("joints", ("J",), SHOW, "joints"),
    Key("forces", ("V",), SHOW, "springs and forces"),
    Key("transparent", ("B",), SHOW, "see through bodies"),
    Key("grid", ("G",), SHOW, "grid, axes, scale and shadow"),
    Key("trail", ("T",), SHOW, "trail of the chosen body"),
    Key("marker_trails", ("Shift+T",), SHOW, "trails of all markers"),
    Key("reactions", ("R",), SHOW, "reactions of joints as arrows"),
    Key("longer_arrows", ("]",), SHOW, "longer arrows"),
    Key("shorter_arrows", ("[",), SHOW, "shorter arrows"),
    Key("arrow_scale", ("Shift+R",), SHOW, "scale of the arrows in newtons a metre"),
    Key("choose_nothing", ("Esc",), SHOW, "choose nothing, close help"),
)

MOUSE = (
    ("Left drag", "turn"),
    ("Right or middle drag", "move"),
    ("Wheel", "come closer or go away"),
    ("Click", "choose a body or a joint"),
    ("Rest", "show the name of what is there"),
    ("Double click", "turn about the body"),
    ("Ctrl + left drag", "pull a body"),
    ("Ctrl + Shift + left drag", "move a body, loops kept"),
)

GROUPS = (RUN, LOOK, SHOW, FILES)
BY_ACTION = {key.action: key for key in KEYS}


def shown(keys: tuple[str, ...]) -> str:
    """Return keys as users write them."""
    signs = {"Right": "\N{RIGHTWARDS ARROW}", "Left": "\N{LEFTWARDS ARROW}", "-": "\N{MINUS SIGN}", "=": ""}
    named = ["+" if key == "+" else " + ".join(signs.get(part, part) for part in key.split("+")) for key in keys]
    return ", ".join(name for name in named if name)


def markdown() -> str:
    """Return the table of the documents."""
    rows = [
        f"| {key.group} | {shown(key.keys)} | {key.text} |" for group in GROUPS for key in KEYS if key.group == group
    ]
    rows += [f"| Mouse | {what} | {does} |" for what, does in MOUSE]
    return "\n".join(["| | key | does |", "|---|---|---|", *rows])
