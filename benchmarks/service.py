"""The explorer's API against the same calls in Python, and under the load of many clients.

First the same questions are asked in turn of `Explainer.explain` and of the API on loopback, each
row for the first time: what the API takes more is JSON, views, threads and HTTP. CPU time is that
of the process that answers, and says more on a busy machine. Then clients ask
for a minute, all at once, each about its own rows; every answer is compared with Python's.

    python -m benchmarks.service --clients 50 --seconds 60
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
from threadpoolctl import threadpool_limits

import daace
from daace import Explainer, load_table
from daace.web.people import People

#: Models: a table, and who decides the class.
MODELS = [("loans", "committee"), ("loans", "density"), ("breast_cancer", "committee")]


class Server:
    """`daace serve` in a process of its own."""

    def __init__(self, model: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "daace", "serve", str(model), "--port", str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=600, trust_env=False,
            limits=httpx.Limits(max_connections=None),
        )  # fmt: skip
        while True:
            try:
                self.client.get("/api/model").raise_for_status()
                return
            except httpx.ConnectError:
                time.sleep(0.1)

    @property
    def memory(self) -> float:
        """Memory that the server holds, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def cpu(self) -> float:
        """CPU time that the server has taken, in seconds."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def explain(self, row: dict[str, Any], target: str | None = None) -> dict[str, Any]:
        answer = self.client.post("/api/explain", json={"row": row, "target": target})
        answer.raise_for_status()
        return answer.json()

    def stop(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait(30)


def side_by_side(server: Server, explainer: Explainer, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the seconds and CPU seconds of each answer, from Python and from the API, in turn."""
    askers = {
        "python": (explainer.explain, time.process_time),
        "api": (server.explain, lambda: server.cpu),
    }
    lines = []
    for number, row in enumerate(rows):
        line = {}
        for who in ("python", "api") if number % 2 else ("api", "python"):
            ask, cpu = askers[who]
            began, used = time.perf_counter(), cpu()
            ask(row)
            line[who] = time.perf_counter() - began
            line[f"{who} cpu"] = cpu() - used
        lines.append(line)
    return pd.DataFrame(lines).iloc[2:]  # the first two fill caches


def load(
    server: Server,
    explainer: Explainer,
    rows: list[dict[str, Any]],
    *,
    clients: int,
    seconds: float,
) -> dict[str, Any]:
    """Let clients ask at once; return how many answers came, were wrong, or failed."""
    costs = [explainer.explain(row).cost for row in rows]
    before, end = server.memory, time.monotonic() + seconds
    peak = before

    def ask(client: int) -> list[str]:
        nonlocal peak
        rng, found = random.Random(client), []
        while time.monotonic() < end:
            number = rng.randrange(len(rows))
            # Another time limit makes it another question, so that no kept answer is sent.
            settings = {"time_limit": rng.uniform(50, 60)}
            try:
                answer = server.client.post(
                    "/api/explain", json={"row": rows[number], "settings": settings}
                )
                answer.raise_for_status()
                told = json.loads(answer.text)
                same = told["cost"] == costs[number] and told["question"]["row"] == rows[number]
                found.append("right" if same else "wrong")
            except httpx.HTTPError:
                found.append("failed")
            peak = max(peak, server.memory)
        return found

    with ThreadPoolExecutor(clients) as pool:
        found = [one for some in pool.map(ask, range(clients)) for one in some]
    counts = {name: found.count(name) for name in ("right", "wrong", "failed")}
    return {**counts, "before [MB]": before, "peak [MB]": peak, "after [MB]": server.memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", default="", help="models whose name contains this")
    options = parser.parse_args()
    for name, judge in MODELS:
        if options.only not in f"{name} {judge}":
            continue
        explainer = daace.fit(load_table(name), judge=judge)
        people = People.drawn(explainer.density)
        rows = [people.row(number)["row"] for number in range(options.rows)]
        with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
            path = Path(folder) / "model.daace"
            explainer.save(path)
            server = Server(path)
            try:
                times = 1000 * side_by_side(server, explainer, rows)
                more, cpu = times["api"] - times["python"], times["api cpu"] - times["python cpu"]
                print(
                    f"{name}, {judge}: Python {times['python'].median():.0f} ms, "
                    f"API {more.median():+.0f} ms (medians); CPU {times['python cpu'].mean():.0f} "
                    f"ms, API {cpu.mean():+.0f} ms (means)",
                    flush=True,
                )
                limits = {"clients": options.clients, "seconds": options.seconds}
                print(
                    f"  {options.clients} clients: {load(server, explainer, rows, **limits)}",
                    flush=True,
                )
            finally:
                server.stop()


if __name__ == "__main__":
    main()
