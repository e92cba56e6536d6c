"""Run the tutorials while the site is built, and show what they print and draw.

A tutorial is a script in docs/tutorials whose cells begin with `# %%` (text: `# %% [markdown]`),
which Jupyter opens as a notebook through jupytext. The site has the page with outputs and the
executed notebook. A tutorial whose data are missing is shown without outputs, with a note.
"""

from __future__ import annotations

import base64
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

log = logging.getLogger("mkdocs.hooks.tutorials")

#: Data that a tutorial needs, in the folder DAACE_DATA.
NEEDS = {"counties": "eqi"}

#: Seconds that a cell may take, on a busy machine.
LIMIT = 900

NOT_RUN = (
    "\n!!! note\n    This copy of the site was built without the data of this tutorial, "
    "so its outputs are not shown.\n"
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace each script by its page, its pictures and its notebook."""
    for file in list(files):
        if file.src_uri.startswith("tutorials/") and file.src_uri.endswith(".py"):
            files.remove(file)
            assert file.abs_src_path is not None
            for made in build(Path(file.abs_src_path), config):
                files.append(made)
    return files


def build(script: Path, config: MkDocsConfig) -> list[File]:
    """Run one tutorial; return its page, pictures and notebook."""
    notebook = jupytext.read(script)
    text = ""
    need = NEEDS.get(script.stem)
    if need is None or (Path(os.environ.get("DAACE_DATA", "")) / need).is_dir():
        log.info("Running the tutorial '%s'", script.stem)
        execute(notebook, script)
    else:
        log.info("The tutorial '%s' needs DAACE_DATA/%s: shown without outputs", script.stem, need)
        text = NOT_RUN
    made: list[File] = []
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        folder = f"tutorials/{script.stem}"
        parts += [show(output, folder, made, config) for output in cell.get("outputs", [])]
    parts.insert(1, f"[Download this tutorial as a notebook]({script.stem}.ipynb){text}")
    page = File.generated(config, f"tutorials/{script.stem}.md", content="\n\n".join(parts))
    source = File.generated(
        config, f"tutorials/{script.stem}.ipynb", content=nbformat.writes(notebook)
    )
    return [page, source, *made]


def execute(notebook: Any, script: Path) -> None:
    """Run a notebook in a new folder, so that it leaves no files behind."""
    with tempfile.TemporaryDirectory() as folder:
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        client = NotebookClient(
            notebook,
            timeout=LIMIT,
            startup_timeout=LIMIT,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            config=sockets,  # in the folder, not open ports
        )
        try:
            client.execute()
        except CellExecutionError as error:
            raise PluginError(f"The tutorial {script.name} fails:\n{error}") from error


def show(output: Any, folder: str, made: list[File], config: MkDocsConfig) -> str:
    """Return an output of a cell as Markdown; pictures are added to the files made."""
    if output.output_type == "stream":
        return fenced(output.text)
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{folder}-{len(made) + 1}.png"
        made.append(File.generated(config, name, content=base64.b64decode(data["image/png"])))
        return f"![Output of the cell above]({Path(name).name})"
    if "text/html" in data:
        lines = (line.strip() for line in data["text/html"].splitlines())
        return "\n".join(line for line in lines if line)
    return fenced(data.get("text/plain", ""))


def fenced(text: str) -> str:
    """Return text as a block."""
    return f"```text\n{text.rstrip()}\n```"
