//! Tables of expressions, and real Python beside them.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is evaluated touches nothing; a test reads its cases and asks Python"
)]

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ParseError, parse};
use crate::{
    Object,
    expression::{AfterState, Expression, evaluate, holds},
    number::deep_equal,
};

fn table(name: &str) -> Vec<String> {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/codemie");
    let text = fs::read_to_string(format!("{cases}/{name}")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("# "));
    lines.map(str::to_owned).collect()
}

/// Evaluates after a trip through JSON, as a machine read from a log does.
fn value(text: &str, output: &Value, context: &Object) -> Result<Value, String> {
    let read = parse(text).map_err(|mistake| mistake.message)?;
    let kept = serde_json::to_string(&read).unwrap();
    let read: Expression = serde_json::from_str(&kept).unwrap();
    evaluate(&read, &AfterState { output, context }).map_err(|failure| failure.reason)
}

fn same(left: &Value, right: &Value) -> bool {
    let truths = |value: &Value| matches!(value, Value::Bool(_));
    deep_equal(left, right) && truths(left) == truths(right)
}

#[test]
fn expressions_mean_what_the_table_says() {
    let (mut context, mut output) = (Object::new(), Value::Null);
    let mut wrong = Vec::new();
    for line in table("expressions.txt") {
        if let Some(given) = line.strip_prefix("@ ") {
            output = serde_json::from_str(given).unwrap();
        } else if let Ok(Value::Object(given)) = serde_json::from_str(&line) {
            context = given;
        } else if let Some((text, wanted)) = line.rsplit_once(" => ") {
            let wanted: Value = serde_json::from_str(wanted).unwrap();
            let found = value(text, &output, &context);
            if !found.as_ref().is_ok_and(|found| same(found, &wanted)) {
                wrong.push(format!("{line}\n    found {found:?}"));
            }
        } else {
            let (text, reason) = line.rsplit_once(" ! ").unwrap();
            let found = value(text, &output, &context);
            if !found.as_ref().is_err_and(|found| found.contains(reason)) {
                wrong.push(format!("{line}\n    found {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_refused_is_refused_at_its_column() {
    let mut wrong = Vec::new();
    for line in table("expressions-refused.txt") {
        let (text, rest) = line.split_once(" ! ").unwrap();
        let (column, wanted) = rest.split_once(' ').unwrap();
        let found = parse(text);
        let fits = |mistake: &ParseError| {
            let said = format!("{}: {}", mistake.message, mistake.help);
            mistake.at + 1 == column.parse::<usize>().unwrap() && said.contains(wanted)
        };
        if !found.as_ref().is_err_and(fits) {
            wrong.push(format!("{line}\n    found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Expressions of the common part, with the value that Python gave.
fn as_python() -> (Object, Vec<(String, Value)>) {
    let lines = table("expressions-as-python.txt");
    let context = serde_json::from_str(&lines[0]).unwrap();
    let rows = lines.iter().skip(1).map(|line| {
        let (text, value) = line.rsplit_once(" => ").unwrap();
        (text.to_owned(), serde_json::from_str(value).unwrap())
    });
    (context, rows.collect())
}

#[test]
fn the_common_part_means_what_it_means_in_python() {
    let (context, rows) = as_python();
    assert!(rows.len() > 200, "{}", rows.len());
    let mut wrong = Vec::new();
    for (text, wanted) in rows {
        let found = value(&text, &Value::Null, &context);
        if !found.as_ref().is_ok_and(|found| same(found, &wanted)) {
            wrong.push(format!("{text}\n    wanted {wanted}\n    found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Evaluates expressions in one process of Python's; `null` in place of each that fails.
fn python(context: &Object, texts: &[String]) -> Option<Vec<Value>> {
    const PROGRAM: &str = r"
import json, sys
context, texts = json.load(sys.stdin)
functions = {f.__name__: f for f in (len, min, max, sum, abs, str, int, float, bool, list, dict, tuple, any, all, isinstance, round, sorted, reversed, enumerate, zip)}
def plain(value):
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and value != value or value in (float('inf'), -float('inf')):
        raise ValueError
    if isinstance(value, int) and not -2**126 < value < 2**126 or isinstance(value, complex):
        raise ValueError
    return value
results = []
for text in texts:
    try:
        value = plain(eval(text, {'__builtins__': {}, **functions}, dict(context)))
        results.append([value])
    except Exception:
        results.append(None)
json.dump(results, sys.stdout)
";
    let mut child = Command::new("/usr/bin/python3")
        .args(["-W", "ignore", "-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let given = json!([context, texts]).to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(given.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).ok()
}

/// Makes expressions of the part that means the same in Python.
fn generated(seed: u64, count: usize) -> Vec<String> {
    let mut state = seed;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    (0..count).map(|_| expression(&mut next, 4)).collect()
}

fn expression(next: &mut impl FnMut(usize) -> usize, depth: usize) -> String {
    const ATOMS: [&str; 20] = [
        "n", "neg", "f", "zero", "name", "word", "empty", "yes", "no", "nothing", "tags", "nums",
        "user", "items", "1", "2.5", "'a'", "'bug'", "[1, 2]", "None",
    ];
    // No `%`: beside a text it fills formats in Python.
    const BETWEEN: [&str; 19] = [
        "+", "-", "*", "/", "//", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or",
        "and", "or", "+", "==",
    ];
    const CALLS: [&str; 10] = [
        "len", "min", "max", "sum", "abs", "str", "bool", "any", "all", "sorted",
    ];
    const METHODS: [&str; 8] = [
        "lower()",
        "upper()",
        "strip()",
        "split()",
        "title()",
        "find('l')",
        "replace('l', 'L')",
        "startswith('h')",
    ];
    if depth == 0 {
        return ATOMS[next(ATOMS.len())].to_owned();
    }
    let part = |next: &mut _| expression(next, depth - 1);
    match next(10) {
        0..=3 => {
            let (left, right) = (part(next), part(next));
            format!("({left}) {} ({right})", BETWEEN[next(BETWEEN.len())])
        }
        4 => format!("not ({})", part(next)),
        5 => format!("{}({})", CALLS[next(CALLS.len())], part(next)),
        6 => format!("({}).{}", part(next), METHODS[next(METHODS.len())]),
        7 => format!(
            "({})[{}]",
            part(next),
            ["0", "-1", "1:", "'name'", "::-1"][next(5)]
        ),
        8 => {
            let (then, condition, otherwise) = (part(next), part(next), part(next));
            format!("({then}) if ({condition}) else ({otherwise})")
        }
        _ => ATOMS[next(ATOMS.len())].to_owned(),
    }
}

/// Real Python, where it is installed, says the same.
#[test]
fn generated_expressions_mean_what_python_says() {
    let (context, rows) = as_python();
    let mut texts: Vec<String> = rows.into_iter().map(|(text, _)| text).collect();
    texts.extend(generated(0x1234_5678_9abc_def1, 4_000));
    let Some(results) = python(&context, &texts) else {
        return;
    };
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (text, result) in texts.iter().zip(results) {
        let found = value(text, &Value::Null, &context);
        match (result.get(0), &found) {
            (Some(wanted), Ok(found)) => {
                compared += 1;
                if !same(found, wanted) {
                    wrong.push(format!("{text}\n    python {wanted}\n    here {found}"));
                }
            }
            (None, Err(_)) => {}
            (wanted, found) => {
                wrong.push(format!("{text}\n    python {wanted:?}\n    here {found:?}"));
            }
        }
    }
    let count = wrong.len();
    wrong.truncate(20);
    assert!(count == 0, "{count} of {compared}\n{}", wrong.join("\n"));
    assert!(compared > 500, "{compared}");
}

#[test]
fn depth_is_bounded_and_survives_a_log() {
    let chain = (0..250)
        .map(|n| format!("a == {n}"))
        .collect::<Vec<_>>()
        .join(" or ");
    let context = json!({ "a": 249 });
    assert_eq!(
        value(&chain, &Value::Null, context.as_object().unwrap()),
        Ok(json!(true))
    );
    for deep in [
        "(".repeat(200) + "1",
        "not ".repeat(200) + "a",
        "-".repeat(5_000) + "1",
        "a".to_owned() + &"[0]".repeat(400),
        "1".to_owned() + &" + 1".repeat(400),
        "[".repeat(100_000),
    ] {
        assert!(parse(&deep).is_err());
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~é]{0,60}") {
        if let Err(mistake) = parse(&text) {
            prop_assert!(mistake.at + mistake.length <= text.len());
            prop_assert!(text.is_char_boundary(mistake.at));
        }
    }

    #[test]
    fn any_pieces_are_read_and_evaluated_or_refused(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "a", "1", "'x'", "(", ")", "[", "]", "{", "}", ",", ":", ".", "and", "or", "not",
                "in", "is", "None", "if", "else", "+", "-", "**", "==", "<", "len", "lower",
            ]),
            0..20,
        )
    ) {
        let text = pieces.join(" ");
        if let Ok(read) = parse(&text) {
            let context = json!({ "a": "2" });
            let names = AfterState { output: &Value::Null, context: context.as_object().unwrap() };
            let _ = holds(&read, &names);
        }
    }
}
