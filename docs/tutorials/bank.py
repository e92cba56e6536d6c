# %% [markdown]
# # A batch for a bank
#
# Every refused applicant of a month gets a notice with the reasons and a path. The answers keep
# the customer's id, rows that cannot be answered carry the reason, and the bank checks whether the
# path is longer for some groups.

# %%
from dataclasses import replace

import numpy as np
import pandas as pd

import daace
from daace.data.loans import draw_loans

pd.set_option("display.max_colwidth", None)

history = draw_loans(1200, rng=np.random.default_rng(1))
explainer = daace.fit(history, target="decision")

# %% [markdown]
# The month's applications have two columns that the model does not use, an id and a branch, and
# one row with a typo.

# %%
month = draw_loans(60, rng=np.random.default_rng(2))
month.insert(0, "customer", [f"C{i:03}" for i in range(len(month))])
month["branch"] = np.where(np.arange(len(month)) % 3 == 0, "online", "town")
refused = month[month["decision"] == "refused"].head(16).drop(columns="decision")
refused["months"] = refused["months"].astype(object)
refused.iloc[4, refused.columns.get_loc("months")] = "3o"

# %% [markdown]
# ## All at once

# %%
rules = daace.Constraints(
    fixed=["age", "purpose"], only_up=["education", "employed_years", "savings"], max_changed=5
)
careful = replace(explainer, constraints=rules)
many = careful.explain_batch(refused, target="granted")
print(many.summary())

# %% [markdown]
# Ids and other columns are passed through; the row with the typo has a status and a note instead
# of a path.

# %%
many.to_frame(detail=True)[["customer", "branch", "status", "cost", "steps", "changes"]].head(6)

# %%
many.to_frame().query("status == 'invalid_row'")[["customer", "notes"]]

# %% [markdown]
# ## A notice
#
# `reasons` names the features that count most against the loan now, in the bank's own words where
# it has some. It is a draft for a lawyer to check, not legal advice.

# %%
own = {
    "credit_score": "Your credit score is low.",
    "late_payments": "Some payments were late.",
    "savings": "There are no savings with us.",
}
e = many[1]
print(careful.reasons(e.path.iloc[0], target="granted", most=3, sentences=own))
print()
print("\n".join(e.steps()))

# %% [markdown]
# ## Audit
#
# Is the path longer for some groups? They need not be features of the model.

# %%
asked = refused[refused["months"] != "3o"]
groups = np.where(asked["age"] > 35, "over 35", "up to 35")
audit = careful.audit(asked, by=groups, target="granted")
print(audit)

# %% [markdown]
# ## A file that is larger than memory
#
# `explain_file` reads and writes in blocks; after an interruption, the same call resumes where it
# stopped.

# %%
refused.to_csv("refused.csv", index=False)
print(careful.explain_file("refused.csv", "answers.csv", target="granted"))
pd.read_csv("answers.csv").filter(["customer", "status", "changes"]).head(3)
