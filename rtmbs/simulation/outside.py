"""A recorded force law keeps what it read at compile: a run refuses to go on when that has changed since."""

from rtmbs.errors import InputError
from rtmbs.system.outside import values_read
from rtmbs.system.system import System


def check_outside(system: System) -> None:
    """Refuse a law that reads a value from outside which has changed since the model was compiled: InputError."""
    for force, function, read in system.outside:
        if not read:
            continue
        now = values_read(function)
        for name, before in read.items():
            if now.get(name, before) != before:
                raise InputError(
                    f"force {force!r}: its law reads {name}, which was {before[:60]} when the model was compiled and "
                    f"is {now[name][:60]} now. The recorded law keeps the first value. Make it a parameter, "
                    f"parameters={{{name.rpartition('.')[2]!r}: ...}}, and set sim.inputs, or compile the model again"
                )
