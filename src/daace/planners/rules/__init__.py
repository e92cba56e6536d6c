"""Rules: what gradient descent cannot keep, planned around it.

`discrete` takes the best path without integers and without a limit on the changes, lets
`few_changes` hold features at the start, and `whole_numbers` try integers near the path;
`relaxation` makes the simpler problems in between. `l1_term` adds a cost for each change instead,
so that fewer features change.
"""

from daace.planners.rules.discrete import solve_discrete
from daace.planners.rules.l1_term import add_l1_term

__all__ = ["add_l1_term", "solve_discrete"]
