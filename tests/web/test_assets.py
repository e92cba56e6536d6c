from __future__ import annotations

import re

from daace.web.assets import ENTRY, joined_module, page, style_sheet


def test_every_file_is_part_of_the_module(static):
    text = joined_module()
    for path in static.glob("*.js"):
        assert text.count(f"// {path.name}\n") == 1
    assert not re.search(r"^import ", text, re.MULTILINE)
    assert re.findall(r"^export .*", text, re.MULTILINE) == ["export default {"]


def test_names_at_the_top_are_the_only_ones_of_their_kind():
    found = re.findall(
        r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", joined_module(), re.MULTILINE
    )
    assert len(found) > 50
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


def test_nothing_is_fetched_from_elsewhere():
    for text in (joined_module(), style_sheet(), page()):
        addresses = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s'\"]*", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}
    assert "innerHTML" not in joined_module()
    assert ENTRY in page()
