"""``rtmbs view``: a mechanism in a window, filmed without one, or as a page for a browser."""

import argparse
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rtmbs.commands.arguments import (
    SUFFIX,
    Parser,
    count,
    file_size,
    is_robot_file,
    option_parser,
    positive,
    read_options,
)
from rtmbs.errors import InputError, RtmbsError, StepError
from rtmbs.viewer.session.disk_head import is_history

EXAMPLES = """
MODEL is a mechanism of the library (its options follow it), a Python file with a function build(), or another function
of it as file.py:function, package.module:function, a model file (.mks), a robot's file (.urdf, .sdf, .xml), or a
recorded result (.npz, .h5).

  rtmbs view fourbar --ny 4 --nz 40
  rtmbs view my_robot.py --h 1e-3
  rtmbs view fourbar --ny 4 --nz 40 --headless --frames 200 --out movie.mp4
  rtmbs view run.h5 --html run.html

Mechanisms of the library: andrews, bricard, crank_rocker, driven_fourbar, fourbar, governor, loop, pendulum,
planar_slider_crank, single_joint, slider_crank, top, windows.
"""
RESULTS = (".npz", ".h5", ".hdf5")  # how the names of recorded results end
VIEWS = "isometric, front, side, top (or iso, x, y, z); azimuth,elevation [deg]; or a rotation, nine numbers by rows"
RENDERERS = "auto; egl, software or osmesa for OpenGL with, without a graphics card, without EGL; or matplotlib"
OPTIONS = ("h", "penalty", "alpha", "tol", "jacobian")  # of the Simulation


def run(words: list[str]) -> int:
    """Open the window, or write a film or a page."""
    parser = view_parser()
    if not words or words[0].startswith("-"):
        parser.read(words or ["--help"])
    name = words[0]
    if {"-h", "--help"} & {*words}:
        parser.epilog = f"{own_options(name)}{EXAMPLES}"
    options, left = parser.parse_known_args(words)
    if options.headless and options.out:  # refused before the run, not after it
        from rtmbs.viewer.video import check_path

        check_path(Path(options.out))
    if name.endswith(SUFFIX):
        if left:
            parser.refuse(left)
        return view_file(options)
    if is_robot_file(name):
        options.model = read_options("rtmbs view", name, left, meshes=True)
        return view_model(options, {})
    if name.endswith(RESULTS) or is_history(name):
        return view_result(options, left)
    return view_model(options, read_parameters(name, left))


