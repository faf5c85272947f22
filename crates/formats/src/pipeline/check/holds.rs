//! Guards that can never hold for a stage's payload.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use interlock_core::{
    guard::{FieldGuard, Guard, GuardRef, Op, Source},
    names::{EventName, GuardName, StateName},
};
use interlock_expr::number;
use interlock_validate::{GuardRoot, GuardSite, Place};
use serde_json::Value;

use super::Check;
use crate::{
    pipeline::syntax::{Next, Stage},
    stage::{Declared, declared},
};

/// Maximum depth to which named guards are followed.
const DEPTH_MAX: usize = 64;

/// Why a guard can never hold.
struct Never {
    site: GuardSite,
    why: String,
}

impl Check<'_> {
    /// Reports guards after stages that no payload of their schema satisfies.
    pub(super) fn holds(&mut self) {
        let pipeline = self.pipeline;
        for (id, stage) in &pipeline.stages {
            let name = StateName::new(id.clone());
            let assertions = stage.parts.assert.iter().enumerate();
            for (nth, assertion) in assertions {
                let site = GuardRoot::Assertion(name.clone(), nth).whole();
                self.hold(&assertion.guard, site, stage, false);
            }
            let Next::Branches(branches) = &stage.next else {
                continue;
            };
            for (index, branch) in branches.iter().enumerate() {
                for (nth, guard) in branch.guards.iter().enumerate() {
                    let root = GuardRoot::Transition {
                        state: name.clone(),
                        event: EventName::new("done"),
                        index,
                        nth,
                    };
                    self.hold(guard, root.whole(), stage, stage.may_be_skipped());
                }
            }
        }
    }

    /// Reports one guard; `skips` if it may also be evaluated for an empty payload.
    fn hold(&mut self, guard: &GuardRef, site: GuardSite, stage: &Stage, skips: bool) {
        let mut search = Search {
            guards: self.guards,
            schema: &stage.parts.schema,
            skips,
            known: BTreeMap::new(),
        };
        let Some(never) = search.never(guard, &site, 0) else {
            return;
        };
        let span = self.span(Place::Guard(never.site), stage.span);
        self.report
            .error(span, "never_holds", never.why)
            .help("mend the guard, or `completionSchema`");
    }
}

/// Searches for guards that no payload of one stage satisfies.
struct Search<'a> {
    guards: &'a IndexMap<GuardName, Guard>,
    schema: &'a Value,
    skips: bool,
    /// Results for named guards: why they never hold.
    known: BTreeMap<&'a GuardName, Option<String>>,
}

impl<'a> Search<'a> {
    /// Returns why a guard never holds; `None` if it may.
    fn never(&mut self, guard: &'a GuardRef, site: &GuardSite, depth: usize) -> Option<Never> {
        let name = match guard {
            _ if depth > DEPTH_MAX => return None,
            GuardRef::Inline(guard) => return self.within(guard, |at| site.item(at), site, depth),
            GuardRef::Named(name) => name,
        };
        // Problems within a named guard are reported where it is used.
        let told = |why: String| Never {
            site: site.clone(),
            why,
        };
        if let Some(known) = self.known.get(name) {
            return known.clone().map(told);
        }
        let guard = self.guards.get(name)?;
        let found = self.within(guard, |_| site.clone(), site, depth);
        let why = found.map(|never| never.why);
        self.known.insert(name, why.clone());
        why.map(told)
    }

    fn within(
        &mut self,
        guard: &'a Guard,
        part: impl Fn(usize) -> GuardSite,
        site: &GuardSite,
        depth: usize,
    ) -> Option<Never> {
        match guard {
            Guard::Field(field) if field.from == Source::Output => {
                let why = never_of(field, self.schema, self.skips)?;
                Some(Never {
                    site: site.clone(),
                    why,
                })
            }
            Guard::All(items) => items
                .iter()
                .enumerate()
                .find_map(|(index, item)| self.never(item, &part(index), depth + 1)),
            Guard::Any(items) => {
                let mut first = None;
                for (index, item) in items.iter().enumerate() {
                    let never = self.never(item, &part(index), depth + 1)?;
                    first.get_or_insert(never);
                }
                first
            }
            _ => None,
        }
    }
}

/// Returns the path of a guard's field.
fn path_of(field: &str) -> Vec<String> {
    match field.strip_prefix('/') {
        None => vec![field.to_owned()],
        Some(pointer) => pointer
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect(),
    }
}

