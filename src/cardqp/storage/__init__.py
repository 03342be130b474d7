"""Files that are replaced as a whole: archives of plain arrays, texts, pictures.

Nothing is ever pickled.
"""

from cardqp.storage.archives import read_arrays, write_arrays
from cardqp.storage.whole_files import replacing, write_bytes, write_text

__all__ = ["read_arrays", "replacing", "write_arrays", "write_bytes", "write_text"]
