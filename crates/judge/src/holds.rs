//! Evaluates guards with three values: an unknown result remains unknown under `not`, `any` and `all`.

mod evidence;
mod substance;

use std::{cmp::Ordering, collections::BTreeMap};

use interlock_expr::{
    expression::{AfterState, holds},
    number::{compare, deep_equal},
};
use serde_json::{Value, json};

use crate::{
    data::parse_output,
    guard::{
        EvidenceGuard, ExpressionGuard, FieldGuard, Guard, GuardRef, Op, Since, Source, with_parts,
    },
    machine::{Machine, Rule},
    names::GuardName,
    parts::SeenCondition,
    run::{Frame, Run},
};

/// Maximum nesting of guards.
pub const DEPTH_MAX: usize = 64;

/// Maximum number of characters of a condition in messages.
const CONDITION_MAX: usize = 200;

/// A guard that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// Name of the guard, or a description of its comparison.
    pub guard: String,
    /// What the guard saw and what it requires, as one clause.
    pub reason: String,
    /// Top-level context key that the guard read, if it read one.
    pub key: Option<String>,
    /// Whether the guard could not be evaluated.
    pub unreadable: bool,
}

/// The values that guards are evaluated against.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Machine of the frame, which defines the named guards.
    pub machine: &'a Machine,
    /// Run, for evidence.
    pub run: &'a Run,
    /// Frame, for its context and output.
    pub frame: &'a Frame,
}

/// Returns every guard of `guards` that does not hold, in order; an empty list if all hold.
#[must_use]
pub fn unmet<'a>(scope: Scope<'a>, guards: &'a [GuardRef]) -> Vec<Unmet> {
    let mut evaluation = Evaluation::new(scope);
    guards
        .iter()
        .filter_map(|guard| evaluation.check_ref(guard, 0).err())
        .collect()
}

/// Returns the guards of `rule` that cannot be evaluated, up to the first transition whose guards hold.
#[must_use]
pub fn unreadable(scope: Scope<'_>, rule: &Rule) -> Vec<Unmet> {
    let mut found = Vec::new();
    for transition in &rule.transitions {
        let unmet = unmet(scope, &transition.guards);
        if unmet.is_empty() {
            break;
        }
        found.extend(unmet.into_iter().filter(|unmet| unmet.unreadable));
    }
    found
}

/// Returns the conditions of `rule` with the values that they saw, up to the transition taken.
#[must_use]
pub fn conditions(scope: Scope<'_>, rule: &Rule, taken: usize) -> Vec<SeenCondition> {
    let asked = rule.transitions.iter().take(taken + 1);
    asked
        .flat_map(|transition| &transition.guards)
        .filter_map(|guard| match guard {
            GuardRef::Inline(guard) => match guard.as_ref() {
                Guard::Expression(guard) => Some(looked_at(scope.frame, guard)),
                _ => None,
            },
            GuardRef::Named(_) => None,
        })
        .collect()
}

fn looked_at(frame: &Frame, guard: &ExpressionGuard) -> SeenCondition {
    after_state(frame, |names| SeenCondition {
        condition: guard.text.chars().take(CONDITION_MAX).collect(),
        holds: holds(&guard.expression, names).ok(),
        saw: guard.expression.seen(names),
    })
}

/// Calls `see` with the names that an expression can use after the state of `frame`.
fn after_state<T>(frame: &Frame, see: impl FnOnce(&AfterState<'_>) -> T) -> T {
    let parsed = frame.line.output.as_str().map(parse_output);
    see(&AfterState {
        output: parsed.as_ref().unwrap_or(&frame.line.output),
        context: &frame.line.context,
    })
}

/// Returns the values that `guards` read, in order: from the context, the output and the evidence.
///
/// Evidence that counts since the last edit also depends on that edit.
#[must_use]
pub fn read(scope: Scope<'_>, guards: &[GuardRef]) -> Vec<Value> {
    let mut seen = Vec::new();
    for guard in with_parts(&scope.machine.guards, guards) {
        read_guard(scope, guard, &mut seen);
    }
    seen
}

fn read_guard(scope: Scope<'_>, guard: &Guard, seen: &mut Vec<Value>) {
    match guard {
        // A missing value is an empty list, so that it is not null.
        Guard::Field(field) => seen.push(Value::Array(
            read_field(scope.frame, field)
                .cloned()
                .into_iter()
                .collect(),
        )),
        Guard::All(_) | Guard::Any(_) | Guard::Not(_) => {}
        Guard::Evidence(evidence) => {
            let known = scope.run.evidence.get(&evidence.key());
            let exit = known.map(|seen| seen.exit);
            let edit = match evidence.since {
                Since::LastEdit => scope.run.last_write,
                Since::StateEntry | Since::RunStart => None,
            };
            seen.push(json!([exit, edit]));
            if evidence.substance_shown().is_some() {
                let baseline = scope.run.baselines.get(&evidence.key());
                let known = known.map(|seen| (&seen.report, &seen.frozen));
                seen.push(json!([known, baseline, scope.run.frozen]));
            }
        }
        Guard::Output(_) => seen.push(scope.frame.line.output.as_ref().clone()),
        Guard::Code(_) | Guard::Uncancelled => seen.push(json!(scope.frame.stay.failure)),
        Guard::Expression(guard) => {
            seen.push(scope.frame.line.output.as_ref().clone());
            for name in guard.expression.names() {
                seen.push(json!(scope.frame.line.context.get(name)));
            }
        }
    }
}

/// Returns the simple conditions of `guards` in order, each named guard once.
#[must_use]
pub fn leaves<'a>(machine: &'a Machine, guards: &'a [GuardRef]) -> Vec<&'a Guard> {
    let mut found = with_parts(&machine.guards, guards);
    found.retain(|guard| guard.items().is_empty());
    found
}

/// Returns whether an evidence guard holds now.
#[must_use]
pub fn evidence_holds(scope: Scope<'_>, guard: &EvidenceGuard) -> bool {
    evidence::check(scope, guard).is_ok()
}

/// Returns the value that a field guard reads.
#[must_use]
pub fn field_value(frame: &Frame, field: &FieldGuard) -> Option<Value> {
    read_field(frame, field).cloned()
}

/// Evaluates guards at one moment; remembers the results of named guards.
struct Evaluation<'a> {
    scope: Scope<'a>,
    known: BTreeMap<&'a GuardName, Result<(), Unmet>>,
}

