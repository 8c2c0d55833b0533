"""Runs dispatches over NumPy arrays in K-Search's simulator, through `ksearch dispatch`. Knows plans; no kernel."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def program():
    """The ksearch program: `KSEARCH`, else the newest build of this tree."""
    if os.environ.get("KSEARCH"):
        return os.environ["KSEARCH"]
    builds = [ROOT / "target" / kind / "ksearch" for kind in ("release", "debug")]
    builds = [b for b in builds if b.is_file()]
    if not builds:
        raise SystemExit("build ksearch first (cargo build --release -p ksearch), or set KSEARCH to the program")
    return str(max(builds, key=lambda b: b.stat().st_mtime))


class Refused(Exception):
    """The simulator's answer is no: `status`, and where and why."""

    def __init__(self, answer):
        self.status = answer.get("status", "error")
        pos = answer.get("pos")
        place = f"{pos['file']}:{pos['line']}:{pos['column']}: " if pos else ""
        super().__init__(f"{self.status}: {place}{answer.get('message', answer.get('error', ''))}")


def run(source, buffers, dispatches, includes=(), constants=None, defines=None, sanitize=False, limit=600):
    """Runs `dispatches` (as in a plan) of the MSL text `source`; `buffers` are bytearrays by name, changed in place."""
    with tempfile.TemporaryDirectory(prefix="ksearch-") as folder:
        folder = Path(folder)
        (folder / "kernel.metal").write_text(source)
        listed = {}
        for n, (name, data) in enumerate(buffers.items()):
            (folder / f"{n}.bin").write_bytes(data)
            listed[name] = {"from": f"{n}.bin", "to": f"{n}.bin"}
        plan = {
            "source": "kernel.metal",
            "includes": [str(Path(i).resolve()) for i in includes],
            "constants": constants or {},
            "defines": defines or {},
            "buffers": listed,
            "dispatches": dispatches,
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        command = [program(), "dispatch", str(folder / "plan.json"), "--json"] + (["--sanitize"] if sanitize else [])
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(f"ksearch ended with {done.returncode}: {done.stderr.strip()[-500:]}") from None
        if done.returncode == 2:
            raise RuntimeError("; ".join([answer.get("error", "")] + answer.get("causes", [])))
        if done.returncode != 0:
            raise Refused(answer)
        for n, name in enumerate(buffers):
            buffers[name][:] = (folder / f"{n}.bin").read_bytes()


def check(source):
    """What `ksearch check` says of the MSL text `source`: `ok`, `kernels`, `diagnostics`."""
    with tempfile.TemporaryDirectory(prefix="ksearch-") as folder:
        path = Path(folder) / "kernel.metal"
        path.write_text(source)
        done = subprocess.run([program(), "check", str(path), "--json"], capture_output=True, text=True, timeout=600)
        answer = json.loads(done.stdout)
        if "ok" not in answer:
            raise RuntimeError("; ".join([answer.get("error", "")] + answer.get("causes", [])))
        return answer
