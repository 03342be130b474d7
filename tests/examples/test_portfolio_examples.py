import pytest

from examples import index_tracking, portfolio


@pytest.mark.parametrize(
    ("example", "sizes", "words"),
    [
        (portfolio, ["--assets", "12", "--held", "4", "--points", "3"], "lower bound"),
        (index_tracking, ["--assets", "10", "--held", "3"], "tracking error"),
    ],
)
def test_examples_draw_a_picture(example, sizes, words, tmp_path, capsys):
    path = tmp_path / "picture.png"
    example.main([str(path), *sizes])
    assert path.stat().st_size > 0
    assert words in capsys.readouterr().out
