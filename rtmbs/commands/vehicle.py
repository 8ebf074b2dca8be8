"""Commands for cars: ``rtmbs vehicle`` and ``rtmbs drive``.

``rtmbs vehicle``: manoeuvres and kinematic curves of a car, as tables and HTML reports; fit of hard points.

``rtmbs drive``: a car that a person drives in the live window, or a script without one.
"""

import csv
import json
from argparse import ArgumentTypeError
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.commands.arguments import FAILED, Parser, check_target, converted, number
from rtmbs.core.files import text
from rtmbs.errors import InputError, unknown_name

if TYPE_CHECKING:
    from rtmbs.drive.origin import DriveOrigin
    from rtmbs.vehicle.manoeuvres.report import Report

SPEED = 100.0 / 3.6  # [m/s] of manoeuvres whose speed the user must give in Python
EPILOG = """
  rtmbs vehicle run sedan --manoeuvre double-lane-change --speed 22 --out dlc.html
  rtmbs vehicle run my_car.json --manoeuvre step-steer --set lateral_acceleration=3
  rtmbs vehicle rig sedan --axle front --motion bump --out bump.html
  rtmbs vehicle rig sedan --axle front --motion bump --against my_car.json
  rtmbs vehicle fit sedan --axle front --target toe=0 --move tie_rod.a=0,0.02,0.02 --points points.json
"""
LARGEST = 1e7  # [bytes] of a table of targets


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
    """Run a manoeuvre with a car, move an axle on the rig, or fit its hard points to curves."""
    known = {"run": run_command, "rig": rig_command, "fit": fit_command}
    parser = Parser(prog="rtmbs vehicle", description=vehicle_command.__doc__, epilog=EPILOG)
    parser.add_argument("what", choices=known, help="a manoeuvre, the rig, or a fit of hard points")
    if not words or words[0] not in known:
        parser.read(words[:1] or ["--help"])
    return known[words[0]](words[1:])


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
    for word in options.set:
        given = given | option_of(word, names, options.manoeuvre)
    return finish(kind(**given).run(car_of(options)), options.out)


def option_of(word: str, names: list[str], manoeuvre: str) -> dict[str, Any]:
    """Return an option NAME=VALUE of a manoeuvre; a value that is no number is a word."""
    name, sign, value = word.partition("=")
    if not sign:
        raise InputError(f"--set {word} is no option; it must be NAME=VALUE")
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
    from rtmbs.vehicle.data_file import read
    from rtmbs.vehicle.rig import compare_on_rig, rig, rig_report

    car = car_of(options)
    if options.against:
        other = read(options.against, variant=options.against_variant, tyres=options.tyres)
        print(compare_on_rig(car, other, options.axle, options.motion))
        return 0
    curves = rig(car, options.axle, options.motion)
    print(curves)
    print()
    return finish(rig_report(car, options.axle, options.motion, curves), options.out)


