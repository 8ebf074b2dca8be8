"""Table of keys and mouse: source of the shortcuts, the menus, the map of keys (F1), the pages and the manual."""

from typing import NamedTuple


class Key(NamedTuple):
    """An action of the window, with its keys and its description."""

    action: str  # method of ``actions.Actions``
    keys: tuple[str, ...]  # as Qt writes them
    group: str  # menu
    text: str
    apart: bool = False  # True: a line stands above it in the menu


FILES, EDIT, LOOK, SHOW, RUN, HELP = "File", "Edit", "Camera", "Show", "Run", "Help"

KEYS = (
    Key("open_model", ("Ctrl+O",), FILES, "open a model or a recorded result"),
    Key("reload", ("Ctrl+L",), FILES, "reload the model, keep sliders and camera"),
    Key("save_results", ("Ctrl+S",), FILES, "save results", True),
    Key("save_state", ("Ctrl+Shift+S",), FILES, "save the state"),
    Key("load_state", ("Ctrl+Shift+O",), FILES, "go on from a saved state"),
    Key("history", ("Ctrl+H",), FILES, "keep the history on disk, or in memory only"),
    Key("screenshot", ("Ctrl+P",), FILES, "screenshot", True),
    Key("record", ("Ctrl+R",), FILES, "begin or end recording a video"),
    Key("record_as", ("Ctrl+Shift+R",), FILES, "record as video, GIF or pictures"),
    Key("stamp", ("N",), FILES, "name, time, speed on pictures"),
    Key("quit", ("Ctrl+Q",), FILES, "quit", True),
    Key("undo", ("Ctrl+Z",), EDIT, "undo a pose, an input or an option"),
    Key("redo", ("Ctrl+Shift+Z", "Ctrl+Y"), EDIT, "redo"),
    Key("copy_state", ("Ctrl+C",), EDIT, "copy the state as text", True),
    Key("copy_inspected", ("Ctrl+Shift+C",), EDIT, "copy what the inspector shows"),
    Key("choose_next", ("E",), EDIT, "choose the next body or joint", True),
    Key("choose_previous", ("Shift+E",), EDIT, "choose the one before"),
    Key("choose_nothing", ("Esc",), EDIT, "choose nothing, close help"),
    Key("measure", ("D",), EDIT, "measure a distance between two clicks", True),
    Key("forget_measures", ("Shift+D",), EDIT, "remove all measurements"),
    Key("fit", ("F",), LOOK, "fit the picture"),
    Key("follow", ("C",), LOOK, "follow the chosen body, or let it go"),
    Key("look_isometric", ("I",), LOOK, "look from a corner", True),
    Key("look_planar", ("A",), LOOK, "look along the common axis of the joints"),
    Key("look_front", ("X",), LOOK, "look along x"),
    Key("look_side", ("Y",), LOOK, "look along y"),
    Key("look_top", ("Z",), LOOK, "look down along z"),
    Key("parallel", ("P",), LOOK, "perspective or parallel lines"),
    Key("turn_left", ("Ctrl+Left",), LOOK, "turn left", True),
    Key("turn_right", ("Ctrl+Right",), LOOK, "turn right"),
    Key("turn_up", ("Ctrl+Up",), LOOK, "turn up"),
    Key("turn_down", ("Ctrl+Down",), LOOK, "turn down"),
    Key("move_left", ("Alt+Left",), LOOK, "move left", True),
    Key("move_right", ("Alt+Right",), LOOK, "move right"),
    Key("move_up", ("Alt+Up",), LOOK, "move up"),
    Key("move_down", ("Alt+Down",), LOOK, "move down"),
    Key("closer", ("Ctrl++", "Ctrl+="), LOOK, "come closer"),
    Key("away", ("Ctrl+-",), LOOK, "go away"),
    Key("info", ("F2",), SHOW, "info: three lines, all, nothing"),
    Key("profiler", ("F3",), SHOW, "profiler"),
    Key("plots", ("F4",), SHOW, "plots"),
    Key("full_screen", ("F5",), SHOW, "full screen"),
    Key("parameters", ("F6",), SHOW, "parameters"),
    Key("log", ("F7",), SHOW, "log of commands"),
    Key("theme", ("F8",), SHOW, "white or dark"),
    Key("model", ("F9",), SHOW, "model: tree, inspector, measure"),
    Key("next_panel", ("Ctrl+E",), SHOW, "keyboard to the next panel"),
    Key("hide", ("H",), SHOW, "hide or show what is chosen", True),
    Key("isolate", ("Shift+H",), SHOW, "show only the chosen, or all"),
    Key("labels", ("L",), SHOW, "labels", True),
    Key("legend", ("K",), SHOW, "what the colours mean"),
    Key("joints", ("J",), SHOW, "joints"),
    Key("forces", ("V",), SHOW, "springs and forces"),
    Key("transparent", ("B",), SHOW, "see through bodies"),
    Key("grid", ("G",), SHOW, "grid, axes, scale and shadow"),
    Key("trail", ("T",), SHOW, "trail of the chosen body"),
    Key("marker_trails", ("Shift+T",), SHOW, "trails of all markers"),
    Key("reactions", ("R",), SHOW, "reactions of joints as arrows", True),
    Key("longer_arrows", ("]",), SHOW, "longer arrows"),
    Key("shorter_arrows", ("[",), SHOW, "shorter arrows"),
    Key("arrow_scale", ("Shift+R",), SHOW, "scale of the arrows in newtons a metre"),
    Key("play_or_pause", ("Space",), RUN, "play or pause"),
    Key("step_forward", ("Right",), RUN, "one step forward"),
    Key("step_back", ("Left",), RUN, "one step back"),
    Key("ten_forward", ("Shift+Right",), RUN, "ten steps forward"),
    Key("ten_back", ("Shift+Left",), RUN, "ten steps back"),
    Key("to_oldest", ("Home",), RUN, "to the oldest step that is remembered"),
    Key("to_newest", ("End",), RUN, "to the newest step"),
    Key("loop", ("O",), RUN, "play what is stored over and over, or go on"),
    Key("mark", ("M",), RUN, "mark this step, or take its mark away", True),
    Key("mark_before", (",",), RUN, "back to the mark before"),
    Key("mark_after", (".",), RUN, "on to the next mark"),
    Key("faster", ("+", "="), RUN, "faster", True),
    Key("slower", ("-",), RUN, "slower"),
    Key("real_time", ("1",), RUN, "back to real time"),
    Key("reset", ("Backspace",), RUN, "reset to the start", True),
    Key("help", ("F1",), HELP, "map of keys"),
    Key("versions", ("Shift+F1",), HELP, "versions, and the name of the manual"),
)

