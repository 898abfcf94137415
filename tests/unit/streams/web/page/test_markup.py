"""No text becomes HTML."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.streams.web.page.html.parts import Column, chip, session_link, table
from unmask.streams.web.page.markup import Html, el, join

HOSTILE = '<script>alert(1)</script>"onmouseover="alert(2)\'&'


@given(st.text())
def test_text_never_opens_an_element_or_leaves_its_attribute(text: str) -> None:
    html = el("p", text, title=text)
    assert html.count("<") == 2
    assert html.count('"') == 2


def test_only_html_made_here_stays_html() -> None:
    inner = el("b", HOSTILE)
    assert join(inner, HOSTILE) == inner + str(join(HOSTILE))
    assert "<script" not in join(inner, [HOSTILE, (HOSTILE,)])
    assert isinstance(join(inner), Html)


def test_attributes_are_written_as_html_wants_them() -> None:
    assert el("tr", None, class_="a b", data_key="x", hidden=True, title=None) == (
        '<tr class="a b" data-key="x" hidden></tr>'
    )
    assert el("br") == "<br>"


def test_a_hostile_session_id_is_text_in_links_chips_and_tables() -> None:
    rows = [(HOSTILE, [HOSTILE, session_link(HOSTILE)])]
    for html in (session_link(HOSTILE), chip(HOSTILE), table(HOSTILE, (Column(HOSTILE), Column("b")), rows)):
        assert "<script" not in html
        assert 'onmouseover="' not in html
    assert 'href="/sessions/%3Cscript%3Ealert%281%29%3C%2Fscript%3E%22' in session_link(HOSTILE)