def fit_command(words: list[str]) -> int:
    """Move hard points until curves of a wheel come nearest to target curves; print moves and distances."""
    parser = car_parser("rtmbs vehicle fit", fit_command.__doc__)
    parser.add_argument("--axle", choices=("front", "rear"), default="front")
    parser.add_argument("--motion", choices=("bump", "roll", "steer"), default="bump")
    sides = "side whose points move; the right one mirrors the left one until it has points of its own"
    parser.add_argument("--side", choices=("left", "right"), default="left", help=sides)
    target = "curve that shall be constant, toe and camber in degrees, others in m"
    parser.add_argument("--target", action="append", default=[], metavar="CURVE=NUMBER", help=target)
    table = "target curves: the motion [m, rad] in the first column, then curves by name"
    parser.add_argument("--targets", metavar="FILE.csv", help=table)
    most = "hard point and the most that x, y and z move to both sides [m]"
    parser.add_argument("--move", action="append", required=True, metavar="POINT=X,Y,Z", help=most)
    parser.add_argument("--weight", action="append", default=[], metavar="CURVE=NUMBER", help="weight of a curve")
    parser.add_argument("--points", metavar="FILE.json", help="write the new hard points of the side")
    options = parser.read(words)
    if options.points:
        check_target(options.points, (".json",), "--points")
    values, targets = (None, {}) if options.targets is None else read_targets(options.targets)
    car = car_of(options)
    from rtmbs.vehicle.hard_point_fit import fit_hard_points, points_of
    from rtmbs.vehicle.rig import ANGLES, chosen_values, rig_report

    at = chosen_values(car, options.motion, values)
    targets |= {name: np.full(len(at), level[0]) for name, level in named_numbers("--target", options.target, 1)}
    wanted = {name: np.radians(curve) if name in ANGLES else curve for name, curve in targets.items()}
    ranges = dict(named_numbers("--move", options.move, 3))
    weights = {name: weight[0] for name, weight in named_numbers("--weight", options.weight, 1)}
    side = options.side
    fit = fit_hard_points(car, options.axle, wanted, ranges, options.motion, side=side, values=at, weights=weights)
    now = points_of(fit.car, options.axle, side)
    print(fit_table(fit, now, ANGLES))
    if options.points:
        points = {name: point.tolist() for name, point in now.items()}
        Path(options.points).write_text(json.dumps(points, indent=1) + "\n", encoding="utf-8")
        print(options.points)
    if options.out:
        rig_report(fit.car, options.axle, options.motion).to_html(options.out)
        print(options.out)
    return 0 if fit.success else FAILED


def fit_table(fit: Any, points: Any, angles: Any) -> str:
    """Return the moves of hard points, and the distances of curves from their targets."""
    lines = [f"{'hard point':24}{'move mm: x':>12}{'y':>10}{'z':>10}{'now at m: x':>14}{'y':>10}{'z':>10}"]
    for name, move in fit.moves.items():
        moved = "".join(f"{1e3 * one:{width}.4f}" for one, width in zip(move, (12, 10, 10), strict=True))
        now = "".join(f"{one:{width}.6f}" for one, width in zip(points[name], (14, 10, 10), strict=True))
        lines.append(f"{name:24}{moved}{now}")
    lines += ["", f"{'curve':24}{'before':>14}{'after':>14}  root mean square of what is missed"]
    for name, before in fit.before.items():
        size, unit = (180.0 / np.pi, "deg") if name in angles else (1.0, "m")
        lines.append(f"{name:24}{size * before:14.6g}{size * fit.after[name]:14.6g}  {unit}")
    return "\n".join([*lines, "", fit.message])


def named_numbers(option: str, texts: list[str], count: int) -> list[tuple[str, NDArray[np.float64]]]:
    """Return names and numbers of the words NAME=NUMBER,... of an option."""
    found = []
    for word in texts:
        name, sign, value = word.partition("=")
        try:
            numbers = [converted(one, float, "a number") for one in value.split(",")]
        except ArgumentTypeError as error:
            raise InputError(f"{option} {word}: {error}; it must be NAME=NUMBER") from None
        if not sign or len(numbers) != count or not np.all(np.isfinite(numbers)):
            raise InputError(f"{option} {word}: it must be NAME={','.join(['NUMBER'] * count)} with finite numbers")
        found.append((name, np.array(numbers)))
    return found


def read_targets(path: str) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return the values of the motion and the target curves of a CSV file with a line of names."""
    rows = [row for row in csv.reader(text(path, LARGEST).splitlines()) if row]
    names = [word.strip() for word in rows[0]] if rows else []
    try:
        table = np.array([[float(word) for word in row] for row in rows[1:]], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"targets {path!r}: {error}; every line but the first must be numbers") from None
    if len(names) < 2 or len(set(names)) < len(names) or table.shape != (len(rows) - 1, len(names)) or not table.size:
        raise InputError(
            f"targets {path!r}: the first line must be names, that of the motion and those of curves, each once, and "
            "every other line as many numbers"
        )
    return table[:, 0], dict(zip(names[1:], table.T[1:], strict=True))


def car_of(options: Any) -> Any:
    """Return the car of the arguments; refuse a place of the report that cannot be written first."""
    if options.out:
        check_target(options.out, (".html",))
    from rtmbs.vehicle.data_file import read

    return read(options.car, variant=options.variant, tyres=options.tyres)


def finish(report: "Report", out: str | None) -> int:
    """Print a report, and write its page."""
    print(report)
    if out:
        report.to_html(out)
        print(out)
    return 0


DRIVE_EPILOG = """
  rtmbs drive sedan --course slalom
  rtmbs drive hmmwv --tyres tmeasy --course road --pad
  rtmbs drive sedan --speed 15 --script wishes.csv --out run.npz

  arrows or WASD drive, C changes the view (chase, driver, free), M steers by the mouse, Space pauses,
  Backspace goes back to the start; the bar under the picture replays what was driven.
