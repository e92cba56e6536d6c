"""A request for a plan: algorithm, penalty, improvement, rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from daace._checks import check_choice, check_integer, check_number
from daace.exceptions import InvalidInput

Algorithm: TypeAlias = Literal["BayesACE", "BayesACE by NSGA-II", "DAACE", "FACE", "Wachter"]
ALGORITHMS = ("BayesACE", "BayesACE by NSGA-II", "DAACE", "FACE", "Wachter")

#: Algorithms that plan over the network.
OVER_NETWORK = ("BayesACE", "BayesACE by NSGA-II")

#: Algorithms whose waypoints are counties that exist.
OVER_ROWS = ("FACE", "Wachter")

#: What a county cannot set: weather, deposition by rain, rock, its people and their votes.
UNSETTABLE = (
    "Radon", "AvgOfD3_ave", "CaAve", "Kave", "NO3Ave", "ClAve", "SO4Ave", "HgAve", "W_ALPHA",
    "DEMO2008", "HH_Inc",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Ask:
    """How to plan.

    Args:
        algorithm: 'BayesACE' plans over the network, by gradients or, as the paper does, 'by
            NSGA-II'; 'DAACE' plans over the flow; 'FACE' and 'Wachter' end in counties that exist,
            judged by the flow.
        penalty: how strongly the path avoids implausible regions.
        improve: number of categories to improve by.
        consistent: plan over the variables alone; the indices follow by their formulas.
        equity: let no domain index get worse at any point of the path.
        fixed: variables that keep their value.
        seed: seed of the search; a search by gradients does not use it.

    Example:
        >>> Ask(consistent=True).mode
        'consistent'
    """

    algorithm: Algorithm = "BayesACE"
    penalty: float = 5.0
    improve: int = 2
    consistent: bool = False
    equity: bool = False
    fixed: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_number("penalty", self.penalty, at_least=0)
        check_integer("improve", self.improve, at_least=1)
        check_integer("seed", self.seed, at_least=0)
        if self.consistent and self.algorithm in OVER_ROWS:
            raise InvalidInput(
                argument="consistent",
                expected=f"go with BayesACE or DAACE. {self.algorithm} ends in a county that "
                "exists",
                remedy="it cannot compute indices",
            )

    @property
    def mode(self) -> str:
        """Name of the rules: 'free', 'equity', 'consistent' or 'consistent equity'."""
        rules = [name for name in ("consistent", "equity") if getattr(self, name)]
        return " ".join(rules) or "free"
