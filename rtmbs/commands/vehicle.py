"""``rtmbs vehicle``: manoeuvres and kinematic curves of a car, as tables and HTML reports."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rtmbs.commands.arguments import Parser, check_target, number
from rtmbs.errors import InputError, unknown_name

if TYPE_CHECKING:
    from rtmbs.vehicle.manoeuvres.report import Report

SPEED = 100.0 / 3.6  # [m/s] of manoeuvres whose speed the user must give in Python
EPILOG = """
  rtmbs vehicle run sedan --manoeuvre double-lane-change --speed 22 --out dlc.html
  rtmbs vehicle run my_car.json --manoeuvre step-steer --set lateral_acceleration=3
  rtmbs vehicle rig sedan --axle front --motion bump --out bump.html
  rtmbs vehicle rig sedan --axle front --motion bump --against my_car.json
"""


def manoeuvres() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the manoeuvres by their names in commands: class and options that differ from its defaults."""
    from rtmbs import vehicle as v

    return {
        "step-steer": (v.StepSteer, {"speed": SPEED}),
        "sine-steer": (v.SineSteer, {"speed": SPEED}),
        "sine-with-dwell": (v.SineWithDwell, {}),
        "steady-circle": (v.SteadyCircle, {}),
        "double-lane-change": (v.DoubleLaneChange, {}),
        "obstacle-avoidance": (v.DoubleLaneChange, {"standard": "ISO 3888-2"}),
        "frequency-response": (v.FrequencyResponse, {"speed": SPEED}),
        "braking": (v.Braking, {"speed": SPEED}),
        "braking-in-turn": (v.BrakingInTurn, {}),
        "split-braking": (v.SplitBraking, {}),
        "throttle-release": (v.ThrottleRelease, {}),
        "coast-down": (v.CoastDown, {}),
        "cleat": (v.Cleat, {"speed": 30.0 / 3.6}),
        "hump": (v.Hump, {"speed": 30.0 / 3.6}),
        "four-post": (v.FourPost, {}),
    }


def vehicle_command(words: list[str]) -> int:
    """Run a manoeuvre with a car, or move an axle on the rig."""
    parser = Parser(prog="rtmbs vehicle", description=vehicle_command.__doc__, epilog=EPILOG)
    parser.add_argument("what", choices=("run", "rig"), help="a manoeuvre, or the rig")
    if not words or words[0] not in ("run", "rig"):
        parser.read(words[:1] or ["--help"])
    return run_command(words[1:]) if words[0] == "run" else rig_command(words[1:])


def car_parser(program: str, description: str | None) -> Parser:
    """Return a parser with the arguments of a car."""
    parser = Parser(prog=program, description=description)
    parser.add_argument("car", metavar="CAR", help="a vehicle data file (.json), or sedan or hmmwv")
    parser.add_argument("--variant", help="variant in the file; the first unless given")
    parser.add_argument("--tyres", default="pac2002", help="pac2002 or tmeasy of the file, or a .tir file")
    parser.add_argument("--out", metavar="FILE.html", help="write the report as one HTML file (extra plot)")
    return parser


def run_command(words: list[str]) -> int:
    """Run a manoeuvre and print its metrics."""
    known = manoeuvres()
    parser = car_parser("rtmbs vehicle run", run_command.__doc__)
    parser.add_argument("--manoeuvre", required=True, help=", ".join(known))
    parser.add_argument("--speed", type=number, help="speed at the beginning [m/s]")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the manoeuvre")
    options = parser.read(words)
    if options.manoeuvre not in known:
        raise unknown_name("manoeuvre", options.manoeuvre, known)
    kind, given = known[options.manoeuvre]
    names = [one.name for one in fields(kind)]
    if options.speed is not None:
        if "speed" not in names:
            raise InputError(
                f"manoeuvre {options.manoeuvre!r} has no speed; it must be one of its options, {', '.join(names)}"
            )
        given = given | {"speed": options.speed}
    for text in options.set:
        given = given | option_of(text, names, options.manoeuvre)
    return finish(kind(**given).run(car_of(options)), options.out)


def option_of(text: str, names: list[str], manoeuvre: str) -> dict[str, Any]:
    """Return an option NAME=VALUE of a manoeuvre; a value that is no number is a word."""
    name, sign, value = text.partition("=")
    if not sign:
        raise InputError(f"--set {text} is no option; it must be NAME=VALUE")
    if name not in names:
        raise unknown_name(f"option of manoeuvre {manoeuvre!r}", name, names)
    try:
        return {name: float(value)}
    except ValueError:
        return {name: value}


def rig_command(words: list[str]) -> int:
    """Move an axle on the rig and print its curves and gradients."""
    parser = car_parser("rtmbs vehicle rig", rig_command.__doc__)
    parser.add_argument("--axle", choices=("front", "rear"), default="front")
    from rtmbs.vehicle.rig import MOTIONS

    parser.add_argument("--motion", choices=MOTIONS, default="bump", help="a motion, or a force on both wheels")
    parser.add_argument("--against", metavar="CAR", help="compare with the gradients of another car")
    parser.add_argument("--against-variant", metavar="VARIANT", help="variant of that one")
    options = parser.read(words)
    from rtmbs.vehicle.car import read
    from rtmbs.vehicle.rig import rig
    from rtmbs.vehicle.rig_report import compare_on_rig, rig_report

    car = car_of(options)
    if options.against:
        other = read(options.against, variant=options.against_variant, tyres=options.tyres)
        print(compare_on_rig(car, other, options.axle, options.motion))
        return 0
    curves = rig(car, options.axle, options.motion)
    print(curves)
    print()
    return finish(rig_report(car, options.axle, options.motion, curves), options.out)


def car_of(options: Any) -> Any:
    """Return the car of the arguments; refuse a place of the report that cannot be written first."""
    if options.out:
        check_target(options.out, (".html",))
    from rtmbs.vehicle.car import read

    return read(options.car, variant=options.variant, tyres=options.tyres)


def finish(report: "Report", out: str | None) -> int:
    """Print a report, and write its page."""
    print(report)
    if out:
        report.to_html(out)
        print(out)
    return 0