impl<'a> Evaluation<'a> {
    fn new(scope: Scope<'a>) -> Self {
        Self {
            scope,
            known: BTreeMap::new(),
        }
    }

    fn check_ref(&mut self, guard: &'a GuardRef, depth: usize) -> Result<(), Unmet> {
        if depth > DEPTH_MAX {
            return Err(Unmet::unknown("guards", "they are nested too deep"));
        }
        let name = match guard {
            GuardRef::Inline(guard) => return self.check(guard, depth + 1),
            GuardRef::Named(name) => name,
        };
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let checked = match self.scope.machine.guards.get(name) {
            None => Err(Unmet::unknown(name.as_str(), "it is not defined")),
            Some(guard) => self.check(guard, depth + 1).map_err(|inner| Unmet {
                guard: name.to_string(),
                ..inner
            }),
        };
        self.known.insert(name, checked.clone());
        checked
    }

    fn check(&mut self, guard: &'a Guard, depth: usize) -> Result<(), Unmet> {
        let scope = self.scope;
        match guard {
            Guard::Field(field) => check_field(scope, field),
            Guard::All(items) => self.check_all(items, depth),
            Guard::Any(items) => self.check_any(items, depth),
            Guard::Not(item) => match self.check_ref(item, depth) {
                Ok(()) => Err(Unmet::new("not", "the negated guard holds")),
                Err(unknown) if unknown.unreadable => Err(unknown),
                Err(_) => Ok(()),
            },
            Guard::Evidence(wanted) => evidence::check(scope, wanted),
            Guard::Output(wanted) => check_output(scope.frame, wanted),
            Guard::Code(wanted) => check_code(scope.frame, *wanted),
            Guard::Uncancelled => match &scope.frame.stay.failure {
                Some(cause) if !cause.cancelled => Ok(()),
                Some(_) => Err(Unmet::new("code", "the state was cancelled")),
                None => Err(Unmet::new("code", "nothing failed")),
            },
            Guard::Expression(guard) => check_expression(scope.frame, guard),
        }
    }

    /// A guard that certainly does not hold decides; otherwise one with an unknown result does.
    fn check_all(&mut self, items: &'a [GuardRef], depth: usize) -> Result<(), Unmet> {
        let mut unknown = None;
        for item in items {
            match self.check_ref(item, depth) {
                Ok(()) => {}
                Err(unmet) if unmet.unreadable => {
                    unknown.get_or_insert(unmet);
                }
                Err(unmet) => return Err(unmet),
            }
        }
        unknown.map_or(Ok(()), Err)
    }

    fn check_any(&mut self, items: &'a [GuardRef], depth: usize) -> Result<(), Unmet> {
        let mut reasons = Vec::new();
        let mut unreadable = false;
        for item in items {
            match self.check_ref(item, depth) {
                Ok(()) => return Ok(()),
                Err(unmet) => {
                    unreadable |= unmet.unreadable;
                    reasons.push(unmet.reason);
                }
            }
        }
        Err(Unmet {
            unreadable,
            ..Unmet::new(
                "any",
                format!("none of its parts holds: {}", first_few(&reasons)),
            )
        })
    }
}

fn check_code(frame: &Frame, wanted: i64) -> Result<(), Unmet> {
    let code = frame
        .stay
        .failure
        .as_ref()
        .map(|cause| i64::from(cause.number()));
    if code == Some(wanted) {
        return Ok(());
    }
    let seen = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
    Err(Unmet::new("code", format!("it is {seen}, wanted {wanted}")))
}

/// Evaluates an expression; an expression without a value does not hold.
fn check_expression(frame: &Frame, guard: &ExpressionGuard) -> Result<(), Unmet> {
    let shown: String = guard.text.chars().take(80).collect();
    match after_state(frame, |names| holds(&guard.expression, names)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Unmet::new(&shown, "it does not hold")),
        Err(failure) => Err(Unmet::unknown(
            &shown,
            format!("it cannot be evaluated: {failure}"),
        )),
    }
}

