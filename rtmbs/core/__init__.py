"""Helpers of all rooms: bounds of numbers and memory, names, keywords, registers, files with a checksum."""
