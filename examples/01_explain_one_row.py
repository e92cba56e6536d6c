"""One row: what would have to change, and how to get there.

Run it with `python examples/01_explain_one_row.py`; it writes why.html in the current folder.
"""

import daace

table = daace.load_table("breast_cancer")
case = table.to_frame().iloc[499]  # a malignant case ...
others = table.take([row for row in range(len(table)) if row != 499])  # ... kept out of the fit

explainer = daace.fit(others, density="linear-gaussian")
e = explainer.explain(case, target="benign")

print(e)  # the steps, in original units
print(e.changes().head())  # the largest changes, as a frame
print(e.path.iloc[:, :4])  # the waypoints: start first, counterfactual last

# Some things cannot change, and some only in one direction; the end should be more certain.
rules = daace.Constraints(fixed=["mean symmetry"], only_down=["mean area"])
careful = explainer.explain(case, target="benign", constraints=rules, min_posterior=0.9)
print(f"\nwith rules: {careful.step_count} steps, cost {careful.cost:.2f} instead of {e.cost:.2f}")

# If nothing is found: no exception, but a status, and what to relax.
greedy = explainer.explain(case, target="benign", plausibility=4)
print(f"\n{greedy}")

e.to_html("why.html")
print("\nwritten: why.html")
