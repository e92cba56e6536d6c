"""Tables in files: one reader for CSV, TSV and parquet, and a safe CSV writer."""

from daace.data.files.base import TableFile
from daace.data.files.csv_writer import csv_text, escape_formula
from daace.data.files.parquet import import_parquet
from daace.data.files.reader import open_table, read_frame

__all__ = [
    "TableFile",
    "csv_text",
    "escape_formula",
    "import_parquet",
    "open_table",
    "read_frame",
]
