"""How many problems a minute a study answers, by one worker and by two.

Densities and graphs are made first. Then the planning of the whole study is timed with one worker
and with two, in turn, on one machine that has nothing else to do; new processes are part of it.

    python -m benchmarks.throughput OUTPUT --rounds 3
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

import pandas as pd

from daace._workers import Workers
from daace.study.run import CACHE, run_study
from daace.study.spec_reader import read_spec

STUDY = Path(__file__).parents[1] / "studies" / "quick.toml"


def measure(folder: Path, *, rounds: int) -> pd.DataFrame:
    """Return problems per minute and the largest memory of a worker, round by round."""
    spec, lines = read_spec(STUDY), []
    run_study(spec, folder / "first", workers=Workers(jobs=2))
    for number in range(rounds):
        for jobs in (1, 2) if number % 2 else (2, 1):
            place = folder / f"{jobs}-{number}"
            shutil.rmtree(place, ignore_errors=True)  # of a run that was stopped
            shutil.copytree(folder / "first" / CACHE, place / CACHE)
            began = time.perf_counter()
            done = run_study(spec, place, workers=Workers(jobs=jobs))
            speed = 60 * done.new / (time.perf_counter() - began)
            lines.append((number, jobs, speed, done.memory_mb))
            shutil.rmtree(place)
    return pd.DataFrame(lines, columns=["round", "workers", "problems a minute", "memory [MB]"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = measure(options.output, rounds=options.rounds)
    print(lines.to_string(index=False, float_format="%.1f"))
    speed = lines.pivot(index="round", columns="workers", values="problems a minute")
    print("two workers over one:", (speed[2] / speed[1]).round(2).to_list())


if __name__ == "__main__":
    main()
