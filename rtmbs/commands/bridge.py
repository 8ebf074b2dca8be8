"""``rtmbs bridge``: a mechanism behind UDP or shared memory, for hosts that cannot load a library."""

import json

from rtmbs.commands.arguments import Parser, count, positive
from rtmbs.commands.export import STEP, names, system_in
from rtmbs.errors import InputError

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
