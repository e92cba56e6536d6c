"""Rules that gradient descent cannot keep.

`discrete` takes the best paths without integers and without a limit on the changes, lets
`few_changes` hold features at the start, and `whole_numbers` try integers near the paths;
`elimination` chooses features to hold, `held_paths` moves the others downhill, and `relaxation`
makes the simpler problems in between. `l1_term` adds a cost for each change instead, so that fewer
features change.
"""

from daace.planners.rules.discrete import DiscreteSearch
from daace.planners.rules.l1_term import add_l1_term

__all__ = ["DiscreteSearch", "add_l1_term"]
