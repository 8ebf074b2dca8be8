"""Canaries: one for every name of numba that numba does not promise. A test that fails here says what changed."""

import ast
import pickle
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.extending import intrinsic

import rtmbs
from rtmbs.jit import private
from rtmbs.jit.compilers import (
    OBJECT,
    CoarseCompiler,
    CoarseLibrary,
    KernelCompiler,
    KernelLibrary,
    TextCompiler,
    TextLibrary,
)
from rtmbs.jit.dispatch import COMPILE, type_in_text
from rtmbs.jit.private import PRIVATE
from rtmbs.jit.struct_type import StructType

ROOM = Path(rtmbs.__file__).parent / "jit"
COMPILED = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


def double(x):
    return 2.0 * x


def compiled():
    """Return a plain dispatcher of numba, compiled for one number, and the result of its compilation."""
    dispatcher = numba.njit(double)
    assert dispatcher(1.5) == 3.0
    return dispatcher, dispatcher.overloads[(numba.float64,)]


# ---------------------------------------------------------------------------------------------------------- the table


def test_every_name_has_its_canary():
    tests = {name for name in globals() if name.startswith("test_")}
    for entry in PRIVATE:
        assert entry.canary in tests, entry.name
        assert entry.reason, entry.name
    assert len({entry.name for entry in PRIVATE}) == len(PRIVATE)


def test_the_table_is_complete():
    """Every attribute and option of this room that begins with an underscore stands in the table, as do the imports."""
    listed = {entry.name for entry in PRIVATE}
    assert set(private.__all__) <= listed
    used = set()
    for path in ROOM.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute | ast.keyword):
                name = node.attr if isinstance(node, ast.Attribute) else node.arg or ""
                used.add(name)
                if name.startswith("_") and not name.startswith("__") and name not in ("_fields", "_exit"):
                    assert name in listed, f"{path.name}: {name}"
            elif isinstance(node, ast.FunctionDef | ast.Name):
                used.add(node.name if isinstance(node, ast.FunctionDef) else node.id)
    assert listed <= used, f"not used any more: {listed - used}"


# ----------------------------------------------------------------------------------------------------------- canaries


@COMPILED
def test_a_kernel_is_a_dispatcher_with_a_cache_in_it():
    dispatcher, _ = compiled()
    assert type(dispatcher) is private.CPUDispatcher
    for question in ("load_overload", "save_overload", "enable", "disable", "flush", "cache_path"):
        assert hasattr(dispatcher._cache, question), question
    assert dispatcher.overloads[(numba.float64,)].entry_point(1.5) == 3.0
    calls = []

    class Cache(type(dispatcher._cache)):
        def load_overload(self, types, target):
            calls.append(("load", types))

        def save_overload(self, types, result):
            calls.append(("save", types))

    other = numba.njit(double)
    other._cache = Cache()
    assert other(1.5) == 3.0
    assert calls == [("load", (numba.float64,)), ("save", (numba.float64,))]
    assert callable(private.CPUDispatcher.get_call_template)


@COMPILED
def test_the_options_of_kernels_are_known():
    """numba refuses an option that it does not know, and puts the others into effect."""
    options = {"_nrt": False, "no_cfunc_wrapper": True, "no_cpython_wrapper": True, "forceinline": True}
    dispatcher = numba.njit(**options)(double)
    dispatcher.compile((numba.float64,))
    text = dispatcher.inspect_llvm((numba.float64,))
    assert "cpython." not in text
    assert "cfunc." not in text
    with pytest.raises(Exception, match="nonsense"):
        numba.njit(nonsense=True)(double)(1.5)
    with pytest.raises(numba.TypingError):
        numba.njit(_nrt=False)(lambda n: np.zeros(n).sum())(3)


@COMPILED
def test_a_compiled_kernel_can_be_taken_apart_and_put_together():
    _, result = compiled()
    assert isinstance(result, private.CompileResult)
    assert not result.lifted
    assert result.library.has_dynamic_globals is False
    assert isinstance(result.target_context.codegen().magic_tuple(), tuple)
    parts = pickle.loads(private.dumps(result._reduce()))
    again = private.CompileResult._rebuild(result.target_context, *parts)
    assert again.signature == result.signature
    assert again.entry_point(1.5) == 3.0


def library_of(compiler, function=double, **options):
    """Return the library of a function that a compiler of ours compiled for one number, and its dispatcher."""
    dispatcher = numba.njit(pipeline_class=compiler, _nrt=False, **options)(function)
    dispatcher.compile((numba.float64,))
    return dispatcher.overloads[(numba.float64,)].library, dispatcher


