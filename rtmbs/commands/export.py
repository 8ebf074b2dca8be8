"""``rtmbs export`` and ``rtmbs bridge``: a mechanism in other programs: an FMU, C, UDP or shared memory.

The mechanism is that of a Python file, a model file, a robot's file or the library. The bridge is for hosts that cannot
load a library.
"""

import argparse
import json
import runpy
from pathlib import Path
from typing import Any

from rtmbs.commands.arguments import Parser, add_reading, count, is_robot_file, option_parser, positive, robot_model
from rtmbs.errors import InputError

STEP = 1e-3  # [s]
MODEL = """a Python file with a Model `model` or a System `system`, a model file (.mks), a robot's file, or a library
mechanism with its options"""


def export_command(words: list[str]) -> int:
    """Write an FMU or a native library of a mechanism."""
    from rtmbs.export.packages import HOST, KINDS, export_fmu, export_library
    from rtmbs.jit.native_code import TARGETS

    parser = model_parser("rtmbs export", str(export_command.__doc__), words)
    parser.add_argument("--out", required=True, help="the FMU, such as car.fmu, or the folder of the native library")
    parser.add_argument(
        "--fmi", type=int, choices=(2, 3), help="version of FMI; without it a native library is written"
    )
    parser.add_argument("--kind", choices=KINDS, default=KINDS[0], help=f"of an FMU; {KINDS[0]} by default")
    parser.add_argument("--inputs", default="", help="inputs by name, separated by commas")
    parser.add_argument("--outputs", default="", help="channels by name, separated by commas")
    parser.add_argument("--h", type=positive, default=STEP, help=f"step [s], {STEP} by default")
    known = f"processor and system, {HOST} by default; of an FMU repeated for several: {', '.join(TARGETS)}"
    parser.add_argument("--target", action="append", metavar="TARGET", help=known)
    options = parser.read(words)
    given: dict[str, Any] = {
        "inputs": names(options.inputs), "outputs": names(options.outputs), "h": options.h,
    }  # fmt: skip
    targets = options.target or [HOST]
    if options.fmi is None and len(targets) > 1:
        raise InputError(f"--target is given {len(targets)} times; a native library has one, write a folder for each")
    system = system_of(options)
    if options.fmi is None:
        export_library(system, options.out, target=targets[0], **given)
    else:
        export_fmu(system, options.out, fmi=options.fmi, targets=targets, kind=options.kind, **given)
    print(options.out)
    return 0


def names(text: str) -> list[str]:
    """Return names that commas separate."""
    return [name.strip() for name in text.split(",") if name.strip()]


def model_parser(program: str, description: str, words: list[str]) -> Parser:
    """Return a parser of a mechanism: with options of its own where it is one of the library, else those of reading."""
    from rtmbs import library

    first = words[:1] if words and not words[0].startswith("-") else words
    name = next((word for word in first if word in library.names()), "")
    parser = option_parser(program, library.defaults(name) if name else {}, description)
    parser.add_argument("model", help=MODEL)
    if not name:
        add_reading(parser)
    return parser


def system_of(options: argparse.Namespace) -> Any:
    """Return the System of the file or the library mechanism that the options of ``model_parser`` name."""
    target, kind = options.model, Path(options.model).suffix.lower()
    if is_robot_file(target):
        return robot_model(target, options, meshes=False).compile()
    if kind == ".mks":
        from rtmbs.commands.model_runs import simulation
        from rtmbs.language import read

        return simulation(read(target)).system
    if kind == ".py":
        return system_in(target)
    from rtmbs import library

    return library.build(target, **{name: getattr(options, name) for name in library.defaults(target)}).compile()


def system_in(path: str) -> Any:
    """Return the System of a Python file; InputError for a file without one."""
    if not Path(path).is_file():
        raise InputError(f"{path} is no file; give a Python file with a Model `model`")
    found = runpy.run_path(path)
    if "system" in found:
        return found["system"]
    if "model" not in found:
        raise InputError(f"{path} has neither a Model `model` nor a System `system`; give one of them this name")
    return found["model"].compile()


EVERY = 0.01  # [s]


def bridge_command(words: list[str]) -> int:
    """Answer packets of inputs with outputs: rtmbs bridge car.py --inputs drive.torque --outputs chassis.position"""
    from rtmbs.export.bridge import Bridge, SharedMemory, Udp, Way
    from rtmbs.simulation.simulation import Simulation

    parser = model_parser("rtmbs bridge", str(bridge_command.__doc__), words)
    parser.add_argument("--inputs", required=True, help="inputs by name, separated by commas")
    parser.add_argument("--outputs", required=True, help="channels by name, separated by commas")
    parser.add_argument("--h", type=positive, default=STEP, help=f"step [s], {STEP} by default")
    parser.add_argument("--every", type=positive, default=EVERY, help=f"communication step [s], {EVERY} by default")
    parser.add_argument(
        "--udp", default="127.0.0.1:0", help="address to listen on, 127.0.0.1 and a free port by default"
    )
    parser.add_argument("--shared-memory", default="", help="name of shared memory, in place of UDP")
    parser.add_argument("--ticks", type=count, help="communication steps to the end; none by default")
    parser.add_argument("--lockstep", action="store_true", help="no clock: a communication step for every packet")
    options = parser.read(words)
    sim = Simulation(system_of(options), h=options.h)
    Simulation(sim.system, h=options.h).step()  # kernels are there before a host may send, however long they compile
    bridge = Bridge(sim, names(options.inputs), names(options.outputs), options.every)
    way: Way = (
        SharedMemory(bridge, options.shared_memory) if options.shared_memory else Udp(bridge, *address(options.udp))
    )
    try:
        where = {"udp": list(way.address)} if isinstance(way, Udp) else {"shared_memory": options.shared_memory}
        told = {"session": bridge.session, **where, "inputs": bridge.inputs, "outputs": bridge.outputs}
        print(json.dumps(told), flush=True)
        bridge.serve(way, options.ticks, options.lockstep)
    except KeyboardInterrupt:
        pass
    finally:
        way.close()
        summary = ", ".join(f"{reason} {number}" for reason, number in sorted(bridge.inbox.refused.items()))
        print(
            f"{bridge.ticks} ticks, {bridge.late} late; {bridge.inbox.lost} packets lost, refused: {summary or 'none'}",
            flush=True,
        )
    return 0


def address(text: str) -> tuple[str, int]:
    """Return host and port of ``127.0.0.1:9000``; InputError for anything else."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise InputError(f"--udp is {text!r}; it must be an address and a port, such as 127.0.0.1:9000")
    return host, int(port)
