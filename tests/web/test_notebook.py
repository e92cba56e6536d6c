"""The widget in a real notebook: JupyterLab on loopback, driven in Chromium."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from daace import Constraints
from tests.web.browser import Page, missing

#: What a notebook needs besides a browser.
NEEDED = ("anywidget", "ipykernel", "jupyterlab")
ABSENT = missing() or ", ".join(f"needs {name}" for name in NEEDED if find_spec(name) is None)

pytestmark = pytest.mark.skipif(bool(ABSENT), reason=ABSENT)

#: Keys, as WebDriver calls them.
CONTROL, ENTER, ARROW_UP = "\ue009", "\ue007", "\ue013"

OPEN = """\
import daace
explainer = daace.load("loans.daace")
w = explainer.widget({row})
w"""

READ = """\
import json
told = [w.explanation.status, w.constraints.fixed, list(w.explanation.changes()["feature"])]
print("told", json.dumps(told))"""

#: No windows over the page, all cells in it, and no requests to elsewhere.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


def write_notebook(path: Path, *cells: str) -> None:
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    record = {
        "cells": [{**code, "id": f"cell-{k}", "source": cell} for k, cell in enumerate(cells)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(record))


@pytest.fixture
def browser(tmp_path):
    page = Page(tmp_path)
    yield page
    page.close()


@pytest.fixture
def jupyter(tmp_path, browser):
    """Start JupyterLab with folders of its own; return the address of a file in it."""
    home = tmp_path / "jupyter"
    for place, record in SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{place}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(record))
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    token = secrets.token_hex(16)
    variables = {
        **os.environ,
        **{name: str(home / name.lower()) for name in names},
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_TOKEN": token,
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [
        "--port=0",
        f"--ServerApp.root_dir={tmp_path}",
        "--LabApp.extension_manager=readonly",
    ]
    log = tmp_path / "jupyter.log"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=variables, stdout=out, stderr=out, cwd=tmp_path)
    try:
        runtime = home / "jupyter_runtime_dir"

        def address() -> str:
            assert server.poll() is None, log.read_text()
            found = [path.read_text() for path in runtime.glob(f"jpserver-{server.pid}.json")]
            return json.loads(found[0])["url"] if found and found[0] else ""

        url = browser.until(address, "Jupyter's address")
        yield lambda file: f"{url}doc/tree/{file}?token={token}"
    finally:
        browser.driver.get("about:blank")
        server.terminate()
        try:
            server.wait(20)
        finally:
            server.kill()


def run_cell(page: Page, number: int) -> None:
    """Run a cell of the notebook that is open, as a user does."""
    page.until(lambda: "| Idle" in page.text("#jp-main-statusbar"), "A kernel that waits")
    page.click(f".jp-Notebook .jp-Cell:nth-of-type({number + 1}) .cm-content")
    page.driver.switch_to.active_element.send_keys(CONTROL, ENTER)


@pytest.fixture
def notebook(browser, jupyter, lender, refused, tmp_path):
    """A notebook that shows the widget; its second cell reads the state of the widget."""
    lender.save(tmp_path / "loans.daace")
    write_notebook(tmp_path / "explorer.ipynb", OPEN.format(row=refused), READ)
    browser.driver.get(jupyter("explorer.ipynb"))
    run_cell(browser, 0)
    browser.settle()
    return browser


def told(page: Page) -> list:
    """Return what the second cell prints when it is run."""
    run_cell(page, 1)
    output = ".jp-Cell:nth-of-type(2) .jp-OutputArea-output"
    line = page.until(lambda: page.text(output), "The output of the second cell")
    return json.loads(line.removeprefix("told "))


def test_python_sees_what_is_chosen_in_a_notebook(notebook, lender, refused):
    e = lender.explain(refused)
    first = e.changes()["feature"].iloc[0]
    words = notebook.text(".plan .steps")
    assert first in words
    notebook.click(f"[data-feature={first}] .lock")
    notebook.settle()
    assert notebook.text(".plan .steps") != words
    assert first not in notebook.text(".changes tbody")

    # Keys that move between cells of the notebook move the slider here, and letters are typed.
    slider = notebook.driver.find_element("css selector", "[data-setting=min_posterior]")
    chosen = float(slider.get_attribute("value"))
    slider.send_keys(ARROW_UP, ARROW_UP)
    assert float(slider.get_attribute("value")) > chosen
    search = notebook.driver.find_element("css selector", ".people input[type=search]")
    search.send_keys("dd")
    notebook.settle()
    assert search.get_attribute("value") == "dd"
    assert notebook.run("return document.querySelectorAll('.jp-Notebook .jp-Cell').length") == 2

    same = lender.explain(
        refused,
        min_posterior=float(slider.get_attribute("value")),
        constraints=Constraints(fixed=[first]),
    )
    assert told(notebook) == [str(same.status), [first], list(same.changes()["feature"])]
