from __future__ import annotations

import re

import pytest

from daace.web.assets import STYLES, joined_module, page, style_sheet

PAGES = sorted(STYLES)


def test_every_file_is_part_of_a_module(static):
    texts = [joined_module(name) for name in PAGES]
    for path in static.glob("*.js"):
        counts = [text.count(f"// {path.name}\n") for text in texts]
        assert max(counts) == 1
    assert not any(re.search(r"^import ", text, re.MULTILINE) for text in texts)
    assert re.findall(r"^export .*", joined_module("explorer"), re.MULTILINE) == [
        "export default {"
    ]


@pytest.mark.parametrize(("name", "fewest"), [("explorer", 50), ("counties", 10)])
def test_names_at_the_top_are_the_only_ones_of_their_kind(name, fewest):
    found = re.findall(
        r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)",
        joined_module(name),
        re.MULTILINE,
    )
    assert len(found) > fewest
    assert sorted(found) == sorted(set(found))


def test_every_name_that_is_imported_is_exported(static):
    for path in static.glob("*.js"):
        text = path.read_text()
        for names, other in re.findall(r'import \{([^}]*)\} from "\./(\w+\.js)"', text):
            exported = (static / other).read_text()
            for name in filter(None, (name.strip() for name in names.split(","))):
                assert re.search(
                    rf"^export (async )?(function|class|const) {name}\b", exported, re.M
                )


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_fetched_from_elsewhere(name):
    for text in (joined_module(name), style_sheet(name), page(name)):
        addresses = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s'\"]*", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}
    assert "innerHTML" not in joined_module(name)
    assert f"/{name}.js" in page(name)
