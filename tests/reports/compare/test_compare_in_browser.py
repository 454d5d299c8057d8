"""The page of a comparison in Chromium: wide, narrow, without JavaScript, and with text that would like to run."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.compare import compare_pairs, write_comparison
from reports.compare.pairs import Pair

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]
if CHROMIUM is not None:
    from playwright.sync_api import Browser, Page, sync_playwright

HOSTILE = '<img src=http://127.0.0.1:9/x onerror="window.ran=1"></td></script><script>window.ran=1</script>\u202e'
PROGRAM = "import os\n\n\ndef total(values):\n    return sum(values)\n" + "".join(f"x_{n} = {n}\n" for n in range(40))


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield started
        started.close()


def _write(folder: Path, texts: list[tuple[str, str]], name: str = "program") -> Path:
    pairs = [Pair(f"{name} {n}", f"old/{name}", f"new/{name}", a, b, "python") for n, (a, b) in enumerate(texts)]
    frame, warnings = compare_pairs(pairs)
    return write_comparison(pairs, frame, folder, title=f"old and new {name}", warnings=warnings)


def _open(
    browser: "Browser", path: Path, width: int = 1400, *, dark: bool = False, javascript: bool = True
) -> tuple["Page", list[str]]:
    """Open a page and return it with what goes wrong: messages, faults, requests for anything but the page."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        java_script_enabled=javascript,
        color_scheme="dark" if dark else "light",
    )
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda fault: wrong.append(str(fault)))
    allowed = {path.as_uri(), "data:,"}
    page.on("request", lambda request: wrong.append(request.url) if request.url.split("#")[0] not in allowed else None)
    page.goto(path.as_uri())
    page.wait_for_load_state("networkidle")
    return page, wrong


def test_hostile_text_does_not_run(tmp_path: Path, browser: "Browser") -> None:
    path = _write(tmp_path, [(HOSTILE, HOSTILE + "x"), (PROGRAM + HOSTILE, PROGRAM)], name=HOSTILE)
    page, wrong = _open(browser, path)
    for summary in page.locator("summary").all():
        summary.dispatch_event("click")
    assert page.evaluate("window.ran") is None
    assert page.locator("script, img").count() == 0
    assert wrong == []


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("count", [1, 3])
def test_the_page_is_no_wider_than_the_window(tmp_path: Path, browser: "Browser", width: int, count: int) -> None:
    texts = [(PROGRAM, PROGRAM.replace("values", "y" * 500) + "z" * 5_000)] * count
    page, wrong = _open(browser, _write(tmp_path, texts, name="n" * 300), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert wrong == []


def test_both_versions_of_a_line_are_beside_each_other_or_on_a_telephone_below(
    tmp_path: Path, browser: "Browser"
) -> None:
    path = _write(tmp_path, [(PROGRAM, PROGRAM.replace("values", "numbers") + "added = 1\n")])
    for width in (1400, 400):
        page, _ = _open(browser, path, width)
        row = page.locator("tr.changed").first
        a, b = (row.locator(f"td.code.{side}").bounding_box() for side in "ab")
        assert a is not None
        assert b is not None
        if width == 1400:
            assert a["y"] == b["y"]
            assert b["x"] >= a["x"] + a["width"]
        else:
            assert b["y"] >= a["y"] + a["height"] - 1
            assert a["x"] == b["x"]
            assert a["width"] > 250
        assert page.locator("tr.same td.code.b:visible").count() == (0 if width == 400 else 9)
        assert page.locator("tr.added td.code.b:visible").count() == 1


def test_a_fold_opens_and_a_link_leads_to_its_pair_without_javascript(tmp_path: Path, browser: "Browser") -> None:
    texts = [(PROGRAM, PROGRAM.replace("os", "sys")), (PROGRAM, "print(1)\n" * 3)]
    page, wrong = _open(browser, _write(tmp_path, texts), javascript=False)
    hidden = page.locator("#pair-1")
    assert not hidden.is_visible()
    page.locator("a[href='#pair-1']").click()
    hidden.wait_for(state="visible")
    before = hidden.locator("tr:visible").count()
    fold = hidden.locator("details > summary").first
    assert "unchanged lines" in fold.inner_text()
    fold.click()
    assert hidden.locator("tr:visible").count() > before
    assert wrong == []


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "white";
  };
  const shown = [...document.querySelectorAll("td.code, td.number, td.sign, del, ins, .fold")];
  return shown.filter((node) => node.textContent.trim()).map((node) => {
    const [one, two] = [light(rgb(getComputedStyle(node).color)), light(rgb(ground(node)))].sort((p, q) => q - p);
    return [(one + 0.05) / (two + 0.05), node.className || node.tagName];
  });
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_of_the_diff_has_contrast(tmp_path: Path, browser: "Browser", dark: bool) -> None:
    page, _ = _open(browser, _write(tmp_path, [(PROGRAM, PROGRAM.replace("values", "numbers") + "x = 1\n")]), dark=dark)
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) > 20
    assert min(ratios)[0] >= 4.5, min(ratios)