def view_parser() -> Parser:
    """Return the parser of everything but the mechanism's own options."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(
        prog="rtmbs view",
        description="Show a mechanism in a live window: pull bodies, change inputs, plot, go back in time; or film it.",
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    add = parser.add_argument
    add("model", metavar="MODEL")
    add(
        "--mode",
        choices=("process", "thread"),
        default="process",
        help="run the simulation in its own process (default) or in a thread",
    )
    add("--theme", choices=("white", "dark"), help="default: that of the last window")
    add(
        "--of",
        default="",
        metavar="MODEL",
        help="model of a recorded result, for shapes and joints; its options follow",
    )
    add("--paused", action="store_true", help="start paused; the space bar starts the run")
    add("--history", type=file_size, default=0.0, metavar="SIZE", help="size of the history on disk, such as 2GB")
    add("--history-folder", default="", metavar="PATH", help="folder of the history on disk; default: a new one here")
    live = parser.add_argument_group("in a browser")
    live.add_argument("--serve", nargs="?", type=port, const=0, metavar="PORT", help="show it live in a browser")
    live.add_argument("--host", default="127.0.0.1", help="address to listen to with --serve (default: %(default)s)")
    steps = parser.add_argument_group("steps")
    steps.add_argument("--h", type=positive, help="time step [s]")
    penalties = steps.add_mutually_exclusive_group()
    penalties.add_argument("--penalty", type=positive, metavar="C", help="dimensionless penalty of open loops")
    penalties.add_argument("--alpha", type=positive, help="one fixed penalty factor in SI units")
    steps.add_argument("--tol", type=positive, help="tolerance of Newton's increment")
    steps.add_argument("--jacobian", metavar="NAME", help="source of the tangent matrices K and C")
    add_film_options(parser)
    add_picture_options(parser)
    add_page_options(parser)
    return parser


def add_film_options(parser: Parser) -> None:
    """Add the options of videos and images."""
    film = parser.add_argument_group("without a window")
    film.add_argument("--headless", action="store_true", help="write --out without a window, and end")
    film.add_argument("--out", metavar="PATH", help="video (.mp4), images (frames/%%04d.png) or one image (.png)")
    long = film.add_mutually_exclusive_group()
    long.add_argument("--frames", type=count, default=200, help="number of pictures (default: %(default)s)")
    long.add_argument("--seconds", type=positive, metavar="T", help="film T simulated seconds, in place of --frames")
    film.add_argument("--fps", type=positive, help="pictures in a second of the replay (default: video 30, page 60)")
    film.add_argument(
        "--speed",
        type=speeds,
        metavar="F[,F...]",
        help="replay speed: simulated over replayed seconds (default: 1); one video for each F",
    )
    film.add_argument(
        "--size", type=size, default=(1200, 700), metavar="WxH", help="size of a picture in pixels (default: 1200x700)"
    )
    film.add_argument("--camera", default="", metavar="VIEW", help=VIEWS)
    film.add_argument("--follow", default="", metavar="BODY", help="body that the camera follows")
    film.add_argument("--parallel", action="store_true", help="parallel projection in place of perspective")
    film.add_argument("--no-scales", action="store_true", help="leave out axis names, scale bar, scale of arrows")
    film.add_argument(
        "--hide", action="append", default=[], metavar="PART", help="hide this part of the scene; may be repeated"
    )
    film.add_argument("--overlay", action="store_true", help="write name, time and speed on every picture")
    film.add_argument("--renderer", default="auto", metavar="NAME", help=RENDERERS)


def own_options(name: str) -> str:
    """Return lines with the options of a mechanism and their defaults; "" for a file that is none."""
    if name.endswith((*RESULTS, SUFFIX)) or is_history(name) or is_robot_file(name):
        return ""
    found = [f"  --{key.replace('_', '-')} {value}" for key, value in factory_defaults(name).items()]
    return "\n".join([f"options of {name}, with their defaults:", *found, ""]) if found else ""


def read_parameters(name: str, words: list[str]) -> dict[str, Any]:
    """Return the parameters of a factory as given on the command line, with its defaults for the others."""
    described = f"{name}: its options; those of the window stand in 'rtmbs view --help'"
    return vars(option_parser(f"rtmbs view {name}", factory_defaults(name), described).read(words))


def factory_defaults(name: str) -> dict[str, Any]:
    """Return the parameters of a factory that a command line can give: numbers and words with a default."""
    from rtmbs.viewer.session.connect import factory_of
    from rtmbs.viewer.session.origin import load_function

    with user_errors():
        known = inspect.signature(load_function(factory_of(name))).parameters
    return {key: p.default for key, p in known.items() if isinstance(p.default, bool | int | float | str)}


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn an exception of the user's own file into an InputError of one sentence; print its traceback.

    Errors of rtmbs pass through.
    """
    from rtmbs.viewer.text import error_details, error_sentence

    try:
        yield
    except RtmbsError:
        raise
    except Exception as error:
        if not (shown := error_details(error)):  # a fault of rtmbs is shown whole
            raise
        print(shown, file=sys.stderr)
        raise InputError(error_sentence(error)) from error


def view_model(options: argparse.Namespace, parameters: dict[str, Any]) -> int:
    """Open the window on a model, or film its motion."""
    chosen = {name: getattr(options, name) for name in OPTIONS if getattr(options, name) is not None}
    if options.html:
        with user_errors():
            return write_html(options, parameters=parameters, **chosen)
    if options.headless:
        with user_errors():
            return film_model(options, parameters, chosen)
    from rtmbs.viewer.view import view

    given: dict[str, Any] = {"theme": options.theme, "playing": not options.paused, **served(options)}
    given |= {"disk": (options.history, options.history_folder)} if options.history else {}
    return view(options.model, options.mode, parameters=parameters, options=chosen, **given)


