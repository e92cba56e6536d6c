from __future__ import annotations

import signal
import subprocess
import sys

import httpx
import pytest

from daace import InvalidInput, MissingDependency
from daace.web.people import People
from daace.web.server import Address, check_installed, load_service


def test_elsewhere_than_on_this_machine_a_token_is_needed():
    assert Address().url(80) == "http://127.0.0.1:80/"
    assert Address(host="::1").url(80) == "http://[::1]:80/"
    everywhere = Address(host="0.0.0.0")
    assert len(everywhere.token) > 20
    assert everywhere.url(80) == f"http://127.0.0.1:80/?token={everywhere.token}"
    assert Address(host="0.0.0.0", token="own").token == "own"
    with pytest.raises(InvalidInput, match="'port' must be between 0 and 65535"):
        Address(port=99999)


def test_the_packages_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(MissingDependency, match=r"pip install 'daace\[web\]'"):
        check_installed()


def test_a_file_of_people_needs_every_feature(lender, tmp_path):
    (tmp_path / "few.csv").write_text("age\n31\n")
    with pytest.raises(InvalidInput, match="every feature"):
        People.of_file(tmp_path / "few.csv", lender.density)


def test_a_word_among_numbers_is_a_gap(lender, loans, tmp_path):
    frame = loans.to_frame().head(3).astype({"income": object})
    frame.loc[1, "income"] = "plenty"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    people = People.of_file(tmp_path / "rows.csv", lender.density)
    assert [person["row"]["income"] for person in people.page()["rows"]] == [
        frame["income"][0], None, frame["income"][2],
    ]  # fmt: skip


def test_the_hash_is_that_of_the_file(lender, tmp_path):
    lender.save(tmp_path / "model.daace")
    service = load_service(tmp_path / "model.daace")
    assert len(service.digest) == 64
    assert service.name == "model"
    assert service.people.made_up


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_serves_until_it_is_stopped(lender, loans, tmp_path, number, code):
    lender.save(tmp_path / "model.daace")
    loans.to_frame().to_csv(tmp_path / "rows.csv", index=False)
    # A process that a shell starts in the background may have been told to ignore SIGINT.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from daace.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "serve", str(tmp_path / "model.daace")]
    with subprocess.Popen(
        [*command, "--data", str(tmp_path / "rows.csv"), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        url = server.stdout.readline().split()[-1]
        facts = httpx.get(f"{url}api/rows", timeout=60, trust_env=False).json()
        assert facts["of"] == len(loans)
        server.send_signal(number)
        _, told = server.communicate(timeout=60)
    assert server.returncode == code
    assert "Traceback" not in told
