"""Compares K-Search with the verdicts that metal-sci-kernels recorded on an M1 Pro: does a candidate compile, and is it
right? The tasks' own host programs run here, on a stand-in for PyObjC's Metal. DIR is a clone of that repository."""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import simulator

HERE = Path(__file__).resolve().parent
TASKS = "saxpy,heat2d,nbody,fft3d,lbm,hmc"


def candidates(root, tasks):
    """Task, source file and recorded result of every candidate."""
    for run in sorted((root / "results").iterdir()):
        task = run.name.split("_")[0]
        if task not in tasks:
            continue
        for record in sorted(run.glob("*result.json")):
            source = record.with_name(record.name.replace("result.json", "candidate.metal"))
            # `best_result.json` repeats one of the others.
            if source.is_file():
                yield task, source, json.loads(record.read_text())


def compiles(known, limit):
    """Rows of `ksearch corpus check` by source file, for the folders of these candidates."""
    out = {}
    for run in sorted({source.parent for _, source, _ in known}):
        command = [simulator.program(), "corpus", "check", str(run), "--json", "--limit", str(limit)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 2:
            raise SystemExit(done.stdout + done.stderr)
        for row in json.loads(done.stdout)["files"]:
            out[run / row["file"]] = row
    return out


def host(root, name):
    """A task's own host program. The packages' `__init__` files are passed over: they load every task."""
    for package in ("metal_kernels", "metal_kernels.tasks"):
        if package not in sys.modules:
            module = types.ModuleType(package)
            module.__path__ = [str(root / package.replace(".", "/"))]
            sys.modules[package] = module
    importlib.import_module(f"metal_kernels.tasks.{name}")
    return importlib.import_module("metal_kernels.task").get_task(name)


def judge(root, name, source, labels):
    """Verdict and metric of each size in `labels`, in a process of its own."""
    sys.path.insert(0, str(HERE / "pyobjc"))
    task = host(root, name)
    harness = importlib.import_module("metal_kernels.harness").MetalHarness()
    chip = types.SimpleNamespace(peak_bw_gb_s=200.0, peak_fp32_gflops=5300.0, name="m1-pro")
    sizes = [s for s in task.spec.sizes if s.label in labels]
    result = task.evaluate_candidate(harness, chip, source.read_text(), n_warmup=0, n_measure=1, sizes=sizes)
    out = {r.size_label: [bool(r.correct), float(r.error_value), r.extra.get("exception")] for r in result.size_results}
    return {"sizes": out, "why": result.fail_reason}


def judged(root, name, source, labels, limit, sanitize=False):
    command = [sys.executable, __file__, str(root), "--one", name, str(source), *labels]
    env = os.environ | {"KSEARCH_SHIM_SANITIZE": "1"} if sanitize else None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=env)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit} s"}
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.strip()[-300:]}


def main():
    if len(sys.argv) > 3 and sys.argv[2] == "--one":
        print(json.dumps(judge(Path(sys.argv[1]), sys.argv[3], Path(sys.argv[4]), sys.argv[5:])))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, metavar="DIR")
    parser.add_argument("--tasks", default=TASKS, help="which tasks (the only ones looked at)")
    parser.add_argument("--compile-only", action="store_true", help="whether candidates compile, and no more")
    parser.add_argument("--sizes", type=int, default=3, help="sizes to run; a recorded failure is always run")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one candidate")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="candidates whose path has this in it")
    args = parser.parse_args()
    tasks = args.tasks.split(",")
    known = list(candidates(args.root, tasks))
    if args.only:
        known = [k for k in known if args.only in str(k[1])]
    if not known:
        raise SystemExit(f"{args.root} has no results of {args.tasks}")
    rows = compiles(known, 600)
    accepted = [k for k in known if k[2]["compile_ok"]]
    refused = [k for k in known if not k[2]["compile_ok"]]
    took = [k for k in accepted if rows[k[1]]["ok"]]
    shut = [k for k in refused if not rows[k[1]]["ok"]]
    for _, source, _ in [k for k in accepted if k not in took] + [k for k in refused if k not in shut]:
        print(f"  differs: {source.relative_to(args.root)}: {rows[source]['diagnostics'][:1] or 'compiles here'}")
    print(f"compile: {len(took)} of {len(accepted)} that Apple accepted, refuse: {len(shut)} of {len(refused)} that Apple refused")
    bad = len(took) < 0.99 * len(accepted) or len(shut) < 0.9 * len(refused)
    if not args.compile_only:
        bad |= not verdicts(args, took)
    return int(bad)


def verdicts(args, known):
    """Prints how many verdicts are the recorded ones; true if it is at least 98 of 100."""
    start = time.time()

    def one(entry):
        name, source, record = entry
        recorded = {s["label"]: bool(s["correct"]) for s in record.get("sizes", [])}
        # Recorded runs stop at the first size that fails.
        labels = [label for n, label in enumerate(recorded) if n < args.sizes or not recorded[label]]
        got = judged(args.root, name, source, labels, args.limit)
        wanted = {label: recorded[label] for label in labels}
        # Neither here nor there does a run go on after a size that fails, so the lists are alike as they stand.
        same = {label: s[0] for label, s in got.get("sizes", {}).items()} == wanted
        return entry, wanted, got, same

    agree, total = 0, 0
    by_task = {}
    with ThreadPoolExecutor(args.jobs) as pool:
        for (name, source, _), wanted, got, same in pool.map(one, known):
            if not wanted:
                continue
            total += 1
            agree += same
            counts = by_task.setdefault(name, [0, 0])
            counts[0] += same
            counts[1] += 1
            if not same:
                errors = {label: s[1] for label, s in got.get("sizes", {}).items()}
                why = got.get("error") or got.get("why")
                if not why:
                    # Right by luck, perhaps: lanes and simdgroups take turns here in an order of their own.
                    found = judged(args.root, name, source, list(wanted)[:1], args.limit, sanitize=True)
                    why = f"right here; sanitizers: {found.get('error') or found.get('why') or 'nothing'}"
                print(f"  differs: {source.relative_to(args.root)}: recorded {wanted}, here {errors}: {why}", flush=True)
    for name, (same, of) in by_task.items():
        print(f"  {name}: {same} of {of}")
    print(f"verdict: {agree} of {total} as recorded ({time.time() - start:.0f} s)")
    return agree >= 0.98 * total


if __name__ == "__main__":
    sys.exit(main())
