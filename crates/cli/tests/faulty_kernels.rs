//! One right attention kernel, broken in ten ways: each must get its own status, the exact line, and advice that fits.

#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const RIGHT: &str = include_str!("attention_row.metal");

/// How the right kernel is broken, and what must be said about it.
struct Case {
    /// What it is called.
    name: &'static str,
    /// Text of the right kernel that is replaced, once.
    from: &'static str,
    /// What it becomes.
    to: &'static str,
    /// Status of the verdict.
    status: &'static str,
    /// Kind of the fault, where there is one.
    kind: Option<&'static str>,
    /// Text that stands on the line the verdict must name; none where no line can be named.
    line_of: Option<&'static str>,
    /// A word that the advice, the summary or a diagnostic must hold.
    says: &'static str,
}

const CASES: [Case; 10] = [
    Case {
        name: "syntax error",
        from: "float sum = 0.0f;",
        to: "float sum = 0.0f",
        status: "compile_error",
        kind: None,
        line_of: Some("float sum = 0.0f"),
        says: ";",
    },
    Case {
        name: "unknown function",
        from: "sum += exp(logits[j] - largest);",
        to: "sum += exponential(logits[j] - largest);",
        status: "compile_error",
        kind: None,
        line_of: Some("exponential("),
        says: "exponential",
    },
    Case {
        name: "40 KB of threadgroup memory",
        from: "threadgroup float logits[512];",
        to: "threadgroup float logits[10240];",
        status: "launch_error",
        kind: None,
        line_of: Some("threadgroup float logits[10240]"),
        says: "40960 bytes",
    },
    Case {
        name: "a barrier in divergent flow",
        from: "    threadgroup_barrier(mem_flags::mem_threadgroup);",
        to: "    if (t < 40) {\n        threadgroup_barrier(mem_flags::mem_threadgroup);\n    }",
        status: "fault",
        kind: Some("barrier_divergence"),
        line_of: Some("threadgroup_barrier("),
        says: "barrier",
    },
    Case {
        name: "a missing barrier",
        from: "    threadgroup_barrier(mem_flags::mem_threadgroup);\n",
        to: "",
        status: "fault",
        kind: Some("data_race"),
        line_of: Some("largest = max(largest, logits[j]);"),
        says: "threadgroup_barrier",
    },
    Case {
        name: "an off-by-one store",
        from: "out[(head * Lq + i) * D + d] =",
        to: "out[(head * Lq + i) * D + d + 1] =",
        status: "fault",
        kind: Some("out_of_bounds"),
        line_of: Some("out[(head * Lq + i) * D + d + 1]"),
        says: "offset",
    },
    Case {
        name: "an unwritten output row",
        from: "    float largest = -INFINITY;",
        to: "    if (i == 7) {\n        return;\n    }\n    float largest = -INFINITY;",
        status: "not_observed",
        kind: None,
        line_of: None,
        says: "[0, 0, 7, 0]",
    },
    Case {
        name: "a wrong scale",
        from: "logits[j] = scale * dot;",
        to: "logits[j] = 0.7f * scale * dot;",
        status: "wrong_answer",
        kind: None,
        line_of: None,
        says: "scale",
    },
    Case {
        name: "a NaN",
        from: "T(weighted / sum);",
        to: "T(weighted / (sum - sum));",
        status: "nonfinite",
        kind: None,
        line_of: None,
        says: "0/0",
    },
    Case {
        name: "an endless loop",
        from: "for (uint j = 0; j < visible; ++j) {\n        sum +=",
        to: "for (uint j = 0; j < visible; j += t & 0) {\n        sum +=",
        status: "timeout",
        kind: Some("runaway"),
        line_of: Some("sum += exp("),
        says: "loop",
    },
];

fn eval(dir: &Path, source: &str) -> (i32, Value) {
    let file = dir.join("kernel.metal");
    std::fs::write(&file, source).unwrap();
    let output = Command::cargo_bin("ksearch")
        .unwrap()
        .args(["eval", "attention", "--json", "--seed", "1"])
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    (output.status.code().unwrap_or(-1), value)
}

fn line_of(source: &str, text: &str) -> u64 {
    source.lines().position(|l| l.contains(text)).map_or(0, |n| n as u64 + 1)
}

#[test]
fn each_mistake_gets_its_status_line_and_advice() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for case in &CASES {
        assert_eq!(RIGHT.matches(case.from).count(), 1, "`{}` must occur once", case.from);
        let source = RIGHT.replace(case.from, case.to);
        let (code, verdict) = eval(dir.path(), &source);
        let mut expect = |ok: bool, what: &str| {
            if !ok {
                wrong.push(format!("{}: {what}\n{verdict:#}", case.name));
            }
        };
        expect(code == 1, "exit code 1");
        expect(verdict["status"].as_str() == Some(case.status), case.status);
        expect(verdict["fault"]["kind"].as_str().filter(|k| *k != "launch") == case.kind, "kind of fault");
        let pos = if verdict["fault"]["pos"].is_object() {
            &verdict["fault"]["pos"]
        } else {
            &verdict["diagnostics"][0]["pos"]
        };
        expect(pos["line"].as_u64() == case.line_of.map(|text| line_of(&source, text)), "line");
        expect(pos["line"].is_null() || pos["column"].as_u64().is_some_and(|c| c > 0), "column");
        let said = format!("{} {} {}", verdict["summary"], verdict["advice"], verdict["diagnostics"]);
        expect(said.contains(case.says), case.says);
        expect(!verdict["advice"].as_str().unwrap_or("").is_empty(), "advice");
        expect(verdict["time"].is_null(), "no time for what did not pass");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_right_kernel_passes_and_an_argument_it_never_reads_is_named() {
    let unread = |verdict: &Value| -> Vec<String> {
        let list = verdict["evidence"].as_array().unwrap();
        list.iter()
            .filter(|e| e["check"] == "unread_argument")
            .map(|e| e["detail"].as_str().unwrap().to_owned())
            .collect()
    };
    let dir = tempfile::tempdir().unwrap();
    let (code, verdict) = eval(dir.path(), RIGHT);
    assert_eq!((code, verdict["status"].as_str(), unread(&verdict)), (0, Some("passed"), Vec::new()), "{verdict:#}");
    let source = RIGHT.replace("    uint3 group [[", "    constant uint& B [[buffer(10)]],\n    uint3 group [[");
    let (code, verdict) = eval(dir.path(), &source);
    let said = unread(&verdict);
    assert!(code == 0 && said.len() == 1 && said[0].contains("attention_row: B"), "{verdict:#}");
}
