"""The paper's study, as one client of the machinery: its protocol, claims and tests.

Valero-Leal, E., Larrañaga, P. and Bielza, C. (2025), "Actionable counterfactual explanations using
Bayesian networks and path planning with applications to environmental quality improvement".
"""

from daace.study.client import StudyClient, TableFact
from daace.study.paper.claims import Claim, check_claims
from daace.study.paper.figure_list import draw_paper_figures
from daace.study.paper.normality import HenzeZirkler, henze_zirkler, p_of_normality, show_p
from daace.study.paper.protocol import note_differences
from daace.study.paper.sections import write_sections
from daace.study.results import Reference

__all__ = ["PAPER", "Claim", "HenzeZirkler", "check_claims", "henze_zirkler"]

#: Hand it to `run_study`, `read_results` (its reference) and `write_report`.
PAPER = StudyClient(
    facts=(TableFact("normality", "p of normality", p_of_normality, show_p),),
    reference=Reference("FACE GT", "to_face_gt"),
    note_plan=note_differences,
    write_sections=write_sections,
    draw_figures=draw_paper_figures,
)
