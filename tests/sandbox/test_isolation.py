"""The isolation layers around files and system calls, seen from inside real workers."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from factories import REFERENCE

import kernelgauge
from kernelgauge.config import load_settings
from kernelgauge.errors import UsageError
from kernelgauge.evaluation.sides.build_files import Unfit, copy_build
from kernelgauge.sandbox import seccomp
from kernelgauge.sandbox.isolation import LAYERS
from kernelgauge.sandbox.landlock import ReadablePaths, confine
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.readable import apart_from
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Outcome, Problem
from kernelgauge.session.session import Session
from kernelgauge.wire.candidate_commands import Load

pytestmark = pytest.mark.processes

PROBE = """
import json, os, pathlib, subprocess, sys

def read(path):
    try:
        with open(path, "rb") as file:
            file.read(1)
        return "read"
    except OSError as error:
        return type(error).__name__

def listed(path):
    try:
        os.listdir(path)
        return "read"
    except OSError as error:
        return type(error).__name__

class ModelNew:
    pass

asked = json.loads(pathlib.Path("asked.json").read_text())
found = {path: listed(path) if os.path.isdir(path) else read(path) for path in asked}
for index, path in enumerate(asked):
    try:
        os.link(path, f"hard-{index}")
        found["linked " + path] = read(f"hard-{index}")
    except OSError:
        pass
    os.symlink(path, f"soft-{index}")
    if os.path.isfile(path):
        found["by a link " + path] = read(f"soft-{index}")
        found["by proc " + path] = read("/proc/self/root" + path)
        found["by a child " + path] = str(subprocess.run(["cat", path], capture_output=True).returncode or "read")
pathlib.Path("found.json").write_text(json.dumps(found))
"""
LAZY = "import rarely_used\n\n\nclass ModelNew:\n    pass\n"


@pytest.fixture
def zygote(cache_folder: Path) -> Iterator[Zygote]:
    made = Zygote(load_settings(threads=1))
    yield made
    made.close()


def probed(zygote: Zygote, paths: list[Path], **process: object) -> dict[str, str]:
    """What a worker finds when it tries to read these files and list these folders."""
    with WorkerProcess(zygote, "worker", **process) as worker:  # type: ignore[arg-type]
        if "reads" not in worker.layers:
            pytest.skip("this platform has no Landlock")
        path = worker.scratch / "candidate.py"
        path.write_text(PROBE)
        (worker.scratch / "asked.json").write_text(json.dumps([str(path) for path in paths]))
        claim = worker.ask(Load(str(path), "torch", "ModelNew"), 60)
        assert claim.event == "loaded", claim.message
        return dict(json.loads((worker.scratch / "found.json").read_text()))


def written(path: Path, text: str = "secret") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_every_wall_stands_and_is_in_the_record(session: Session) -> None:
    """On the machines that these tests run on; a platform that lacks one says so in the record."""
    source = REFERENCE.replace("class Model(", "class ModelNew(")
    record = session.evaluate(Problem(key="scaled", name="scaled", source=REFERENCE), source, timed=False)
    if "network" not in record.isolation:
        pytest.skip("this platform has no user namespaces")
    assert set(record.isolation) == set(LAYERS)


def test_the_layers_are_in_the_record_of_what_does_not_load(session: Session) -> None:
    record = session.evaluate(Problem(key="own", name="own", source=REFERENCE), "import torch\nraise RuntimeError\n")
    assert record.outcome is Outcome.LOAD_FAILED
    assert "limits" in record.isolation


def test_the_layers_of_a_build_are_in_the_record_of_what_does_not_build(session: Session) -> None:
    source = "import torch\n\n\ndef compile_ahead():\n    raise OSError\n"
    problem = Problem(key="scaled", name="scaled", source=REFERENCE)
    record = session.evaluate(problem, source, backend="torch", timed=False)
    assert record.outcome is Outcome.LOAD_FAILED and "compile_ahead" in record.log
    right = session.evaluate(problem, REFERENCE.replace("class Model(", "class ModelNew("), timed=False)
    assert record.isolation == right.isolation != ()


LACKING = """
import os, sys
from pathlib import Path
from kernelgauge.sandbox import isolation, landlock
kernel, owner, version, read_only = {lacking}
uname = os.uname()
os.uname = lambda: os.uname_result((uname.sysname, uname.nodename, kernel, uname.version, uname.machine))
landlock.abi_version = lambda found=landlock.abi_version(): min(found, version)
if not read_only:
    isolation._set_attributes = lambda *args, **kwargs: False
