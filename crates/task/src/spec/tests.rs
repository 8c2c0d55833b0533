use super::*;
use crate::builtin;
use crate::compare::{compare, trivial_answers_that_pass};

fn workload_answers(task: &Task, workload: &Workload, seed: u64) -> (Tensors, IndexMap<String, Exact>) {
    let inputs = task.inputs(workload, seed).unwrap();
    let answer = task.builtin_answer(&workload.env, &inputs).unwrap().unwrap();
    (inputs, answer)
}

/// Those whose reference is a kernel are judged where kernels run.
#[test]
fn every_workload_of_every_task_has_a_sound_answer() {
    for name in builtin::task_names() {
        let task = builtin::task(name).unwrap();
        if matches!(task.reference, Reference::Source(_)) {
            continue;
        }
        for workload in task.workloads.iter().filter(|w| w.purpose.checks()) {
            for seed in 0..3 {
                let (inputs, answers) = workload_answers(&task, workload, seed);
                let place = format!("{name}/{} seed {seed}", workload.label);
                for info in task.tensors_at(&workload.env).unwrap().iter().filter(|t| t.present && t.role.is_written())
                {
                    let exact = &answers[&info.name];
                    assert!(exact.values.iter().all(|v| v.is_finite()), "{place}");
                    // One column of a softmax is always 1: there the constant is the answer.
                    if info.shape.last() == Some(&1) && name == "softmax" {
                        continue;
                    }
                    let tolerance = task.tolerance(info.dtype);
                    let trivial = trivial_answers_that_pass(exact, info.dtype, &tolerance, &inputs);
                    assert!(trivial.is_empty(), "{place}: {}: {trivial:?} pass", info.name);
                    // The exact answer rounded to the output's dtype is what a perfect kernel gives.
                    let rounded = Tensor::from_values(info.dtype, info.shape.clone(), &exact.values).values();
                    let c = compare(exact, &rounded, info.dtype, &tolerance);
                    assert!(c.ratio < 0.5, "{place}: {}: rounding alone takes {} of the tolerance", info.name, c.ratio);
                }
            }
        }
    }
}

#[test]
fn seeds_are_fresh_and_reproducible() {
    let task = builtin::task("attention").unwrap();
    let workload = &task.workloads[0];
    assert_eq!(task.inputs(workload, 5).unwrap(), task.inputs(workload, 5).unwrap());
    assert_ne!(task.inputs(workload, 5).unwrap()["q"], task.inputs(workload, 6).unwrap()["q"]);
    assert_ne!(task.inputs(workload, 5).unwrap()["q"].bytes, task.inputs(workload, 5).unwrap()["k"].bytes);
}

#[test]
fn scalar_arguments_vary_over_the_workloads() {
    for name in builtin::task_names() {
        let task = builtin::task(name).unwrap();
        for symbol in task.symbols.iter().filter(|s| s.parameter) {
            let mut values: Vec<_> = task.workloads.iter().map(|w| w.env[&symbol.name].to_string()).collect();
            values.sort();
            values.dedup();
            assert!(values.len() > 1, "{name}: `{}` has one value everywhere", symbol.name);
        }
    }
}

#[test]
fn naive_recipes_resolve_on_every_workload() {
    for name in builtin::task_names() {
        let task = builtin::task(name).unwrap();
        for workload in &task.workloads {
            let resolved = task.naive.as_ref().unwrap().resolve(&task, &workload.env).unwrap();
            assert_eq!(resolved.dispatches.len(), 1, "{name}/{}", workload.label);
        }
    }
}

#[test]
fn work_and_shapes_of_known_workloads() {
    let task = builtin::task("attention").unwrap();
    let env = &task.workload("f16-causal-h4-256-d64").unwrap().env;
    let work = task.work(env).unwrap();
    assert_eq!(work.flops, f64::from(4 * 4 * (256 * 257 / 2) * 64));
    assert_eq!(work.bytes, f64::from(4 * 4 * 256 * 64 * 2));
    let scan = builtin::task("selective_scan").unwrap();
    let infos = scan.tensors_at(&scan.workload("f16-64x257-no-gate").unwrap().env).unwrap();
    let z = infos.iter().find(|t| t.name == "z").unwrap();
    assert!(!z.present && z.bytes() == 0);
    assert_eq!(infos.iter().find(|t| t.name == "B").unwrap().shape, [1, 1, 16, 257]);
}

