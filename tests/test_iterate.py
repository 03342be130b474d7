import time

from cardqp._iterate import Watch


def test_a_pause_does_not_count_against_the_limit():
    watch = Watch(time_limit=0.05)
    with watch.paused():
        time.sleep(0.1)
    assert watch.seconds < 0.05
    assert not watch.is_over
    time.sleep(0.1)
    assert watch.is_over
