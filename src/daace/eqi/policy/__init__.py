"""What to ask for a county, the answers, and the study over many counties."""

from daace.eqi.policy.advisor import Advisor, read_advisor
from daace.eqi.policy.recourse import CountyPath, Recourse
from daace.eqi.policy.request import Ask
from daace.eqi.policy.study import run_atlas, run_study

__all__ = ["Advisor", "Ask", "CountyPath", "Recourse", "read_advisor", "run_atlas", "run_study"]
