"""Stores behind fsspec addresses: an S3 server on loopback, and memory."""

import json

import numpy as np
import pytest

import eluder
from eluder.experiments import Part, Spec, encoding, locks
from eluder.experiments.files import RemoteFiles, StoreError, open_files
from eluder.experiments.run import Events, run_spec
from eluder.experiments.store import Store

fsspec = pytest.importorskip("fsspec")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SPEC = Spec(
    "tiny",
    environments=(Part.of("riverswim", states=3, horizon=5),),
    agents=(Part.of("ucrl-wvtr", levels=1), Part.of("random")),
    episodes=30,
    paths=4,
)


@pytest.fixture(scope="module")
def bucket():
    """The address of a bucket on a server of this test's own, which ends with it."""
    pytest.importorskip("s3fs")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3").mkdir("results")
        yield "s3://results/runs"
    server.stop()


def keys(address: str) -> dict[str, bytes]:
    files = open_files(address)
    assert isinstance(files, RemoteFiles)
    found = files.system.find(files.root)
    return {key.removeprefix(files.root): files.system.cat_file(key) for key in found}


def results(address: str) -> dict[str, bytes]:
    return {key: data for key, data in keys(address).items() if key.endswith((".parquet", ".state"))}


def test_an_s3_store_holds_the_bytes_of_a_local_one(bucket, tmp_path):
    short = SPEC.replace(episodes=12)
    run_spec(short, bucket, block=3, checkpoint_seconds=0)
    assert len(eluder.load(bucket)) == 2 * 4 * 12
    taken = []
    run_spec(SPEC, bucket, block=3, events=Events(advanced=taken.append))
    assert sum(taken) == 2 * 4 * 18 * 5
    run_spec(short, str(tmp_path), block=3)
    run_spec(SPEC, str(tmp_path), block=3)
    local = {
        f"/{path.relative_to(tmp_path)}": path.read_bytes()
        for path in tmp_path.rglob("cells/**/*")
        if path.suffix in (".parquet", ".state")
    }
    assert results(bucket) == local
    assert not [key for key in keys(bucket) if key.endswith(".lock")]
    assert eluder.load(bucket).equals(eluder.load(tmp_path))


def test_damage_on_s3_is_healed(bucket):
    run_spec(SPEC, bucket, block=3)
    whole, table = results(bucket), eluder.load(bucket)
    files = open_files(f"{bucket}/tiny")
    assert isinstance(files, RemoteFiles)
    key = next(key for key in whole if key.endswith("parquet")).removeprefix("/tiny/")
    files.write(key, whole["/tiny/" + key][:100])
    with pytest.warns(UserWarning, match="checksum does not match"):
        eluder.load(bucket)
    reports = []
    run_spec(SPEC, bucket, block=3, events=Events(damaged=reports.append))
    assert len(reports) == 1
    assert eluder.load(bucket).equals(table)


def test_claims_on_s3_are_exclusive(bucket):
    files = open_files(f"{bucket}/claims")
    assert files.create("locks/x.lock", b"1")
    assert not files.create("locks/x.lock", b"2")
    assert files.read("locks/x.lock") == b"1"
    first, second = locks.Locks(files), locks.Locks(open_files(f"{bucket}/claims"))
    assert first.claim("a")
    assert not second.claim("a")
    first.release_all()
    assert second.claim("a")
    second.release_all()
    dead = {"host": locks._host(), "pid": 2**22 + 1, "started": 1, "token": "x", "beat": 0}
    files.write("locks/b.lock", json.dumps(dead).encode())
    assert second.claim("b")
    second.release_all()


def test_memory():
    address = "memory://somewhere/runs"
    run_spec(SPEC, address, block=3)
    table = eluder.load(address)
    assert len(table) == 2 * 4 * 30
    np.testing.assert_array_equal(table["episode"].unique(), np.arange(1, 31))
    assert Store.open(address + "/tiny").info["schema"] == encoding.SCHEMA


def test_unknown_addresses():
    with pytest.raises(StoreError, match="cannot be opened"):
        open_files("nowhere://x")
