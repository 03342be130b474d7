"""The command: which tables, where to, and how far it has come."""

from collections.abc import Sequence
from pathlib import Path

from cardqp.problem import validation as check
from experiments.reproduce.config import IDS, load_exhibit, with_replications
from experiments.reproduce.report import Section, write_report
from experiments.reproduce.runner import Watcher, run_studies
from experiments.reproduce.store import Store, locked


def reproduce(
    ids: Sequence[str] = ("all",),
    *,
    out: str | Path = "reproduction",
    replications: int | None = None,
    jobs: int = 1,
    quick: bool = False,
    data_dir: str | None = None,
    watcher: Watcher = lambda _: None,
    command: str = "cardqp reproduce",
    scheduler: str | None = None,
) -> list[Section]:
    """Run what is not done yet of some tables and figures, and write them.

    Interrupted at any moment and started again, it goes on where it was.

    Parameters
    ----------
    ids : sequence of str
        ``"all"``, or names of tables and figures.
    out : str or Path
        The folder for rows, tables, figures and the report.
    replications : int, optional
        Data sets for each cell; twice as many splits of real data.  As in the paper by
        default.
    jobs : int
        Processes to run at a time.
    quick : bool
        Small sizes and few replications, to see that all works.
    data_dir : str, optional
        Where real data are; see :func:`experiments.datasets.load_uci`.
    watcher : callable
        Called with a state after each task.
    command : str
        What is named in the report as the command that made it.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers do the work instead.

    Returns
    -------
    list of Section
        The tables and figures with their rows.
    """
    check.count("jobs", jobs)
    if replications is not None:
        check.count("replications", replications)
    names = IDS if "all" in ids else tuple(dict.fromkeys(ids))
    exhibits = [
        with_replications(load_exhibit(name, quick=quick), replications)
        for name in names
    ]
    folder = Path(out)
    studies = {exhibit.study.name: exhibit.study for exhibit in exhibits}
    with locked(folder):
        failed = run_studies(
            studies.values(),
            folder / "rows",
            jobs=jobs,
            data_dir=data_dir,
            watcher=watcher,
            scheduler=scheduler,
        )
        sections = [
            Section(
                exhibit,
                Store(folder / "rows", exhibit.study).rows(),
                failed.get(exhibit.study.name, ""),
            )
            for exhibit in exhibits
        ]
        write_report(sections, folder, command)
    return sections
