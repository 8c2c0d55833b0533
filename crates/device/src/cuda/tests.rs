use super::*;

#[test]
fn the_compilers_text_becomes_places() {
    let text = "a.cu(12): error: identifier \"x\" is undefined\n  x = 1;\n  ^\n\na.cu(3): warning #177-D: variable \"y\" was declared but never referenced\n1 error detected";
    let found = diagnostics(text, Severity::Error);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].message, "identifier \"x\" is undefined");
    assert_eq!(found[0].pos.as_ref().unwrap().to_string(), "a.cu:12");
    assert_eq!(found[1].severity, Severity::Warning);
    let other = diagnostics("ptxas fatal: out of registers", Severity::Error);
    assert!(other[0].pos.is_none() && other[0].message.contains("ptxas"));
    assert!(diagnostics("\n", Severity::Warning).is_empty());
}

/// A worker that answers like one of a machine without a GPU.
#[cfg(unix)]
#[test]
fn a_machine_without_a_gpu_says_so() {
    if present().is_ok() {
        return;
    }
    let mut input = Vec::new();
    wire::send(&mut input, &Request::Hello, &[]).unwrap();
    let mut output = Vec::new();
    serve(&mut input.as_slice(), &mut output).unwrap();
    let (answer, _): (Answer, _) = wire::receive(&mut output.as_slice()).unwrap().unwrap();
    let Answer::Failed { trouble: Trouble::Machine(why), lost: true } = answer else { panic!("{answer:?}") };
    assert!(why.contains("NVIDIA") || why.contains("NVRTC"), "{why}");
}

#[test]
fn rates_follow_from_the_multiprocessors() {
    let gpu = Facts {
        name: "test".into(),
        capability: (9, 0),
        multiprocessors: 132,
        clock_mhz: 1980.0,
        memory_gbs: 4800.0,
        ..Facts::default()
    };
    let f = facts(&gpu);
    assert!((f.peak_gflops.unwrap() - 66_908.0).abs() < 1.0);
    assert!((f.exp_giga_per_s.unwrap() - 4181.8).abs() < 0.1);
    assert!(f.peak_f16_gflops.unwrap() > 1e6);
}
