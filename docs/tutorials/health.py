# %% [markdown]
# # Health, with privacy
#
# Two questions about 569 breast tumours, described by measurements of cell nuclei and classed as
# benign or malignant: how would this malignant tumour have to differ to be classified as benign?
# And what does the model know about single patients?
#
# This is not advice on treatment: nobody can change a measurement. Here a path explains what the
# model looks at.

# %%
import numpy as np

import daace

names = ["mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry"]
full = daace.load_table("breast_cancer").select(names)
train, held_out = full.split(0.3, rng=np.random.default_rng(0))
train

# %% [markdown]
# ## A kernel density
#
# With a few hundred rows, a kernel density estimate follows any shape. The bandwidth is chosen by
# cross-validation. The density alone judges here; without `judge="density"` a committee would be
# trained, too.

# %%
kde = daace.fit(train, density="kde", judge="density")
kde.check(held_out)

# %%
patient = held_out.to_frame().query("`class` == 'malignant'").iloc[3]
e = kde.explain(patient, target="benign", min_posterior=0.8)
print(e)

# %%
e.plot("landscape")

# %% [markdown]
# Is the end somebody's record? No: the distance of each waypoint to the closest training row is
# above 0.

# %%
e.nearest_rows(train)

# %% [markdown]
# ## What a model file reveals
#
# A kernel density consists of its rows, so it is not saved without an explicit request:

# %%
try:
    kde.save("kde.daace")
except daace.PrivacyError as error:
    print(error)

# %% [markdown]
# The probability that a training row is denser than a held-out one measures how well training rows
# can be identified: 0.5 means not at all.

# %%
network = daace.fit(train, judge="density")
print(f"kernel density: {kde.membership(train, held_out):.2f}")
print(f"network:        {network.membership(train, held_out):.2f}")

# %% [markdown]
# A network with profiles consists of parameters, each of which rests on at least ten rows. Its
# file can be handed to others:

# %%
network.save("network.daace")
again = daace.load("network.daace")
f = again.explain(patient, target="benign", min_posterior=0.8)
f.changes()

# %% [markdown]
# What the network learned can be read: arcs with their sign, and what sets each profile apart.

# %%
network.network().plot()

# %%
network.density.profiles_
