"""What was found, as data, words, tables and JSON."""