/// Returns why no payload of `schema` satisfies a comparison.
fn never_of(guard: &FieldGuard, schema: &Value, skips: bool) -> Option<String> {
    let path = path_of(&guard.field);
    let field = &guard.field;
    let op = guard.op.as_str();
    if guard.op == Op::NotExists {
        let always = !skips && is_always_there(schema, &path);
        return always.then(|| format!("`{field}` is required by the schema, so it always exists"));
    }
    if let Closed::No(name) = admits(schema, &path) {
        return Some(format!(
            "the schema admits no `{name}`, so `{op}` on `{field}` can never hold"
        ));
    }
    let Declared::Schema(of) = declared(schema, &path) else {
        return None;
    };
    let wanted = guard.value.as_ref();
    let types = types(of);
    let only = |admitted: &[&str]| {
        types
            .as_ref()
            .is_some_and(|types| types.iter().all(|kind| !admitted.contains(kind)))
    };
    let never = match (guard.op, wanted) {
        (Op::Exists, _) => only(&["string", "number", "integer", "boolean", "array", "object"]),
        (Op::Gt | Op::Gte | Op::Lt | Op::Lte, Some(value)) => {
            only(&["number", "integer"]) || out_of_bounds(guard.op, value, of)
        }
        (Op::Contains, Some(_)) => only(&["string", "array"]),
        (Op::Eq, Some(value)) => !may_be(of, value),
        (Op::In, Some(Value::Array(values))) => {
            !values.is_empty() && values.iter().all(|value| !may_be(of, value))
        }
        (Op::Neq, Some(value)) => {
            let constant = of.get("const");
            let single = of
                .get("enum")
                .and_then(Value::as_array)
                .filter(|all| all.len() == 1);
            let one = constant.or_else(|| single.and_then(|all| all.first()));
            one.is_some_and(|one| number::deep_equal(one, value))
        }
        _ => false,
    };
    let shown = wanted.map_or_else(String::new, |value| format!(" `{}`", short(value)));
    never.then(|| format!("`{field}` can never be `{op}`{shown} by the schema of the stage"))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 {
        return text;
    }
    text.chars().take(37).chain("...".chars()).collect()
}

/// Whether a schema permits a path at all.
enum Closed<'p> {
    /// It may.
    Maybe,
    /// It does not permit this part.
    No(&'p str),
}

/// Returns whether a payload may have anything at `path`: only `additionalProperties: false` forbids it.
fn admits<'p>(schema: &Value, path: &'p [String]) -> Closed<'p> {
    for (at, part) in path.iter().enumerate() {
        let above = path.get(..at).unwrap_or_default();
        let Declared::Schema(of) = declared(schema, above) else {
            return Closed::Maybe;
        };
        let next = path.get(..=at).unwrap_or_default();
        if !matches!(declared(schema, next), Declared::Not(..)) {
            continue;
        }
        let is_object = types(of).is_some_and(|types| types == ["object"]);
        let closed = of.get("additionalProperties") == Some(&Value::Bool(false));
        let scalar =
            types(of).is_some_and(|types| !types.contains(&"object") && !types.contains(&"array"));
        let word = types(of).is_some_and(|types| types == ["array"]);
        return if (is_object && closed) || scalar || word {
            Closed::No(part)
        } else {
            Closed::Maybe
        };
    }
    Closed::Maybe
}

/// Returns whether every payload has something other than null at `path`.
fn is_always_there(schema: &Value, path: &[String]) -> bool {
    for at in 0..path.len() {
        let above = path.get(..at).unwrap_or_default();
        let Declared::Schema(of) = declared(schema, above) else {
            return false;
        };
        let required = of.get("required").and_then(Value::as_array);
        let named = path.get(at).is_some_and(|part| {
            required.is_some_and(|all| all.iter().any(|name| name.as_str() == Some(part)))
        });
        if !named || types(of).is_none_or(|types| types != ["object"]) {
            return false;
        }
    }
    let Declared::Schema(of) = declared(schema, path) else {
        return false;
    };
    match (types(of), of.get("enum").and_then(Value::as_array)) {
        (Some(types), _) => !types.contains(&"null"),
        (None, Some(values)) => !values.contains(&Value::Null),
        (None, None) => of.get("const").is_some_and(|only| !only.is_null()),
    }
}

/// Returns the types that a schema permits; `None` for any or unknown.
fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some(vec![one.as_str()]),
        Value::Array(all) => all.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Returns whether a value may match a schema; true if unsure.
fn may_be(schema: &Value, value: &Value) -> bool {
    if refers(schema, 0) {
        return true;
    }
    jsonschema::validator_for(schema).map_or(true, |validator| validator.is_valid(value))
}

/// Returns whether a schema refers to other parts of its file.
fn refers(schema: &Value, depth: usize) -> bool {
    match schema {
        _ if depth > DEPTH_MAX => true,
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            key.ends_with("ref") || key.ends_with("Ref") || refers(value, depth + 1)
        }),
        Value::Array(items) => items.iter().any(|item| refers(item, depth + 1)),
        _ => false,
    }
}

/// Returns whether no number within the bounds of a schema satisfies a comparison.
fn out_of_bounds(op: Op, value: &Value, schema: &Value) -> bool {
    let Value::Number(wanted) = value else {
        return false;
    };
    let bound = |name: &str| match schema.get(name) {
        Some(Value::Number(bound)) => number::compare(bound, wanted),
        _ => None,
    };
    let below = |name: &str| bound(name).is_some_and(std::cmp::Ordering::is_lt);
    let at_most = |name: &str| bound(name).is_some_and(std::cmp::Ordering::is_le);
    let above = |name: &str| bound(name).is_some_and(std::cmp::Ordering::is_gt);
    let at_least = |name: &str| bound(name).is_some_and(std::cmp::Ordering::is_ge);
    match op {
        Op::Gt => at_most("maximum") || at_most("exclusiveMaximum"),
        Op::Gte => below("maximum") || at_most("exclusiveMaximum"),
        Op::Lt => at_least("minimum") || at_least("exclusiveMinimum"),
        Op::Lte => above("minimum") || at_least("exclusiveMinimum"),
        _ => false,
    }
}
