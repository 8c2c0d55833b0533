//! Every demonstration in `knowledge/` runs: it computes what it says, agrees with the plain way and with CUDA, and gains
//! what it claims where it claims it.

#![allow(clippy::unwrap_used)] // A failure here is a failed test.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ksearch_apple::Chips;
use ksearch_device::target::Purpose;
use ksearch_device::{Failure, SimTarget, Slot, Slots, Target};
use ksearch_port::Knowledge;
use ksearch_port::knowledge::{Demo, DemoBuffer, Entry, Fill, Kind, Program, Step, Support};
use ksearch_task::candidate::{Bound, Recipe, Resolved, ResolvedDispatch};
use ksearch_task::{Candidate, Expr, Language, Role, SourceFile, Tensor, TensorInfo, Value};

fn values(e: &Expr, len: usize) -> Vec<f64> {
    (0..len)
        .map(|i| {
            let scope: IndexMap<String, Value> = [("i".to_owned(), Value::Int(i as i64))].into_iter().collect();
            e.eval(&scope).unwrap().as_f64().unwrap()
        })
        .collect()
}

fn slot(b: &DemoBuffer) -> Slot {
    let shape = vec![b.len];
    match &b.fill {
        Fill::Values(e) => Slot {
            tensor: Tensor::from_values(b.dtype, shape, &values(e, b.len)),
            writable: b.is_output,
            written: None,
        },
        Fill::None => {
            let tensor = Tensor { dtype: b.dtype, shape, bytes: vec![0; b.len * b.dtype.bytes()] };
            let written = Some(vec![false; tensor.bytes.len()]);
            Slot { tensor, writable: true, written }
        }
    }
}

/// Outputs of a program, and its time in microseconds where asked.
fn run(
    demo: &Demo,
    program: &Program,
    language: Language,
    chip: &str,
    purpose: Purpose,
) -> Result<(Slots, f64), Failure> {
    let chip = Chips::embedded().unwrap().get(chip).unwrap();
    let target = SimTarget::new(chip).unwrap();
    let mut slots: Slots = demo.buffers.iter().map(|b| (b.name.clone(), slot(b))).collect();
    let candidate = Candidate {
        language,
        files: vec![SourceFile { path: program.file.clone(), text: program.text.clone() }],
        recipe: Recipe::default(),
        tunables: Vec::new(),
        values: BTreeMap::new(),
    };
    let tensors: Vec<TensorInfo> = demo
        .buffers
        .iter()
        .map(|b| TensorInfo {
            name: b.name.clone(),
            role: Role::InOut,
            dtype: b.dtype,
            shape: vec![b.len],
            present: true,
        })
        .collect();
    let bound = |step: &Step| -> IndexMap<String, Bound> {
        let mut args: IndexMap<String, Bound> =
            step.buffers.iter().map(|b| (b.clone(), Bound::Tensor(b.clone()))).collect();
        if step.shared > 0 {
            let name = if language == Language::Cuda { "dynamic_shared" } else { "shared" };
            args.insert(name.to_owned(), Bound::Threadgroup(step.shared));
        }
        args
    };
    let dispatches: Vec<ResolvedDispatch> = program
        .steps
        .iter()
        .map(|s| ResolvedDispatch {
            kernel: s.kernel.clone(),
            grid: s.groups,
            threadgroup: s.threads,
            args: bound(s),
            constants: BTreeMap::new(),
            repeat: 1,
            cluster: [1; 3],
        })
        .collect();
    let resolved = Resolved { defines: Vec::new(), scratch: Vec::new(), dispatches, tensors, symbols: IndexMap::new() };
    let mut runnable = target.build(&candidate, &resolved)?;
    let report = runnable.run(&mut slots, purpose)?;
    Ok((slots, report.profile.map_or(0.0, |p| p.time.value)))
}

fn agree(id: &str, demo: &Demo, a: &Slots, b: &Slots) -> Result<(), String> {
    for buffer in demo.buffers.iter().filter(|b| b.is_output || b.fill == Fill::None) {
        let (x, y) = (a[&buffer.name].tensor.values(), b[&buffer.name].tensor.values());
        for (i, (x, y)) in x.iter().zip(&y).enumerate() {
            if (x - y).abs() > buffer.tolerance.max(1e-6 * x.abs()) || x.is_nan() != y.is_nan() {
                return Err(format!("{id}: {}[{i}] is {x} and {y}", buffer.name));
            }
        }
    }
    Ok(())
}

fn demos(knowledge: &Knowledge) -> impl Iterator<Item = (&Entry, &Demo)> {
    knowledge.iter().filter_map(|e| Some((e, e.demo.as_ref()?)))
}

