"""The page in a browser: it fits, it is quiet, and names do nothing."""

import json
import re
import shutil
import subprocess
from html import escape, unescape

import numpy as np
import pandas as pd
import pytest

from cardqp import BestSubset
from cardqp.report import portfolio_report, regression_report
from cardqp.report.page import POLICY
from tests.report.examples import ATTACK, HOSTILE, NAMES, report_data
from tests.report.test_portfolio_page import data as portfolio_data

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

WIDTHS = (390, 1280)

PAGES = (
    lambda: regression_report(report_data()),
    lambda: portfolio_report(portfolio_data()),
)

PROBE = """
window.hacked = false;
window.addEventListener('load', () => {
  const seen = [...document.querySelectorAll('iframe')].map(frame => {
    const page = frame.contentDocument, root = page.documentElement;
    return {
      title: page.title,
      room: root.clientWidth,
      width: Math.max(root.scrollWidth, page.body.scrollWidth),
      scripts: page.scripts.length,
      words: page.body.innerText,
      ground: getComputedStyle(page.body).backgroundColor,
      pictures: [...page.images].map(i => getComputedStyle(i).filter),
      rows: [...page.querySelectorAll('tr')].map(r => getComputedStyle(r).display),
      broken: [...page.images].filter(i => !i.complete || !i.naturalWidth).length,
      images: page.images.length,
      outside: [...page.images].filter(i => !i.src.startsWith('data:')).length,
    };
  });
  const out = document.createElement('pre');
  out.id = 'seen';
  out.textContent = JSON.stringify({hacked: window.hacked, pages: seen});
  document.body.append(out);
});
"""


DARK = "--blink-settings=preferredColorScheme=0"


def look(folder, pages, *options):
    """What a browser makes of pages in frames of given widths, and what it logs."""
    frames = "".join(
        f'<iframe style="width:{width}px;height:900px;border:0" '
        f'srcdoc="{escape(page, quote=True)}"></iframe>'
        for page, width in pages
    )
    wrapper = folder / "wrapper.html"
    start = "<!doctype html><meta charset='utf-8'>"
    # A frame is as dark as its reader wants only if what is around it can be.
    start += "<meta name='color-scheme' content='light dark'>"
    wrapper.write_text(f"{start}<script>{PROBE}</script><body>{frames}</body>")
    run = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            *options,
            "--disable-gpu",
            f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=5000",
            "--enable-logging=stderr",
            "--window-size=1400,1000",
            "--dump-dom",
            wrapper.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (seen,) = re.findall(r'<pre id="seen">(.*?)</pre>', run.stdout, re.DOTALL)
    console = [line for line in run.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(unescape(seen)), console


def test_a_hostile_page_fits_is_quiet_and_does_nothing(tmp_path):
    page = regression_report(report_data(HOSTILE))
    # Without its policy, too: escaping alone must be enough.
    naked = page.replace(POLICY, "")
    assert naked != page
    found, console = look(tmp_path, [(p, w) for p in (page, naked) for w in WIDTHS])
    assert console == []
    assert not found["hacked"]
    for seen, width in zip(found["pages"], WIDTHS * 2, strict=True):
        assert seen["room"] in range(width - 20, width + 1)
        assert seen["width"] <= seen["room"]
        assert seen["scripts"] == 0
        assert (seen["images"], seen["broken"], seen["outside"]) == (9, 0, 0)
        assert seen["title"] == f"Report on {ATTACK}"
        assert ATTACK in seen["words"]
        assert "How to reproduce it" in seen["words"]


def test_a_page_of_subsets_fits(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((90, len(NAMES))), columns=list(NAMES))
    y = X.sum(axis=1) + rng.standard_normal(90)
    path = tmp_path / "page.html"
    BestSubset(len(NAMES), n_best=4).fit(X, y).report(path)
    page = path.read_text(encoding="utf-8")
    # What is folded away has to fit, too.
    opened = page.replace("<details>", "<details open>")
    assert opened != page
    found, console = look(tmp_path, [(opened, width) for width in WIDTHS])
    assert console == []
    assert not found["hacked"]
    for seen, width in zip(found["pages"], WIDTHS, strict=True):
        assert seen["room"] in range(width - 20, width + 1)
        assert seen["width"] <= seen["room"]
        assert (seen["images"], seen["broken"], seen["outside"]) == (2, 0, 0)
        assert "The best subsets of every size" in seen["words"]


def test_the_probe_sees_what_it_looks_for(tmp_path):
    wide = "<body style='margin:0'><p style='width:2000px'>wide</p></body>"
    bad = f"<body>{ATTACK}{HOSTILE[1]}<script>console.error('no')</script></body>"
    found, console = look(tmp_path, [(wide, 390), (bad, 390)])
    assert found["hacked"]
    first, second = found["pages"]
    assert first["width"] > first["room"]
    assert second["scripts"] == 2
    assert second["outside"] == second["broken"] == 1
    assert any("no" in line for line in console)


@pytest.mark.parametrize("make", PAGES)
def test_pages_fit_phones_and_desks(make, tmp_path):
    page = make()
    found, console = look(tmp_path, [(page, width) for width in WIDTHS])
    assert console == []
    for seen in found["pages"]:
        assert seen["width"] <= seen["room"]
        assert seen["broken"] == 0
        assert seen["images"] >= 2
        assert seen["ground"] == "rgb(255, 255, 255)"
        assert set(seen["pictures"]) == {"none"}
    phone, desk = found["pages"]
    # On a phone, rows are lists; heads of tables are there for those who listen.
    assert "block" in phone["rows"]
    assert set(desk["rows"]) == {"table-row"}


@pytest.mark.parametrize("make", PAGES)
def test_pages_are_dark_for_those_who_want_it(make, tmp_path):
    found, console = look(tmp_path, [(make(), 390)], DARK)
    assert console == []
    [seen] = found["pages"]
    assert max(map(int, re.findall(r"\d+", seen["ground"]))) < 64
    assert {each.split("(")[0] for each in seen["pictures"]} == {"invert"}