folder = Path({folder!r})
outer = isolation.leave_namespaces()
os.getuid = lambda: owner
if os.fork() == 0:
    files = isolation.Files([folder], landlock.ReadablePaths(("/usr", "/lib", "/lib64", str(Path(sys.prefix)))))
    print(*outer, *isolation.close_in(bool(outer), files, 2**32, 2**32), flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize(
    ("lacking", "missing"),
    [
        (("6.18.0", 0, 99, True), set()),
        (("6.1.0", 1000, 99, True), set()),
        (("6.1.0", 0, 99, True), {"limits"}),  # the limit on processes is none for root
        (("5.10.0", 1000, 99, True), {"limits"}),
        (("6.18.0", 0, 2, True), {"files"}),  # what may not be written may be cut off
        (("6.18.0", 0, 99, False), {"mount"}),
    ],
)
def test_a_wall_that_does_not_stand_is_not_in_the_record(
    lacking: tuple[str, int, int, bool], missing: set[str], tmp_path: Path
) -> None:
    text = LACKING.format(lacking=lacking, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    layers = set(done.stdout.split())
    assert layers, done.stderr
    if "network" not in layers:
        pytest.skip("this platform has no user namespaces")
    assert set(LAYERS) - layers == missing, done.stderr


def test_nothing_of_the_user_is_readable(
    zygote: Zygote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    home, here = tmp_path / "home", tmp_path / "project"
    monkeypatch.setenv("HOME", str(home))
    here.mkdir()
    monkeypatch.chdir(here)
    with WorkerProcess(zygote, "worker") as other:
        secrets = [
            written(home / ".ssh" / "id_ed25519"),
            written(home / ".config" / "token"),
            written(here / "keys.env"),
            written(here / "runs" / "first" / "candidates" / "1.py"),
            written(cache_folder / "builds" / "0123" / "artifact" / "kernel.so"),
            written(cache_folder / "suites" / "mine" / "level1" / "1_secret.py"),
            written(Path(f"/dev/shm/kernelgauge-test-{os.getpid()}")),
            written(other.scratch / "candidate.py"),
            written(other.given / "build" / "kernel.so"),
            Path(kernelgauge.__file__).parent / "problems" / "level1" / "100_hinge_loss.py",
            Path("/etc/shadow"),
        ]
        folders = [home, here, cache_folder, other.scratch, other.scratch.parent, Path("/tmp"), Path("/root")]
        found = probed(zygote, [*secrets, *folders])
    secrets[6].unlink()
    assert {path for path, what in found.items() if what == "read"} == set()
    assert len(found) >= len(secrets) + len(folders)


def test_the_memory_and_environment_of_the_parent_are_out_of_sight(zygote: Zygote) -> None:
    places = [
        Path(f"/proc/{pid}/{name}") for pid in (os.getpid(), 1) for name in ("environ", "mem", "cwd/x", "root/x")
    ]
    assert "read" not in probed(zygote, places).values()


def test_what_is_needed_is_readable(zygote: Zygote, tmp_path: Path) -> None:
    given = written(tmp_path / "slim" / "header.h")
    needed = [
        Path(torch.__file__),
        Path(kernelgauge.__file__).parent / "backends" / "torch.py",
        Path(sys.executable),
        Path("/proc/cpuinfo"),
        Path("/sys/devices/system/cpu"),
        Path("/dev/urandom"),
        Path("/etc/passwd"),
        given,
    ]
    found = probed(zygote, needed, visible=(given.parent,))
    assert {found[str(path)] for path in needed} == {"read"}


def test_of_a_project_on_the_path_only_what_can_be_imported(
    zygote: Zygote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "rarely_used.py", "import package_of_mine\n")
    written(tmp_path / "package_of_mine" / "__init__.py", "from package_of_mine import part\n")
    written(tmp_path / "package_of_mine" / "part.py", "")
    secret = written(tmp_path / "runs" / "first" / "candidates" / "1.py")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert "read" not in probed(zygote, [secret]).values()
    with WorkerProcess(zygote, "worker") as worker:
        path = written(worker.scratch / "candidate.py", LAZY)
        claim = worker.ask(Load(str(path), "torch", "ModelNew"), 60)
        assert claim.event == "loaded", claim.message


def test_a_build_is_brought_and_cannot_be_changed(zygote: Zygote) -> None:
    with WorkerProcess(zygote, "worker") as worker:
        if "files" not in worker.layers:
            pytest.skip("this platform has no Landlock")
        path = written(
            worker.scratch / "candidate.py",
            "import pathlib\nclass ModelNew:\n    pass\n"
            f"kernel = pathlib.Path({str(worker.given)!r}) / 'kernel'\n"
            "assert kernel.read_text() == 'built'\n"
            "try:\n    kernel.write_text('poisoned')\nexcept OSError:\n    pass\n"
            "else:\n    raise RuntimeError('it can be changed')\n",
        )
        written(worker.given / "kernel", "built")
        claim = worker.ask(Load(str(path), "torch", "ModelNew"), 60)
        assert claim.event == "loaded", claim.message


def test_rights_and_times_of_others_files_stay_as_they_are(zygote: Zygote, tmp_path: Path) -> None:
    secret = written(tmp_path / "secret")
    before = secret.stat()
    with WorkerProcess(zygote, "worker") as worker:
        if "mount" not in worker.layers:
            pytest.skip("this platform has no mount namespaces")
        path = written(
            worker.scratch / "candidate.py",
            "import os, shutil\nclass ModelNew:\n    pass\n"
            "open('own', 'w').close()\nos.chmod('own', 0o700)\nos.utime('own', (1, 1))\n"
            "shutil.copy2('own', os.path.expanduser('~/copy'))\n"
            f"for change in (lambda: os.chmod({str(secret)!r}, 0o777), lambda: os.utime({str(secret)!r}, (1, 1))):\n"
            "    try:\n        change()\n    except OSError:\n        continue\n"
            "    raise RuntimeError('it can be changed')\n",
        )
        claim = worker.ask(Load(str(path), "torch", "ModelNew"), 60)
        assert claim.event == "loaded", claim.message
    after = secret.stat()
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)


def test_a_copied_build_holds_no_more_than_the_build(tmp_path: Path) -> None:
    secret = written(tmp_path / "secret")
    build = tmp_path / "build"
    written(build / "kernels" / "a" / "cubin", "code")
    (build / "kernels" / "out").symlink_to(tmp_path)
    (build / "out").symlink_to(secret)
    os.mkfifo(build / "pipe")
    copy_build(build, tmp_path / "copy")
    assert (tmp_path / "copy" / "kernels" / "a" / "cubin").read_text() == "code"
    assert (tmp_path / "copy" / "out").is_symlink() and (tmp_path / "copy" / "kernels" / "out").is_symlink()
    assert not (tmp_path / "copy" / "pipe").exists()


def test_a_build_that_would_fill_the_disk_is_not_copied(tmp_path: Path) -> None:
    build = tmp_path / "build"
    written(build / "hole")
    os.truncate(build / "hole", 3 << 30)
    with pytest.raises(Unfit, match="more than"):
        copy_build(build, tmp_path / "copy")
    assert not (tmp_path / "copy" / "hole").exists()


def test_a_link_shows_nothing_that_no_place_was_named_for(tmp_path: Path) -> None:
    root = tmp_path / "opt"
    written(root / "home" / "key")
    kept = written(root / "lib" / "library").parent
    elsewhere = written(tmp_path / "runs" / "candidate").parent
    (root / "out").symlink_to(elsewhere)
    (root / "within").symlink_to(kept)
    seen = apart_from(ReadablePaths((str(root),)), [str(root / "home")])
    assert seen.whole == (str(kept),)


def test_an_installation_is_shown_without_what_is_private_in_it(tmp_path: Path) -> None:
    root = tmp_path / "opt"
    library = written(root / "tool" / "lib" / "library")
    inside = written(root / "users" / "me" / "key")
    beside = written(root / "users" / "venv" / "module")
    (root / "shortcut").symlink_to(inside.parent)
    environment = written(root / "users" / "me" / "venv" / "module")
    private = [str(inside.parent), str(tmp_path / "elsewhere")]
    seen = apart_from(ReadablePaths((str(root), str(environment.parent))), private)
    assert str(root) in seen.listed
    child = os.fork()
    if child == 0:
        shown = confine([], seen)
        opened = [can_open(path) for path in (library, beside, environment, inside, root / "shortcut" / "key")]
        os._exit(0 if not shown or opened == [True, True, True, False, False] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def can_open(path: Path) -> bool:
    try:
        path.open().close()
    except OSError:
        return False
    return True


CALLS = """
import ctypes, errno, os, socket, subprocess, threading
from kernelgauge.sandbox import seccomp
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
assert seccomp.refuse({profiled})
column = list(seccomp._SYS_SECCOMP).index(os.uname().machine)
def refused(number, *arguments):
    return libc.syscall(number, *arguments) == -1 and ctypes.get_errno()
for name, numbers in seccomp._REFUSED.items():
    assert refused(numbers[column], -1, 0, 0, 0, 0) == errno.EPERM, name
assert refused(435, 0, 0) == errno.ENOSYS
assert refused(seccomp._CLONE[column], 0x10000000 | 17, 0, 0, 0, 0) == errno.EPERM
kept = [refused(n[column], -1, 0, 0, 0, 0) for n in seccomp._REFUSED_UNLESS_PROFILED.values()]
assert {each == errno.EPERM for each in kept} == {not {profiled}}, kept
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
assert subprocess.run(["true"]).returncode == 0
one, other = socket.socketpair()
one.send(b"x")
assert other.recv(1) == b"x"
one.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
    before = one.getsockopt(socket.SOL_SOCKET, option)
    try:
        one.setsockopt(socket.SOL_SOCKET, option, before // 4)
    except PermissionError:
        pass
    assert (one.getsockopt(socket.SOL_SOCKET, option) == before) is (not {profiled})
with socket.socket() as internet:
    internet.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 8)
    internet.setsockopt(socket.IPPROTO_TCP, 7, 8)
assert os.getppid() and os.stat("/").st_mode
print("as due")
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no numbers of system calls for it")
@pytest.mark.parametrize("profiled", [False, True])
def test_calls_are_refused_and_what_programs_need_is_not(profiled: bool) -> None:
    """In a process of its own, as the filter stays."""
    done = subprocess.run(
        [sys.executable, "-c", CALLS.replace("{profiled}", str(profiled))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "as due\n", done.stderr


def test_the_layers_hold_every_thread(zygote: Zygote) -> None:
    """They are put up by one: were there others already, these could read on."""
    with WorkerProcess(zygote, "worker") as worker:
        if not {"reads", "syscalls"} <= set(worker.layers):
            pytest.skip("this platform lacks an isolation layer")
        path = written(
            worker.scratch / "candidate.py",
            "import pathlib, threading, time, torch\nclass ModelNew:\n    pass\n"
            "torch.set_num_threads(4)\ntorch.ones(1 << 22).sin().sum()\n"
            "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
            "tasks = [path.read_text() for path in pathlib.Path('/proc/self/task').glob('*/status')]\n"
            "assert len(tasks) > 2, tasks\n"
            "assert all('Seccomp:\\t2' in task and 'NoNewPrivs:\\t1' in task for task in tasks), tasks\n",
        )
        claim = worker.ask(Load(str(path), "torch", "ModelNew"), 60)
        assert claim.event == "loaded", claim.message


def test_another_processor_has_no_such_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert seccomp.refuse() is False


def test_layers_left_out_are_missing_from_the_record_and_said_aloud_once(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = written(tmp_path / "secret")
    monkeypatch.setenv("KERNELGAUGE_WITHOUT_LAYERS", "reads, syscalls")
    zygote = Zygote(load_settings(threads=1))
    try:
        with pytest.warns(
            UserWarning, match="no .*reads, syscalls isolation layer stands.*KERNELGAUGE_WITHOUT_LAYERS"
        ) as said:
            for _ in range(2):
                with WorkerProcess(zygote, "worker") as worker:
                    assert not {"reads", "syscalls"} & set(worker.layers)
                    path = written(worker.scratch / "candidate.py", f"open({str(secret)!r})\nclass ModelNew: pass\n")
                    assert worker.ask(Load(str(path), "torch", "ModelNew"), 60).event == "loaded"
        assert len(said) == 1
    finally:
        zygote.close()


def test_no_other_wall_can_be_left_out(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_WITHOUT_LAYERS", "network")
    with pytest.raises(UsageError, match="only reads and syscalls"):
        Zygote(load_settings(threads=1))
