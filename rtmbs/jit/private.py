"""Private names of numba, with the reason for each. Only this module loads them.

Each has a canary in ``tests/jit/test_private.py``, which fails when a newer numba breaks it. Nothing here is loaded
with ``RTMBS_PLAIN_JIT=1``.
"""

from typing import NamedTuple

from numba.core import cgutils, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher, cpu_target
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
    "cpu_target",
    "dumps",
    "event",
    "lookup_environment",
]


class Private(NamedTuple):
    """A name that is not part of numba's public interface."""

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
PREBUILT = "test_what_a_deferred_kernel_is_to_numba"
EVENTS = "test_compilations_are_events"

PRIVATE = (
    Private("CPUDispatcher", "an inner kernel refuses a call from Python, a jump to address zero", DISPATCHER),
    Private("_cache", "numba's own cache looks at one file: a caller would run old code of its callees", DISPATCHER),
    Private("overloads", "the entry of a kernel: a dispatcher types every argument at every call", DISPATCHER),
    Private("entry_point", "as overloads", DISPATCHER),
    Private("_nrt", "no reference counts: half of the time of small steps, and a kernel cannot allocate", OPTIONS),
    Private("no_cfunc_wrapper", "time to compile", OPTIONS),
    Private("no_cpython_wrapper", "time to compile: inner kernels are called by kernels only", OPTIONS),
    Private("forceinline", "an inlined kernel stands in place of every call", OPTIONS),
    Private("CompileResult", "a kernel on disk", RESULT),
    Private("_reduce", "as CompileResult", RESULT),
    Private("_rebuild", "as CompileResult", RESULT),
    Private("JITCodeLibrary", "the forms of a kernel: text only, machine code only, both", LIBRARY),
    Private("_codegen", "as JITCodeLibrary: the passes", LIBRARY),
    Private("_data_layout", "as JITCodeLibrary", LIBRARY),
    Private("_module_pass_manager", "as JITCodeLibrary", LIBRARY),
    Private("_pass_builder", "as JITCodeLibrary", LIBRARY),
    Private("_optimize_functions", "as JITCodeLibrary: what the passes over a module do again", LIBRARY),
    Private("_optimize_final_module", "as JITCodeLibrary: once in place of twice", LIBRARY),
    Private("_finalize_final_module", "as JITCodeLibrary: text becomes no machine code", LIBRARY),
    Private("_finalize_specific", "as JITCodeLibrary: environments of linked text", LIBRARY),
    Private("_finalize_dynamic_globals", "as JITCodeLibrary", LIBRARY),
    Private("_finalized", "as JITCodeLibrary", LIBRARY),
    Private("_ensure_finalized", "as JITCodeLibrary", LIBRARY),
    Private("_final_module", "as JITCodeLibrary", LIBRARY),
    Private("_get_compiled_object", "as JITCodeLibrary: the machine code", LIBRARY),
    Private("serialize_using_object_code", "as JITCodeLibrary: machine code without text", LIBRARY),
    Private("get_pointer_to_function", "as JITCodeLibrary: the address of a lazy kernel", LIBRARY),
    Private("lookup_environment", "constants of a module, for text that became a part of a caller", LIBRARY),
    Private("set_env", "as lookup_environment", LIBRARY),
    Private("add_linking_library", "a caller takes the name of a coarse kernel, and the text of others", LINKING),
    Private("_get_module_for_linking", "as add_linking_library", LINKING),
    Private("_shared_module", "as add_linking_library: the text, parsed when a caller is compiled", LINKING),
    Private("CompilerBase", "a library of ours for each kernel", COMPILER),
    Private("DefaultPassBuilder", "as CompilerBase: numba's own passes", COMPILER),
    Private("unique_id", "a name of machine code that is the same in every process", COMPILER),
    Private("get_call_template", "a kernel is compiled once for a number, not for each number in a text", DISPATCHER),
    Private("active_code_library", "the slots of a caller", CALLS),
    Private("call_conv", "a call through a slot", CALLS),
    Private("lifted", "kernels with lifted loops are not kept", RESULT),
    Private("has_dynamic_globals", "machine code with addresses of this process is not kept", RESULT),
    Private("magic_tuple", "the processor, in the key of a file", RESULT),
    Private("dumps", "types refer to modules: numba's own form of a pickle", RESULT),
    Private("cgutils", "reading an array of a struct; numba's page on extending uses it too", TYPES),
    Private("_getvalue", "as cgutils", TYPES),
    Private("AttributeTemplate", "the type of a field of a struct", TYPES),
    Private("cpu_target", "numba's type of a kernel that is made when a text first names it", PREBUILT),
    Private("event", "the line and the bar while kernels are compiled", EVENTS),
)  # fmt: skip
