# %% [markdown]
# # Credit, with your own classifier
#
# A bank decides with a LightGBM model on a table with counts, categories, zeros and gaps. An
# applicant was refused. What would have to change, as *this* model sees it, through states that
# occur in practice?
#
# The table is simulated (`daace.data.loans`): anyone can run this page, and it contains no personal
# data.

# %%
from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd

import daace

loans = daace.load_table("loans").to_frame()
loans.head()

# %% [markdown]
# ## How the columns are read
#
# Nothing is encoded or imputed. A third of the applicants have no savings at all, and young ones
# often no credit score: both are *atoms*, states of their own.

# %%
train, rest = loans.iloc[:2000], loans.iloc[2000:]
kinds = daace.Table.from_frame(train, target="decision").kinds
kinds[["feature", "kind", "atoms", "perhaps immutable"]]

# %% [markdown]
# ## The model that decides
#
# It is fitted as usual. LightGBM takes pandas categories and gaps as they are; a pipeline with
# encoders works as well.

# %%
as_seen = {"housing": "category", "purpose": "category"}
X, y = train.drop(columns="decision").astype(as_seen), train["decision"]
model = lightgbm.LGBMClassifier(n_estimators=60, num_leaves=15, n_jobs=1, verbose=-1)
model.fit(X, y)
accuracy = (model.predict(rest[X.columns].astype(X.dtypes)) == rest["decision"]).mean()
print(f"right on {accuracy:.0%} of the other applications")

# %% [markdown]
# ## Density and explainer
#
# The density determines what is plausible; the classifier decides who gets the loan. The
# classifier receives rows with the columns and dtypes of the density's table, so we fit the density
# to the same frame.

# %%
fitted = daace.fit(X.assign(decision=y), target="decision")
explainer = replace(fitted, classifier=model, min_posterior=0.7)

# %% [markdown]
# ## One refused applicant

# %%
unseen = rest[X.columns].astype(X.dtypes)
granted = model.predict_proba(unseen)[:, list(model.classes_).index("granted")]
person = unseen.iloc[np.argmin(np.abs(granted - 0.2))]
rules = daace.Constraints(
    fixed=["age", "purpose"],
    only_up=["education", "employed_years"],
    max_rise={"employed_years": 3},
    upper={"months": 60},
)
e = explainer.explain(person, target="granted", constraints=rules)
print(e)

# %%
e.plot("steps")

# %% [markdown]
# The end was judged by the model itself, on exactly the row that is returned:

# %%
end = e.path.iloc[[-1]]
pd.Series(model.predict_proba(end)[0], index=model.classes_)

# %% [markdown]
# Other models may disagree. `e.judges` shows what the [committee](../concepts/judges.md) of
# `daace.fit` thinks, which would decide without a classifier of your own.

# %%
e.judges

# %% [markdown]
# ## Why was it refused?
#
# This is a different question: which features count most against the loan now?

# %%
print(explainer.reasons(person, target="granted"))
