"""The published schema of the API against what the service does, as schemathesis tries it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from daace import fit
from daace.web.service import Service

#: Random requests to each route; half of them do not follow the schema.
EXAMPLES = 3


# Rows far from all data overflow on the way to their answers: a warning in the log of a server.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.skipif(find_spec("schemathesis") is None, reason="needs schemathesis")
def test_requests_get_what_the_schema_says(serve, loans, tmp_path):
    """All checks of schemathesis; docs/howto/service.md has the command for all its cases."""
    small = loans.select(["income", "savings", "housing"])
    explainer = fit(small, density="linear-gaussian", judge="density")
    url = serve(Service(explainer)).url
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"]
    command += ["--phases=fuzzing", f"--max-examples={EXAMPLES}", "--generation-deterministic"]
    command += ["--request-timeout=60", "--no-color"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "16 selected / 16 total" in done.stdout
