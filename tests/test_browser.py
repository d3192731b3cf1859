"""The report page in a real browser: what is shown equals the results, it can be used, it fetches nothing.

Screenshots are kept in build/screenshots. Without Chromium these tests are skipped, except where CI=true.
"""

import json
import os
import shutil
import threading
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from selenium import webdriver
from selenium.common.exceptions import JavascriptException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import eluder
from eluder.experiments import Part, Spec
from eluder.experiments.run import prepare, run
from eluder.report import page, serve
from eluder.report.stored import StoredReport
from eluder.report.xray import xray

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SCREENSHOTS = Path(__file__).parents[1] / "build" / "screenshots"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>"

if not (CHROMIUM and DRIVER):
    if os.environ.get("CI") == "true":
        pytest.fail("Chromium and chromedriver are needed in CI: run tools/ensure_chromium.sh.", pytrace=False)
    warnings.filterwarnings("default", message="NO BROWSER")
    warnings.warn("NO BROWSER: chromium is not installed, the browser tests are skipped.", stacklevel=1)
    pytest.skip("NO BROWSER: install chromium and chromium-driver to run these tests.", allow_module_level=True)


@pytest.fixture(scope="module")
def river():
    return eluder.environments.riverswim(states=4, horizon=8)


SPEC = Spec(
    name="small",
    title="Small river",
    environments=(Part.of("riverswim", states=4, horizon=8),),
    agents=(Part.of("ucrl-wvtr"), Part.of("ucrl-vtr"), Part.of("random"), Part.of("greedy", label=HOSTILE)),
    episodes=60,
    paths=5,
    seed=2,
)


class Stored(NamedTuple):
    """What the store holds of one agent: arrays of shape (paths, episodes)."""

    agent: str
    regret: np.ndarray
    returns: np.ndarray


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    run(prepare(SPEC, str(folder)))
    return folder


@pytest.fixture(scope="module")
def results(store):
    table = eluder.load(store).sort_values(["path", "episode"], kind="stable")
    names = ["UCRL-WVTR", "UCRL-VTR", "Random", HOSTILE]
    rows = {name: table[table.agent == name] for name in names}
    return [
        Stored(name, r["regret"].to_numpy().reshape(5, 60), r["return"].to_numpy().reshape(5, 60))
        for name, r in rows.items()
    ]


