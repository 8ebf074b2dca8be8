"""``rtmbs view --html``: a run as one file that any browser plays."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from rtmbs.commands.arguments import Parser, file_size, positive
from rtmbs.errors import InputError, StepError


def add_picture_options(parser: Parser) -> None:
    """Add the options of whatever is drawn without a window: films and pages."""
    drawn = parser.add_argument_group("what films and pages show")
    drawn.add_argument("--reactions", action="store_true", help="reactions of all joints as arrows")
    drawn.add_argument("--arrows", type=positive, metavar="N", help="force that an arrow of one metre means [N]")
    drawn.add_argument("--trace", action="append", default=[], metavar="POINT", help="the way of a marker or body")
    drawn.add_argument("--all-traces", action="store_true", help="the ways of all markers")
    drawn.add_argument("--legend", action="store_true", help="what the colours mean")


def arrows_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return what films and pages are told of arrows."""
    return {"reactions": options.reactions or options.arrows is not None, "newtons": options.arrows}


def add_page_options(parser: Parser) -> None:
    """Add the options of a page."""
    page = parser.add_argument_group("as a page for a browser")
    page.add_argument("--html", metavar="FILE", help="write one file that plays the run in any browser, and end")
    page.add_argument(
        "--t-end", type=positive, metavar="S", help="simulated time of a mechanism that is run for it [s]"
    )
    page.add_argument("--plot", action="append", default=[], metavar="CHANNEL", help="plot it below; may be repeated")
    page.add_argument("--limit", type=file_size, default=20e6, metavar="SIZE", help="of the file (20MB)")


def write_html(
    options: argparse.Namespace, model: Any = None, parameters: Mapping[str, Any] | None = None, **chosen: Any
) -> int:
    """Write the page, and say how large it is; the exit code is 1 when a step failed on the way."""
    from rtmbs.viewer.web.export import export

    try:
        page = export(
            options.model,
            options.html,
            seconds=options.t_end,
            model=model,
            parameters=parameters,
            options=chosen,
            paging=paging(options),
        )
    except StepError as error:
        print(f"{error}\n{options.html} has the run up to then")
        return 1
    for text in page.warnings:
        print(f"rtmbs: {text}", file=sys.stderr)
    wanted = paging(options).rate
    less = "" if page.rate == wanted else f"; {wanted:g} would be over {options.limit / 1e6:g} MB (--limit)"
    print(f"{page.path}: {page.bytes / 1e6:.2f} MB, {page.pictures} pictures, {page.rate:.3g} a second{less}")
    return 0


def one_speed(speeds: tuple[float, ...]) -> float:
    """Return the speed of a page; InputError for several."""
    if len(speeds) > 1:
        raise InputError(f"--speed gives {len(speeds)} speeds, and a page has one; its reader can change the speed")
    return speeds[0]


def paging(options: argparse.Namespace) -> Any:
    """Return the PageOptions of the options."""
    from rtmbs.viewer.web.page import PageOptions

    return PageOptions(
        rate=options.fps or PageOptions.rate,
        speed=one_speed(options.speed or (PageOptions.speed,)),
        limit=int(options.limit),
        theme=options.theme or "",
        camera=options.camera,
        parallel=options.parallel,
        channels=tuple(options.plot),
        traces=tuple(options.trace),
        all_traces=options.all_traces,
        legend=options.legend,
        **arrows_of(options),
        follow=options.follow,
    )
