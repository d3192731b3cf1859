"""The picture of a report page in the documentation, taken in a real browser.

eluder reproduce figure-2 --out results && python tools/report_picture.py results/figure-2
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from eluder.report import page
from eluder.report.stored import StoredReport

TARGET = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
WIDTH = 840  # pixels: legible beside text, and under 200 kB


def main(store: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = page.write(Path(folder) / "report.html", StoredReport(store, xrays=1).report())
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        try:
            browser.get(path.as_uri())
            WebDriverWait(browser, 30).until(
                lambda b: b.execute_script("return !!document.querySelector('#x-coverage svg')")
            )
            browser.set_window_size(1280, browser.execute_script("return document.documentElement.scrollHeight") + 140)
            end = browser.execute_script("return document.getElementById('origin').getBoundingClientRect().top")
            picture = (
                Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB").crop((0, 0, 1265, int(end)))
            )
        finally:
            browser.quit()
    picture = shot.crop((0, 0, 1265, int(end)))
    picture = picture.resize((WIDTH, picture.height * WIDTH // picture.width), Image.Resampling.LANCZOS)
    picture.quantize(255, method=Image.Quantize.FASTOCTREE).save(TARGET, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "results/figure-2")
