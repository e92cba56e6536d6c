"""What a release says of itself agrees: versions, licences, targets of the workflow."""

from __future__ import annotations

import re
import tomllib

import daace
from tests.pages import ROOT, read

PROJECT = tomllib.loads(read("pyproject.toml"))["project"]


def test_the_licence_of_every_dependency_is_listed() -> None:
    page = read("docs/licences.md")
    for wanted in PROJECT["dependencies"]:
        assert re.split(r"[^\w-]", wanted)[0] in page, wanted
    for extra, dependencies in PROJECT["optional-dependencies"].items():
        assert f"`daace[{extra}]`" in page
        for wanted in dependencies:
            assert re.split(r"[^\w-]", wanted)[0] in page, wanted


def test_citation_and_readme_are_of_this_version() -> None:
    assert f"| version compared | {daace.__version__} |" in read("README.md")
    assert f"version: {daace.__version__}" in read("CITATION.cff").splitlines()
    assert "license: MIT" in read("CITATION.cff")


def test_the_workflow_runs_targets_that_there_are() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    workflow = read(".github/workflows/ci.yml")
    used = set(re.findall(r"run: make ([a-z-]+)", workflow))
    assert {"test", "docs", "release"} <= used <= targets
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f'"{lowest}"' in workflow


def test_the_help_of_make_names_every_target() -> None:
    makefile = read("Makefile")
    listed = set(re.findall(r"^#   make ([a-z-]+)", makefile, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    assert listed == {*phony[1].split()} - {"help"}
    assert (ROOT / "LICENSE").exists()
