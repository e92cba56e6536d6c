"""A headless Chromium for the tests of the page, and what they do with it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

#: Longest wait for anything on the page, in seconds, and after a wait that was in vain: a page that
#: is broken fails its other tests at once.
PATIENCE, IMPATIENCE = 120, 2


def missing() -> str:
    """Return why there is no browser to drive; empty if there is one."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "needs selenium"
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        return "needs Chromium: make browser"
    return "" if shutil.which("chromedriver") else "needs chromedriver: make browser"


@cache
def axe_core() -> str:
    """Return the script of axe-core, which `make browser` installs; empty if it is not there."""
    for folder in (os.environ.get("NODE_PATH"), f"{sys.prefix}/node_modules"):
        path = Path(folder or "/nowhere") / "axe-core" / "axe.min.js"
        if path.exists():
            return path.read_text(encoding="utf-8")
    return ""


class Page:
    """The explorer in a browser."""

    def __init__(self, folder: Path) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        for flag in (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            f"--user-data-dir={folder / 'profile'}",
        ):
            options.add_argument(flag)
        self.downloads = folder / "downloads"
        self.downloads.mkdir()
        options.add_experimental_option(
            "prefs", {"download.default_directory": str(self.downloads)}
        )
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.set_window_size(1400, 1000)
        self.patience = PATIENCE

    def open(self, url: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(url)
        self.settle()

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait until something holds."""
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        self.patience = IMPATIENCE
        raise AssertionError(f"{what} did not come about; the page says: {self.text('.plan')}")

    def settle(self) -> None:
        """Wait until the answer to the latest question is shown."""
        self.until(
            lambda: self.run(
                "const plan = document.querySelector('.dx .plan');"
                "return plan && !plan.hasAttribute('aria-busy')"
                " && document.querySelector('.headline').innerText !== 'Choose a person'"
            ),
            "An answer",
        )

    def text(self, selector: str) -> str:
        return self.run(
            "const found = document.querySelector(arguments[0]);"
            "return found ? found.innerText : ''",
            selector,
        )

    def click(self, selector: str, words: str = "") -> None:
        """Click the first element of a selector that has these words."""
        found = self.until(
            lambda: self.run(
                "return [...document.querySelectorAll(arguments[0])].find("
                "(e) => e.innerText.includes(arguments[1])"
                " || (e.getAttribute('aria-label') || '').includes(arguments[1]))",
                selector,
                words,
            ),
            f"'{selector}' with '{words}'",
        )
        self.run("arguments[0].scrollIntoView({block: 'center'})", found)
        seen: list[Any] = []

        def rests() -> bool:  # pictures that arrive move what is below them
            seen.append(self.run("return arguments[0].getBoundingClientRect()", found))
            return seen[-1] in seen[-2:-1]

        self.until(rests, f"rest of '{selector}'")
        found.click()

    def set_value(self, selector: str, value: object, event: str = "change") -> None:
        """Give a control a value, as a user does who drags or types."""
        self.run(
            "const control = document.querySelector(arguments[0]);"
            "control.value = arguments[1];"
            "control.dispatchEvent(new Event(arguments[2], {bubbles: true}))",
            selector,
            str(value),
            event,
        )

    def question(self) -> dict[str, Any]:
        """Return the question in the address."""
        return self.run(
            "const hash = location.hash.slice(1).replaceAll('-', '+').replaceAll('_', '/');"
            "const bytes = Uint8Array.from(atob(hash), (c) => c.charCodeAt(0));"
            "return JSON.parse(new TextDecoder().decode(bytes)).question"
        )

    def obstacles(self) -> list[str]:
        """Return what keeps people from using the page, in light and dark, as axe-core sees it."""
        found = []
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            self.run(axe_core())
            found += self.driver.execute_async_script(
                "const done = arguments[arguments.length - 1];"
                "axe.run(document, {resultTypes: ['violations']}).then(({violations}) =>"
                "  done(violations.filter(({impact}) => /serious|critical/.test(impact))"
                "  .map(({id, nodes}) => `${id}: ${nodes.map((n) => n.html).join(' ')}`)))"
            )
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        return found

    def requests(self) -> list[str]:
        """Return the addresses that were requested since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def log(self, kind: str) -> list[dict[str, Any]]:
        return self.driver.get_log(kind)

    def downloaded(self, name: str) -> str:
        """Return the content of a file that was downloaded."""
        path = self.downloads / name
        self.until(path.exists, f"'{name}'")
        text = path.read_text()
        path.unlink()
        return text

    def close(self) -> None:
        self.driver.quit()
