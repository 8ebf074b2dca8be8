"""``rtmbs plot``: channels of a recorded result over time, in a picture."""

from rtmbs.commands.arguments import Parser
from rtmbs.commands.target import check_target
from rtmbs.errors import InputError
from rtmbs.results.extras import needed
from rtmbs.results.forms import load_result
from rtmbs.results.plotting import PICTURES

EPILOG = """
A channel is NAME.QUANTITY as the result lists it, one component of it is NAME.QUANTITY[AXIS] or NAME.QUANTITY.AXIS.
A component of a position may be written NAME.x.

  rtmbs plot slider.h5 block.x rev1.angle --out slider.png
"""


def run(words: list[str]) -> int:
    """Plot channels of a recorded result: rtmbs plot slider.h5 block.x --out slider.png"""
    parser = Parser(prog="rtmbs plot", description=run.__doc__, epilog=EPILOG)
    parser.add_argument("file", metavar="FILE", help="a result (.npz, .h5, .parquet)")
    parser.add_argument("channels", metavar="CHANNEL", nargs="*", help="what is plotted; all names are listed without")
    parser.add_argument("--out", metavar="PATH", help="picture to write (.png, .pdf, .svg)")
    options = parser.read(words)
    if not options.channels:
        print("\n".join(load_result(options.file).names()))
        return 0
    if not options.out:
        raise InputError("rtmbs plot needs --out PATH, such as picture.png")
    files_only()
    check_target(options.out, PICTURES)
    result = load_result(options.file)
    result.plot(*options.channels, file=options.out)
    print(f"{len(options.channels)} channels over {len(result)} samples in {options.out}")
    return 0


def files_only() -> None:
    """Let matplotlib draw to files, whatever screen there is; InputError when it is not installed."""
    needed("matplotlib", "rtmbs plot", "plot").use("agg")
