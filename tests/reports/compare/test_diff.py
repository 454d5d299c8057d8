"""Both columns give back both texts; what is alike stands side by side; hostile texts take bounded work."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.compare.diff import Diff, Fold, Row, diff_texts, fold_rows
from reports.compare.lines import Part
from reports.compare.shown import show_parts

ANY = st.text(st.characters(codec=None))
CODE = st.lists(
    st.sampled_from(["x = 1\n", "y = 1\n", "\n", "    return x\n", "    return y + 1\n", "def f(a):\r\n", "}\n", "z"]),
    max_size=25,
).map("".join)


def join(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts)


def restore(diff: Diff) -> tuple[str, str]:
    return (
        "".join(join(row.a_parts) + row.a_end for row in diff.rows),
        "".join(join(row.b_parts) + row.b_end for row in diff.rows),
    )


def sides(diff: Diff) -> list[tuple[str, str, str]]:
    return [(row.kind, join(row.a_parts), join(row.b_parts)) for row in diff.rows]


@given(st.one_of(ANY, CODE), st.one_of(ANY, CODE))
def test_both_columns_give_back_both_texts(a: str, b: str) -> None:
    diff = diff_texts(a, b)
    assert restore(diff) == (a, b)
    assert [row.a for row in diff.rows if row.a] == list(
        range(1, diff.total("same") + diff.total("changed") + diff.total("removed") + 1)
    )
    assert [row.b for row in diff.rows if row.b] == list(
        range(1, diff.total("same") + diff.total("changed") + diff.total("added") + 1)
    )
    for row in diff.rows:
        one, two = join(row.a_parts), join(row.b_parts)
        assert (row.kind == "same") == (row.a is not None and row.b is not None and one == two)
        assert (row.kind == "removed") == (row.b is None)
        assert (row.kind == "added") == (row.a is None)
        unmarked = ["".join(part.text for part in parts if not part.marked) for parts in (row.a_parts, row.b_parts)]
        if row.kind == "changed":
            assert "".join(unmarked[0].split()) == "".join(unmarked[1].split())
            assert any(part.marked for part in (*row.a_parts, *row.b_parts))
        if row.moved:
            there = next(other for other in diff.rows if (other.b if row.a else other.a) == row.moved)
            assert there.moved == (row.a or row.b)
            assert {join(there.a_parts), join(there.b_parts)} == {one, two}


@given(st.one_of(ANY, CODE))
def test_equal_texts_are_unchanged(text: str) -> None:
    diff = diff_texts(text, text)
    assert {row.kind for row in diff.rows} <= {"same"}
    assert diff.notes == ()


@given(CODE, CODE, st.integers(0, 4), st.integers(1, 6))
def test_folding_keeps_every_row_and_every_change_in_sight(a: str, b: str, context: int, least: int) -> None:
    rows = diff_texts(a, b).rows
    unfolded: list[Row] = []
    for one in fold_rows(rows, context=context, least=least):
        if isinstance(one, Fold):
            assert {row.kind for row in one.rows} == {"same"}
            assert len(one.rows) >= least
            unfolded += one.rows
        else:
            unfolded.append(one)
    assert tuple(unfolded) == rows


def test_a_changed_line_stands_beside_what_it_was_changed_from() -> None:
    a = "def mean(values):\n    return total(values) / len(values)\n"
    b = "def mean(numbers):\n    check(numbers)\n    print('mean of them')\n    return total(numbers) / len(numbers)\n"
    assert sides(diff_texts(a, b)) == [
        ("changed", "def mean(values):", "def mean(numbers):"),
        ("added", "", "    check(numbers)"),
        ("added", "", "    print('mean of them')"),
        ("changed", "    return total(values) / len(values)", "    return total(numbers) / len(numbers)"),
    ]


def test_a_function_that_was_moved_and_changed_is_found_by_its_name() -> None:
    total = "def total(values):\n    return sum(values)\n\n"
    mean = "def mean(values):\n    return total(values) / len(values)\n\n"
    changed = total.replace("values", "numbers")
    found = sides(diff_texts(total + mean, mean + changed))
    assert ("same", "def mean(values):", "def mean(values):") in found or (
        "changed",
        "def total(values):",
        "def total(numbers):",
    ) in found
    assert ("changed", "def total(values):", "def mean(values):") not in found


def test_a_renamed_variable_leaves_a_short_line_alike_and_other_lines_do_not_pair() -> None:
    assert diff_texts("result = 0", "total = 0").total("changed") == 1
    assert diff_texts("else:", "try:").total("changed") == 0
    assert diff_texts("import os", "class Parser(Base):").total("changed") == 0


def test_only_the_words_that_differ_are_marked() -> None:
    row = diff_texts("for v in values:", "for number in numbers:").rows[0]
    assert [part.text for part in row.a_parts if part.marked] == ["v", "values"]
    assert [part.text for part in row.b_parts if part.marked] == ["number", "numbers"]
    phrase = diff_texts("# add up the list", "# add all numbers up the list").rows[0]
    assert [part.text.strip() for part in phrase.b_parts if part.marked] == ["all numbers"]


def test_a_moved_line_says_where_it_is() -> None:
    body = "".join(f"value_{n} = compute({n})\n" for n in range(5))
    diff = diff_texts("import everything\n" + body, body + "import everything\n")
    assert [(row.kind, row.a or row.b, row.moved) for row in diff.rows if row.kind != "same"] == [
        ("removed", 1, 6),
        ("added", 6, 1),
    ]


def test_line_ends_are_told_and_change_no_line() -> None:
    diff = diff_texts("a\r\nb\r\n", "a\nb")
    assert {row.kind for row in diff.rows} == {"same"}
    assert diff.notes == (
        "The lines of a end in CRLF, those of b in LF.",
        "The last line of b does not end in a newline, that of the other does.",
    )


def test_a_cut_is_told() -> None:
    diff = diff_texts("abc\n" * 10, "abc\n" * 20, limit=40)
    assert len(diff.rows) == 10
    assert "the first 40 characters" in diff.notes[0]
    assert "40 and 80" in diff.notes[0]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("x\n" * 20_000, "y\n" * 20_000),
        ("a\nb\n" * 5_000, "b\na\na\n" * 5_000),
        ("".join(f"line {n} foo bar\n" for n in range(9_000)), "".join(f"line {n} foo baz\n" for n in range(9_000))),
        ("a b " * 50_000, "b a " * 50_000),
        ("(" * 100_000, ")" * 100_000 + "\n" * 1_000),
        ("".join("a b " * 300 + f"{n}\n" for n in range(99)), "".join("b a " * 300 + f"{n}\n" for n in range(99))),
    ],
)
def test_hostile_texts_are_whole_in_bounded_work(a: str, b: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from reports.compare import diff, lines

    asked = 0
    real = lines.likeness

    def count(one: lines.Words, two: lines.Words) -> float:
        nonlocal asked
        asked += 1
        return real(one, two)

    monkeypatch.setattr(diff, "likeness", count)
    assert restore(diff_texts(a, b)) == (a, b)
    assert asked <= 300_000


def test_a_change_that_runs_through_a_long_text_is_found() -> None:
    diff = diff_texts(
        "".join(f"item_{n} = old({n})\n" for n in range(2_000)), "".join(f"item_{n} = new({n})\n" for n in range(2_000))
    )
    assert diff.total("changed") == 2_000
    assert any("too long" in note for note in diff.notes)


def test_the_same_texts_give_the_same_rows() -> None:
    draw = random.Random(7)
    texts = ["".join(draw.choice(["a = 1\n", "b = 2\n", "\n", "return a\n"]) for _ in range(200)) for _ in range(2)]
    assert diff_texts(*texts) == diff_texts(*texts)


@given(st.lists(st.builds(Part, ANY, st.booleans())), st.integers(1, 40))
def test_shown_parts_are_visible_and_count_what_they_leave_out(parts: list[Part], limit: int) -> None:
    shown, more = show_parts(parts, limit=limit)
    assert more == max(sum(len(part.text) for part in parts) - limit, 0)
    join(shown).encode()
    assert not any(part.marked and not part.text.strip() for part in shown)


def test_what_differs_and_cannot_be_seen_is_written_out() -> None:
    for a, b in (("name = 1", "na\u200bme = 1"), ("print(name) # now", "print(na\u200bme) # now")):
        assert "⟨U+200B⟩" in "".join(join(show_parts(row.b_parts)[0]) for row in diff_texts(a, b).rows)
    assert join(show_parts([Part("a\u200b", False)], same=True)[0]) == "a\u200b"
    spaces = diff_texts("value = 1", "value = 1  ").rows[0]
    assert join(show_parts(spaces.b_parts)[0]) == "value = 1··"
