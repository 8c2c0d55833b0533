use super::*;
use indexmap::IndexMap;
use proptest::prelude::*;

fn scope() -> IndexMap<String, Value> {
    IndexMap::from_iter([
        ("L".to_owned(), Value::Int(131)),
        ("D".to_owned(), Value::Int(64)),
        ("scale".to_owned(), Value::Real(0.125)),
        ("T".to_owned(), Value::Type(DType::F16)),
    ])
}

fn eval(text: &str) -> Result<Value, ExprError> {
    Expr::parse(text)?.eval(&scope())
}

fn int(text: &str) -> i64 {
    match eval(text) {
        Ok(Value::Int(i)) => i,
        other => panic!("{text}: {other:?}"),
    }
}

fn message(text: &str) -> (usize, String) {
    let e = eval(text).expect_err(text);
    assert_eq!(e.text, text);
    (e.column, e.message)
}

#[test]
fn arithmetic_and_precedence() {
    assert_eq!(int("1 + 2 * 3"), 7);
    assert_eq!(int("(1 + 2) * 3"), 9);
    assert_eq!(int("10 - 3 - 2"), 5);
    assert_eq!(int("-7 / 2"), -4);
    assert_eq!(int("-7 % 2"), 1);
    assert_eq!(int("7 % -2"), -1);
    assert_eq!(int("ceil_div(L, 32)"), 5);
    assert_eq!(int("round_up(L, 32)"), 160);
    assert_eq!(int("max(1, L, 3)"), 131);
    assert_eq!(int("min(L, D, 100)"), 64);
    assert_eq!(int("pow(2, 10)"), 1024);
    assert_eq!(int("bytes(T) * D"), 128);
    assert_eq!(int("bytes(f32)"), 4);
    assert_eq!(int("T == f16 ? 8 : 4"), 8);
    assert_eq!(int("!(L > 3) || D == 64 && 1 < 2"), 1);
    assert_eq!(int("L > 3 ? D > 100 ? 1 : 2 : 3"), 2);
    assert_eq!(int("floor(log2(D))"), 6);
    assert_eq!(eval("1 / sqrt(D)"), Ok(Value::Real(0.125)));
    assert_eq!(eval("scale * 2"), Ok(Value::Real(0.25)));
    assert_eq!(eval("1e3 + .5"), Ok(Value::Real(1000.5)));
}

#[test]
fn short_circuit_guards_division() {
    assert_eq!(int("D == 0 || L / D > 1"), 1);
    assert_eq!(int("0 && 1 / 0"), 0);
    assert_eq!(int("1 ? 2 : 1 / 0"), 2);
}

#[test]
fn overflow_is_an_error_with_a_place() {
    assert_eq!(message("9223372036854775807 + 1").0, 21);
    assert_eq!(message("1 + pow(2, 63)").0, 5);
    assert!(message("(0 - 9223372036854775807 - 1) / -1").1.contains("overflows"));
    assert_eq!(int("(0 - 9223372036854775807 - 1) % -1"), 0);
    assert!(message("1 / 0").1.contains("division by zero"));
    assert!(message("sqrt(0 - 1)").1.contains("finite"));
    assert!(message("9007199254740993 * 1.0").1.contains("exactly"));
}

#[test]
fn diagnostics() {
    let all = [
        "L +",
        "L + * 2",
        "(L",
        "foo(1)",
        "Lk + 1",
        "ceil_div(1)",
        "L = 3",
        "1 2",
        "3x",
        "",
        "bytes(3)",
        "T + 1",
        "a ? 1",
        "L & 3",
        "é",
    ];
    let lines: Vec<_> = all.iter().map(|t| format!("{t:?} -> {}", eval(t).expect_err(t))).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn deep_nesting_is_refused_not_a_crash() {
    for text in
        ["(".repeat(10_000), "-".repeat(10_000), "!".repeat(10_000) + "1", "1+".repeat(50_000) + "1", "1?".repeat(9000)]
    {
        assert!(Expr::parse(&text).is_err());
    }
}

#[test]
fn names_are_listed_and_checked() {
    let e = Expr::parse("L * D + L + bytes(f32)").expect("parses");
    assert_eq!(e.names(), ["L", "D", "f32"]);
    assert!(e.check_names(&["L", "D"]).is_ok());
    let error = e.check_names(&["L"]).expect_err("D is unknown");
    assert_eq!(error.column, 5);
}

#[test]
fn serde_is_text_and_refuses_bad_text() {
    #[derive(Serialize, Deserialize)]
    struct Holder {
        e: Expr,
    }
    let h: Holder = toml::from_str("e = \"ceil_div(L, 4)\"").expect("good");
    assert_eq!(toml::to_string(&h).expect("serialises"), "e = \"ceil_div(L, 4)\"\n");
    assert_eq!(toml::from_str::<Holder>("e = 7").expect("number").e, Expr::int(7));
    assert_eq!(toml::from_str::<Holder>("e = true").expect("boolean").e, Expr::int(1));
    let bad = toml::from_str::<Holder>("e = \"ceil_div(L\"").err().expect("refused");
    assert!(bad.message().contains("expected `,` or `)`"), "{bad}");
    assert_eq!(bad.span(), Some(4..16));
}

proptest! {
    #[test]
    fn no_text_panics(text in "[ -~]{0,40}") {
        if let Ok(e) = Expr::parse(&text) {
            let _ = e.eval(&scope());
        }
    }

    #[test]
    fn no_token_soup_panics(words in proptest::collection::vec(
        prop::sample::select(vec!["1", "9223372036854775807", "L", "T", "2.5", "+", "-", "*", "/", "%", "(", ")", "?", ":",
            "==", "<", "&&", "||", "!", ",", "min(", "pow(", "ceil_div(", "round_up(", "abs(", "bytes(", "log2("]), 0..14)) {
        if let Ok(e) = Expr::parse(&words.join(" ")) {
            let _ = e.eval(&scope());
        }
    }

    #[test]
    fn canonical_text_means_the_same(words in proptest::collection::vec(
        prop::sample::select(vec!["1", "7", "L", "D", "+", "-", "*", "/", "%", "(", ")", "<", "?", ":", "-"]), 1..12)) {
        if let Ok(e) = Expr::parse(&words.join(" ")) {
            let again = Expr::parse(&e.canonical()).expect("canonical text parses");
            prop_assert_eq!(e.canonical(), again.canonical());
            prop_assert_eq!(e.eval(&scope()).ok(), again.eval(&scope()).ok());
        }
    }

    #[test]
    fn floor_division_identity(x in any::<i64>(), y in any::<i64>()) {
        prop_assume!(y != 0 && !(x == i64::MIN && y == -1));
        let scope: IndexMap<String, Value> = IndexMap::from_iter([("x".to_owned(), Value::Int(x)), ("y".to_owned(), Value::Int(y))]);
        let run = |t: &str| Expr::parse(t).expect("parses").eval(&scope).expect("evaluates").as_int().expect("int");
        let (q, r) = (run("x / y"), run("x % y"));
        prop_assert_eq!(i128::from(q) * i128::from(y) + i128::from(r), i128::from(x));
        prop_assert!(r == 0 || (r < 0) == (y < 0));
    }
}
