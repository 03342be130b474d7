"""Sizes that archives declare, compared with what they hold before memory is used."""

import zipfile

from cardqp.storage.memory import available_memory

_EXPANSION = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""Bytes that a byte of an archive can become: at best, two bits stand for 258 bytes."""


def check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that says it holds more than it can, or than memory can.

    Zeros take a thousandth of their room in an archive, and are as good as any other
    numbers: that an archive, whose file has so many bytes, unpacks to very much is no
    reason by itself.

    Raises
    ------
    ValueError
        When the archive contradicts itself.
    MemoryError
        When it is too large.
    """
    members = archive.infolist()
    packed = sum(member.compress_size for member in members)
    if packed > size:
        raise ValueError(f"it says that it holds {packed} bytes, it has {size}")
    for member in members:
        if member.compress_type not in _EXPANSION:
            raise ValueError(f"{member.filename} is not packed as NumPy does it")
        most = _EXPANSION[member.compress_type] * member.compress_size
        if member.file_size > most:
            raise ValueError(
                f"{member.filename} says that it unpacks to {member.file_size} bytes, "
                f"at most {most} can be in it"
            )
    needed, available = sum(m.file_size for m in members), available_memory()
    if needed > available:
        raise MemoryError(
            f"it unpacks to {needed / 1e9:.3g} GB, {available / 1e9:.3g} GB are free"
        )
