"""Tables: rows with feature names, kinds, units and class labels."""

from daace.data.catalog import load_table
from daace.data.derived import Derived
from daace.data.encoding import Encoding
from daace.data.files import TableFile, csv_text, open_table, read_frame
from daace.data.inputs import as_table
from daace.data.kinds import Feature
from daace.data.preprocess import preprocess
from daace.data.standardizer import Standardizer
from daace.data.table import Table

__all__ = [
    "Derived",
    "Encoding",
    "Feature",
    "Standardizer",
    "Table",
    "TableFile",
    "as_table",
    "csv_text",
    "load_table",
    "open_table",
    "preprocess",
    "read_frame",
]
