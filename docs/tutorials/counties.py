# %% [markdown]
# # US counties
#
# The application in the paper: what would bring a county into a better category of environmental
# quality? The US Environmental Protection Agency rates counties by 139 variables in five domains.
# Its files are not part of the package; [Counties](../howto/counties.md#data) links to them.

# %%
from daace.eqi import Ask, describe, read_advisor, read_counties

counties = read_counties()
advisor = read_advisor(counties, None)  # fits the restricted network of the paper
print(f"{len(counties.values):,} counties, {counties.values.shape[1]} variables")

# %% [markdown]
# ## One county, two categories better
#
# With `consistent=True` the plan is made over the variables alone; the five indices follow from
# them by EPA's formulas, so that no plan describes a county that cannot exist.

# %%
ask = Ask(improve=2, consistent=True)
plan = advisor.advise([counties.find("Los Angeles")], ask)[0]
print(describe(advisor, plan))

# %% [markdown]
# **The network is not a causal model.** It shows what similar counties in a better category look
# like.
#
# ## The same without loss in any domain

# %%
ask = Ask(improve=2, consistent=True, equity=True)
fair = advisor.advise([counties.find("Los Angeles")], ask)[0]
print(f"{fair.explanation.cost / plan.explanation.cost:.3f} times the cost")

# %%
plan.explanation.changes().head(8)