MOUSE = (
    ("Left drag", "turn"),
    ("Right or middle drag", "move"),
    ("Wheel", "come closer to the mouse, or go away"),
    ("Click", "choose a body or a joint"),
    ("Click on the cube", "look along an axis"),
    ("Rest", "show the name of what is there"),
    ("Double click", "turn about the body"),
    ("Ctrl + left drag", "pull; in pause, move it, loops kept"),
    ("Ctrl + Shift + left drag", "pause, and move it, loops kept"),
    ("Drop a file", "open it"),
)

GROUPS = (FILES, EDIT, LOOK, SHOW, RUN, HELP)
BY_ACTION = {key.action: key for key in KEYS}


def shown(keys: tuple[str, ...]) -> str:
    """Return keys as users write them."""
    signs = {"Right": "\N{RIGHTWARDS ARROW}", "Left": "\N{LEFTWARDS ARROW}", "-": "\N{MINUS SIGN}", "=": ""}
    signs |= {"Up": "\N{UPWARDS ARROW}", "Down": "\N{DOWNWARDS ARROW}"}
    named = [" + ".join(signs.get(part, part) for part in parts(key)) for key in keys if key[-1] != "=" or key == "="]
    return ", ".join(name for name in named if name)


def parts(key: str) -> list[str]:
    """Return the parts of a key as Qt writes it; "+" is a key too."""
    if key == "+":
        return ["+"]
    return [*key[:-2].split("+"), "+"] if key.endswith("++") else key.split("+")


def markdown() -> str:
    """Return the table of the documents."""
    rows = [
        f"| {key.group} | {shown(key.keys)} | {key.text} |" for group in GROUPS for key in KEYS if key.group == group
    ]
    rows += [f"| Mouse | {what} | {does} |" for what, does in MOUSE]
    return "\n".join(["| | key | does |", "|---|---|---|", *rows])
