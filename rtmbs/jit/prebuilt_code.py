"""Machine code of the kernels that Python calls, for the library of a wheel: see ``prebuilt.py``.

A wish is the module and the name of a kernel, and numba's types of its arguments. ``noted`` lists the wishes of a
process while it runs; ``prebuilt_module`` makes one module of them, with a C entry point for each.
"""

import importlib
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba import types
from numba.np.numpy_support import as_dtype

from rtmbs.jit.dispatch import KERNELS, Dispatcher, InnerDispatcher
from rtmbs.jit.native_code import FILL, constant_slot, lazy_result, link
from rtmbs.jit.prebuilt import array_name, struct_name, tuple_name
from rtmbs.jit.private import cgutils, dumps
from rtmbs.jit.struct_type import StructType

WORDS, RESULTS = 2048, 16  # of a call, as in prebuilt.c
WORD = ir.IntType(64)
NUMBERS = {types.int64: "i", types.float64: "d", types.boolean: "b"}


class Wish(NamedTuple):
    """A kernel for types of arguments."""

    module: str
    kernel: str
    types: tuple[Any, ...]

    @property
    def dispatcher(self) -> Any:
        """numba's object of the kernel."""
        importlib.import_module(self.module)
        return KERNELS[self.module, self.kernel]


# ---- what Python calls -----------------------------------------------------------------------------------------------


@contextmanager
def noted() -> Iterator[list[Wish]]:
    """Return the list of kernels that Python calls inside the ``with`` for the first time in this process."""
    found: dict[Wish, None] = {}
    wishes: list[Wish] = []
    inside = [0]  # compilations of callers that ask for this kernel
    template, compile_ = Dispatcher.get_call_template, Dispatcher.compile

    def get_call_template(self: Any, args: Any, kws: Any) -> Any:
        inside[0] += 1
        try:
            return template(self, args, kws)
        finally:
            inside[0] -= 1

    def compile_noted(self: Any, sig: Any) -> Any:
        wish = Wish(self.py_func.__module__, self.py_func.__qualname__, tuple(sig))
        if not inside[0] and not isinstance(self, InnerDispatcher) and wish not in found:
            found[wish] = None
            wishes.append(wish)
        return compile_(self, sig)

    Dispatcher.get_call_template, Dispatcher.compile = get_call_template, compile_noted  # type: ignore[method-assign]
    try:
        yield wishes
    finally:
        Dispatcher.get_call_template, Dispatcher.compile = template, compile_  # type: ignore[method-assign]


def packed(wishes: Sequence[tuple[str, str, tuple[Any, ...]]]) -> bytes:
    """Return wishes for another process."""
    return bytes(dumps([tuple(wish) for wish in wishes]))


def unpacked(data: bytes) -> list[Wish]:
    """Return the wishes of another process."""
    return [Wish(*parts) for parts in pickle.loads(data)]


# ---- names and kinds -------------------------------------------------------------------------------------------------


def name_of(kind: Any) -> str:
    """Return the name of a type, as ``prebuilt.type_name`` finds it from a value; "" for one not known there."""
    if isinstance(kind, types.Array):
        return array_name(as_dtype(kind.dtype), kind.ndim, kind.layout, kind.aligned, kind.mutable)
    if isinstance(kind, StructType):
        return struct_name(kind.cls, [name_of(field) for field in kind.fields.values()])
    if isinstance(kind, types.BaseTuple):
        cls = kind.instance_class if isinstance(kind, types.BaseNamedTuple) else tuple
        return tuple_name(cls, [name_of(part) for part in kind])
    return NUMBERS.get(kind, "")


def letters_of(kind: Any) -> str:
    """Return the letters by which prebuilt.c knows how to hand over a type."""
    if isinstance(kind, types.Array):
        return f"A{kind.ndim}"
    if isinstance(kind, StructType):
        return "S"
    if isinstance(kind, types.BaseTuple):
        return f"({''.join(map(letters_of, kind))})"
    return "n" if kind == types.none else NUMBERS[kind]


# ---- entry points ----------------------------------------------------------------------------------------------------