@COMPILED
def test_how_a_library_becomes_machine_code():
    """Each form asks numba the questions of its own, and answers them as it should."""
    _, result = compiled()
    assert type(result.library) is private.JITCodeLibrary
    assert isinstance(result.fndesc.llvm_func_name, str)
    asked = []

    class Asked(KernelLibrary):
        def __getattribute__(self, name):
            asked.append(name)
            return super().__getattribute__(name)

    compiler = type("Compiler", (KernelCompiler,), {"library": Asked})
    library, dispatcher = library_of(compiler)
    assert dispatcher(1.5) == 3.0
    asked_by_numba = {
        "_optimize_functions",
        "_optimize_final_module",
        "_finalize_specific",
        "_finalize_dynamic_globals",
    }
    assert asked_by_numba <= set(asked)
    name, kind, data = library.serialize_using_object_code()
    assert (name, kind, len(data)) == (library.name, OBJECT, 2)
    assert all(isinstance(part, bytes) for part in data)
    assert private.lookup_environment("nobody's") is None
    text, _ = library_of(TextCompiler, no_cpython_wrapper=True)
    symbol = result.fndesc.llvm_func_name
    assert text.get_pointer_to_function(symbol) == 0
    assert text.serialize_using_object_code() is None
    assert text.has_dynamic_globals is False
    assert not list(text._final_module.global_variables) or text.codegen.set_env("any", None) is None


@COMPILED
@pytest.mark.parametrize("compiler", [KernelCompiler, TextCompiler, CoarseCompiler])
def test_what_a_caller_takes_of_a_library(compiler):
    """Text is linked into a caller of any class; a coarse kernel is declared, and found by its name."""
    library, dispatcher = library_of(compiler)
    caller, calling = library_of(KernelCompiler, lambda x: 1.0 + dispatcher(x))
    assert calling(1.5) == 4.0
    assert list(caller.needs) == ([library] if compiler is CoarseCompiler else [])
    if compiler is not TextCompiler:
        assert numba.njit(lambda x: 1.0 + dispatcher(x))(1.5) == 4.0


@COMPILED
def test_a_compiler_with_a_library_and_a_name_of_our_own(monkeypatch):
    for compiler, kind in (
        (KernelCompiler, KernelLibrary),
        (TextCompiler, TextLibrary),
        (CoarseCompiler, CoarseLibrary),
    ):
        library, dispatcher = library_of(compiler)
        assert type(library) is kind
        assert dispatcher.overloads[(numba.float64,)].library is library
    monkeypatch.setattr("rtmbs.jit.compilers.SOURCES", frozenset([__file__]))
    names = {library_of(KernelCompiler)[1].overloads[(numba.float64,)].fndesc.llvm_func_name for _ in range(2)}
    assert len(names) == 1  # numba counts functions: a second one would have another name


@COMPILED
def test_what_a_call_through_a_slot_is_made_of():
    context = compiled()[1].target_context
    for name in ("call_function", "get_function_type", "return_user_exc", "return_status_propagate"):
        assert callable(getattr(context.call_conv, name)), name
    assert isinstance(type(context).active_code_library, property)


def test_what_struct_types_are_built_of():
    for name in ("pack_array", "get_null_value", "is_null"):
        assert callable(getattr(private.cgutils, name)), name
    assert hasattr(private.cgutils.create_struct_proxy(numba.types.UniTuple(numba.int64, 2)), "_getvalue")
    assert hasattr(private.AttributeTemplate, "resolve")
    assert hasattr(StructType, "mangling_args")


class Deferred:
    """A name in the text of a function, which says its type when numba asks."""

    def __init__(self, make):
        self.make, self.asked = make, 0

    @property
    def _numba_type_(self):
        self.asked += 1
        return type_in_text(self.make())


@COMPILED
def test_what_a_deferred_kernel_is_to_numba():
    """A kernel, and an intrinsic that is new to numba: both are called from compiled code."""

    @intrinsic
    def one(typing):
        return numba.types.int64(), lambda context, builder, signature, args: context.get_constant(numba.types.int64, 1)

    dispatcher = compiled()[0]
    twice, single = Deferred(lambda: dispatcher), Deferred(lambda: one)
    assert numba.njit(lambda x: twice(x) + single())(1.5) == 4.0
    assert twice.asked
    assert single.asked
    assert private.cpu_target.typing_context.resolve_value_type(dispatcher).dispatcher is dispatcher


@COMPILED
def test_compilations_are_events():
    seen = []

    class Listener(private.event.Listener):
        def on_start(self, event):
            seen.append(("start", event.data["dispatcher"].py_func.__name__))

        def on_end(self, event):
            seen.append(("end", event.data["dispatcher"].py_func.__name__))

    with private.event.install_listener(COMPILE, Listener()):
        compiled()
    assert seen == [("start", "double"), ("end", "double")]
