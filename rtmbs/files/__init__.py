"""Files: atomic writing, bounded reading, archives of named arrays with a checksum."""
