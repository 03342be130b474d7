import numpy as np
import pytest

from cardqp import ParameterError
from experiments.reproduce.config import (
    IDS,
    _read,
    load_exhibit,
    load_study,
    with_replications,
)
from experiments.reproduce.work import _MAKERS, _method


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", IDS)
def test_every_exhibit_is_complete(name, quick):
    exhibit = load_exhibit(name, quick=quick)
    study = exhibit.study
    assert exhibit.title
    assert exhibit.heading.format(study.values[0])
    for method, printed in exhibit.paper.items():
        assert len(printed) == len(study.values)
        if exhibit.picture is None:
            assert method in exhibit.columns
    if exhibit.picture is None:
        assert set(exhibit.columns) <= set(study.methods)


def test_constants_are_those_of_the_paper():
    study = load_study("tab1")
    assert study.replications == 25
    assert study.settings["level"] == 400
    assert study.settings["dual-program"] == {
        "max_iter": 500,
        "window": 50,
        "step_size": 4e-3,
    }
    assert study.settings["best-response"] == {"max_iter": 20, "window": 6}
    real = load_study("tab4")
    assert real.replications == 50
    assert real.settings["dual-program"]["max_iter"] == 5000
    assert real.settings["dual-program"]["step_size"] == 2e-3


@pytest.mark.parametrize("name", _MAKERS)
def test_settings_reach_the_methods(name):
    settings = load_study("tab4").settings
    method = _method(name, settings)
    for key, value in settings.get(name, {}).items():
        assert getattr(method, key) == value


def test_quick_values_keep_their_numbers():
    whole, quick = load_exhibit("tab4"), load_exhibit("tab4", quick=True)
    place = whole.study.values.index("crime")
    assert quick.study.values[0] == "crime"
    for method in whole.paper:
        assert np.isclose(
            quick.paper[method][0], whole.paper[method][place], equal_nan=True
        )
    assert quick.study.settings["dual-program"]["window"] == 100


def test_what_is_the_same_in_the_paper_shares_its_numbers():
    sizes = load_exhibit("tab5")
    assert sizes.paper["safe-screening"] == sizes.paper["published-screening"]
    place = sizes.study.values.index("crime")
    assert sizes.study.values[place + 1] == "crime-as-published"
    for printed in sizes.paper.values():
        assert len(printed) == len(sizes.study.values)
        assert printed[place] == printed[place + 1]


@pytest.mark.parametrize("name", IDS)
def test_paper_has_one_number_for_each_of_its_rows(name):
    data = _read(name)
    behind = _read(data.get("study", name))
    rows = set(behind["values"]) - set(behind.get("same_in_paper", {}))
    for printed in data.get("paper", {}).values():
        assert len(printed) == len(rows)


def test_real_data_are_split_twice_as_often():
    synthetic = with_replications(load_exhibit("tab1"), 7)
    real = with_replications(load_exhibit("tab8"), 7)
    assert (synthetic.study.replications, real.study.replications) == (7, 14)
    assert with_replications(load_exhibit("tab1"), None).study.replications == 25


def test_unknown_names_are_refused():
    with pytest.raises(ParameterError, match="`ids` must be all or some of fig1"):
        load_exhibit("tab99")
