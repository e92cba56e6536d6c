"""Laws that every density and every planner must obey, to check your own.

Each law is a function that raises `AssertionError` with a sentence about what does not hold.
`check_density` and `check_planner` check all of them. `import daace` does not load this package.
"""

from daace.testing.density_laws import DENSITY_LAWS, check_density, check_refits
from daace.testing.planner_laws import PLANNER_LAWS, check_planner

__all__ = ["DENSITY_LAWS", "PLANNER_LAWS", "check_density", "check_planner", "check_refits"]
