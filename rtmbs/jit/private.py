"""The names of numba that numba does not promise to keep. Only this module loads them, and the table lists them all.

Each has a canary in ``tests/jit/test_private.py``, which fails when a newer numba breaks it. Nothing here is loaded
with ``RTMBS_PLAIN_JIT=1``.
"""

from typing import NamedTuple

from numba.core import cgutils, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.typing.templates import AttributeTemplate

__all__ = [
    "AttributeTemplate",
    "CPUDispatcher",
    "CompileResult",
    "CompilerBase",
    "DefaultPassBuilder",
    "JITCodeLibrary",
    "cgutils",
    "dumps",
    "event",
    "lookup_environment",
]


class Name(NamedTuple):
    """A name that is not numba's public word."""

    name: str  # as it stands in our text: a module, a class, an attribute or an option
    reason: str  # why we need it
    canary: str  # the test that fails when it changes


DISPATCHER = "test_a_kernel_is_a_dispatcher_with_a_cache_in_it"
OPTIONS = "test_the_options_of_kernels_are_known"
RESULT = "test_a_compiled_kernel_can_be_taken_apart_and_put_together"
LIBRARY = "test_how_a_library_becomes_machine_code"
LINKING = "test_what_a_caller_takes_of_a_library"
COMPILER = "test_a_compiler_with_a_library_and_a_name_of_our_own"
CALLS = "test_what_a_call_through_a_slot_is_made_of"
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
    Name("JITCodeLibrary", "the forms of a kernel: text only, machine code only, both", LIBRARY),
    Name("_codegen", "as JITCodeLibrary: the passes", LIBRARY),
    Name("_data_layout", "as JITCodeLibrary", LIBRARY),
    Name("_module_pass_manager", "as JITCodeLibrary", LIBRARY),
    Name("_pass_builder", "as JITCodeLibrary", LIBRARY),
    Name("_optimize_functions", "as JITCodeLibrary: what the passes over a module do again", LIBRARY),
    Name("_optimize_final_module", "as JITCodeLibrary: once in place of twice", LIBRARY),
    Name("_finalize_final_module", "as JITCodeLibrary: text becomes no machine code", LIBRARY),
    Name("_finalize_specific", "as JITCodeLibrary: environments of linked text", LIBRARY),
    Name("_finalize_dynamic_globals", "as JITCodeLibrary", LIBRARY),
    Name("_finalized", "as JITCodeLibrary", LIBRARY),
    Name("_ensure_finalized", "as JITCodeLibrary", LIBRARY),
    Name("_final_module", "as JITCodeLibrary", LIBRARY),
    Name("_get_compiled_object", "as JITCodeLibrary: the machine code", LIBRARY),
    Name("serialize_using_object_code", "as JITCodeLibrary: machine code without text", LIBRARY),
    Name("get_pointer_to_function", "as JITCodeLibrary: the address of a rare kernel", LIBRARY),
    Name("lookup_environment", "constants of a module, for text that became a part of a caller", LIBRARY),
    Name("set_env", "as lookup_environment", LIBRARY),
    Name("add_linking_library", "a caller takes the name of a coarse kernel, and the text of others", LINKING),
    Name("_get_module_for_linking", "as add_linking_library", LINKING),
    Name("_shared_module", "as add_linking_library: the text, parsed when a caller is compiled", LINKING),
    Name("CompilerBase", "a library of ours for each kernel", COMPILER),
    Name("DefaultPassBuilder", "as CompilerBase: numba's own passes", COMPILER),
    Name("unique_id", "a name of machine code that is the same in every process", COMPILER),
    Name("get_call_template", "a kernel is compiled once for a number, not for each number in a text", DISPATCHER),
    Name("active_code_library", "the slots of a caller", CALLS),
    Name("call_conv", "a call through a slot", CALLS),
    Name("lifted", "kernels with lifted loops are not kept", RESULT),
    Name("has_dynamic_globals", "machine code with addresses of this process is not kept", RESULT),
    Name("magic_tuple", "the processor, in the key of a file", RESULT),
    Name("dumps", "types refer to modules: numba's own form of a pickle", RESULT),
    Name("cgutils", "reading an array of a struct; numba's page on extending uses it too", TYPES),
    Name("_getvalue", "as cgutils", TYPES),
    Name("AttributeTemplate", "the type of a field of a struct", TYPES),
    Name("event", "the line and the bar while kernels are compiled", EVENTS),
)  # fmt: skip