class Words:
    """Words of the arguments of a call, read one after the other."""

    def __init__(self, context: Any, builder: Any, address: Any) -> None:
        self.context, self.builder, self.address, self.at = context, builder, address, 0

    def word(self, kind: Any = WORD) -> Any:
        """Return the next word as a value of LLVM."""
        place = self.builder.gep(self.address, [WORD(self.at)], inbounds=True)
        self.at += 1
        return self.builder.load(self.builder.bitcast(place, kind.as_pointer()))

    def value(self, kind: Any) -> Any:
        """Return the next argument."""
        if isinstance(kind, types.Array):
            return self.array(kind)
        if isinstance(kind, types.BaseTuple):
            return self.context.make_tuple(self.builder, kind, [self.value(part) for part in kind])
        if isinstance(kind, StructType):
            return self.word(self.context.get_value_type(kind))
        if kind == types.boolean:
            return self.builder.icmp_unsigned("!=", self.word(), WORD(0))
        return self.word(self.context.get_value_type(kind))

    def array(self, kind: Any) -> Any:
        """Return an array: its address, size, extents and strides."""
        array = self.context.make_array(kind)(self.context, self.builder)
        array.data, array.nitems = self.word(array.data.type), self.word()
        array.itemsize = WORD(self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype)))
        for name in ("shape", "strides"):
            parts = [self.word() for _ in range(kind.ndim)]
            setattr(array, name, cgutils.pack_array(self.builder, parts, WORD))
        array.meminfo, array.parent = (cgutils.get_null_value(part.type) for part in (array.meminfo, array.parent))
        return array._getvalue()


def entry_text(symbol: str, result: Any) -> str:
    """Return the text of ``int32_t symbol(const int64_t *words, int64_t *results)``; not zero for an exception."""
    context, signature = result.target_context, result.signature
    convention, module = context.call_conv, ir.Module(symbol)
    kind = ir.FunctionType(ir.IntType(32), [WORD.as_pointer(), WORD.as_pointer()])
    function = ir.Function(module, kind, symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    words = Words(context, builder, function.args[0])
    values = [words.value(argument) for argument in signature.args]
    called = convention.get_function_type(signature.return_type, signature.args)
    callee = ir.Function(module, called, result.fndesc.llvm_func_name)
    status, found = convention.call_function(builder, callee, signature.return_type, signature.args, values)
    with builder.if_then(status.is_error, likely=False):
        builder.ret(ir.IntType(32)(1))
    stored = store(context, builder, signature.return_type, found, function.args[1], 0)
    assert words.at <= WORDS, f"{symbol} has too many arguments"
    assert stored <= RESULTS, f"{symbol} has too many results"
    builder.ret(ir.IntType(32)(0))
    return str(module)


def store(context: Any, builder: Any, kind: Any, value: Any, results: Any, at: int) -> int:
    """Store a result from word ``at`` on; return the next word."""
    if kind == types.none:
        return at
    if isinstance(kind, types.BaseTuple):
        for k, part in enumerate(kind):
            at = store(context, builder, part, builder.extract_value(value, k), results, at)
        return at
    place = builder.gep(results, [WORD(at)], inbounds=True)
    value = builder.zext(value, WORD) if kind == types.boolean else value
    builder.store(value, builder.bitcast(place, value.type.as_pointer()))
    return at + 1


def prebuilt_module(wishes: Iterable[Wish]) -> tuple[str, dict[str, dict[str, list[str]]]]:
    """Return the text of a module with an entry point for each wish, and the table of ``prebuilt.Library``.

    ``native_code.keep_text`` was called before the first kernel was imported.
    """
    module = binding.parse_assembly(f"define void @{FILL}(ptr %place) {{ ret void }}")
    table: dict[str, dict[str, list[str]]] = {}
    slots: dict[str, Any] = {}
    done: set[str] = set()
    for k, wish in enumerate(wishes):
        names, dispatcher = [name_of(kind) for kind in wish.types], wish.dispatcher
        if not all(names):
            continue  # numba alone knows it
        assert len(names) == dispatcher.py_func.__code__.co_argcount, f"{wish.kernel} is the name of two kernels"
        dispatcher.compile(wish.types)
        result = dispatcher.overloads[wish.types]
        slots |= link(module, result, entry_text(f"kernel_{k}", result))
        letters = ("".join(map(letters_of, wish.types)), letters_of(result.signature.return_type))
        table.setdefault(f"{wish.module}.{wish.kernel}", {})[",".join(names)] = [f"kernel_{k}", *letters]
    while left := [slot for name, slot in slots.items() if name not in done]:
        for slot in left:
            result = lazy_result(slot)
            slots |= link(module, result, constant_slot(slot.name, result.fndesc.llvm_func_name))
            done.add(slot.name)
    return str(module), table
