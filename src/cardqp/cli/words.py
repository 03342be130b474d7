"""Texts from anywhere, as terminals should see them."""


def one_line(text: str) -> str:
    r"""A text on one line, without characters that command a terminal.

    Examples
    --------
    >>> one_line("two\nlines \x1b[31m")
    'two lines �[31m'
    """
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
