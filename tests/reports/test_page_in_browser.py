"""The page as a person meets it: in Chromium, wide, narrow, printed and without JavaScript."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from report_frames import build_tables

from reports import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]
if CHROMIUM is not None:
    from playwright.sync_api import Browser, Page, sync_playwright

HOSTILE = '<img src=http://127.0.0.1:9/x onerror="window.ran=1"></script><script>window.ran=1</script>\u202e'
SECTIONS = ["summary", "overlap", "entities", "topics", "tsed", "texts", "counts", "made"]
OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll("svg.overlap .name, svg.overlap .role, svg.overlap .count rect")]
    .map((node) => ({box: node.getBBox(), text: node.textContent}));
  const found = [];
  for (let i = 0; i < boxes.length; i++)
    for (let j = i + 1; j < boxes.length; j++) {
      const a = boxes[i].box, b = boxes[j].box;
      const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
      const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
      if (wide > 0.5 && high > 0.5) found.push([boxes[i].text, boxes[j].text]);
    }
  return {found, seen: boxes.length};
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield started
        started.close()


def _write(folder: Path, speakers: list[str], *, text: str = "", role: str = "somebody with a role") -> Path:
    model = SimpleNamespace(
        name="embedded", title="A small model", licence="Apache-2.0", trust="Too small to trust." + text
    )
    return write_report(
        build_tables(speakers, text=text, code=text),
        folder,
        title="a study" + text,
        models=[model],
        warnings=[text] if text else [],
        personas={speaker: (speaker, role) for speaker in speakers},
        tasks={},
    )


def _open(browser: "Browser", path: Path, width: int = 1400, *, javascript: bool = True) -> tuple["Page", list[str]]:
    """Open a page and return it with what goes wrong then and later: messages, faults, requests for anything else.

    The list is filled as it happens; `_settle` before it is looked at.
    """
    page = browser.new_context(viewport={"width": width, "height": 900}, java_script_enabled=javascript).new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda fault: wrong.append(str(fault)))
    allowed = {path.as_uri(), "data:,"}
    page.on("request", lambda request: wrong.append(request.url) if request.url.split("#")[0] not in allowed else None)
    page.goto(path.as_uri())
    return page, wrong


def _settle(page: "Page", *, javascript: bool = True) -> None:
    """Let the page do what it was about to do, and let us hear of it: messages come in the order of what they tell."""
    page.wait_for_load_state("networkidle")
    if javascript:  # without it no frame and no timer calls back, and nothing is about to happen
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    page.evaluate("1")


def test_what_goes_wrong_after_loading_is_seen(tmp_path: Path, browser: "Browser") -> None:
    page, wrong = _open(browser, _write(tmp_path, ["ann", "bob"]))
    _settle(page)
    assert wrong == []
    page.evaluate(
        """setTimeout(() => {
            console.error("late message");
            fetch("http://127.0.0.1:9/late").catch(() => {});
            setTimeout(() => { throw new Error("late fault"); }, 0);
        }, 0)"""
    )
    _settle(page)
    for late in ("late message", "http://127.0.0.1:9/late", "late fault"):
        assert any(late in entry for entry in wrong), (late, wrong)
    other = browser.new_page()
    told: list[str] = []
    other.on("request", lambda request: told.append(request.url))
    other.set_content("<script>setTimeout(() => fetch('http://127.0.0.1:9/x').catch(() => {}), 0)</script>")
    _settle(other)
    assert told == ["http://127.0.0.1:9/x"]


def test_hostile_text_does_not_run_and_nothing_leaves_the_page(tmp_path: Path, browser: "Browser") -> None:
    path = _write(tmp_path, [f"{HOSTILE} {index}" for index in range(3)], text=HOSTILE)
    page, wrong = _open(browser, path)
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()
    page.mouse.wheel(0, 20_000)
    for line in page.locator(".edge, .node").all():
        line.dispatch_event("click")
    _settle(page)
    assert page.evaluate("window.ran") is None
    assert wrong == []
    assert page.locator("script").count() == 1


@pytest.mark.parametrize("width", [1400, 400])
def test_the_page_is_no_wider_than_the_window(tmp_path: Path, browser: "Browser", width: int) -> None:
    page, wrong = _open(browser, _write(tmp_path, ["ann", "bob", "x" * 200, "cyd"], text="y" * 3000), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    _settle(page)
    assert wrong == []


@pytest.mark.parametrize(
    ("speakers", "role", "fits"),
    [
        (["ann", "bob", "cyd"], "", True),
        (["brad-principal-software-engineer", "harold-english-teacher", "emmet-astrophysicist"], "", False),
        (["ann", "bob", "cyd", "dan"], "somebody with a very long role in a very large firm " * 3, False),
    ],
)
def test_on_a_telephone_the_graph_shrinks_until_it_is_just_readable(
    tmp_path: Path, browser: "Browser", speakers: list[str], role: str, fits: bool
) -> None:
    page, wrong = _open(browser, _write(tmp_path, speakers, role=role), 400)
    shown = page.locator("svg.overlap")
    room, drawn, natural = shown.evaluate(
        """(svg) => {
            const box = svg.closest(".picture"), style = getComputedStyle(box);
            const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
            return [room, svg.getBoundingClientRect().width, svg.viewBox.baseVal.width];
        }"""
    )
    least = 9 / 15  # a name of 15 units is nine pixels high
    assert drawn == pytest.approx(max(room, least * natural) if natural > room else natural, abs=1.5)
    assert (drawn <= room + 0.5) == fits
    assert drawn < 1.6 * room
    assert page.evaluate(OVERLAPS)["found"] == []
    _settle(page)
    assert wrong == []


def test_without_javascript_every_section_is_there(tmp_path: Path, browser: "Browser") -> None:
    page, wrong = _open(browser, _write(tmp_path, ["ann", "bob", "cyd"]), javascript=False)
    assert [
        section.get_attribute("id") for section in page.locator("section").all() if section.is_visible()
    ] == SECTIONS
    assert page.locator("svg.drawing:visible").count() == 4
    assert "share 4 entities" in (page.locator(".edge title").first.text_content() or "")
    before = page.locator("pre:visible").count()
    page.locator("details.task > summary").nth(1).click()
    assert page.locator("pre:visible").count() == 2 * before > 0
    _settle(page, javascript=False)
    assert wrong == []


@pytest.mark.parametrize("count", [2, 4, 5, 9, 12, 40])
def test_no_label_of_the_graph_covers_another(tmp_path: Path, browser: "Browser", count: int) -> None:
    page, wrong = _open(browser, _write(tmp_path, [f"Persona Number {index}" for index in range(count)]))
    result = page.evaluate(OVERLAPS)
    _settle(page)
    assert wrong == []
    assert result["seen"] >= count
    assert result["found"] == []


def test_a_line_tells_what_it_stands_for_by_pointer_and_by_key(tmp_path: Path, browser: "Browser") -> None:
    page, wrong = _open(browser, _write(tmp_path, ["ann", "bob", "cyd"]))
    detail = page.locator("#detail")
    page.locator(".edge").first.dispatch_event("click")
    assert "share" in detail.inner_text()
    assert page.locator(".overlap.choosing .edge.near").count() == 1
    page.locator("svg.overlap").dispatch_event("click")
    assert "Choose a line" in detail.inner_text()
    page.locator(".node").first.focus()
    assert "entities" in detail.inner_text()
    assert page.locator(".edge.near").count() == 2
    _settle(page)
    assert wrong == []


def test_in_print_everything_is_open(tmp_path: Path, browser: "Browser") -> None:
    page, wrong = _open(browser, _write(tmp_path, ["ann", "bob", "cyd"]))
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert not page.locator("nav").is_visible()
    assert len(page.pdf(format="A4")) > 20_000
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    _settle(page)
    assert wrong == []
