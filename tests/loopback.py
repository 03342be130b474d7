"""A cluster in this process: what it is handed is pickled, and done a little later."""

import pickle
from types import SimpleNamespace

from distributed import KilledWorker


class LaterFuture:
    """A task that is done when it has been looked at often enough.

    With a ``fault`` its answer is lost on the way, once; it comes again, unless it
    ``is_cancelled`` then.
    """

    def __init__(self, work, patience):
        self.work, self.patience, self.lost = work, patience, False
        self.fault, self.is_cancelled = None, False
        self.answer = self.error = None

    @property
    def status(self):
        if self.lost:
            return "cancelled"
        self.patience -= 1
        if self.patience > 0:
            return "pending"
        return "finished" if self.exception() is None else "error"

    def exception(self):
        if self.answer is None and self.error is None:
            try:
                self.answer = self.work()
            except (RuntimeError, ArithmeticError, OSError, KilledWorker) as err:
                self.error = err
        return self.error

    def result(self, *, timeout):
        assert timeout > 0.0
        assert self.exception() is None
        if self.fault is not None:
            fault, self.fault = self.fault, None
            self.lost = self.is_cancelled
            raise fault
        return self.answer


class Loopback:
    """Stands in for a client, with ``n_workers``; ``log`` has the tasks and answers.

    Every ``lose``-th task is lost, and what was sent as well if it ``forgets``.
    """

    asynchronous, status = False, "running"

    def __init__(self, n_workers=2, patience=3, lose=0, forgets=False):
        self.n_workers, self.patience = n_workers, patience
        self.lose, self.forgets = lose, forgets
        self.n_sent, self.n_tasks, self.log = 0, 0, []

    def nthreads(self):
        return dict.fromkeys(map(str, range(self.n_workers)), 1)

    def scatter(self, data, *, hash, timeout):
        assert isinstance(data, bytes)
        assert not hash
        assert timeout > 0.0
        self.n_sent += 1
        return SimpleNamespace(result=lambda: data)

    def submit(self, function, first, *task, pure):
        assert not pure
        if not task:
            return LaterFuture(lambda: function(first.result()), 1)
        return self._send(function, first, *task)

    def _send(self, function, shared, task):
        self.n_tasks += 1
        is_lost = self.lose > 0 and self.n_tasks % self.lose == 0
        if is_lost and self.forgets:
            shared.lost = True
        future = LaterFuture(lambda: self._work(function, shared, task), self.patience)
        future.lost = is_lost or shared.lost
        return future

    def _work(self, function, shared, task):
        answer = function(shared.result(timeout=1.0), task)
        self.log.append((pickle.loads(task), pickle.loads(answer)))
        return answer

    def cancel(self, futures):
        for future in futures:
            future.lost = True
