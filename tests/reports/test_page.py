"""The page: right for any tables, the same bytes for the same tables, and never a way for text to become markup."""

import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from report_frames import build_tables, empty_tables

from reports import write_report
from reports.cells import name_speakers
from reports.side_by_side import lay_out

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "{{ 7*7 }}{% raw %}",
    "</style><style>*{display:none}</style>",
    "[link](javascript:alert(4)) ![](http://example.com/x.png) <http://example.com>",
    '=HYPERLINK("http://example.com")',
    "a\x00b\x1b[2Jc\u202egnp.exe\u2028\ufeff",
    "שלום עולם",
    "🙂" * 50,
    "n" * 200,
    "]]> --> <!-- &amp; &#x3c;",
)
EMBEDDED = SimpleNamespace(name="embedded", title="A small model", licence="Apache-2.0", trust="Too small to trust.")


class _Tags(HTMLParser):
    """Collects every tag, attribute and identifier of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def _write(tables: dict[str, pl.DataFrame], folder: Path, **more: object) -> str:
    options: dict[str, object] = {"title": "a study", "models": [EMBEDDED], "warnings": [], "personas": {}, "tasks": {}}
    page = write_report(tables, folder, **{**options, **more})  # type: ignore[arg-type]
    assert page == folder / "report.html"
    return page.read_text(encoding="utf-8")


def test_the_page_holds_every_section_and_every_text(tmp_path: Path) -> None:
    tables = build_tables()
    page = _write(
        tables,
        tmp_path,
        personas={"john": ("John", "junior engineer")},
        tasks={"calculator": "A calculator"},
        warnings=["Mind the gap."],
    )
    for section in ("summary", "overlap", "entities", "topics", "tsed", "texts", "counts", "made"):
        assert f'<section id="{section}"' in page
    for shown in ("John", "junior engineer", "A calculator", "Mind the gap.", "Too small to trust.", "Apache-2.0"):
        assert shown in page
    assert page.count("<blockquote>") == tables["variants"].height
    assert page.count("<pre ") == tables["codes"].height
    assert page.count('class="badge sent"') == 12 + 1  # and once where it is explained
    assert page.count('<div class="warnings"') == 1
    for name in ("overlap.svg", "overlap.png", "overlap.graphml", "entity-map.svg", "topics.png", "tsed.svg"):
        assert (tmp_path / "figures" / name).stat().st_size > 500
    assert "| John and brad | more | 4 |" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_texts_alone_say_nothing_of_code(tmp_path: Path) -> None:
    page = _write(build_tables(with_code=False), tmp_path, models=[])
    assert 'id="tsed"' not in page
    assert 'id="counts"' not in page
    assert "persona" not in re.sub(r"<style>.*?</style>", "", page, flags=re.S).replace("Persona-overlap graph", "")
    assert page.count("<blockquote>") == 32


def test_the_same_tables_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        _write(build_tables(), tmp_path / folder)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len(files) == 11
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes(), path


def test_hostile_text_in_every_field_stays_text(tmp_path: Path) -> None:
    tables = build_tables(HOSTILE, HOSTILE[:3], models=HOSTILE[:2], text=" ".join(HOSTILE), code="\n".join(HOSTILE))
    for name, frame in tables.items():  # every text column that holds words, and not ids by which tables are joined
        for column in ("note", "error", "chosen", "left_out", "word", "label", "status", "what", "stage"):
            if column in frame.columns and name != "variants":
                tables[name] = tables[name].with_columns(
                    pl.col(column).map_elements(
                        lambda cell: f"{cell}{HOSTILE[0]}{HOSTILE[7]}", return_dtype=pl.String, skip_nulls=False
                    )
                )
    model = SimpleNamespace(**dict.fromkeys(("name", "title", "licence", "trust"), " ".join(HOSTILE)))
    page = _write(
        tables,
        tmp_path,
        title=HOSTILE[0],
        models=[model],
        warnings=list(HOSTILE),
        personas={name: (name, name) for name in HOSTILE},
        tasks={name: name for name in HOSTILE},
    )
    found = _Tags(page)
    assert found.tags.count("script") == 1
    assert found.tags.count("style") == 1
    assert not {"img", "iframe", "object", "base", "form", "foreignobject"} & set(found.tags)
    assert not [key for key, _ in found.attributes if key.startswith("on")]
    assert {value for key, value in found.attributes if key in {"href", "src", "xlink:href"}} <= {
        *(f"#{section}" for section in ("summary", "overlap", "entities", "topics", "tsed", "texts", "counts", "made")),
        *(f"figures/{key}.{kind}" for key in ("overlap", "entity-map", "topics", "tsed") for kind in ("svg", "png")),
        "figures/overlap.graphml",
        "data:,",
    }
    assert "{{ 7*7 }}" in page
    for character in "\x00\x1b\u202e\u2028":
        assert character not in page
    ids = [value for key, value in found.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "<script" not in text
    assert not re.search(r"(?<!\\)\]\((?!figures/)", text)
    assert "\x00" not in text


@pytest.mark.parametrize("with_code", [True, False])
def test_empty_tables_give_a_page_that_says_so(tmp_path: Path, with_code: bool) -> None:
    page = _write(empty_tables(with_code=with_code), tmp_path)
    assert "There is no speaker" in page
    assert "there is no graph" in page
    assert "There is no text." in page
    assert not list((tmp_path / "figures").glob("*.svg"))


@pytest.mark.parametrize(
    ("speakers", "tasks", "code_status"),
    [(1, 1, "ok"), (1, 3, "no_code"), (2, 1, "unparsable"), (4, 1, "ok"), (4, 3, "empty")],
)
def test_few_of_anything(tmp_path: Path, speakers: int, tasks: int, code_status: str) -> None:
    people = ["ann", "bob", "cyd", "dan"][:speakers]
    page = _write(build_tables(people, ["t1", "t2", "t3"][:tasks], iterations=1, code_status=code_status), tmp_path)
    assert ("one speaker only" in page) == (speakers == 1)
    assert ("No two personas’ programs could be compared" in page) == (speakers == 1 or code_status != "ok")
    assert f"{speakers * tasks if code_status == 'ok' else 0} of {speakers * tasks}</strong>" in page
    if code_status != "ok":
        assert f'reply ok</span> <span class="badge bad">code {code_status.replace("_", " ")}' in page
        assert "No code was extracted. The reply in full:" in page


@pytest.mark.parametrize("warnings", [[], ["", " "]])
def test_without_warnings_there_is_no_box_of_them(tmp_path: Path, warnings: list[str]) -> None:
    page = _write(build_tables(), tmp_path, warnings=warnings)
    assert 'class="warnings"' not in page
    assert "Warnings" not in page
    assert "Warnings" not in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_comma_in_a_speakers_id_divides_nothing(tmp_path: Path) -> None:
    page = _write(build_tables(["Doe, Jane", "Doe, John"], with_code=False), tmp_path, models=[])
    assert page.count('<h3><bdi title="Doe, Jane">Doe, Jane</bdi></h3>') == 3
    assert 'class="role"' not in page


@pytest.mark.slow
def test_forty_speakers_stay_under_five_megabytes(tmp_path: Path) -> None:
    people = [f"speaker {index}" for index in range(40)]
    page = _write(
        build_tables(people, [f"t{i}" for i in range(10)], text="words " * 400, code="x = 1\n" * 800), tmp_path
    )
    assert len(page.encode()) < 5_000_000
    assert "are cut there" in page


def test_a_very_long_text_is_cut_and_the_cut_is_stated(tmp_path: Path) -> None:
    page = _write(build_tables(("ann", "bob"), ("t",), text="<" * 10_000_000), tmp_path)
    assert len(page.encode()) < 5_000_000
    assert "of 10,000," in page
    assert "The tables hold all of them in full." in page


def test_a_figure_that_is_no_more_is_taken_away(tmp_path: Path) -> None:
    _write(build_tables(), tmp_path)
    (tmp_path / "figures" / "mine.svg").write_text("mine", encoding="utf-8")
    _write(build_tables(code_status="empty"), tmp_path)
    assert not (tmp_path / "figures" / "tsed.svg").exists()
    assert (tmp_path / "figures" / "mine.svg").read_text(encoding="utf-8") == "mine"


def test_what_was_sent_on_is_kept_when_not_all_fits() -> None:
    tables = build_tables()
    shelf = lay_out(tables, name_speakers(["john", "brad", "harold", "ethan"], {}), {}, room=14_000)
    texts = [text for block in shelf.blocks for column in block.columns for text in column.texts]
    codes = [code for block in shelf.blocks for column in block.columns for code in column.codes]
    assert shelf.texts == 36
    assert shelf.codes == 12
    assert len(codes) == 12
    assert sum(text.sampled for text in texts) == 12
    assert f"{len(texts) + 12} of 48 texts and codes are shown" in shelf.note


def test_the_public_face_is_lazy_and_complete() -> None:
    import reports

    assert reports.__all__ == ["write_report"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        reports.nothing  # noqa: B018
