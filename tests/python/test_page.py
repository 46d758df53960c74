"""The page of an audit in a real browser: offline, by keyboard, on a small screen, in the dark, with hostile names."""

from __future__ import annotations

import itertools
import re
import shutil

import numpy as np
import pandas as pd
import pytest

import oblivio as ob

sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")]

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "<script>window.__pwned = 1</script></script><img src=x onerror='window.__pwned = 2'>[a].b\"\n"


def page(tmp_path, *, sex="sex", age="age", feature="income", female="female"):
    """The path of a page about scores before and after, with these names in the data."""
    random = np.random.default_rng(0)
    rows = 600
    is_female = random.integers(2, size=rows)
    years = random.uniform(18, 70, size=rows)
    noise = random.normal(size=rows)
    sensitive = pd.DataFrame({sex: np.where(is_female == 1, female, "male"), age: years})
    features = pd.DataFrame({feature: noise + is_female, "visits": random.normal(size=rows)})
    path = tmp_path / "audit.html"
    audit = ob.audit(noise, sensitive, before=noise + is_female, features=features, random_state=0)
    audit.to_html(path)
    return path


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return page(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    names = {"sex": HOSTILE, "age": "long " * 2000, "feature": "x.y[0]['z']" + HOSTILE, "female": HOSTILE + "\u202eגיל"}
    return page(tmp_path_factory.mktemp("hostile"), **names)


class Seen:
    """A page in a tab of its own, and all that happened in it."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(**options)
        self.tab = self.context.new_page()
        self.requests, self.troubles, self.dialogs = [], [], []
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("console", lambda message: self.troubles.append(message.text))
        self.tab.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.tab.on("dialog", self.dismiss)
        self.tab.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            self.tab.wait_for_selector("figure[data-chart] svg.marks")
            self.wait_for_charts()

    def dismiss(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def wait_for_charts(self):
        """Wait until no chart is being drawn."""
        self.tab.wait_for_function("document.querySelector('[aria-busy]') === null")

    def charts(self):
        """What is drawn, chart by chart."""
        self.wait_for_charts()
        return self.tab.eval_on_selector_all(
            "figure[data-chart]",
            "figures => Object.fromEntries(figures.map(f => [f.dataset.chart, f.querySelector('.plots').innerHTML]))",
        )


@pytest.fixture
def see(browser):
    seen = []

    def see(path, **options):
        seen.append(Seen(browser, path, **options))
        return seen[-1]

    yield see
    for one in seen:
        one.context.close()


def luminance(colour):
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", colour)[:3])
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_it_loads_quietly_and_asks_for_nothing(see, plain, hostile):
    for path in (plain, hostile):
        seen = see(path)
        assert seen.troubles == []
        assert seen.requests == [path.as_uri()]
        assert path.stat().st_size < 1_500_000


def test_a_click_on_a_cell_changes_every_chart_of_cells(see, plain):
    seen = see(plain)
    before = seen.charts()
    cell = seen.tab.locator(".legend [data-cell='0']")
    assert cell.get_attribute("aria-pressed") == "false"
    cell.click()
    after = seen.charts()
    assert cell.get_attribute("aria-pressed") == "true"
    for chart in ("distributions", "means"):
        assert before[chart] != after[chart]
    cell.click()
    assert seen.charts() == before


def test_the_keyboard_does_the_same(see, plain):
    seen = see(plain)
    before = seen.charts()
    seen.tab.keyboard.press("Tab")
    assert seen.tab.evaluate("document.activeElement.className") == "skip"
    for _ in range(60):
        seen.tab.keyboard.press("Tab")
        if seen.tab.evaluate("document.activeElement.dataset.cell === '0'"):
            break
    outline = seen.tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    seen.tab.keyboard.press("Space")
    assert seen.charts()["distributions"] != before["distributions"]
    # The choice keeps the focus.
    assert seen.tab.evaluate("document.activeElement.dataset.cell") == "0"


def test_other_columns_change_charts_tables_and_cells(see, plain):
    seen = see(plain)
    before, cells = seen.charts(), seen.tab.locator(".legend [data-cell]").count()
    seen.tab.get_by_role("combobox", name="Against").select_option(index=0)
    assert seen.charts()["means"] != before["means"]
    assert seen.tab.locator(".legend [data-cell]").count() == 2 < cells
    open_tables = seen.tab.locator("figure[data-chart='means'] [data-against]:not([hidden])")
    assert open_tables.count() == 1
    assert open_tables.get_attribute("data-against") == "0"


def test_what_is_drawn_is_also_said(see, plain):
    seen = see(plain)
    tab = seen.tab
    for label in tab.locator(".plot [role='img']").all():
        assert len(label.get_attribute("aria-label")) > 20
    levels = tab.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(h => Number(h.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))
    assert tab.locator("main, nav, header, footer").count() == 4
    assert tab.locator("html").get_attribute("lang") == "en"
    for table in tab.locator("table").all():
        assert table.locator("caption").count() == 1
        assert table.locator("thead th[scope='col']").count() > 0
    for figure in tab.locator("figure[data-chart]").all():
        assert figure.locator("details table").count() > 0
    assert tab.locator("#measures .meanings dd").count() >= 3


def test_it_fits_a_small_screen(see, plain, hostile):
    for path in (plain, hostile):
        seen = see(path, viewport={"width": 360, "height": 740})
        assert seen.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        widths = seen.tab.eval_on_selector_all(
            ".plot svg.marks", "all => all.map(s => s.getBoundingClientRect().right)"
        )
        assert widths and max(widths) <= 360


def test_charts_follow_the_width(see, plain):
    seen = see(plain, viewport={"width": 1200, "height": 800})
    width = "document.querySelector('#means svg.marks').getBoundingClientRect().width"
    wide = seen.tab.evaluate(width)
    seen.tab.set_viewport_size({"width": 500, "height": 800})
    seen.tab.wait_for_function(f"{width} < {wide - 300}")


def test_dark_and_light_are_both_legible(see, plain):
    colours = {}
    for scheme in ("light", "dark"):
        seen = see(plain, color_scheme=scheme)
        style = "e => { const s = getComputedStyle(e); return [s.color, s.backgroundColor]; }"
        ink, paper = seen.tab.eval_on_selector("body", style)
        colours[scheme] = paper
        assert contrast(ink, paper) >= 7
        selectors = (".lead", ".card h3", ".card .level", ".brand", "summary", "nav a", ".no", ".yes", "figcaption")
        for selector in selectors:
            soft, _ = seen.tab.eval_on_selector(selector, style)
            panel = seen.tab.eval_on_selector(".card", style)[1] if "card" in selector else paper
            assert contrast(soft, panel) >= 4.5, (scheme, selector)
        label = seen.tab.evaluate("getComputedStyle(document.querySelector('#means svg.marks text')).fill")
        assert contrast(label, paper) >= 4.5
    assert colours["light"] != colours["dark"]


def test_hostile_names_are_text(see, hostile):
    seen = see(hostile)
    seen.tab.locator(".legend [data-cell='0']").click()
    seen.tab.locator("#means svg.marks").hover(force=True)
    assert seen.tab.evaluate("window.__pwned") is None
    assert seen.dialogs == []
    assert seen.tab.locator("img").count() == 0
    assert "<script>window.__pwned" in seen.tab.locator("main").inner_text()


def test_without_scripts_all_numbers_are_there(see, plain):
    without = see(plain, java_script_enabled=False)
    tab = without.tab
    assert tab.locator("figure[data-chart] details[open] table").count() > 0
    assert tab.locator(".controls").first.is_hidden()
    numbers = re.findall(r"\d+\.\d+", tab.locator("main").inner_text())
    assert len(numbers) > 200


def test_paper_is_light_and_keeps_the_charts(see, plain):
    seen = see(plain, color_scheme="dark")
    seen.tab.emulate_media(media="print")
    assert seen.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert seen.tab.locator("#means svg.marks").is_visible()
    assert seen.tab.locator(".choices").is_hidden()
