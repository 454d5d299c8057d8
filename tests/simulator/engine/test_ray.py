"""The engine of many machines, on clusters of this one. Each test is bounded in time by an alarm."""

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from batch_functions import (
    StubbornError,
    batch,
    deadly,
    doubled,
    failing,
    marked,
    marks,
    start_mapping,
    stubborn,
    wait_until_gone,
)

import simulator.engine.ray_address
import simulator.engine.ray_cluster
from command_line import ROOT
from simulator.engine import Engine, map_batches
from simulator.engine.fingerprints import program_versions
from simulator.errors import MissingError, SociolectError, UsageError

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.slow]
"""One after another: a cluster is a dozen processes."""

pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def bounded(request: pytest.FixtureRequest) -> Iterator[None]:
    seconds = 600 if request.node.get_closest_marker("prove") else 100

    def late(*_: Any) -> None:
        raise TimeoutError(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    """Ray without tokens, which it would keep in the home of whoever tests, and no process of it left at the end."""
    before = descendants(os.getpid())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield
    assert set(descendants(os.getpid())) <= set(before)


@pytest.fixture(scope="module")
def cluster(alone: None) -> Iterator[Any]:
    """Two machines of one core each, and one that only leads; in truth all are this one."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT / "tests"))  # a machine of a cluster finds functions where it finds them
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(2):
            made.add_node(num_cpus=1)
        yield made
    made.shutdown()


@pytest.fixture
def ray_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return where a cluster of ours has its files; its path is short, for sockets are in it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        yield Path(folder)


def parents() -> dict[int, int]:
    """Return every process that has not ended, and which one it comes from."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = path.read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                found[int(path.parent.name)] = int(parent)
    return found


def descendants(of: int) -> list[int]:
    """Return all processes that come from one."""
    everybody, found = parents(), [of]
    for process in found:
        found += [child for child, parent in everybody.items() if parent == process]
    return found[1:]


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("*.parquet"))]


def inline(folder: Path, batches: int) -> list[bytes]:
    map_batches(doubled, map(batch, range(batches)), folder, engine=Engine(workers=1))
    return contents(folder)


