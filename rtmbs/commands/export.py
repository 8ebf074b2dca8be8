"""``rtmbs export`` and ``rtmbs bridge``: a mechanism in other programs: an FMU, C, UDP or shared memory.

The mechanism is that of a Python file or of the library. The bridge is for hosts that cannot load a library.
"""

import json
import runpy
from pathlib import Path
from typing import Any

from rtmbs.commands.arguments import Parser, add_reading, count, is_robot_file, positive, robot_model
from rtmbs.errors import InputError

STEP = 1e-3  # [s]


def export_command(words: list[str]) -> int:
    """Write an FMU or a native library of a mechanism."""
    from rtmbs.export.packages import HOST, KINDS, export_fmu, export_library
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


EVERY = 0.01  # [s]


def bridge_command(words: list[str]) -> int:
    """Answer packets of inputs with outputs: rtmbs bridge car.py --inputs drive.torque --outputs chassis.position"""
    from rtmbs.export.bridge import Bridge, SharedMemory, Udp, Way
    from rtmbs.simulation.simulation import Simulation

    parser = Parser(prog="rtmbs bridge", description=bridge_command.__doc__)
    parser.add_argument("model", help="a Python file with a Model `model` or a System `system`, or a library mechanism")
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
    sim = Simulation(system_in(options.model), h=options.h)
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
