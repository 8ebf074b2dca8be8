"""Numba's type of structs: fields by offset, reading of a field from memory, unboxing from Python."""

import hashlib
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from rtmbs.jit.private import AttributeTemplate, cgutils
from rtmbs.jit.struct import Struct

WORD = 8  # bytes
INT64 = ir.IntType(64)

_types: dict[int, "StructType"] = {}  # by the signatures of structs


class StructType(types.Type):  # type: ignore[misc]
    """Type of a struct by address: its class and the types of its fields."""

    def __init__(self, cls: type, fields: tuple[Any, ...]) -> None:
        self.fields = dict(zip(cls._fields, fields, strict=True))  # type: ignore[attr-defined]
        self.cls, self.struct = cls, cls.__name__
        super().__init__(f"{cls.__module__}.{cls.__qualname__}({', '.join(str(field) for field in fields)})")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """Short name in machine code: the whole one would fill a page in every call."""
        return self.struct + hashlib.sha256(self.name.encode()).hexdigest()[:12], ()

    def offset(self, field: str) -> int:
        """Return the first word of a field."""
        names = list(self.fields)
        return sum(size(self.fields[name]) for name in names[: names.index(field)])


def size(field: Any) -> int:
    """Return the number of words of a field, in the layout of ``struct.words_of``."""
    if isinstance(field, types.Array):
        return 2 + 2 * int(field.ndim)
    if isinstance(field, StructType):
        return sum(size(part) for part in field.fields.values())
    return 1


@typeof_impl.register(Struct)
def typeof_struct(value: Any, context: Any) -> StructType:
    """Return the numba type of a struct."""
    if value.signature in _types:
        return _types[value.signature]
    fields = tuple(typeof_impl(part, context) for part in value)
    for name, part in zip(value._fields, fields, strict=True):
        if not isinstance(part, (types.Array, StructType, types.Integer, types.Float, types.Boolean)):
            raise TypeError(f"{type(value).__name__}.{name} is {part}; a struct holds arrays, structs and numbers")
    found = StructType(type(value), fields)
    if value.signature is not None:
        _types[value.signature] = found
    return found


@register_model(StructType)
class StructModel(models.PrimitiveModel):  # type: ignore[misc]
    """Data model of a struct: a pointer to an array of words."""

    def __init__(self, manager: Any, struct: StructType) -> None:
        super().__init__(manager, struct, ir.ArrayType(INT64, size(struct)).as_pointer())


@infer_getattr
class StructAttributes(AttributeTemplate):  # type: ignore[misc]
    """Attribute lookup: ``struct.field`` has the type of the field."""

    key = StructType

    def generic_resolve(self, struct: StructType, field: str) -> Any:
        """Return the type of a field; None when there is no such field, as numba wants it."""
        return struct.fields.get(field)


@lower_getattr_generic(StructType)
def read_field(context: Any, builder: Any, struct: StructType, address: Any, field: str) -> Any:
    """Read a field: an inner struct is an address too, a number is one word, an array is put together by a helper."""
    promise_sizes(builder.function)
    kind = struct.fields[field]
    place = builder.gep(address, [INT64(0), INT64(struct.offset(field))], inbounds=True)
    if isinstance(kind, StructType):
        return builder.bitcast(place, context.get_value_type(kind))
    if isinstance(kind, types.Array):
        return builder.call(array_reader(context, builder.module, kind), [place])
    if isinstance(kind, types.Float):
        return constant_load(builder, place, ir.DoubleType())
    word = constant_load(builder, place, INT64)
    return builder.icmp_unsigned("!=", word, INT64(0)) if isinstance(kind, types.Boolean) else word


def promise_sizes(function: Any) -> None:
    """Declare struct arguments readable, so that the optimiser may read them before a loop."""
    for argument in function.args:
        words = getattr(argument.type, "pointee", None)
        if isinstance(words, ir.ArrayType) and words.element == INT64:
            argument.attributes.align = WORD
            argument.attributes.dereferenceable = WORD * words.count


def constant_load(builder: Any, place: Any, kind: Any, word: int = 0) -> Any:
    """Load a word as invariant: nothing writes to a struct while kernels run."""
    place = builder.gep(place, [INT64(word)], inbounds=True) if word else place
    value = builder.load(builder.bitcast(place, kind.as_pointer()))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def array_reader(context: Any, module: Any, kind: Any) -> Any:
    """Return the helper function of this module that builds an array from its words; always inlined.

    Strides follow from the shape when the array is contiguous.
    """
    value_type = context.get_value_type(kind)
    name = f"rtmbs.read.{kind.dtype}.{kind.ndim}{kind.layout}"
    if name in module.globals:
        return module.globals[name]
    reader = ir.Function(module, ir.FunctionType(value_type, [INT64.as_pointer()]), name)
    reader.linkage = "linkonce_odr"
    for attribute in ("alwaysinline", "nounwind", "readnone", "speculatable", "willreturn"):
        set.add(reader.attributes, attribute)  # llvmlite does not know the last two
    builder = ir.IRBuilder(reader.append_basic_block())
    address, itemsize = reader.args[0], context.get_abi_sizeof(context.get_data_type(kind.dtype))
    shape = [constant_load(builder, address, INT64, 2 + k) for k in range(kind.ndim)]
    strides = [constant_load(builder, address, INT64, 2 + kind.ndim + k) for k in range(kind.ndim)]
    if kind.layout == "C":
        strides = [INT64(itemsize)]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(extent, strides[0]))
    array = context.make_array(kind)(context, builder)
    array.data = constant_load(builder, address, array.data.type)
    array.nitems, array.itemsize = constant_load(builder, address, INT64, 1), INT64(itemsize)
    array.shape, array.strides = (cgutils.pack_array(builder, parts, INT64) for parts in (shape, strides))
    array.meminfo, array.parent = (cgutils.get_null_value(part.type) for part in (array.meminfo, array.parent))
    builder.ret(array._getvalue())
    return reader


@unbox(StructType)
def unbox_struct(struct: StructType, value: Any, c: Any) -> NativeValue:
    """Unbox a struct: take its address."""
    number = c.pyapi.object_getattr_string(value, "address")
    with c.builder.if_else(cgutils.is_null(c.builder, number)) as (missing, found):
        with missing:
            before = c.builder.block
        with found:
            address = c.builder.bitcast(c.pyapi.long_as_voidptr(number), c.context.get_value_type(struct))
            c.pyapi.decref(number)
            after = c.builder.block
    taken = c.builder.phi(address.type)
    taken.add_incoming(cgutils.get_null_value(address.type), before)
    taken.add_incoming(address, after)
    return NativeValue(taken, is_error=cgutils.is_null(c.builder, taken))
