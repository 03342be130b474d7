import signal
import time

import pytest

from cardqp._iterate import Stop, Watch


def test_a_pause_does_not_count_against_the_limit():
    watch = Watch(time_limit=0.05)
    with watch.paused():
        time.sleep(0.1)
    assert watch.seconds < 0.05
    assert not watch.is_over
    time.sleep(0.1)
    assert watch.is_over


def test_ctrl_c_ends_the_watches_around_it_too():
    with Watch() as outer:
        with Watch() as inner:
            signal.raise_signal(signal.SIGINT)
        assert inner.stopped is Stop.INTERRUPTED
        assert outer.stopped is Stop.INTERRUPTED
        with Watch() as later, pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert later.stopped is Stop.INTERRUPTED
