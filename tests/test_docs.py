"""Every example of the documentation runs, and every internal link leads somewhere."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from sklearn.linear_model import LogisticRegression

import daace
from daace.cli import app, main
from daace.cli.demo import DEMO_ROW
from tests import pages

#: Pages that run by themselves, from an empty session.
ALONE = ("docs/start.md", "docs/howto/rules.md")

#: Pages whose examples have tests of their own.
ELSEWHERE = ("README.md", "CONTRIBUTING.md")

#: Pages that go on from a fitted explainer.
GO_ON = (
    "docs/concepts/landscape.md",
    "docs/concepts/planners.md",
    "docs/concepts/profiles.md",
    "docs/howto/answers.md",
    "docs/howto/batches.md",
    "docs/howto/classifier.md",
    "docs/howto/data.md",
    "docs/howto/network.md",
    "docs/howto/privacy.md",
    "docs/howto/trust.md",
)

#: Pages whose examples need a trained flow, a notebook, a finished study or EPA's files: they are
#: parsed, and their names looked up.
PARSED = (
    "docs/howto/counties.md",
    "docs/howto/service.md",
    "docs/howto/studies.md",
    "docs/howto/tuning.md",
)

TUTORIALS = sorted((pages.ROOT / "docs" / "tutorials").glob("*.py"))


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    """What the pages take for granted, on a table with four features."""
    full = daace.load_table("breast_cancer").to_frame()
    names = ["mean radius", "mean texture", "mean smoothness", "mean symmetry"]
    train, held_out = full.iloc[:400], full.iloc[400:]
    train, held_out = train[[*names, "class"]], held_out[[*names, "class"]]
    table = daace.Table.from_frame(train, target="class")
    model = LogisticRegression(max_iter=10_000).fit(train[names], train["class"])
    explainer = daace.fit(table)
    landscape = daace.Landscape(explainer.density)
    goal = daace.Goal(target="benign")
    return {
        "daace": daace,
        "np": np,
        "table": table,
        "explainer": explainer,
        "density": explainer.density,
        "problem": daace.Problem(train.iloc[0], landscape, goal),
        "row": train.iloc[0],
        "e": explainer.explain(train.iloc[0], target="benign"),
        "train": train,
        "held_out": held_out,
        "frame": train.iloc[:4].assign(group=["a", "b", "a", "b"]),
        "model": model,
        "coefficients": model.coef_,
    }


def test_every_page_with_examples_is_listed() -> None:
    with_examples = {page for page in pages.pages() if any(pages.examples(page))}
    assert with_examples == {*ALONE, *ELSEWHERE, *GO_ON, *PARSED}


def test_the_readme_prints_what_the_demo_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both learn from the same rows: the demo is run with the explainer of the README."""
    monkeypatch.chdir(tmp_path)
    session: dict[str, Any] = {}
    for example in pages.examples("README.md"):
        printed = pages.run(example, "README.md", session)
        assert printed == example.printed, "renew it: python -m tests.pages README.md"

    def learned(table: daace.Table) -> daace.Explainer:
        rows = session["loans"].drop(index=DEMO_ROW).reset_index(drop=True)
        assert table.to_frame().reset_index(drop=True).equals(rows)
        return session["explainer"]

    monkeypatch.setattr("daace.explain.fitting.fit", learned)
    with pytest.raises(SystemExit) as leaving:
        main(["demo", "--html", "demo.html"])
    assert leaving.value.code == 0
    out, err = capsys.readouterr()
    assert pages.tidy(out) == printed
    assert str(Path("demo.html").resolve()) in err
    assert Path("demo.html").read_text(encoding="utf-8").count("<img ") == 4
    assert session["loans"]["decision"][DEMO_ROW] == "refused"


@pytest.mark.parametrize("page", [*ALONE, *GO_ON])
def test_examples_run_and_print_what_the_page_shows(
    page: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session: dict[str, Any] = {}
    if page in GO_ON:
        session = dict(request.getfixturevalue("fitted"))
        session["frame"].to_parquet("data.parquet")
    for example in pages.examples(page):
        printed = pages.run(example, page, session)
        if example.printed is not None:
            assert printed == example.printed, f"renew it: python -m tests.pages {page}"


@pytest.mark.parametrize("page", PARSED)
def test_other_examples_name_what_there_is(page: str) -> None:
    for example in pages.examples(page):
        compile(example.code, page, "exec")
        for name in re.findall(r"\bdaace\.(\w+)", example.code):
            if f"from daace.{name}" not in example.code:
                assert hasattr(daace, name), f"{page}: daace.{name}"
        for line in re.findall(r"^from daace.*$", example.code, re.MULTILINE):
            exec(line, {})


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_name_what_there_is(script: Path) -> None:
    """They are run by `make docs`; here, imports and the names of daace are looked up."""
    code = script.read_text(encoding="utf-8")
    compile(code, script.name, "exec")
    for line in re.findall(r"^from daace.*$", code, re.MULTILINE):
        exec(line, {})
    for name in re.findall(r"\bdaace\.([A-Za-z]\w+)\(", code):
        assert hasattr(daace, name), f"{script.name}: daace.{name}"


def test_commands_have_the_options_that_pages_use() -> None:
    group = typer.main.get_command(app)
    lines = {
        line for page in pages.pages() for line in pages.shell_lines(page)
        if line.startswith("daace ")
    }  # fmt: skip
    assert len(lines) > 20
    for line in lines:
        command, arguments = group, shlex.split(line)[1:]
        context = command.make_context("daace", list(arguments), resilient_parsing=True)
        while arguments and hasattr(command, "commands"):
            name = arguments.pop(0)
            assert name in command.commands, line
            command = command.commands[name]
        known = {
            option for field in command.params for option in (*field.opts, *field.secondary_opts)
        }
        used = {word.split("=")[0] for word in arguments if re.match(r"-{1,2}[a-z]", word)}
        assert used <= {*known, "--help"}, line
        with contextlib.suppress(AttributeError):
            context.close()


@pytest.mark.parametrize("page", pages.pages())
def test_internal_links_lead_somewhere(page: str) -> None:
    folder = (pages.ROOT / page).parent
    for link in pages.links(page):
        target, _, anchor = link.partition("#")
        place = (folder / target).resolve() if target else pages.ROOT / page
        made = place.parent.name == "tutorials" and place.with_suffix(".py").exists()
        assert place.exists() or made, f"{page}: {link}"
        if anchor and place.suffix == ".md":
            assert anchor in pages.anchors(place.relative_to(pages.ROOT).as_posix()), link


def test_pictures_and_pages_are_in_use() -> None:
    used = "".join(pages.read(page) for page in pages.pages())
    for picture in (pages.ROOT / "docs" / "images").iterdir():
        assert f"images/{picture.name}" in used, f"{picture.name} is on no page"
    menu = (pages.ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (pages.ROOT / "docs").rglob("*.md"):
        assert page.relative_to(pages.ROOT / "docs").as_posix() in menu
    for script in TUTORIALS:
        assert f"tutorials/{script.stem}.md" in menu