def film_model(options: argparse.Namespace, parameters: dict[str, Any], chosen: dict[str, Any]) -> int:
    """Film the motion of a model from its start, at every speed."""
    from rtmbs.viewer.film import film_simulation
    from rtmbs.viewer.session.connect import origin_of

    sim = origin_of(options.model, parameters, chosen).make({}, {})
    start = sim.state.copy()

    def once(wanted: Any, path: Path) -> Any:
        sim.restore(start)
        return film_simulation(sim, path, wanted)

    return film(once, options)


def view_result(options: argparse.Namespace, words: list[str]) -> int:
    """Open the window on a recorded result, or film it."""
    model, parameters = None, dict[str, Any]()
    if options.of.endswith(SUFFIX):
        if words:
            view_parser().refuse(words)
        model = model_file(options.of).model
    elif options.of:
        from rtmbs.viewer.session.connect import factory_of
        from rtmbs.viewer.session.origin import load_function

        parameters = read_parameters(options.of, words)
        with user_errors():
            model = load_function(factory_of(options.of))(**parameters)
    elif words:
        view_parser().refuse(words)
    with named_parameters(parameters):
        return show_result(options, model)


@contextmanager
def named_parameters(parameters: Mapping[str, Any]) -> Iterator[None]:
    """Add the parameters of the model to the error of a result that does not fit it."""
    from rtmbs.viewer.session.playback import OTHER

    try:
        yield
    except InputError as error:
        if not parameters or OTHER not in str(error):
            raise
        built = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        raise InputError(f"{error}. The model of --of was built with {built}") from None


def show_result(options: argparse.Namespace, model: Any) -> int:
    """Open the window on a recorded result with its model, or film it."""
    if options.html:
        return write_html(options, model)
    if options.headless:
        from rtmbs.viewer.film import film_result
        from rtmbs.viewer.session.connect import recorded

        result, scene = recorded(options.model)
        for text in result.warnings if is_history(options.model) else ():
            print(f"rtmbs: {text}", file=sys.stderr)
        return film(lambda wanted, path: film_result(result, path, wanted, model, scene), options)
    from rtmbs.viewer.view import view

    return view(options.model, theme=options.theme, model=model, **served(options) or {"playing": not options.paused})