/// Runs a demonstration with all its programs; the first thing that contradicts it.
fn shown(entry: &Entry, demo: &Demo) -> Result<(), String> {
    let id = &entry.id;
    let result = run(demo, &demo.metal, Language::Msl, "m1-max", Purpose::Check);
    if let Some(fault) = &demo.fault {
        return match result {
            Err(Failure::Fault { kind, .. }) if kind == *fault => Ok(()),
            other => Err(format!("{id}: wanted {fault}, got {:?}", other.map(|(_, time)| time))),
        };
    }
    let (slots, _) = result.map_err(|e| format!("{id} ({}): {e}", demo.metal.file))?;
    for buffer in &demo.buffers {
        let Some(expect) = &buffer.expect else { continue };
        let got = slots[&buffer.name].tensor.values();
        for (i, (got, want)) in got.iter().zip(values(expect, buffer.len)).enumerate() {
            if (got - want).abs() > buffer.tolerance || got.is_nan() {
                return Err(format!("{id}: {}[{i}] is {got}, not {want}", buffer.name));
            }
        }
    }
    for (program, language) in [(&demo.plain, Language::Msl), (&demo.cuda, Language::Cuda)] {
        let Some(program) = program else { continue };
        let (other, _) = run(demo, program, language, "m1-max", Purpose::Check)
            .map_err(|e| format!("{id} ({}): {e}", program.file))?;
        agree(id, demo, &slots, &other)?;
    }
    Ok(())
}

#[test]
fn every_demonstration_runs_and_is_right() {
    let knowledge = Knowledge::embedded().unwrap();
    let results: Vec<_> = demos(&knowledge).map(|(entry, demo)| shown(entry, demo)).collect();
    assert!(results.len() >= 70, "{} demonstrations", results.len());
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_claimed_is_gained() {
    let knowledge = Knowledge::embedded().unwrap();
    let chips = Chips::embedded().unwrap();
    let mut wrong = Vec::new();
    for (entry, demo) in demos(&knowledge) {
        let Some(plain) = &demo.plain else { continue };
        let ratio = |chip: &str| {
            let time = |p: &Program| run(demo, p, Language::Msl, chip, Purpose::Measure).unwrap().1;
            time(plain) / time(&demo.metal)
        };
        let Some(gain) = &demo.gain else {
            let shown = ["m1-max", "m3-max"].map(|c| format!("{c} {:.3}", ratio(c)));
            wrong.push(format!("{}: compared with the plain way and claims nothing ({})", entry.id, shown.join(", ")));
            continue;
        };
        if gain.on.is_empty() || gain.at_least <= 1.0 {
            wrong.push(format!("{}: a gain is above one, on some chip", entry.id));
        }
        for chip in &gain.on {
            let r = ratio(chip);
            if r < gain.at_least || !entry.chips.holds(&chips.get(chip).unwrap()) {
                wrong.push(format!("{} on {chip}: {r:.3}, claimed {}", entry.id, gain.at_least));
            }
        }
        for (chip, why) in &gain.none_on {
            let r = ratio(chip);
            if r >= gain.at_least || why.is_empty() {
                wrong.push(format!("{} on {chip}: {r:.3}, and it says there is none", entry.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What ships is complete: whoever adds an entry is told what is missing.
#[test]
fn every_entry_is_shown_and_says_what_to_keep() {
    let knowledge = Knowledge::embedded().unwrap();
    assert!(knowledge.of(Kind::Concept).count() >= 60);
    assert!(knowledge.of(Kind::Pattern).count() >= 9);
    assert!(knowledge.of(Kind::Mlx).count() >= 4);
    for e in knowledge.iter() {
        assert!(!e.sources.is_empty() && !e.chips.words().is_empty(), "{}", e.id);
        let shown = e.demo.is_some() || !e.no_demo.is_empty();
        assert!(shown, "{} (line {} of {}): give it a demo, or say in no_demo why not", e.id, e.place.1, e.place.0);
        assert!(e.kind != Kind::Concept || !e.preserve.is_empty(), "{}: what must a port keep?", e.id);
        // Only what cannot be run at all goes without.
        assert!(e.demo.is_some() || e.support != Support::Direct || e.kind != Kind::Concept, "{}", e.id);
    }
    let without: Vec<&str> = knowledge.iter().filter(|e| e.demo.is_none()).map(|e| e.id.as_str()).collect();
    assert!(without.len() <= 5, "{without:?}");
}

/// A new file in a folder is read, and its demonstration runs like those that ship.
#[test]
fn a_file_that_is_dropped_in_is_picked_up_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let entry = "[[entry]]\nid = \"mine\"\nkind = \"pattern\"\ntitle = \"t\"\ncuda = \"c\"\nhow = \"h\"\nchips = [\"all\"]\n\
        sources = [\"me\"]\n[entry.demo]\nmetal = { file = \"mine.metal\", steps = [{ kernel = \"k\", groups = [1], threads = [32] }] }\n\
        buffers = [{ name = \"y\", dtype = \"f32\", len = 32, expect = \"i + 1\" }]\n";
    std::fs::write(folder.path().join("mine.toml"), entry).unwrap();
    let program = "#include <metal_stdlib>\nkernel void k(device float* y [[buffer(0)]], uint t [[thread_position_in_grid]]) { y[t] = t + 1; }\n";
    std::fs::write(folder.path().join("mine.metal"), program).unwrap();
    let knowledge = Knowledge::with_folder(folder.path()).unwrap();
    let demo = knowledge.get("mine").unwrap().demo.as_ref().unwrap();
    let (slots, _) = run(demo, &demo.metal, Language::Msl, "m1-max", Purpose::Check).unwrap();
    assert_eq!(slots["y"].tensor.values(), values(demo.buffers[0].expect.as_ref().unwrap(), 32));
}
