"""Lazy kernels: a kernel that few mechanisms need is compiled, or loaded, at its first call from compiled code.

The caller knows the types of the arguments, and that nothing is returned. It reads the address of the kernel from a
word of memory, a *slot*. While the slot is empty the caller asks Python to fill it, which takes the interpreter lock.
The first evaluation of a mechanism does so, long before its first counted step.

Names of slots are the same in every process. A caller loaded from disk has its slots registered first.
"""

import ctypes
import hashlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from llvmlite import ir
from llvmlite.binding import add_symbol
from numba import types
from numba.extending import intrinsic
from numba.types import unliteral

from rtmbs.jit.deferred_kernel import named

WORD = ir.IntType(64)
FILL = "rtmbs.fill_slot"  # how compiled code calls ``fill``
MISSING = "a kernel could not be compiled when it was first called: see above"


class KernelSlot(NamedTuple):
    """The word of memory with the address of a kernel for arguments of given types."""

    name: str
    module: str
    kernel: str
    types: tuple[Any, ...]


_words: dict[str, ctypes.c_int64] = {}  # by the names of slots: an address, or 0
_slots: dict[int, KernelSlot] = {}  # by the addresses of words
_kernels: dict[tuple[str, str], Any] = {}  # dispatchers by module and name


def slot_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> KernelSlot:
    """Return the slot of a kernel for arguments of these types."""
    module, name = function.__module__, function.__qualname__
    digest = hashlib.sha256(repr(arguments).encode()).hexdigest()[:16]
    return KernelSlot(f"rtmbs.slot.{module}.{name}.{digest}", module, name, arguments)


def register_slots(slots: Iterable[KernelSlot]) -> None:
    """Register the addresses of slots with the linker; new ones are empty."""
    for slot in slots:
        if slot.name not in _words:
            _words[slot.name] = word = ctypes.c_int64(0)
            _slots[ctypes.addressof(word)] = slot
            add_symbol(slot.name, ctypes.addressof(word))


def fill_slot(place: int) -> None:
    """Compile or load the kernel of an empty slot, and write its address."""
    slot = _slots[place]
    result = compiled_kernel(slot)
    assert result.signature.return_type == types.none, f"{slot.kernel} returns something"
    address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    assert address, f"{slot.kernel} has no machine code"
    _words[slot.name].value = address


def compiled_kernel(slot: KernelSlot) -> Any:
    """Return the compiled or loaded kernel of a slot; its dispatcher is made where no caller was compiled here."""
    key = slot.module, slot.kernel
    if key not in _kernels:
        named(slot.module, ".".join(key)).numba  # noqa: B018 - which registers the dispatcher
    dispatcher = _kernels[key]
    dispatcher.compile(slot.types)
    return dispatcher.overloads[slot.types]


fill = ctypes.CFUNCTYPE(None, ctypes.c_int64)(fill_slot)  # called from compiled code, where an exception is lost


def compile_all() -> None:
    """Compile or load the kernels of all registered slots, and of the slots that these register."""
    while empty := [place for place, slot in list(_slots.items()) if not _words[slot.name].value]:
        for place in empty:
            fill_slot(place)


add_symbol(FILL, ctypes.cast(fill, ctypes.c_void_p).value)


def lazy_template(dispatcher: Any) -> Callable[..., Any]:
    """Return the intrinsic that compiled callers use in place of a lazy kernel."""
    function = dispatcher.py_func
    _kernels[function.__module__, function.__qualname__] = dispatcher

    def call(typing: Any, *arguments: Any) -> Any:
        signature = types.none(*map(unliteral, arguments))
        return signature, lambda *given: generate(slot_of(function, tuple(signature.args)), *given)

    first = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__signature__ = inspect.Signature([first, *inspect.signature(function).parameters.values()])  # type: ignore[attr-defined]
    call.__name__, call.__qualname__ = function.__name__, function.__qualname__
    call.__module__, call.__doc__ = function.__module__, function.__doc__
    stand_in: Callable[..., Any] = intrinsic(call)
    stand_in.py_func = function  # type: ignore[attr-defined]
    return stand_in


def generate(slot: KernelSlot, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Generate the call of the kernel of a slot."""
    register_slots([slot])
    context.active_code_library.slots[slot.name] = slot
    convention, names, module = context.call_conv, builder.module.globals, builder.module
    place = names.get(slot.name) or ir.GlobalVariable(module, WORD, slot.name)
    ask = names.get(FILL) or ir.Function(module, ir.FunctionType(ir.VoidType(), [WORD.as_pointer()]), FILL)
    with builder.if_then(builder.icmp_unsigned("==", builder.load(place), WORD(0)), likely=False):
        builder.call(ask, [place])
    address = builder.load(place)
    with builder.if_then(builder.icmp_unsigned("==", address, WORD(0)), likely=False):
        convention.return_user_exc(builder, RuntimeError, (MISSING,))
    kind = convention.get_function_type(types.none, signature.args)
    function = builder.inttoptr(address, kind.as_pointer())
    status, _ = convention.call_function(builder, function, types.none, signature.args, arguments)
    with builder.if_then(status.is_error, likely=False):
        convention.return_status_propagate(builder, status)
    return context.get_dummy_value()
