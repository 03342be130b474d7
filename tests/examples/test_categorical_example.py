from examples import categorical


def test_a_category_is_chosen_as_one(capsys):
    categorical.main(["--rows", "200", "--features", "2"])
    text = capsys.readouterr().out
    assert "OPTIMAL" in text
    for name in ("quarter_harbour", "quarter_hill", "quarter_old town", "area"):
        assert name in text
    assert "heating" not in text