impl Unmet {
    fn new(guard: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            guard: guard.into(),
            reason: reason.into(),
            key: None,
            unreadable: false,
        }
    }

    /// Makes an unknown result: neither the guard nor its negation permits a transition.
    fn unknown(guard: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            unreadable: true,
            ..Self::new(guard, reason)
        }
    }
}

/// Compares an output after trimming, ignoring case.
fn check_output(frame: &Frame, wanted: &str) -> Result<(), Unmet> {
    let folded = |text: &str| text.trim().to_lowercase();
    match frame.line.output.as_ref() {
        Value::String(text) if folded(text) == folded(wanted) => Ok(()),
        seen => Err(Unmet::new(
            "output",
            format!("it is {}, wanted `{wanted}`", brief(seen)),
        )),
    }
}

fn check_field(scope: Scope<'_>, guard: &FieldGuard) -> Result<(), Unmet> {
    let seen = read_field(scope.frame, guard);
    let holds = match guard.op {
        Op::Exists => seen.is_some_and(|value| !value.is_null()),
        Op::NotExists => seen.is_none_or(Value::is_null),
        op => match (seen, &guard.value) {
            (Some(seen), Some(wanted)) => compares(op, seen, wanted),
            _ => false,
        },
    };
    if holds {
        return Ok(());
    }
    let seen = seen.map_or_else(|| "missing".to_owned(), brief);
    let wanted = guard
        .value
        .as_ref()
        .map_or_else(String::new, |value| format!(" {}", brief(value)));
    Err(Unmet {
        guard: guard.field.clone(),
        reason: format!(
            "`{}` is {seen}, wanted {}{wanted}",
            guard.field,
            guard.op.as_str()
        ),
        key: (guard.from == Source::Context).then(|| top_key(&guard.field)),
        unreadable: false,
    })
}

fn read_field<'a>(frame: &'a Frame, guard: &FieldGuard) -> Option<&'a Value> {
    let pointer = guard.field.starts_with('/');
    match guard.from {
        Source::Output if pointer => frame.line.output.pointer(&guard.field),
        Source::Output => frame.line.output.get(&guard.field),
        Source::Context if pointer => {
            let mut parts = guard.field.splitn(3, '/').skip(1);
            let first = frame.line.context.get(&unescape(parts.next()?))?;
            match parts.next() {
                Some(rest) => first.pointer(&format!("/{rest}")),
                None => Some(first),
            }
        }
        Source::Context => frame.line.context.get(&guard.field),
    }
}

fn top_key(field: &str) -> String {
    match field.strip_prefix('/') {
        Some(rest) => unescape(rest.split('/').next().unwrap_or_default()),
        None => field.to_owned(),
    }
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn compares(op: Op, seen: &Value, wanted: &Value) -> bool {
    match op {
        Op::Eq => deep_equal(seen, wanted),
        Op::Neq => !deep_equal(seen, wanted),
        Op::Gt => ordered(seen, wanted).is_some_and(Ordering::is_gt),
        Op::Gte => ordered(seen, wanted).is_some_and(Ordering::is_ge),
        Op::Lt => ordered(seen, wanted).is_some_and(Ordering::is_lt),
        Op::Lte => ordered(seen, wanted).is_some_and(Ordering::is_le),
        Op::In => wanted
            .as_array()
            .is_some_and(|list| list.iter().any(|item| deep_equal(seen, item))),
        Op::Contains => match (seen, wanted) {
            (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
            (Value::Array(list), part) => list.iter().any(|item| deep_equal(item, part)),
            _ => false,
        },
        Op::Exists | Op::NotExists => false,
    }
}

fn ordered(seen: &Value, wanted: &Value) -> Option<Ordering> {
    match (seen, wanted) {
        (Value::Number(seen), Value::Number(wanted)) => compare(seen, wanted),
        _ => None,
    }
}

/// Joins the first reasons and counts the rest, because a model has to read the refusal.
///
/// A reason may itself join several; each one is truncated, so that they do not grow with every level.
fn first_few(reasons: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = reasons
        .iter()
        .take(SHOWN)
        .map(|reason| cut(reason))
        .collect();
    let rest = match reasons.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("{}{rest}", shown.join("; "))
}

/// Maximum number of characters of one reason among several.
const REASON_MAX: usize = 240;

fn cut(reason: &str) -> String {
    match reason.char_indices().nth(REASON_MAX) {
        Some((end, _)) => format!("{}…", reason.get(..end).unwrap_or_default()),
        None => reason.to_owned(),
    }
}

/// Formats a value in at most 60 characters.
fn brief(value: &Value) -> String {
    clipped(value.to_string(), 60)
}

/// Truncates a text to `max` characters, the last three of which are an ellipsis.
pub(crate) fn clipped(text: String, max: usize) -> String {
    if text.chars().count() <= max {
        return text;
    }
    let kept = text.chars().take(max.saturating_sub(3));
    kept.chain("...".chars()).collect()
}