@pytest.fixture(scope="module")
def traced(river):
    return xray(river, eluder.agents.UCRLWVTR(river.linear_mixture()), episodes=60, paths=2, seed=2)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--force-prefers-reduced-motion",  # a click waits for no scrolling
        "--window-size=1280,1000",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(browser, store, tmp_path_factory):
    """The page of a small run, opened from a file."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    page.write(path, StoredReport(store, xrays=1).report())
    browser.get(path.as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.execute_script("return !!document.querySelector('#x-coverage svg')"))
    return browser


def screenshot(browser, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.set_window_size(1280, min(height + 140, 6000))
    browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
    browser.set_window_size(1280, 1000)


def traces(browser, chart: str) -> list[dict]:
    return json.loads(browser.execute_script(f"return JSON.stringify(document.getElementById('{chart}').data)"))


def means(browser) -> dict[str, list]:
    return {t["meta"]["agent"]: t["y"] for t in traces(browser, "curve-chart") if t["meta"]["part"] == "mean"}


def choose(browser, element: str, value: str) -> None:
    Select(browser.find_element(By.ID, element)).select_by_value(value)


def test_the_curves_are_the_results(report, results):
    shown = means(report)
    for result in results:
        assert np.allclose(shown[result.agent], np.cumsum(result.regret, axis=1).mean(axis=0), rtol=1e-5)
    bands = [t for t in traces(report, "curve-chart") if t["meta"]["part"] == "band"]
    curves = np.cumsum(results[0].regret, axis=1)
    upper = bands[0]["y"][: curves.shape[1]]
    assert np.allclose(upper, curves.mean(axis=0) + curves.std(axis=0, ddof=1), rtol=1e-5)
    screenshot(report, "light")


def test_band_quantity_and_scale_can_be_chosen(report, results, river):
    choose(report, "band", "quantiles")
    band = next(t for t in traces(report, "curve-chart") if t["meta"]["part"] == "band")
    curves = np.cumsum(results[0].regret, axis=1)
    assert np.allclose(band["y"][:60], np.quantile(curves, 0.9, axis=0), rtol=1e-5)
    report.find_element(By.ID, "normalise").click()
    assert np.allclose(means(report)[results[0].agent], curves.mean(axis=0) / river.reward_scale, rtol=1e-5)
    report.find_element(By.ID, "normalise").click()
    choose(report, "quantity", "average")
    average = np.cumsum(results[0].returns, axis=1) / np.arange(1, 61)
    assert np.allclose(means(report)[results[0].agent], average.mean(axis=0), rtol=1e-5)
    choose(report, "quantity", "regret")
    choose(report, "band", "std")


def test_an_agent_can_be_toggled_from_the_keyboard(report, results):
    box = next(
        b for b in report.find_elements(By.CSS_SELECTOR, "#agents input") if b.get_attribute("value") == "Random"
    )
    box.send_keys(Keys.SPACE)
    assert "Random" not in means(report)
    assert results[0].agent in means(report)
    assert "Random" not in report.find_element(By.ID, "curve-text").text
    box.send_keys(Keys.SPACE)
    assert "Random" in means(report)


def test_log_axes_can_be_switched(report):
    axis = "return document.getElementById('curve-chart').layout.yaxis.type"
    assert report.execute_script(axis) == "log"
    report.find_element(By.ID, "log-y").click()
    assert report.execute_script(axis) == "linear"
    report.find_element(By.ID, "log-y").click()


def test_the_table_sorts_by_its_numbers(report, results):
    heads = report.find_elements(By.CSS_SELECTOR, "#table thead button")
    column = [head.text.strip() for head in heads].index("Regret")
    finals = sorted(r.regret.sum(axis=1).mean() for r in results)

    def shown():
        rows = report.find_elements(By.CSS_SELECTOR, "#table tbody tr")
        return [float(row.find_elements(By.CSS_SELECTOR, "th, td")[column].get_attribute("data-sort")) for row in rows]

    heads[column].send_keys(Keys.ENTER)
    assert np.allclose(shown(), finals, rtol=1e-6)
    heads[column].click()
    assert np.allclose(shown(), finals[::-1], rtol=1e-6)
    states = [h.get_attribute("aria-sort") for h in report.find_elements(By.CSS_SELECTOR, "#table thead th")]
    assert states.count("descending") == 1
    assert states[column] == "descending"


def test_the_xray_follows_its_sliders(report, traced, river):
    slider = report.find_element(By.ID, "episode")
    slider.send_keys(Keys.HOME)
    first = traced.paths[0][0]
    assert report.find_element(By.ID, "episode-out").text == str(first.episode)
    slider.send_keys(Keys.END)
    last = traced.paths[0][-1]
    assert report.find_element(By.ID, "episode-out").text == "60"
    assert f"regret {float(f'{last.regret:.4g}'):g}" in report.find_element(By.ID, "xray-text").text
    nodes = next(t for t in traces(report, "x-graph") if t.get("meta") == "nodes")
    assert nodes["marker"]["color"] == last.visits.sum(axis=1).tolist()
    step = report.find_element(By.ID, "step")
    step.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * 3)
    assert report.find_element(By.ID, "step-out").text == "4"
    shown = {t["meta"]: t["y"] for t in traces(report, "x-values")}
    assert np.allclose(shown["optimal"], np.asarray(river.solve().values)[3], rtol=1e-5)
    assert np.allclose(shown["optimistic"], last.values[3], rtol=1e-5)
    assert np.allclose([t["y"] for t in traces(report, "x-weights")], last.weights, rtol=1e-5)
    assert np.allclose(traces(report, "x-bonus")[0]["y"], last.bonus, rtol=1e-5)
    assert np.allclose(traces(report, "x-coverage")[0]["y"], last.distance, rtol=1e-5)
    choose(report, "path", "1")
    assert np.allclose(traces(report, "x-bonus")[0]["y"], traced.paths[1][-1].bonus, rtol=1e-5)


def test_dark_and_light_both_have_contrast(report):
    def contrast(selector):
        script = """
            const e = document.querySelector(arguments[0]);
            const ground = getComputedStyle(document.body).backgroundColor;
            return [getComputedStyle(e).color, ground].map(c => c.match(/[0-9.]+/g).slice(0, 3).map(Number));
        """
        channels = np.array(report.execute_script(script, selector)) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        light, dark = sorted(linear @ [0.2126, 0.7152, 0.0722], reverse=True)
        return (light + 0.05) / (dark + 0.05)

    for name in ("dark", "light"):
        report.find_element(By.ID, "theme").click()
        assert report.execute_script("return document.documentElement.dataset.theme") == name
        for selector in ("h1", ".lead", "nav a", "#table td"):
            assert contrast(selector) >= 4.5, (name, selector)
        screenshot(report, name)


def test_names_are_text_and_run_nothing(report):
    assert report.title == "Small river · eluder"
    assert report.find_elements(By.CSS_SELECTOR, "main img") == []
    assert HOSTILE in report.find_element(By.ID, "agents").text
    assert HOSTILE in means(report)
    hover = """
        const chart = document.getElementById("curve-chart");
        const curve = chart.data.findIndex((t) => t.meta.agent === arguments[0] && t.meta.part === "mean");
        Plotly.Fx.hover(chart, [{curveNumber: curve, pointNumber: 30}]);
        return chart.querySelector(".hoverlayer").textContent;
    """
    assert HOSTILE in report.execute_script(hover, HOSTILE)  # as it is written, tags and all
    report.find_element(By.CSS_SELECTOR, "summary").click()  # the paired comparisons
    assert HOSTILE in report.find_element(By.CSS_SELECTOR, "details table").text


def test_a_narrow_screen_does_not_scroll_sideways(report):
    report.set_window_size(500, 900)  # as narrow as a headless window gets
    fits = "return document.documentElement.scrollWidth <= window.innerWidth"
    WebDriverWait(report, 5).until(lambda b: b.execute_script(fits))  # charts follow a moment later
    report.set_window_size(1280, 1000)


def test_no_errors_and_no_requests(report):
    """Last: everything above was done without a message in the console or a request to anywhere."""
    assert [entry for entry in report.get_log("browser") if entry["level"] != "DEBUG"] == []
    events = [json.loads(entry["message"])["message"] for entry in report.get_log("performance")]
    asked = [
        e["params"]["request"]["url"]
        for e in events
        if e["method"] == "Network.requestWillBeSent" and e["params"]["documentURL"].startswith("file:")
    ]
    assert sum(url.startswith("file:") for url in asked) == 1  # the page itself
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_served_page_follows_the_run(browser, tmp_path, monkeypatch):
    """The page asks its server, reloads by itself, shows the longer run, and keeps what the reader chose."""
    monkeypatch.setattr(serve, "_SECONDS", 0.0)
    shorter = SPEC.replace(agents=(Part.of("random"),), episodes=10)
    run(prepare(shorter, str(tmp_path)))

    def last_episode(b):
        return b.execute_script("return eluder.data.series[0].episodes.at(-1)")

    with serve.Server(StoredReport(tmp_path, xrays=0)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            browser.get(server.address)
            assert last_episode(browser) == 10
            choose(browser, "band", "quantiles")
            run(prepare(shorter.replace(episodes=25), str(tmp_path)))
            WebDriverWait(browser, 30, ignored_exceptions=[JavascriptException]).until(lambda b: last_episode(b) == 25)
            table = eluder.load(tmp_path)
            truth = table[table.episode == 25].cumulative_regret.mean()
            assert means(browser)["Random"][-1] == pytest.approx(truth, rel=1e-5)
            assert browser.find_element(By.ID, "band").get_attribute("value") == "quantiles"
            assert [e for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []
        finally:
            browser.get("about:blank")
            server.shutdown()
            thread.join()
