"""Every character is seen, none is obeyed, and a width is never underestimated by much."""

from hypothesis import given
from hypothesis import strategies as st

from reports.visible import cut_text, estimate_width, fit_width, one_line, visible, xml_text

ANY = st.text(st.characters(codec=None))


@given(ANY)
def test_visible_is_idempotent_and_leaves_nothing_hidden(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)
    assert not any("\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" for c in shown)
    shown.encode()  # no lone surrogate is left


@given(st.text(st.characters(categories=["L", "N", "P"])))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text == xml_text(text)


@given(ANY, st.integers(1, 60))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


def test_controls_are_named() -> None:
    assert visible("\x00\x1b[31m\u202e\x85") == "⟨U+0000⟩⟨U+001B⟩[31m⟨U+202E⟩⟨U+0085⟩"
    assert visible("a\r\nb\tc") == "a\nb\tc"


@given(ANY, st.integers(1, 50))
def test_a_cut_counts_characters_of_the_text_itself(text: str, limit: int) -> None:
    cut = cut_text(text, limit)
    assert cut.full == len(text)
    assert cut.shown == min(limit, len(text))
    assert cut.is_cut == (len(text) > limit)
    assert cut.text == visible(text[:limit])


@given(ANY, st.floats(40, 300))
def test_a_line_fits_where_it_is_to_stand(text: str, limit: float) -> None:
    assert estimate_width(fit_width(text, 12, limit), 12) <= limit


def test_a_long_name_of_any_length_is_quick_and_short() -> None:
    assert len(one_line("x" * 10_000_000, 30)) == 30
