"""Complaints about tables: what is wrong with which column, all of it at once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, overload

from cardqp.exceptions import DataError, Setting, Spell


class ColumnError(DataError):
    """A column of a table breaks a rule.

    Parameters
    ----------
    column : str
        Its name.
    rule, given, remedy, fix
        As for :class:`InputError`; the rule begins with a verb.
    what : str
        What the column is.

    Examples
    --------
    >>> print(ColumnError("age", "must hold numbers", given="row 3 has 'x'"))
    column `age` must hold numbers: row 3 has 'x'.
    """

    @overload
    def __init__(self, text: str, /) -> None: ...

    @overload
    def __init__(
        self,
        column: str,
        rule: str,
        /,
        *,
        given: str | None = None,
        remedy: str | None = None,
        fix: Sequence[Setting] = (),
        what: str = "column",
    ) -> None: ...

    def __init__(
        self,
        column: str,
        rule: str | None = None,
        /,
        *,
        what: str = "column",
        **details: Any,
    ) -> None:
        self.column, self.said = column, rule
        if rule is None:
            super().__init__(column)
        else:
            super().__init__(None, f"{what} `{column}` {rule}", **details)


class TableError(DataError):
    """A table breaks several rules at once.

    Parameters
    ----------
    errors : sequence of DataError
        What is wrong, two or more.

    Attributes
    ----------
    errors : tuple of DataError
        The parameter.
    """

    def __init__(self, errors: Sequence[DataError] | str) -> None:
        # Copies and pickles are made from the message alone.
        self.errors = () if isinstance(errors, str) else tuple(errors)
        super().__init__(errors if isinstance(errors, str) else _listed(errors, str))

    def render(self, spell: Spell = str) -> str:
        """The messages, each in a line of its own."""
        return _listed(self.errors, spell) if self.errors else str(self)


class Complaints:
    """Collects what is wrong with a table, so that all of it is said at once.

    Examples
    --------
    >>> complaints = Complaints()
    >>> for name in ("age", "size"):
    ...     with complaints.kept():
    ...         raise ColumnError(name, "must hold numbers")
    >>> complaints.check()
    Traceback (most recent call last):
    cardqp.tables.complaints.TableError: 2 complaints about the table:
    - column `age` must hold numbers.
    - column `size` must hold numbers.
    """

    def __init__(self) -> None:
        self.errors: list[DataError] = []

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the error that is raised inside, if one is, for later."""
        try:
            yield
        except TableError as several:
            self.errors += several.errors
        except DataError as error:
            self.errors.append(error)

    def check(self) -> None:
        """Raise what was kept: one error as it is, several as one."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            raise TableError(self.errors)


def _listed(errors: Sequence[DataError], spell: Spell) -> str:
    lines = (f"- {error.render(spell)}" for error in errors)
    return "\n".join([f"{len(errors)} complaints about the table:", *lines])
