"""Inner kernels without machine code of their own: what calls them takes their intermediate code in.

numba would make every kernel ready to run, though nobody can call an inner one: a good part of the compile time.
"""

from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

ENVIRONMENT = "_ZN08NumbaEnv"  # numba's name of the variable that holds what a kernel needs of Python
WITHOUT_OPTIMISATION = 0


class InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Holds intermediate code only."""

    def _optimize_final_module(self) -> None:
        """Leave the optimiser to who takes this in, but for what is inlined anyway."""
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=WITHOUT_OPTIMISATION, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        """Give numba the variables that it writes to, and nothing else."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        names = [v.name for v in self._final_module.global_variables if v.name.startswith(ENVIRONMENT)]
        stub = llvm.parse_assembly("\n".join(f'@"{name}" = common global ptr null' for name in names))
        self._codegen._add_module(stub)
        self._codegen._engine.finalize_object()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Keep the intermediate code on disk."""
        return self.serialize_using_bitcode()


class InnerCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler, writing to an ``InnerLibrary``."""

    def __init__(self, typing: Any, target: Any, library: Any, *options: Any) -> None:
        super().__init__(typing, target, library or InnerLibrary(target.codegen(), "inner kernel"), *options)
