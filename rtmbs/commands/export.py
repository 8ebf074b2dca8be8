"""``rtmbs export``: an FMU or a folder for a C host of a Python file or a library mechanism."""

import runpy
from pathlib import Path
from typing import Any

from rtmbs.commands.arguments import Parser, positive
from rtmbs.commands.robot_files import add_reading, is_robot_file, robot_model
from rtmbs.errors import InputError

STEP = 1e-3  # [s]


def export_command(words: list[str]) -> int:
    """Write an FMU or a native library of a mechanism."""
    from rtmbs.export.native_library import HOST
    from rtmbs.export.packages import KINDS, export_fmu, export_library
    from rtmbs.jit.native_code import TARGETS

    parser = Parser(prog="rtmbs export", description=export_command.__doc__)
    parser.add_argument(
        "model", help="a Python file with a Model `model` or a System `system`, a robot's file, or a library mechanism"
    )
    parser.add_argument("--out", required=True, help="the FMU, such as car.fmu, or the folder of the native library")
    parser.add_argument(
        "--fmi", type=int, choices=(2, 3), help="version of FMI; without it a native library is written"
    )
    parser.add_argument("--kind", choices=KINDS, default=KINDS[0], help=f"of an FMU; {KINDS[0]} by default")
    parser.add_argument("--inputs", default="", help="inputs by name, separated by commas")
    parser.add_argument("--outputs", default="", help="channels by name, separated by commas")
    parser.add_argument("--h", type=positive, default=STEP, help=f"step [s], {STEP} by default")
    parser.add_argument("--target", default=HOST, help=f"processor and system: {', '.join(TARGETS)}")
    add_reading(parser)
    options = parser.read(words)
    given: dict[str, Any] = {
        "inputs": names(options.inputs), "outputs": names(options.outputs), "h": options.h,
    }  # fmt: skip
    if is_robot_file(options.model):
        system = robot_model(options.model, options, meshes=False).compile()
    else:
        system = system_in(options.model)
    if options.fmi is None:
        export_library(system, options.out, target=options.target, **given)
    else:
        export_fmu(system, options.out, fmi=options.fmi, targets=[options.target], kind=options.kind, **given)
    print(options.out)
    return 0


def names(text: str) -> list[str]:
    """Return names that commas separate."""
    return [name.strip() for name in text.split(",") if name.strip()]


def system_in(target: str) -> Any:
    """Return the System of a Python file or of a library mechanism; InputError for a file without one."""
    if not target.endswith(".py"):
        from rtmbs import library

        return library.build(target).compile()
    if not Path(target).is_file():
        raise InputError(f"{target} is no file; give a Python file with a Model `model`")
    found = runpy.run_path(target)
    if "system" in found:
        return found["system"]
    if "model" not in found:
        raise InputError(f"{target} has neither a Model `model` nor a System `system`; give one of them this name")
    return found["model"].compile()
