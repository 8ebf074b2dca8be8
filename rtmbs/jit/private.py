"""The names of numba that numba does not promise to keep. Only this module loads them, and the table lists them all.

Each has a canary in ``tests/jit/test_private.py``, which fails when a newer numba breaks it. Nothing here is loaded
with ``RTMBS_PLAIN_JIT=1``.
"""

from typing import NamedTuple

from numba.core import cgutils, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.typing.templates import AttributeTemplate

__all__ = ["AttributeTemplate", "CPUDispatcher", "CompileResult", "JITCodeLibrary", "cgutils", "dumps", "event"]


class Name(NamedTuple):
    """A name that is not numba's public word."""

    name: str  # as it stands in our text: a module, a class, an attribute or an option
    reason: str  # why we need it
    canary: str  # the test that fails when it changes


DISPATCHER = "test_a_kernel_is_a_dispatcher_with_a_cache_in_it"
OPTIONS = "test_the_options_of_kernels_are_known"
RESULT = "test_a_compiled_kernel_can_be_taken_apart_and_put_together"
LIBRARY = "test_a_kernel_is_called_without_its_bitcode_and_linked_with_it"
TYPES = "test_what_struct_types_are_built_of"
EVENTS = "test_compilations_are_events"

PRIVATE = (
    Name("CPUDispatcher", "an inner kernel refuses a call from Python, which would jump to address zero", DISPATCHER),
    Name("_cache", "numba's own cache looks at one file only: a caller would run old code of its callees", DISPATCHER),
    Name("overloads", "the entry of a kernel: a dispatcher types every argument at every call", DISPATCHER),
    Name("entry_point", "as overloads", DISPATCHER),
    Name("_nrt", "no reference counts: half of the time of small steps, and a kernel cannot allocate", OPTIONS),
    Name("no_cfunc_wrapper", "time to compile", OPTIONS),
    Name("no_cpython_wrapper", "time to compile: inner kernels are called by kernels only", OPTIONS),
    Name("forceinline", "an inlined kernel stands in place of every call", OPTIONS),
    Name("CompileResult", "a kernel on disk", RESULT),
    Name("_reduce", "as CompileResult", RESULT),
    Name("_rebuild", "as CompileResult", RESULT),
    Name("JITCodeLibrary", "the machine code of a kernel on disk is loaded without its bitcode", LIBRARY),
    Name("_shared_module", "as JITCodeLibrary: the bitcode, parsed when a caller is compiled", LIBRARY),
    Name("llvm_cpython_wrapper_name", "as JITCodeLibrary: the function that Python calls", LIBRARY),
    Name("lifted", "kernels with lifted loops are not kept", RESULT),
    Name("has_dynamic_globals", "machine code with addresses of this process is not kept", RESULT),
    Name("magic_tuple", "the processor, in the key of a file", RESULT),
    Name("dumps", "types refer to modules: numba's own form of a pickle", RESULT),
    Name("cgutils", "reading an array of a struct; numba's page on extending uses it too", TYPES),
    Name("_getvalue", "as cgutils", TYPES),
    Name("AttributeTemplate", "the type of a field of a struct", TYPES),
    Name("event", "the line and the bar while kernels are compiled", EVENTS),
)  # fmt: skip
