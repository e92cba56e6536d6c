from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from daace.eqi.data.outlines import find_outlines, read_outlines
from daace.exceptions import InvalidInput


def test_rings_are_put_together(map_file: Path) -> None:
    rings = read_outlines(map_file)
    (left,) = rings[6037]
    assert left[0].tolist() == left[-1].tolist() == [11.0, -1.0]  # closed
    assert sorted({tuple(p) for p in left.tolist()}) == [(10, -1), (10, 3), (11, -1), (11, 3)]
    right, island = rings[2158]
    assert sorted({tuple(p) for p in right.tolist()}) == [(11, -1), (11, 3), (12, -1), (12, 3)]
    assert right[0].tolist() == right[-1].tolist()  # the shared arc, backwards
    assert np.abs(island - [14.5, 17.0]).max() <= 2
    assert rings[2270] is rings[2158]  # the EQI's older code


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"transform": {}, "arcs": [[1]]}'])
def test_files_that_are_no_map(content: str, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match="must be TopoJSON with an object 'counties'"):
        read_outlines(path)


def test_where_the_map_is(map_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_outlines(map_file) == map_file
    with pytest.raises(InvalidInput, match="'--map' must be a TopoJSON file"):
        find_outlines(tmp_path / "nowhere.json")
    monkeypatch.delenv("DAACE_DATA", raising=False)
    assert find_outlines(None) is None
    monkeypatch.setenv("DAACE_DATA", str(tmp_path))
    assert find_outlines(None) is None
    place = tmp_path / "map" / "counties-albers-10m.json"
    place.parent.mkdir()
    map_file.rename(place)
    assert find_outlines(None) == place


def test_the_real_map_has_every_county(data_folder: Path) -> None:
    place = data_folder / "map" / "counties-albers-10m.json"
    if not place.is_file():
        pytest.skip("needs the folder map in DAACE_DATA")
    rings = read_outlines(place)
    assert {2270, 46113, 51515, 6037, 36061} <= set(rings)
    assert len(rings) > 3100