#[test]
fn values_are_checked_against_kinds_and_constraints() {
    let task = builtin::task("attention").unwrap();
    let env = |values: &[(&str, &str)]| {
        let base = [("B", "1"), ("Hq", "4"), ("Hkv", "2"), ("Lq", "8"), ("Lk", "8"), ("D", "64"), ("T", "f16")];
        let mut given: IndexMap<String, Expr> = IndexMap::new();
        for (name, value) in base.iter().chain(values) {
            given.insert((*name).to_owned(), Expr::parse(value).unwrap());
        }
        task.env(&given)
    };
    assert_eq!(env(&[]).unwrap()["scale"], Value::Real(0.125));
    let cases =
        [("D", "72"), ("T", "i32"), ("B", "0"), ("Hkv", "3"), ("causal", "2"), ("Lx", "1"), ("Lq", "9999999999")];
    let errors: Vec<_> = cases.iter().map(|c| env(&[*c]).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(errors.join("\n"));
    assert!(matches!(env(&[("causal", "1"), ("Lq", "9")]), Err(TaskError::Constraint { .. })));
}

#[test]
fn broken_task_files_say_where_and_what() {
    let good = builtin::file("tasks/softmax.toml").unwrap();
    let open = |path: &str| match path {
        "../kernels/softmax/naive.metal" => Ok(builtin::file("kernels/softmax/naive.metal").unwrap().to_owned()),
        other => Err(format!("no {other}")),
    };
    assert!(Task::parse("s.toml", good, &open).is_ok());
    let edits = [
        ("name = \"softmax\"", "name = \"Soft Max\""),
        ("title = ", "titel = "),
        ("R = { doc = \"rows\" }", "R = { doc = \"rows\", mni = 2 }"),
        ("values = [\"f32\", \"f16\"]", "values = [\"f32\", \"f17\"]"),
        ("kind = \"real\", default = 1.0", "kind = \"complex\""),
        ("default = 1.0", "default = \"sqrt(K)\""),
        ("shape = [\"R\", \"C\"]\ndoc = \"logits\"", "shape = [\"R\", \"C +\"]"),
        ("shape = [\"R\", \"C\"]\ndoc = \"logits\"", "shape = [\"R\", \"Cols\"]"),
        ("role = \"output\"", "role = \"outptu\""),
        ("{ kind = \"smooth\", std = 1.5 }", "{ kind = \"smoth\" }"),
        ("{ kind = \"smooth\", std = 1.5 }", "{ kind = \"smooth\", df = 1.5 }"),
        ("max = 2e-4", "max = 2"),
        ("[tolerance.f16]\nmax = 1e-2\nrms = 2e-3\nrow = 4e-3\n", ""),
        ("flops = \"4 * R * C\"", "flops = \"4 * R * Q\""),
        ("builtin = \"softmax\"", "builtin = \"softmin\""),
        ("input = \"x\"", "input = \"y\""),
        ("values = { R = 256, C = 512 }", "values = { R = 256 }"),
        ("values = { R = 256, C = 512 }", "values = { R = 0, C = 512 }"),
        ("values = { R = 256, C = 512 }", "values = { R = 256, C = 512, Q = 1 }"),
        ("label = \"f16-512x256\"", "label = \"f32-256x512\""),
        ("set = \"search\"", "set = \"heldout\""),
        ("kind = \"wide\"\nvalues = { R = 256, C = 512 }", "values = { R = 256, C = 512 }"),
        ("[reference]", "[reference"),
    ];
    let mut errors = Vec::new();
    for (from, to) in edits {
        assert!(good.contains(from), "{from}");
        let error = Task::parse("s.toml", &good.replace(from, to), &open).map(|_| ()).expect_err(to);
        errors.push(error.to_string());
    }
    for only in ["heldout", "search"] {
        let text = good.replace("\"search\"", &format!("\"{only}\"")).replace("\"heldout\"", &format!("\"{only}\""));
        errors.push(Task::parse("s.toml", &text, &open).map(|_| ()).expect_err(only).to_string());
    }
    let gone = |_: &str| Err("No such file".to_owned());
    errors.push(Task::parse("s.toml", good, &gone).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn an_extension_takes_all_but_workloads_from_a_shipped_task() {
    let long = builtin::task("attention_long").unwrap();
    let base = builtin::task("attention").unwrap();
    assert_eq!((long.name.as_str(), long.family.as_str()), ("attention_long", "attention"));
    assert_eq!((&long.tensors, &long.reference, &long.naive), (&base.tensors, &base.reference, &base.naive));
    assert!(long.workloads_of(Set::Search).filter(|w| w.purpose.times()).all(|w| base.workload(&w.label).is_none()));
    let refused = |text: &str| {
        let text = format!("name = \"mine\"\ntitle = \"x\"\n{text}");
        Task::parse("mine.toml", &text, &|_| Err("nothing beside it".into())).unwrap_err().to_string()
    };
    let workload = "[[workload]]\nlabel = \"a\"\nset = \"search\"\nkind = \"x\"\nvalues = { Lq = 4, Lk = 4 }\n";
    insta::assert_snapshot!(
        [
            refused("extends = \"attentoin\"\nworkload = []\n"),
            refused("extends = \"attention_long\"\nworkload = []\n"),
            refused("extends = \"attention\"\nworkload = []\n"),
            refused("extends = \"attention\"\nfloor = { flops = \"1\" }\nworkload = []\n"),
            refused(&format!("extends = \"attention\"\n[defaults]\nE = 3\n{workload}")),
            refused(&format!("extends = \"attention\"\n{workload}")),
        ]
        .join("\n---\n")
    );
}
