"""Tables that people have: read, encoded as numbers, and predicted from."""

from cardqp.tables.encoder import Encoded, TableEncoder
from cardqp.tables.model_file import ModelFile, Proof
from cardqp.tables.read import read_table
from cardqp.tables.text import MISSING

__all__ = ["MISSING", "Encoded", "ModelFile", "Proof", "TableEncoder", "read_table"]
