"""Answers as data, words, tables and JSON."""
