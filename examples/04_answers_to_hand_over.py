"""From one answer to something to hand over: alternatives, trade-off, checks, many rows.

Run it with `python examples/04_answers_to_hand_over.py`; it writes why.html, tradeoff.png and
answers.csv.
"""

import numpy as np

import daace

table = daace.load_table("wine_cultivars")
train, held_out = table.split(0.3, rng=np.random.default_rng(0))
explainer = daace.fit(train)

# Can the model be trusted? It would warn if not.
print(explainer.check(held_out))
print(f"told apart from others, its training rows are: {explainer.membership(train, held_out):.2f}")

# One answer, two others, and each step in words.
wine = held_out.to_frame().query("`class` == 'class_0'").iloc[6]
e = explainer.explain(wine, target="class_1", alternatives=2)
print("\n".join(["", *e.steps(), ""]))
for other in e.alternatives:
    print(f"or, at {other.cost / e.cost:.2f} times the cost: {' '.join(other.steps(features=2))}")
e.to_html("why.html")

# Is it a copy of somebody? Would another sample have said the same?
print(e.nearest_rows(train))
print(e.stability(train, seeds=1, refits=3))

# Short or plausible: the scan over penalties.
scan = explainer.tradeoff(wine, target="class_1", penalties=(0, 1, 5))
print(scan.to_frame().round(2))
scan.plot().savefig("tradeoff.png", dpi=150)

# Is the path longer for some groups? And all rows of a file, however large.
rows = held_out.to_frame()
groups = np.where(rows["alcohol"] > 13, "strong", "light")
print(explainer.audit(rows, by=groups, target="class_1").to_frame().round(2))
rows.to_csv("wines.csv", index=False)
print(explainer.explain_file("wines.csv", "answers.csv", target="class_1"))
