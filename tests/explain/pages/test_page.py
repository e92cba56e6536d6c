from __future__ import annotations

import base64

from daace.explain.pages.page import captioned, cards, table


def test_words_stand_left_and_nothing_is_taken_for_markup() -> None:
    text = table(["<a>", "b", "c"], [["x & y", "two", "3"]], words=2)
    assert "<th>&lt;a&gt;</th>" in text
    assert '<td>x &amp; y</td><td class="left">two</td><td>3</td>' in text


def test_cards_show_any_value() -> None:
    assert "<dt>Rows &amp; more</dt><dd>12</dd>" in cards([("Rows & more", 12)])


def test_an_image_is_part_of_the_page_and_has_a_caption_for_everyone() -> None:
    text = captioned('cost < "1"', b"picture", kind="png")
    assert base64.b64encode(b"picture").decode() in text
    assert text.count("cost &lt; &quot;1&quot;") == 2
    assert 'src="data:image/png;base64,' in text
