import base64
import re

import pytest

from cardqp.report.page import POLICY, made_with, name, page, picture, table, text


def test_text_stays_text():
    assert text("<b> & \"'") == "&lt;b&gt; &amp; &quot;&#x27;"
    assert text("a\x00b\x1b\ud800\uffff") == "a�b���"
    assert text("two\nlines\tapart") == "two\nlines\tapart"
    assert name("<b>") == "<bdi>&lt;b&gt;</bdi>"


def test_a_table_scrolls_in_its_own_box():
    drawn = table(["name", "x"], [["<a>", "1"], ["b", "2"]], numbers=[1], label="'t'")
    assert drawn.startswith("<div class='scroll' role='region' tabindex='0'")
    assert "aria-label='&#x27;t&#x27;'" in drawn
    assert "<th><bdi>&lt;a&gt;</bdi></th><td class='number'><bdi>1</bdi></td>" in drawn
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


def test_versions_in_words():
    assert made_with({"a": "1", "<b>": "2"}) == "a 1, &lt;b&gt; 2"
