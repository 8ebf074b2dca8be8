"""``rtmbs drive``: a car that a person drives in the live window, or a script without one."""

from rtmbs.commands.arguments import Parser, check_target, number

EPILOG = """
  rtmbs drive sedan --course slalom
  rtmbs drive hmmwv --tyres tmeasy --course road --pad
  rtmbs drive sedan --speed 15 --script wishes.csv --out run.npz

  arrows or WASD drive, C changes the view (chase, driver, free), M steers by the mouse, Space pauses,
  Backspace goes back to the start; the bar under the picture replays what was driven.
"""


def drive_command(words: list[str]) -> int:
    """Drive a car by keyboard, mouse or game pad, or by a script."""
    parser = Parser(prog="rtmbs drive", description=drive_command.__doc__, epilog=EPILOG)
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
        from rtmbs.drive.show import drive

        return drive(origin, pad=options.pad, theme=options.theme, record=options.record)
    if options.out:
        check_target(options.out, (".npz",))
    from rtmbs.drive.script import drive_by_script, read_script

    result = drive_by_script(origin.driving(), read_script(options.script))
    speed = 3.6 * float((result["chassis.velocity"][-1] ** 2).sum() ** 0.5)
    x, y, _ = result["chassis.position"][-1].tolist()
    print(f"{result['t'][-1]:.2f} s, {speed:.1f} km/h, x {x:.2f} m, y {y:.2f} m")
    if options.out:
        result.save(options.out)
        print(options.out)
    return 0
