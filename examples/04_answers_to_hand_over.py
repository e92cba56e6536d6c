"""From one answer to something to hand over: alternatives, trade-off, checks, many rows.

Run it with `python examples/04_answers_to_hand_over.py`; it writes why.html, tradeoff.png and
answers.csv.
"""

import numpy as np

import daace

table = daace.load_table("wine_cultivars")
train, held_out = table.split(0.3, rng=np.random.default_rng(0))
explainer = daace.fit(train)

# Does the model fit held-out rows, and does it reveal its training rows (0.5: not at all)?
print(explainer.check(held_out))
print(f"membership: {explainer.membership(train, held_out):.2f}")

# One answer in words, and two alternatives.
wine = held_out.to_frame().query("`class` == 'class_0'").iloc[6]
e = explainer.explain(wine, target="class_1", alternatives=2)
print("\n".join(["", *e.steps(), ""]))
for other in e.alternatives:
    print(f"or, at {other.cost / e.cost:.2f} times the cost: {' '.join(other.steps(features=2))}")
e.to_html("why.html")

# Is a waypoint somebody's record? Does the answer depend on the seed or the sample?
print(e.nearest_rows(train))
print(e.stability(train, seeds=1, refits=3))

# Short or plausible: the scan over penalties.
scan = explainer.tradeoff(wine, target="class_1", penalties=(0, 1, 5))
print(scan.to_frame().round(2))
scan.plot().savefig("tradeoff.png", dpi=150)

# Is the path longer for some groups? Then explain all rows of a file, which may be large.
rows = held_out.to_frame()
groups = np.where(rows["alcohol"] > 13, "strong", "light")
print(explainer.audit(rows, by=groups, target="class_1").to_frame().round(2))
rows.to_csv("wines.csv", index=False)
print(explainer.explain_file("wines.csv", "answers.csv", target="class_1"))
