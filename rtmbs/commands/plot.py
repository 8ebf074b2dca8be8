"""``rtmbs plot``: channels of a recorded result over time, in a picture."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.commands.arguments import Parser
from rtmbs.commands.target import check_target
from rtmbs.errors import InputError
from rtmbs.observers.component import split
from rtmbs.results.forms import load_result
from rtmbs.results.result import Result

Array = NDArray[np.float64]

EPILOG = """
A channel is NAME.QUANTITY as the result lists it, one component of it is NAME.QUANTITY[AXIS] or NAME.QUANTITY.AXIS.
A component of a position may be written NAME.x.

  rtmbs plot slider.h5 block.x rev1.angle --out slider.png
"""
PICTURES = (".png", ".pdf", ".svg")
PANEL = 2.2  # height [inch]
WIDTH = 9.0
COLUMNS = 4  # of names above a panel, where they cover no line


def run(words: list[str]) -> int:
    """Plot channels of a recorded result: rtmbs plot slider.h5 block.x --out slider.png"""
    parser = Parser(prog="rtmbs plot", description=run.__doc__, epilog=EPILOG)
    parser.add_argument("file", metavar="FILE", help="a result (.npz, .h5)")
    parser.add_argument("channels", metavar="CHANNEL", nargs="*", help="what is plotted; all names are listed without")
    parser.add_argument("--out", metavar="PATH", help="picture to write (.png, .pdf, .svg)")
    options = parser.read(words)
    if not options.channels:
        print("\n".join(load_result(options.file).names()))
        return 0
    if not options.out:
        raise InputError("rtmbs plot needs --out PATH, such as picture.png")
    drawing()
    check_target(options.out, PICTURES)
    result = load_result(options.file)
    draw(result, options.channels, options.out)
    print(f"{len(options.channels)} channels over {len(result)} samples in {options.out}")
    return 0


def draw(result: Result, names: list[str], out: str) -> None:
    """Draw one panel for each unit, and write the picture.

    Raises UnknownNameError for a channel or an axis that does not exist, InputError for a file that cannot be written
    and where matplotlib is missing.
    """
    panels: dict[str, list[tuple[str, Array]]] = {}
    for name in names:
        for label, unit, values in lines(result, name):
            panels.setdefault(unit, []).append((label, values))
    pyplot = drawing()
    figure, axes = pyplot.subplots(
        len(panels), 1, figsize=(WIDTH, PANEL * len(panels) + 0.6), sharex=True, squeeze=False, layout="constrained"
    )
    for panel, (unit, drawn) in zip(axes[:, 0], panels.items(), strict=True):
        for label, values in drawn:
            panel.plot(result.t, values, label=label, linewidth=1.2)
        panel.set_ylabel(f"[{unit}]")
        panel.grid(visible=True, color="0.9")
        panel.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=COLUMNS, fontsize=8, frameon=False)
    axes[-1, 0].set_xlabel("t [s]")
    figure.suptitle(result.name, fontsize=10)
    try:
        figure.savefig(out, dpi=120)
    except (OSError, ValueError) as error:
        raise InputError(f"--out {out} cannot be written: {error}") from None
    finally:
        pyplot.close(figure)


def drawing() -> Any:
    """Return matplotlib's pyplot, drawing to files; InputError when it is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise InputError("rtmbs plot needs matplotlib; install it with pip install 'rtmbs[plot]'") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    return pyplot


def lines(result: Result, name: str) -> list[tuple[str, str, Array]]:
    """Return (label, unit, values) of the components that a name means."""
    owner, axis = split(result, name)
    channel = result.channel(owner)
    units = channel.unit.split(", ")
    units = units if len(units) == len(channel.axes) else [channel.unit] * max(len(channel.axes), 1)
    if not channel.axes:
        return [(owner, units[0], channel.values)]
    return [
        (f"{owner}[{one}]", units[k], channel.values[:, k]) for k, one in enumerate(channel.axes) if axis in ("", one)
    ]
