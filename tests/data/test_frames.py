from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace.data.frames import numeric_matrix
from daace.exceptions import InvalidInput


def test_booleans_and_nullable_numbers_are_numbers() -> None:
    frame = pd.DataFrame({"t": [True, False], "i": pd.array([1, 2], dtype="Int32")})
    assert numeric_matrix(frame, what="x").tolist() == [[1, 1], [0, 2]]


@pytest.mark.parametrize(
    ("values", "remedy", "in_shell"),
    [
        ([1.0, np.nan], r"for example with frame\.fillna", "drop these rows or fill them."),
        (["a", "b"], r"drop\(columns=\['c'\]\)", "leave the others out with --drop."),
        (["1", "2"], r"astype\(\{'c': float\}\)", "or leave them out with --drop."),
        (["1,0", "2"], r"str\.replace\(',', ''\)", "or leave them out with --drop."),
    ],
)
def test_remedies_are_for_python_or_for_a_shell(
    values: list[object], remedy: str, in_shell: str
) -> None:
    with pytest.raises(InvalidInput, match=remedy) as error:
        numeric_matrix(pd.DataFrame({"c": values}), what="frame")
    told = error.value.wording(lambda _: "The table", shell=True)
    assert told.startswith("The table must ")
    assert told.endswith(in_shell)
    assert "frame" not in told