@pytest.mark.parametrize("batches", [60, pytest.param(2_000, marks=pytest.mark.prove)])
def test_a_cluster_of_two_of_which_one_is_killed_makes_the_same_bytes(
    tmp_path: Path, ray_folder: Path, batches: int
) -> None:
    handler, before = signal.getsignal(signal.SIGTERM), descendants(os.getpid())
    middle = batches // 2 * 3
    function = partial(deadly, str(tmp_path), (middle,), 1)
    paths = map_batches(function, map(batch, range(batches)), tmp_path / "ray", engine=Engine("ray", workers=2))
    calls = [value for value, _ in marks(tmp_path)]
    assert calls.count(middle) == 2  # the worker was killed with this batch in hand
    assert len(calls) == batches + 1
    assert [path.read_bytes() for path in paths] == contents(tmp_path / "ray") == inline(tmp_path / "inline", batches)
    map_batches(function, map(batch, range(batches)), tmp_path / "local", engine=Engine(workers=2))
    assert contents(tmp_path / "local") == contents(tmp_path / "ray")
    assert sorted(path.name for path in paths) == sorted(path.name for path in (tmp_path / "local").glob("*.parquet"))
    assert set(descendants(os.getpid())) <= set(before)
    assert list(ray_folder.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_cluster_that_runs_is_used_and_left_running(tmp_path: Path, cluster: Any) -> None:
    engine = Engine("ray", address=cluster.address)
    map_batches(partial(marked, str(tmp_path)), map(batch, range(40)), tmp_path / "first", engine=engine)
    assert contents(tmp_path / "first") == inline(tmp_path / "inline", 40)
    map_batches(partial(marked, str(tmp_path)), map(batch, range(50)), tmp_path / "first", engine=engine)
    assert len(marks(tmp_path)) == 50  # only what was missing
    assert contents(tmp_path / "first") == inline(tmp_path / "inline", 50)


def test_errors_are_those_of_any_engine(tmp_path: Path, cluster: Any) -> None:
    engine = Engine("ray", workers=2, address=cluster.address)
    with pytest.raises(ValueError, match="not 12") as raised:
        map_batches(partial(failing, (12, 15)), map(batch, range(20)), tmp_path / "failing", engine=engine)
    assert "This was in batch 4, counted from 0." in raised.value.__notes__
    assert contents(tmp_path / "failing")[:4] == inline(tmp_path / "inline", 4)
    with pytest.raises(RuntimeError, match=f"{StubbornError.__name__}: first second"):
        map_batches(stubborn, map(batch, range(4)), tmp_path / "stubborn", engine=engine)
    with pytest.raises(SociolectError, match=r"Batch 5 .* ended the process that worked on it 3 times"):
        map_batches(partial(deadly, str(tmp_path), (15,), 99), map(batch, range(9)), tmp_path / "deadly", engine=engine)
    assert [value for value, _ in marks(tmp_path)].count(15) == 3
    assert contents(tmp_path / "deadly")[:5] == inline(tmp_path / "inline", 5)


def test_a_machine_that_is_lost_costs_no_batch(tmp_path: Path, cluster: Any) -> None:
    cluster.add_node(num_cpus=1)
    machines = {node.all_processes["raylet"][0].process.pid: node for node in cluster.worker_nodes}
    lost: list[int] = []

    def done(number: int) -> None:
        if number == 15:  # the machine that worked last is killed, with all that runs on it
            lost.append(parents()[marks(tmp_path)[-1][1]])
            cluster.remove_node(machines[lost[0]], allow_graceful=False)

    engine = Engine("ray", address=cluster.address)
    map_batches(partial(marked, str(tmp_path)), map(batch, range(60)), tmp_path / "ray", engine=engine, done=done)
    assert len(lost) == 1
    assert len(cluster.worker_nodes) == len(machines) - 1
    assert contents(tmp_path / "ray") == inline(tmp_path / "inline", 60)


def test_a_machine_with_other_versions_is_refused_at_the_start(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"sociolect": "99.0", "polars": program_versions()["polars"]}
    monkeypatch.setattr(simulator.engine.ray_cluster, "program_versions", lambda: versions)
    with pytest.raises(UsageError, match=r"sociolect [0-9.]+ there, 99\.0 here\. Install the same versions"):
        map_batches(
            partial(marked, str(tmp_path)),
            map(batch, range(4)),
            tmp_path / "parts",
            engine=Engine("ray", address=cluster.address),
        )
    assert marks(tmp_path) == []


def test_ctrl_c_ends_it_and_leaves_no_process(tmp_path: Path, ray_folder: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    os.mkfifo(f"{pipe}-never")
    started = start_mapping('"ray", workers=2', "blocked", tmp_path / "parts", str(pipe))
    working: list[int] = []
    while len(working) < 2:  # both are in the midst of a batch
        working += [int(line) for line in pipe.read_text(encoding="utf-8").split()]
    all_of_it = descendants(started.pid)
    assert {*working} < {*all_of_it}
    with started:
        os.killpg(started.pid, signal.SIGINT)  # as a terminal does
        _, said = started.communicate()
    assert started.returncode == -signal.SIGINT
    assert said.count("KeyboardInterrupt\n") == 1
    for process in all_of_it:
        wait_until_gone(process)
    assert list(ray_folder.iterdir()) == []


@pytest.mark.parametrize("address", ["here", "ray://127.0.0.1:10001", "http://127.0.0.1:6379", ":", "a:b"])
def test_what_is_no_address_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(UsageError, match="is no address of a Ray cluster"):
        map_batches(doubled, [batch(0)], tmp_path, engine=Engine("ray", address=address))


def test_an_address_without_a_cluster_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator.engine.ray_address, "_SECONDS", 2)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(UsageError, match="did not let this program in within 2 s"):
            map_batches(doubled, [batch(0)], tmp_path, engine=Engine("ray", address=address))
    with pytest.raises(UsageError, match=r"nothing answers there \(Connection refused\)"):
        map_batches(doubled, [batch(0)], tmp_path, engine=Engine("ray", address=address))
    with pytest.raises(UsageError, match="nothing answers there"):
        map_batches(doubled, [batch(0)], tmp_path, engine=Engine("ray", address="127.0.0.1:99999999"))


def test_without_ray_one_is_told_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingError, match=r'pip install "sociolect\[cluster\]"'):
        map_batches(doubled, [batch(0)], tmp_path, engine=Engine("ray"))


def test_where_nothing_is_missing_no_cluster_is_needed(tmp_path: Path) -> None:
    before = map_batches(doubled, map(batch, range(3)), tmp_path, engine=Engine(workers=1))
    engine = Engine("ray", address="127.0.0.1:1")
    assert map_batches(doubled, map(batch, range(3)), tmp_path, engine=engine) == before
