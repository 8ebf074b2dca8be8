"""Export: native libraries and FMUs of a mechanism, which step without Python and give the same bytes."""
