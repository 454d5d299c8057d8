"""The page says what the table says, holds what fits, and obeys nothing that it shows."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reports.compare import compare_pairs, write_comparison
from reports.compare.pairs import Pair, ReadStatus

HOSTILE = "</code></script><script>window.ran=1</script><img src=http://127.0.0.1:9/x onerror=alert(1)>'\"&amp;\u202e"


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.asks: list[str] = []
        self.cells: list[str] = []
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        held = dict(attrs)
        self.asks += [value or "" for name, value in attrs if name in {"src", "href"} or name.startswith("on")]
        if tag == "td":
            self.in_cell = held.get("class") == "code a"
            self.cells += [""] * self.in_cell

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.cells[-1] += data


def write(
    folder: Path, texts: list[tuple[str, str]], *, names: str = "", show: int = 50, scored: bool = True
) -> tuple[str, Reader]:
    status: ReadStatus = "ok" if scored else "languages_differ"
    pairs = [
        Pair(f"pair {n}{names}", f"a{n}{names}", f"b{n}{names}", a, b, "python", status)
        for n, (a, b) in enumerate(texts)
    ]
    frame, _ = compare_pairs(pairs)
    path = write_comparison(pairs, frame, folder, title=f"pairs{names}", warnings=[names], show=show)
    page = path.read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(page)
    return page, reader


def test_the_lines_of_a_text_are_on_the_page_in_order(tmp_path: Path) -> None:
    a = "".join(f"def f{n}(x):\n    return x + {n}\n" for n in range(20))
    _, reader = write(tmp_path, [(a, a.replace("x + 7", "x * 7"))])
    assert "\n".join(reader.cells) + "\n" == a


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    page, reader = write(tmp_path, [(HOSTILE, "x = 1\n" + HOSTILE), ("x = 1", HOSTILE + "\x00\ud800")], names=HOSTILE)
    assert "script" not in reader.tags
    assert "img" not in reader.tags
    assert set(reader.asks) == {"data:,", "#pair-1", "#pair-2"}
    assert "\u202e" not in page
    assert "⟨U+0000⟩" in page
    assert "⟨U+D800⟩" in page


@pytest.mark.slow
def test_the_page_stays_small_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    one, two = ("".join(f"{sign}{number}\n" for number in range(4_000)) for sign in ("a", "b"))
    texts = [(one, two + f"# {n}\n") for n in range(5)]
    page, _ = write(tmp_path, texts, scored=False)
    assert len(page.encode()) < 5_000_000
    assert re.search(r"[\d,]+ more rows are not shown", page)
    assert re.search(r"The \d most different of 5 pairs are shown", page)


def test_the_most_different_are_shown_first_and_only_so_many(tmp_path: Path) -> None:
    program = "def f(a):\n    return a + 1\n"
    texts = [(program, program), (program, "x = [1, 2, 3]\n"), (program, program.replace("+", "-"))]
    page, _ = write(tmp_path, texts, show=2)
    assert "The 2 most different of 3 pairs are shown" in page
    assert re.findall(r'id="pair-(\d)"', page) == ["2", "3"]
    order = [page.index(f">pair {n}</bdi>") for n in (1, 2, 0)]
    assert order == sorted(order)


def test_a_line_without_end_is_cut_and_an_empty_pair_has_a_page(tmp_path: Path) -> None:
    page, _ = write(tmp_path, [("x" * 1_000_000, "y" * 1_000_000)])
    assert "298,000 more characters" in page
    assert "Only the first 300,000 characters of each" in page
    assert len(page) < 100_000
    page, _ = write(tmp_path, [("", "")])
    assert "There is no line in either." in page


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    texts = [("a = 1\n", "a = 2\n"), ("b = 1\n", "c = 1\n")]
    for name in ("one", "two"):
        write(tmp_path / name, texts)
    for file in ("compare.html", "compare.csv", "compare.parquet"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
