"""What calls and objects of every room share: bounds of numbers and memory, keywords, names in brackets, tables."""
