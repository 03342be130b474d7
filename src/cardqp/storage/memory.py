"""How much memory there is to ask for, as far as the system says."""

import math
import os
from pathlib import Path

_USE = Path("/proc/meminfo")
_CAPS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Files with the memory limit of a container, in versions 2 and 1 of cgroups."""


def available_memory() -> float:
    """Bytes that can be used without taking them from others; infinity if not known."""
    return min(_free(), *(_cap(path) for path in _CAPS))


def _free() -> float:
    """Memory that is free or can be freed, and room to swap; else all there is."""
    try:
        lines = (line.split() for line in _USE.read_text().splitlines())
        sizes = {line[0]: 1024 * int(line[1]) for line in lines}
        return sizes["MemAvailable:"] + sizes.get("SwapFree:", 0)
    except (OSError, LookupError, ValueError):  # not Linux
        return _installed()


def _installed() -> float:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return math.inf


def _cap(path: Path) -> float:
    try:
        return float(path.read_text())
    except (OSError, ValueError):  # no container, or "max"
        return math.inf