"""


def drive_command(words: list[str]) -> int:
    """Drive a car by keyboard, mouse or game pad, or by a script."""
    parser = Parser(prog="rtmbs drive", description=drive_command.__doc__, epilog=DRIVE_EPILOG)
    parser.add_argument("car", metavar="CAR", help="a vehicle data file (.json), or sedan or hmmwv")
    parser.add_argument("--variant", help="variant in the file; the first unless given")
    parser.add_argument("--tyres", default="pac2002", help="pac2002 or tmeasy of the file, or a .tir file")
    parser.add_argument("--course", default="iso-3888-1", help="road, slalom, iso-3888-1 or iso-3888-2 (%(default)s)")
    parser.add_argument("--speed", type=number, default=0.0, help="speed at the beginning [m/s]")
    parser.add_argument("--pad", action="store_true", help="drive by the first game pad too (extra drive)")
    parser.add_argument("--theme", choices=("white", "dark"), default="white")
    parser.add_argument("--record", metavar="FILE.csv", help="write the wishes of the person as a script")
    parser.add_argument("--script", metavar="FILE.csv", help="drive by a script t,steering,throttle,brake; no window")
    parser.add_argument("--out", metavar="FILE.npz", help="with --script: keep the record of the drive")
    options = parser.read(words)
    from rtmbs.drive.origin import DriveOrigin

    origin = DriveOrigin(options.car, options.variant, options.tyres, options.course, options.speed)
    if options.script is None:
        return drive_in_window(origin, pad=options.pad, theme=options.theme, record=options.record)
    if options.out:
        check_target(options.out, (".npz",))
    from rtmbs.drive.person import drive_by_script, read_script

    result = drive_by_script(origin.driving(), read_script(options.script))
    speed = 3.6 * float((result["chassis.velocity"][-1] ** 2).sum() ** 0.5)
    x, y, _ = result["chassis.position"][-1].tolist()
    print(f"{result['t'][-1]:.2f} s, {speed:.1f} km/h, x {x:.2f} m, y {y:.2f} m")
    if options.out:
        result.save(options.out)
        print(options.out)
    return 0


def drive_in_window(origin: "DriveOrigin", *, pad: bool, theme: str, record: str | Path | None) -> int:
    """Open the window of a drive and return its exit code.

    The session steps in a process of its own, against the wall clock. ``pad`` adds the first game pad. ``record`` is
    a file that gets the wishes of the person, as a script.

    Raises InputError where there is no Qt, no screen or no game pad.
    """
    from rtmbs.drive.person import GamePad, increasing, write_script
    from rtmbs.viewer.qt.application import application, collected_here, ended_by_interrupt
    from rtmbs.viewer.qt.requirements import check_display, check_opengl, check_qt
    from rtmbs.viewer.scene.theme import theme_named
    from rtmbs.viewer.session.commands import Play
    from rtmbs.viewer.session.process_connection import ProcessConnection

    check_qt()
    check_display()
    pads = (GamePad(),) if pad else ()
    connection = ProcessConnection(origin)
    try:
        application()
        check_opengl()
    except BaseException:
        connection.close()
        raise
    from rtmbs.drive.window import DriveWindow

    with ended_by_interrupt(application()), collected_here():
        window = DriveWindow(connection, theme_named(theme), pads)
        window.resize(1280, 760)
        window.show()
        connection.send(Play())
        code = int(application().exec())
        window.close()
        window.deleteLater()
    if record is not None:
        write_script(record, increasing(window.log))
    return code
