"""Explanations: plans in the user's units and words.

A call of a front door (`Explainer`) goes through the rooms in this order: `asking` (settings and
rows become a query, its problems are solved), `judging` (committee and classifiers), `answers` (a
plan becomes an answer, with its words and tables), `pictures` and `pages`. `several` holds what is
made of many answers, `trust` what tells whether a model and its answers can be trusted, `files`
what is read and written.
"""

from daace.explain.answers.summary import Summary
from daace.explain.decision import DecisionReasons
from daace.explain.explainer import Explainer
from daace.explain.explanation import Explanation
from daace.explain.fitting import fit
from daace.explain.loading import load
from daace.explain.several.audit import Audit
from daace.explain.several.batch import Batch
from daace.explain.several.front import ExplanationFront
from daace.explain.several.tradeoff import Tradeoff
from daace.explain.trust.check import Check
from daace.explain.trust.network import Network
from daace.explain.trust.stability import Stability

__all__ = [
    "Audit",
    "Batch",
    "Check",
    "DecisionReasons",
    "Explainer",
    "Explanation",
    "ExplanationFront",
    "Network",
    "Stability",
    "Summary",
    "Tradeoff",
    "fit",
    "load",
]
