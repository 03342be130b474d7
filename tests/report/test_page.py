import base64
import re

import pytest

from cardqp.report.page import (
    POLICY,
    made_with,
    name,
    page,
    picture,
    prose,
    table,
    text,
)


def test_text_stays_text():
    assert text("<b> & \"'") == "&lt;b&gt; &amp; &quot;&#x27;"
    assert text("a\x00b\x1b\ud800\uffff") == "a�b���"
    assert text("two\nlines\tapart") == "two\nlines\tapart"
    assert name("<b>") == "<bdi>&lt;b&gt;</bdi>"


def test_a_table_scrolls_in_its_own_box():
    drawn = table(["name", "x"], [["<a>", "1"], ["b", "2"]], numbers=[1], label="'t'")
    assert drawn.startswith("<div class='scroll' role='region' tabindex='0'")
    assert "aria-label='&#x27;t&#x27;'" in drawn
    head = "<th data-label='name'><bdi>&lt;a&gt;</bdi></th>"
    assert f"{head}<td class='number' data-label='x'><bdi>1</bdi></td>" in drawn
    assert "<th><bdi>name</bdi></th><th class='number'><bdi>x</bdi></th>" in drawn
    assert drawn.count("<tr>") == 3


def test_a_picture_is_part_of_the_page():
    drawn = picture(b"content", "png", "it's <here>")
    assert "alt='it&#x27;s &lt;here&gt;'" in drawn
    (data,) = re.findall(r"src='data:image/png;base64,(.*)'", drawn)
    assert base64.b64decode(data) == b"content"


@pytest.mark.parametrize("needed", ["<!doctype html>", "width=device-width", POLICY])
def test_a_page_has_what_browsers_need(needed):
    assert needed in page("title", ["<p>body</p>"])


def test_a_page_has_its_parts_in_order():
    drawn = page("</title>", ["<p>one</p>", "<p>two</p>"], ".own {}")
    assert "<title>&lt;/title&gt;</title>" in drawn
    assert ".own {}</style>" in drawn
    assert drawn.index("<p>one</p>") < drawn.index("<p>two</p>")
    assert drawn.endswith("</body></html>\n")


def test_a_column_keeps_its_name_on_a_phone():
    drawn = table(["a", "it's <b>"], [["x", "1"]])
    assert "<td data-label='it&#x27;s &lt;b&gt;'>" in drawn


def test_contents_come_before_the_sections():
    parts = ["<p>start</p>"]
    parts += [f"<section id='s{k}'><h2>T&amp;{k}</h2></section>" for k in range(3)]
    drawn = page("title", parts)
    links = "".join(f"<li><a href='#s{k}'>T&amp;{k}</a></li>" for k in range(3))
    assert f"<nav aria-label='Contents'><ol>{links}</ol></nav>" in drawn
    places = [drawn.index(mark) for mark in ("start", "<nav", "<section id='s0'")]
    assert places == sorted(places)
    assert "<nav" not in page("title", parts[:3])


def test_backticks_become_code():
    assert prose("use `a<b>` or `c`") == "use <code>a&lt;b&gt;</code> or <code>c</code>"
    assert prose("a ` alone") == "a ` alone"


def test_versions_in_words():
    assert made_with({"a": "1", "<b>": "2"}) == "a 1, &lt;b&gt; 2"
