"""Files that are whole or not there; arrays by name with a checksum."""
