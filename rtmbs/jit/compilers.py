"""Compilers of kernels, and the code libraries that hold their machine code and their text.

numba makes machine code of every kernel, and also links the text of a kernel, in the language of LLVM, into each of its
callers, where all of it is optimised again: at each level of a chain of calls. Here a kernel has one of three forms:

    KernelLibrary   machine code for Python, and text for callers: an ordinary kernel
    TextLibrary     text only: an inner kernel, which becomes a part of its callers
    CoarseLibrary   machine code only: callers jump there, and know nothing but its name

A library lists the coarse kernels that its text calls, and the slots of lazy kernels; when it is loaded from disk,
these are loaded and registered first. Names of compiled functions are the same in every process.
"""

from typing import Any

from llvmlite.binding import create_new_module_pass_manager, parse_assembly, parse_bitcode

from rtmbs.jit.cache_folder import kernel_sources
from rtmbs.jit.lazy_kernel import KernelSlot
from rtmbs.jit.private import CompilerBase, DefaultPassBuilder, JITCodeLibrary, lookup_environment

ENVIRONMENT = "_ZN08NumbaEnv"  # how numba's names of environments begin
OBJECT = "object"  # numba's word for a library that is kept as machine code


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Library with machine code for Python and text for callers."""

    text = b""  # for callers, of a library from disk

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.needs: dict[CoarseLibrary, None] = {}  # in the order of the calls
        self.slots: dict[str, KernelSlot] = {}  # of lazy kernels, by name

    def add_linking_library(self, library: Any) -> None:
        """Add the machine code that a callee provides for its callers."""
        if isinstance(library, CoarseLibrary):
            self.needs[library] = None
            return
        super().add_linking_library(library)
        if isinstance(library, KernelLibrary):
            self.needs.update(library.needs)
            self.slots.update(library.slots)

    def text_for_callers(self) -> bytes:
        """Return the text as bitcode."""
        return self.text or bytes(self._get_module_for_linking().as_bitcode())

    def serialize_using_object_code(self) -> Any:
        """Return the machine code, with the names of its functions in place of the text."""
        self._ensure_finalized()
        names = [function.name for function in self.get_defined_functions()]
        stubs = parse_assembly("\n".join(f'define void @"{name}"() {{ ret void }}' for name in names))
        return self.name, OBJECT, (self._get_compiled_object(), stubs.as_bitcode())

    def _get_module_for_linking(self) -> Any:
        """Return the text; that of a library from disk is parsed at the first request."""
        if self.text:
            self._shared_module, self.text = parse_bitcode(self.text), b""
        return super()._get_module_for_linking()

    def _optimize_functions(self, module: Any) -> None:
        """Leave new text as it is: the passes over the whole module begin with the same ones."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Run all passes once. numba runs them twice, to remove reference counts between, which kernels do not have."""
        passes, options = self._codegen._module_pass_manager()
        passes.run(self._final_module, options)

    def _finalize_specific(self) -> None:
        """Make machine code; text of a TextLibrary is given its environment, numba's constants of a module."""
        super()._finalize_specific()
        for variable in self._final_module.global_variables:
            environment = variable.name.startswith(ENVIRONMENT) and lookup_environment(variable.name)
            if environment:
                self._codegen.set_env(variable.name, environment)


class CoarseLibrary(KernelLibrary):
    """Library with machine code that callers jump to."""

    symbol = ""  # the name of the function
    file = ""  # where it is kept, when it is kept

    def text_for_callers(self) -> bytes:
        """Return nothing."""
        return b""

    def _get_module_for_linking(self) -> Any:
        """Return nothing: a caller has declared the name."""
        self._ensure_finalized()
        return parse_assembly("")


class TextLibrary(KernelLibrary):
    """Library with text that becomes a part of callers."""

    @property
    def codegen(self) -> "NoMachineCode":
        """Access for numba's writing of the environment: there is no machine code."""
        return NO_MACHINE_CODE

    def serialize_using_object_code(self) -> None:
        """Return no machine code."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return no address."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        """Remove unused addresses of this process; callers optimise the rest with their own text."""
        passes = create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_dead_code_elimination_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(self._final_module, self._codegen._pass_builder())

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class NoMachineCode:
    """Stand-in for machine code that was never made."""

    def set_env(self, name: str, environment: Any) -> None:
        """Write nothing."""


NO_MACHINE_CODE = NoMachineCode()


SOURCES = frozenset(str(path) for path in kernel_sources())
LOCAL = "<"  # in the qualified name of a function that is made anew by every call of another


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Compiler of a kernel that Python calls, and whose text becomes a part of other kernels."""

    library = KernelLibrary

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, after the library and the name are set."""
        function, state = self.state.func_id, self.state
        if function.filename in SOURCES and LOCAL not in function.func_qualname:
            function.unique_id = 0  # numba counts functions: callers of another process would not find this one
        state.library = self.library(state.targetctx.codegen(), function.func_qualname)
        state.library.enable_object_caching()
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class CoarseCompiler(KernelCompiler):
    """Compiler of a kernel that other kernels call by its name."""

    library = CoarseLibrary


class TextCompiler(KernelCompiler):
    """Compiler of a kernel that becomes a part of other kernels."""

    library = TextLibrary
