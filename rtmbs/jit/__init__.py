"""Everything that knows numba: kernel decorators, structs by address, the cache on disk, progress, a tick counter."""
