"""Tables that people have: read, made into numbers by a recipe, and predicted from."""

from cardqp.tables.model_file import ModelFile, Proof
from cardqp.tables.read import read_table
from cardqp.tables.recipe import Encoded, Recipe
from cardqp.tables.text import MISSING

__all__ = ["MISSING", "Encoded", "ModelFile", "Proof", "Recipe", "read_table"]
