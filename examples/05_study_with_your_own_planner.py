"""A study with a planner of your own: one small class, and one line in the TOML file.

Run it with `python examples/05_study_with_your_own_planner.py`; it writes my_study.toml, runs it
(after an interruption, run it again to resume) and writes my_study/report/report.html. On the
command line:

    daace study run my_study.toml --out my_study --jobs 2
    daace study report my_study
"""

from pathlib import Path

import numpy as np

from daace import Plan, Planner, Problem
from daace.planners.base import Clock, already_there, arrive, give_up


class NearestDraw(Planner):
    """Go straight to the nearest of many draws that meets the goal."""

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        clock = Clock()
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        draws, _ = problem.landscape.density.sample(1000, rng=rng)
        inside = draws[problem.region.contains(draws)]
        for i in np.argsort(np.linalg.norm(inside - problem.x, axis=1)):
            if problem.met_by(inside[i]):
                return arrive(problem, np.stack([problem.x, inside[i]]), clock)
        return give_up(problem, clock)


STUDY = f"""
name = "my_study"
tables = [
  {{ name = "moons", mixture = "moons" }},
  {{ name = "random-3", mixture = "random", features = 3 }},
]
rows = [500]
instances = 3
penalties = [1, 5]
plausibility = [-0.5]
certainty = [-0.5]
scale = "relative"

[densities.clgn]
kind = "linear-gaussian"

[algorithms.PathOptimizer]
planner = "PathOptimizer"
density = "truth"
vertices = [0, 1, 2]

[algorithms.BayesACE]
planner = "PathOptimizer"
density = "clgn"
vertices = [0, 1]

[algorithms.mine]
planner = "{Path(__file__).stem}:NearestDraw"   # this is the line
density = "truth"
"""

if __name__ == "__main__":
    import sys

    from daace.study import read_results, read_spec, run_study, write_report

    sys.path.append(str(Path(__file__).parent))  # not needed for a planner beside its TOML file
    Path("my_study.toml").write_text(STUDY)
    print(run_study(read_spec("my_study.toml"), "my_study"))
    problems = read_results("my_study").problems
    print(problems.groupby("algorithm")[["cost_relative", "l2", "seconds"]].median().round(3))
    print("written:", write_report("my_study", "my_study/report"))
