# %% [markdown]
# # A study of your own planner
#
# You have an idea for a better planner. A study compares it with others on many problems, by the
# paper's statistical tests, and resumes after an interruption.
#
# ## The planner
#
# A planner is a class with `solve`. This one goes straight to the nearest of many samples that
# meets the goal.

# %%
from pathlib import Path

source = '''
from dataclasses import dataclass

import numpy as np

from daace import Planner
from daace.planners.base import Clock, already_there, arrive, give_up


@dataclass(frozen=True)
class NearestDraw(Planner):
    """Go straight to the nearest of many draws that meets the goal."""

    draws: int = 1000

    def solve(self, problem, *, rng):
        clock = Clock()
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        draws, _ = problem.landscape.density.sample(self.draws, rng=rng)
        draws = problem.feasible.nearest(draws)  # that the constraints allow
        slack = problem.region.slack(draws)  # nats above the thresholds of log p and posterior
        clock.evaluations += len(draws)
        for i in np.argsort(np.linalg.norm(draws - problem.x, axis=1)):
            if (slack[i] >= 0).all() and problem.met_by(draws[i]):
                return arrive(problem, np.stack([problem.x, draws[i]]), clock)
        return give_up(problem, clock, reachable=tuple(slack.max(axis=0)))
'''
Path("my_planners.py").write_text(source)

# %% [markdown]
# Does it obey the laws of planners? `check_planner` raises an error that names the first one that
# it breaks.

# %%
import sys

sys.path.insert(0, ".")
from my_planners import NearestDraw

import daace
from daace.testing import check_planner

network = daace.LinearGaussianNetwork().fit(daace.load_table("iris"))
start = network.to_model([5.0, 3.4, 1.5, 0.2])[0]
check_planner(
    NearestDraw(), daace.Problem(start, daace.Landscape(network), daace.Goal("virginica"))
)

# %% [markdown]
# ## The study
#
# One line of the file names the planner. All keys of its section but `planner` and `density` are
# passed to its constructor.

# %%
Path("my_study.toml").write_text("""
name = "my_study"
tables = [
  { name = "moons", mixture = "moons" },
  { name = "random-3", mixture = "random", features = 3 },
]
rows = [500]
instances = 3
penalties = [1, 5]
plausibility = [-0.5]
certainty = [-0.5]
scale = "relative"

[algorithms.PathOptimizer]
planner = "PathOptimizer"
density = "truth"
vertices = [0, 1, 2]

[algorithms.Roadmap]
planner = "Roadmap"
density = "truth"

[algorithms.mine]
planner = "my_planners:NearestDraw"
density = "truth"
draws = 500
""")

# %%
from daace.study import read_results, read_spec, run_study, write_report

print(run_study(read_spec("my_study.toml"), "my_study"))

# %% [markdown]
# ## Results
#
# Every answer is a record; the frame has one row per problem and algorithm.

# %%
problems = read_results("my_study").problems
problems.groupby("algorithm")[["cost_relative", "l2", "seconds"]].median().round(3)

# %% [markdown]
# A straight line to a sample costs more than a path that bends, which is no surprise. The report
# has ranks, tests and figures:

# %%
report = write_report("my_study", "my_study/report")
sorted(path.name for path in Path("my_study/report").iterdir())[:5]
