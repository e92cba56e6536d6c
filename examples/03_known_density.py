"""A density that is known: two moons. The path bends where the straight line is implausible.

Run it with `python examples/03_known_density.py`; it writes moons.png.
"""

import daace
from daace.data.synthetic import moons

density = daace.GaussianMixture(*moons(width=0.15))
start = {"x1": -1.0, "x2": 0.0}  # one end of the upper moon

for penalty in (0, 1, 5):
    e = daace.Explainer(density, penalty=penalty).explain(start, target="lower")
    length = daace.Landscape(density, penalty=0).path_cost(density.to_model(e.path))
    print(f"penalty {penalty}: {len(e.path)} waypoints, length {length:.2f}, cost {e.cost:.2f}")

# More waypoints follow the terrain more closely.
planner = daace.PathOptimizer(vertices=8)
e = daace.Explainer(density, penalty=5, planner=planner).explain(start, target="lower")
print(e.path.round(2))
e.plot("landscape").savefig("moons.png", dpi=150)
print("written: moons.png")
