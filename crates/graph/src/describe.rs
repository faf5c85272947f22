//! The texts of a graph: what is written in a state and next to an edge.

use std::borrow::Borrow;

use interlock_core::{
    guard::{EvidenceGuard, EvidenceOf, FieldGuard, Guard, GuardRef, Op, Since, Source},
    machine::{Activity, ApprovalKind, Join, Machine, Over, State, Transition},
    policy::{OnDenied, Policy},
    visible::push_visible,
};
use serde_json::Value;

/// The depth up to which nested guards are written out.
const DEPTH_MAX: usize = 6;

/// The number of characters beyond which a text from a workflow is cut.
const TEXT_MAX: usize = 400;

/// Returns what the workflow says about itself: kind, length and danger.
pub(crate) fn about(machine: &Machine) -> Vec<String> {
    let known = |key: &str| machine.meta.get(key).and_then(scalar);
    let steps = known("estimated_steps").map(|steps| format!("about {steps} steps"));
    [
        known("description"),
        known("task_type"),
        steps,
        known("danger_level"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(one_line(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns `text` on one line, cut if it is too long.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for letter in text.chars().take(TEXT_MAX) {
        match letter {
            '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => line.push(' '),
            letter => push_visible(&mut line, letter),
        }
    }
    if text.chars().nth(TEXT_MAX).is_some() {
        line.push('…');
    }
    line
}

/// Returns what happens while the state is current; `None` where an agent works from outside.
pub(crate) fn activity(machine: &Machine, state: &State) -> Option<String> {
    let words = match &state.activity {
        Activity::Await | Activity::Final { .. } => return None,
        Activity::Task(task) => format!("runs {}", task.kind),
        Activity::Stage(_) => "model stage".to_owned(),
        Activity::Ask(_) => "asks a person".to_owned(),
        Activity::Choice | Activity::Test(_) => "chooses".to_owned(),
        Activity::Pause(_) => "pauses".to_owned(),
        Activity::Call(call) => {
            let called = machine.machines.get(&call.machine);
            let id = called.map_or(&call.machine, |called| &called.id);
            format!("calls {id}")
        }
        Activity::Parallel(parallel) => match (&parallel.over, parallel.join) {
            (Over::Lines(_), _) => "for each line".to_owned(),
            (Over::Items(items), _) => format!("for each of {}", items.items),
            (Over::Branches(_), Join::All) => "fork, joins when all succeed".to_owned(),
            (Over::Branches(_), Join::Any) => "fork, joins when one succeeds".to_owned(),
            (Over::Branches(_), Join::Settled) => "fork, joins when all ended".to_owned(),
            (Over::Branches(_), Join::FailFast) => {
                "fork, joins when all ended or one failed".to_owned()
            }
            (Over::Branches(_), Join::Converge) => "fork, lines meet".to_owned(),
        },
        Activity::Wait { wait_ms } => format!("waits {}", duration(*wait_ms)),
    };
    Some(one_line(&words))
}

fn duration(wait_ms: u64) -> String {
    match wait_ms {
        whole if whole > 0 && whole.is_multiple_of(3_600_000) => format!("{} h", whole / 3_600_000),
        whole if whole > 0 && whole.is_multiple_of(60_000) => format!("{} min", whole / 60_000),
        whole if whole.is_multiple_of(1_000) => format!("{} s", whole / 1_000),
        other => format!("{other} ms"),
    }
}

/// Returns the tools of a state, one word each; empty if the state does not mention any.
pub(crate) fn tools(state: &State) -> Vec<String> {
    match &state.policy.allowed_tools {
        Some(tools) if tools.is_empty() => vec!["no tools".to_owned()],
        Some(tools) => tools.iter().map(|tool| one_line(tool)).collect(),
        None if matches!(state.activity, Activity::Await | Activity::Stage(_)) => {
            vec!["any tool".to_owned()]
        }
        None => Vec::new(),
    }
}

/// Returns the limits of a state, one line each.
pub(crate) fn limits(state: &State) -> Vec<String> {
    let policy = &state.policy;
    let mut lines = Vec::new();
    if !policy.disallowed_tools.is_empty() {
        lines.push(format!("never {}", policy.disallowed_tools.join(", ")));
    }
    if policy.on_denied == OnDenied::Ask && policy.allowed_tools.is_some() {
        lines.push("other tools: asks a person".to_owned());
    }
    if let Some(commands) = &policy.allowed_commands {
        let texts: Vec<&str> = commands.iter().map(|entry| entry.text.as_str()).collect();
        lines.push(match texts.as_slice() {
            [] => "no commands".to_owned(),
            texts => format!("$ {}", texts.join(", ")),
        });
    }
    if !policy.background.is_empty() {
        let entries = policy.background.iter();
        let texts: Vec<&str> = entries.map(|entry| entry.text.as_str()).collect();
        lines.push(format!("$ {} &", texts.join(", ")));
    }
    lines.extend(counted(policy));
    if !policy.blocked_env.is_empty() {
        lines.push(format!("without {}", policy.blocked_env.join(", ")));
    }
    if !policy.env_overrides.is_empty() {
        let names: Vec<&str> = policy.env_overrides.keys().map(String::as_str).collect();
        lines.push(format!("sets {}", names.join(", ")));
    }
    if let Some(model) = &state.model {
        lines.push(format!("model {model}"));
    }
    lines.iter().map(|line| one_line(line)).collect()
}

fn counted(policy: &Policy) -> Option<String> {
    let counts = [
        (policy.iterations_max, "calls"),
        (policy.files_max, "files"),
        (policy.edit_lines_max, "lines an edit"),
        (policy.result_bytes_max, "bytes"),
    ];
    let parts: Vec<String> = counts
        .into_iter()
        .filter_map(|(max, unit)| max.map(|max| format!("{} {unit}", grouped(max))))
        .collect();
    (!parts.is_empty()).then(|| format!("at most {}", parts.join(" · ")))
}

/// Writes a number with a thin gap between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the conditions of a transition, one line each.
///
/// `nth` is its place among those of the same event, from 1, where they are tried in order.
pub(crate) fn conditions(transition: &Transition, nth: Option<usize>) -> Vec<String> {
    let number = nth.map_or_else(String::new, |nth| format!("{nth}. "));
    let mut lines: Vec<String> = transition
        .guards
        .iter()
        .enumerate()
        .map(|(index, guard)| {
            let guard = guard_ref(guard, 0);
            one_line(&if index == 0 {
                format!("{number}if {guard}")
            } else {
                format!("and {guard}")
            })
        })
        .collect();
    if lines.is_empty() {
        lines.extend(nth.map(|nth| match nth {
            1 => "1. always".to_owned(),
            nth => format!("{nth}. otherwise"),
        }));
    }
    lines
}

/// Returns what a person is asked before a transition.
pub(crate) fn approval(transition: &Transition) -> Option<String> {
    let rule = transition.approval.as_ref()?;
    let needs = match rule.kind {
        ApprovalKind::Person => "needs approval",
        ApprovalKind::Passkey => "needs approval with a passkey",
    };
    Some(rule.message.as_ref().map_or_else(
        || needs.to_owned(),
        |message| one_line(&format!("{needs}: {message}")),
    ))
}

fn guard_ref(guard: &GuardRef, depth: usize) -> String {
    match guard {
        GuardRef::Named(name) => name.to_string(),
        GuardRef::Inline(_) if depth >= DEPTH_MAX => "…".to_owned(),
        GuardRef::Inline(inline) => match inline.as_ref() {
            Guard::Field(field) => comparison(field),
            Guard::All(items) => composed(items, " and ", depth),
            Guard::Any(items) => composed(items, " or ", depth),
            Guard::Not(item) => format!("not {}", guard_ref(item, depth + 1)),
            Guard::Output(text) => text.clone(),
            Guard::Code(code) => format!("code {code}"),
            Guard::Uncancelled => "any other code".to_owned(),
            Guard::Expression(guard) => guard.text.clone(),
            Guard::Evidence(evidence) => {
                let since = match evidence.since {
                    Since::LastEdit => "since the last edit",
                    Since::StateEntry => "in this state",
                    Since::RunStart => "in this run",
                };
                format!("{}{} {since}", seen(&evidence.of), beside(evidence))
            }
        },
    }
}

fn composed(items: &[GuardRef], word: &str, depth: usize) -> String {
    let parts: Vec<String> = items
        .iter()
        .map(|item| guard_ref(item, depth + 1))
        .collect();
    let text = parts.join(word);
    if depth > 0 && parts.len() > 1 {
        format!("({text})")
    } else {
        text
    }
}

/// Says what is required in addition to the call.
fn beside(evidence: &EvidenceGuard) -> String {
    let wanted = evidence.substance_shown();
    wanted.map_or_else(String::new, |wanted| format!(" ({wanted})"))
}

fn seen(evidence: &EvidenceOf) -> String {
    match evidence {
        EvidenceOf::Command { exit, .. } => {
            let shown = evidence.command_shown().unwrap_or_default();
            match exit {
                0 => format!("{shown} passed"),
                exit => format!("{shown} ended with {exit}"),
            }
        }
        EvidenceOf::Tool {
            tool,
            path: Some(path),
        } => format!("{tool} of {path} seen"),
        EvidenceOf::Tool { tool, path: None } => format!("{tool} seen"),
    }
}

fn comparison(guard: &FieldGuard) -> String {
    let field = match guard.from {
        Source::Context => guard.field.clone(),
        Source::Output => format!("output {}", guard.field),
    };
    let op = match guard.op {
        Op::Eq => "=",
        Op::Neq => "≠",
        Op::Gt => ">",
        Op::Gte => "≥",
        Op::Lt => "<",
        Op::Lte => "≤",
        Op::In => "in",
        Op::Contains => "contains",
        Op::Exists => return format!("{field} exists"),
        Op::NotExists => return format!("{field} is missing"),
    };
    let value = guard
        .value
        .as_ref()
        .map_or_else(String::new, Value::to_string);
    format!("{field} {op} {value}")
}

/// Returns the named guards of a transition with what they compare, one line each.
pub(crate) fn definitions(machine: &Machine, transition: &Transition) -> Vec<String> {
    let named = transition.guards.iter().filter_map(|guard| match guard {
        GuardRef::Named(name) => Some(name),
        GuardRef::Inline(_) => None,
    });
    named
        .filter_map(|name| {
            let guard = machine.guards.get::<str>(name.borrow())?;
            let inline = GuardRef::Inline(Box::new(guard.clone()));
            Some(one_line(&format!("{name}: {}", guard_ref(&inline, 0))))
        })
        .collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wait_is_written_in_the_largest_whole_unit() {
        for (wait_ms, text) in [
            (0, "0 s"),
            (1, "1 ms"),
            (1_500, "1500 ms"),
            (59_000, "59 s"),
            (60_000, "1 min"),
            (90_000, "90 s"),
            (5_400_000, "90 min"),
            (7_200_000, "2 h"),
        ] {
            assert_eq!(duration(wait_ms), text);
        }
    }

    #[test]
    fn each_comparison_is_written_as_it_compares() {
        for (guard, text) in [
            (json!({"field": "a", "op": "eq", "value": "x"}), "a = \"x\""),
            (json!({"field": "a", "op": "neq", "value": 1}), "a ≠ 1"),
            (json!({"field": "a", "op": "gt", "value": 1}), "a > 1"),
            (json!({"field": "a", "op": "gte", "value": 1}), "a ≥ 1"),
            (json!({"field": "a", "op": "lt", "value": 1}), "a < 1"),
            (json!({"field": "a", "op": "lte", "value": 1}), "a ≤ 1"),
            (json!({"field": "a", "op": "in", "value": [1]}), "a in [1]"),
            (
                json!({"field": "a", "op": "contains", "value": 1}),
                "a contains 1",
            ),
            (json!({"field": "a", "op": "exists"}), "a exists"),
            (json!({"field": "a", "op": "not_exists"}), "a is missing"),
            (
                json!({"field": "a", "op": "eq", "value": 1, "from": "output"}),
                "output a = 1",
            ),
        ] {
            let read: FieldGuard = serde_json::from_value(guard.clone()).unwrap();
            assert_eq!(comparison(&read), text, "{guard}");
        }
    }

    #[test]
    fn guards_within_guards_keep_their_brackets() {
        let code = |code: u64| json!({"inline": {"code": code}});
        for (guard, text) in [
            (json!({"named": "green"}), "green"),
            (code(7), "code 7"),
            (json!({"inline": "uncancelled"}), "any other code"),
            (json!({"inline": {"output": "yes"}}), "yes"),
            (json!({"inline": {"not": code(1)}}), "not code 1"),
            (
                json!({"inline": {"all": [code(1), code(2)]}}),
                "code 1 and code 2",
            ),
            (
                json!({"inline": {"any": [code(1), {"inline": {"all": [code(2), code(3)]}}]}}),
                "code 1 or (code 2 and code 3)",
            ),
            (
                json!({"inline": {"not": {"inline": {"any": [code(1), code(2)]}}}}),
                "not (code 1 or code 2)",
            ),
        ] {
            let read: GuardRef = serde_json::from_value(guard.clone()).unwrap();
            assert_eq!(guard_ref(&read, 0), text, "{guard}");
        }
        for (of, text) in [
            (
                json!({"command": {"text": "make", "words": ["make"], "exit": 0}}),
                "`make` passed",
            ),
            (
                json!({"command": {"text": "make", "words": ["make"], "exit": 2}}),
                "`make` ended with 2",
            ),
            (json!({"tool": {"tool": "Read"}}), "Read seen"),
            (
                json!({"tool": {"tool": "Read", "path": "a"}}),
                "Read of a seen",
            ),
        ] {
            let read: EvidenceOf = serde_json::from_value(of.clone()).unwrap();
            assert_eq!(seen(&read), text, "{of}");
        }
    }
}