def served(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of ``view`` for a live page; none without --serve."""
    if options.serve is None:
        return {}
    from rtmbs.viewer.web.content import PageOptions

    shown = PageOptions(channels=tuple(options.plot), compared=options.compare)
    return {"browser": True, "host": options.host, "port": options.serve, "paging": shown}


def view_file(options: argparse.Namespace) -> int:
    """Open the window on the mechanism of a model file with the step that the file states, or film its motion.

    That of a kinematic file is moved by the mouse, so it has nothing to film.
    """
    kind = model_file(options.model).analysis.kind
    if kind == "kinematic":
        options.paused = True
        if options.headless or options.html:
            raise InputError(
                f"{options.model!r} asks for a {kind} analysis, which a window cannot step; make its result with "
                f"rtmbs run {options.model} --out FILE.h5, and view that"
            )
    return view_model(options, {})


def model_file(path: str) -> Any:
    """Return the Document of a model file."""
    from rtmbs.language import read

    return read(path)


def out_path(options: argparse.Namespace) -> str:
    """Return the path of --out; InputError without one."""
    if not options.out:
        raise InputError("--headless needs --out PATH, such as movie.mp4, frames/%04d.png or picture.png")
    return str(options.out)


def filming(options: argparse.Namespace) -> Any:
    """Return the FilmOptions of the options."""
    from rtmbs.viewer.film import FilmOptions

    width, height = options.size
    names = ("frames", "seconds", "follow", "parallel", "overlay", "renderer", "legend", "all_traces")
    taken = {name: getattr(options, name) for name in names} | arrows_of(options)
    taken |= {"traces": tuple(options.trace), "hide": tuple(options.hide), "scales": not options.no_scales}
    taken |= {"camera": options.camera, "theme": options.theme or "white", "rate": options.fps or 30.0}
    return FilmOptions(**taken, width=width, height=height, progress=True)


def film(once: Callable[[Any, Path], Any], options: argparse.Namespace) -> int:
    """Film at every speed; the exit code is 1 when a step failed on the way."""
    from rtmbs.viewer.film import film_speeds

    failed = 0

    def filmed_once(wanted: Any, path: Path) -> Any:
        nonlocal failed
        filmed = once(wanted, path)
        failed = max(failed, report(filmed, path))
        return filmed

    film_speeds(options.speed or (1.0,), out_path(options), filmed_once, filming(options))
    return failed


def report(filmed: Any, path: Path) -> int:
    """Print the names of the written files; return 1 when a step failed."""
    for text in filmed.warnings:
        print(f"rtmbs: {text}", file=sys.stderr)
    if filmed.ended:
        print(filmed.ended)
    if filmed.reason:
        print(f"drawn by {filmed.renderer}: {filmed.reason}")
    each = 1e3 * filmed.seconds / max(filmed.pictures, 1)
    print(f"{filmed.pictures} pictures to t = {filmed.t:g} s in {path}, {each:.0f} ms each, {filmed.renderer}")
    if filmed.stopped:
        print(filmed.stopped)
    return 1 if filmed.stopped else 0


def speeds(text: str) -> tuple[float, ...]:
    """Read one speed, or several between commas, each once."""
    return tuple(dict.fromkeys(positive(word) for word in text.split(",")))


def port(text: str) -> int:
    """Read a port."""
    if text.isdecimal() and int(text) < 65536:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")


def size(text: str) -> tuple[int, int]:
    """Read WIDTHxHEIGHT."""
    width, _, height = text.partition("x")
    try:
        return count(width), count(height)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 1200x700") from None


def add_picture_options(parser: Parser) -> None:
    """Add the options that films and pages share."""
    drawn = parser.add_argument_group("in films and pages")
    drawn.add_argument("--reactions", action="store_true", help="draw the reactions of all joints as arrows")
    drawn.add_argument("--arrows", type=positive, metavar="N", help="scale of the arrows: force [N] for one metre")
    drawn.add_argument(
        "--trace",
        action="append",
        default=[],
        metavar="POINT",
        help="draw the path of a marker or body; may be repeated",
    )
    drawn.add_argument("--all-traces", action="store_true", help="draw the paths of all markers")
    drawn.add_argument("--legend", action="store_true", help="draw a legend of the colours")


def arrows_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arrow options of films and pages."""
    return {"reactions": options.reactions or options.arrows is not None, "newtons": options.arrows}


def add_page_options(parser: Parser) -> None:
    """Add the options of a page."""
    page = parser.add_argument_group("as a page for a browser")
    page.add_argument("--html", metavar="FILE", help="write one HTML file that plays the run in any browser, and end")
    page.add_argument("--t-end", type=positive, metavar="S", help="simulated time of the run [s]")
    page.add_argument(
        "--plot",
        action="append",
        default=[],
        metavar="CHANNEL",
        help="plot this channel below, or 'energy'; may be repeated; with --serve too",
    )
    page.add_argument(
        "--compare", metavar="RESULT", help="draw the channels of this result dashed beside them; with --serve too"
    )
    page.add_argument(
        "--limit", type=file_size, default=20e6, metavar="SIZE", help="largest size of the file (default: 20MB)"
    )


def write_html(
    options: argparse.Namespace, model: Any = None, parameters: Mapping[str, Any] | None = None, **chosen: Any
) -> int:
    """Write the page, and say how large it is; the exit code is 1 when a step failed on the way."""
    from rtmbs.viewer.web.page import export

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
    from rtmbs.viewer.web.content import PageOptions

    return PageOptions(
        rate=options.fps or PageOptions.rate,
        speed=one_speed(options.speed or (PageOptions.speed,)),
        limit=int(options.limit),
        theme=options.theme or "",
        camera=options.camera,
        parallel=options.parallel,
        channels=tuple(options.plot),
        compared=options.compare,
        traces=tuple(options.trace),
        all_traces=options.all_traces,
        legend=options.legend,
        **arrows_of(options),
        follow=options.follow,
    )
