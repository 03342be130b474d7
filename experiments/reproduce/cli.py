"""The command on a terminal: options in, a line of progress, an exit code out."""

import argparse
import sys
from pathlib import Path
from typing import TextIO

from cardqp.cli.codes import BAD_INPUT, SOLVED
from cardqp.cli.progress import Line
from experiments.reproduce.command import reproduce
from experiments.reproduce.runner import State


def run(options: argparse.Namespace) -> int:
    """Run what the options of ``cardqp reproduce`` ask for; an exit code."""
    words = ["cardqp reproduce", *options.ids]
    for name in ("replications", "jobs"):
        if getattr(options, name) is not None:
            words.append(f"--{name} {getattr(options, name)}")
    words += ["--quick"] if options.quick else []
    with TaskLine(sys.stderr) as watcher:
        sections = reproduce(
            options.ids,
            out=options.out,
            replications=options.replications,
            jobs=options.jobs,
            quick=options.quick,
            data_dir=options.data,
            watcher=watcher,
            command=" ".join(words),
            scheduler=options.scheduler,
        )
    missing = [section for section in sections if section.missing]
    for section in missing:
        print(
            f"cardqp: {section.exhibit.id} was not run: {section.missing}",
            file=sys.stderr,
        )
    print(f"Report: {Path(options.out) / 'report.html'}")
    return BAD_INPUT if missing else SOLVED


class TaskLine:
    """A watcher that tells how many tasks are done and how long the rest takes."""

    def __init__(self, stream: TextIO) -> None:
        self.line = Line(stream)

    def __call__(self, state: State) -> None:
        """Show the state."""
        text = f"{state.study}: {state.n_done} of {state.n_tasks} tasks done"
        self.line.write(f"{text}, about {duration(state.seconds_left)} left")

    def __enter__(self) -> "TaskLine":
        return self

    def __exit__(self, *_: object) -> None:
        self.line.clear()


def duration(seconds: float) -> str:
    """A time that people can read."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
