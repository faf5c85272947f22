//! Guards that do not exist, can never hold or ask each other.

use indexmap::IndexMap;
use interlock_core::{
    guard::{FieldGuard, Guard, GuardRef, Op, Source, with_parts},
    holds::DEPTH_MAX,
    machine::{Activity, Machine, State},
    names::{EventName, GuardName},
};
use interlock_expr::nearest::nearest;
use serde_json::Value;

use crate::{Check, FindingCode, GuardRoot, GuardSite, Place, circles::circles};

impl<'m> Check<'m, '_> {
    /// Checks every guard, named or written in place.
    pub(super) fn guards(&mut self) {
        let machine = self.machine;
        for (name, guard) in &machine.guards {
            self.guard(guard, &GuardRoot::Named(name.clone()).whole());
        }
        for (at, guard) in transition_guards(machine) {
            self.guard_ref(guard, &at.site);
            self.output_is_there(&at, guard);
        }
        for (site, guard) in stage_guards(machine) {
            self.guard_ref(guard, &site);
            if matches!(site.root, GuardRoot::Gate(..)) {
                self.no_output_before(&site, guard);
            }
        }
        self.guard_circles();
    }

    fn guard_ref(&mut self, guard: &GuardRef, site: &GuardSite) {
        match guard {
            GuardRef::Inline(guard) => self.guard(guard, site),
            GuardRef::Named(name) if !self.machine.guards.contains_key(name) => {
                let known = self.machine.guards.keys().map(GuardName::as_str);
                // Where that many are wrong, names are not what is wrong.
                let near = (self.found.len() < 1_000)
                    .then(|| nearest(name.as_str(), known))
                    .flatten()
                    .map(|near| format!(": did you mean `{near}`?"))
                    .unwrap_or_default();
                self.error(
                    FindingCode::UndefinedGuard,
                    Place::Guard(site.clone()),
                    format!("there is no guard `{name}`{near}"),
                    "define it under `guards`, or name one that exists",
                );
            }
            GuardRef::Named(_) => {}
        }
    }

    fn guard(&mut self, guard: &Guard, site: &GuardSite) {
        match guard {
            Guard::Field(field) => self.field_guard(field, site),
            Guard::All(items) | Guard::Any(items) => {
                let word = if matches!(guard, Guard::All(_)) {
                    "all"
                } else {
                    "any"
                };
                if items.is_empty() {
                    self.error(
                        FindingCode::EmptyGuard,
                        Place::GuardItems(site.clone()),
                        format!("`{word}` has no guards"),
                        "name at least one guard",
                    );
                }
                for (index, item) in items.iter().enumerate() {
                    self.guard_ref(item, &site.item(index));
                }
            }
            Guard::Not(item) => self.guard_ref(item, &site.item(0)),
            Guard::Evidence(_)
            | Guard::Output(_)
            | Guard::Code(_)
            | Guard::Uncancelled
            | Guard::Expression(_) => {}
        }
    }

    fn field_guard(&mut self, guard: &FieldGuard, site: &GuardSite) {
        if let Some(reason) = bad_pointer(&guard.field) {
            self.error(
                FindingCode::NeverHolds,
                Place::GuardField(site.clone()),
                format!("`{}` is not a JSON Pointer: {reason}", guard.field),
                "write `~0` for `~` and `~1` for `/`, or the plain name of a key",
            );
        }
        let word = guard.op.as_str();
        match (guard.op, &guard.value) {
            (Op::Exists | Op::NotExists, None) => {}
            (Op::Exists | Op::NotExists, Some(value)) => {
                self.value_of_exists(guard.op, value, site)
            }
            (_, None) => self.error(
                FindingCode::NeverHolds,
                Place::GuardOperator(site.clone()),
                format!("`{word}` without a `value` can never hold"),
                "add `value`, or use `exists` or `not_exists`",
            ),
            (Op::Gt | Op::Gte | Op::Lt | Op::Lte, Some(value)) if !value.is_number() => self.error(
                FindingCode::NeverHolds,
                Place::GuardValue(site.clone()),
                format!(
                    "`{word}` compares numbers, so with {} it can never hold",
                    kind(value)
                ),
                "write a number, without quotes",
            ),
            (Op::In, Some(value)) if value.as_array().is_none_or(Vec::is_empty) => self.error(
                FindingCode::NeverHolds,
                Place::GuardValue(site.clone()),
                format!(
                    "`in` looks for the field in a list, so with {} it can never hold",
                    kind(value)
                ),
                "write a list of the accepted values",
            ),
            _ => {}
        }
    }

    fn value_of_exists(&mut self, op: Op, value: &Value, site: &GuardSite) {
        let word = op.as_str();
        let place = Place::GuardValue(site.clone());
        if *value == Value::Bool(false) {
            let other = if op == Op::Exists {
                Op::NotExists
            } else {
                Op::Exists
            };
            self.error(
                FindingCode::NeverHolds,
                place,
                format!("`{word}` takes no value, so `false` does not negate it"),
                if other == Op::Exists {
                    "use `exists`"
                } else {
                    "use `not_exists`"
                },
            );
        } else {
            self.warning(
                FindingCode::UnusedValue,
                place,
                format!("`{word}` takes no value"),
                "remove `value`",
            );
        }
    }

    /// Reports a guard that reads an output where there is none.
    fn output_is_there(&mut self, at: &GuardUse<'m>, guard: &GuardRef) {
        if at.state.raises(at.event.as_str()) {
            return;
        }
        if reads_output(self.machine, guard) {
            self.error(
                FindingCode::NeverHolds,
                Place::Guard(at.site.clone()),
                format!(
                    "a guard with `from: output` can never hold at `{}`: it reads the output of the state's own activity",
                    at.event
                ),
                "use it in a transition on `done` or `error`, or read the context",
            );
        }
    }

    /// Reports a guard before a stage that reads what only comes of it.
    fn no_output_before(&mut self, site: &GuardSite, guard: &GuardRef) {
        if reads_output(self.machine, guard) {
            self.error(
                FindingCode::NeverHolds,
                Place::Guard(site.clone()),
                "a guard before a stage can never hold if it reads the output: there is none yet"
                    .to_owned(),
                "read the context, or use it in `assert`",
            );
        }
    }

    fn guard_circles(&mut self) {
        let guards = &self.machine.guards;
        let leads: Vec<Vec<usize>> = guards
            .values()
            .map(|guard| {
                let mut names = Vec::new();
                collect_names(guard, &mut names);
                let positions = names.iter().filter_map(|name| guards.get_index_of(*name));
                positions.collect()
            })
            .collect();
        for circle in circles(&leads) {
            let members: Vec<&GuardName> = circle
                .iter()
                .filter_map(|at| guards.get_index(*at).map(|(name, _)| name))
                .collect();
            let Some(first) = members.first() else {
                continue;
            };
            let place = Place::Guard(GuardRoot::Named((*first).clone()).whole());
            let named: Vec<String> = members.iter().map(|name| format!("`{name}`")).collect();
            let message = match named.as_slice() {
                [only] => format!("the guard {only} refers to itself"),
                named => format!(
                    "the guards {} refer to each other in a cycle",
                    named.join(", ")
                ),
            };
            self.error(
                FindingCode::GuardCycle,
                place,
                message,
                "a guard can only be composed of guards that do not refer to it",
            );
        }
        self.guard_depths(&leads);
    }

    /// Reports guards that are made of more guards within each other than are evaluated.
    fn guard_depths(&mut self, leads: &[Vec<usize>]) {
        let named = &self.machine.guards;
        let depths = depths(leads, named);
        let too_deep = |depth: usize| depth >= DEPTH_MAX;
        let mut found = Vec::new();
        let each = named.keys().zip(&depths).zip(leads);
        for ((name, depth), leads) in each {
            let mut parts = leads.iter().filter_map(|to| depths.get(*to));
            // What is made of one that is too deep is not told again.
            if too_deep(*depth) && !parts.any(|depth| too_deep(*depth)) {
                found.push((GuardRoot::Named(name.clone()).whole(), *depth));
            }
        }
        for (at, guard) in transition_guards(self.machine) {
            if let GuardRef::Inline(guard) = guard {
                let depth = depth_of(guard, named, &depths);
                if too_deep(depth) {
                    found.push((at.site, depth));
                }
            }
        }
        for (site, depth) in found {
            self.error(
                FindingCode::GuardDepth,
                Place::Guard(site),
                format!(
                    "guards are nested {depth} levels deep here; at most {} levels are evaluated",
                    DEPTH_MAX - 1
                ),
                "nest fewer guards",
            );
        }
    }
}

/// A guard where a transition asks it.
pub(super) struct GuardUse<'m> {
    pub(super) state: &'m State,
    pub(super) event: &'m EventName,
    pub(super) site: GuardSite,
}

/// Returns every guard of every transition, in the order of the machine.
pub(super) fn transition_guards(machine: &Machine) -> Vec<(GuardUse<'_>, &GuardRef)> {
    let mut found = Vec::new();
    for (name, state) in &machine.states {
        for (event, rule) in &state.on {
            for (index, transition) in rule.transitions.iter().enumerate() {
                for (nth, guard) in transition.guards.iter().enumerate() {
                    let root = GuardRoot::Transition {
                        state: name.clone(),
                        event: event.clone(),
                        index,
                        nth,
                    };
                    let site = root.whole();
                    found.push((GuardUse { state, event, site }, guard));
                }
            }
        }
    }
    found
}

/// Returns every guard before and behind a stage, in the order of the machine.
pub(super) fn stage_guards(machine: &Machine) -> Vec<(GuardSite, &GuardRef)> {
    let mut found = Vec::new();
    for (name, state) in &machine.states {
        let Activity::Stage(stage) = &state.activity else {
            continue;
        };
        for (nth, guard) in stage.gate.iter().enumerate() {
            found.push((GuardRoot::Gate(name.clone(), nth).whole(), guard));
        }
        for (nth, assertion) in stage.assert.iter().enumerate() {
            let site = GuardRoot::Assertion(name.clone(), nth).whole();
            found.push((site, &assertion.guard));
        }
    }
    found
}

/// Collects the named guards that `guard` is made of.
fn collect_names<'g>(guard: &'g Guard, names: &mut Vec<&'g GuardName>) {
    let item = |part: &'g GuardRef| match part {
        GuardRef::Named(name) => names.push(name),
        GuardRef::Inline(guard) => collect_names(guard, names),
    };
    guard.items().iter().for_each(item);
}

/// Returns whether `guard` or a guard it is made of reads an output.
fn reads_output(machine: &Machine, guard: &GuardRef) -> bool {
    let reads = |guard: &Guard| match guard {
        Guard::Field(field) => field.from == Source::Output,
        Guard::Output(_) | Guard::Code(_) | Guard::Uncancelled => true,
        // An expression may read the context alone.
        Guard::Evidence(_) | Guard::Expression(_) => false,
        Guard::All(_) | Guard::Any(_) | Guard::Not(_) => false,
    };
    let mut guards = with_parts(&machine.guards, std::slice::from_ref(guard)).into_iter();
    guards.any(reads)
}

/// Returns how deep the guards of a machine are made of others, in their order.
///
/// One that asks itself counts as made of none.
fn depths(leads: &[Vec<usize>], named: &IndexMap<GuardName, Guard>) -> Vec<usize> {
    let mut depths = vec![0; named.len()];
    let mut entered = vec![false; named.len()];
    for start in 0..named.len() {
        // Each entry: a guard, and whether all that it leads to is done.
        let mut open = vec![(start, false)];
        while let Some((at, is_ready)) = open.pop() {
            let Some((_, guard)) = named.get_index(at) else {
                continue;
            };
            if is_ready {
                let deepest = depth_of(guard, named, &depths);
                if let Some(depth) = depths.get_mut(at) {
                    *depth = deepest;
                }
            } else if let Some(entered) = entered.get_mut(at).filter(|entered| !**entered) {
                *entered = true;
                open.push((at, true));
                open.extend(leads.get(at).into_iter().flatten().map(|to| (*to, false)));
            }
        }
    }
    depths
}

/// Returns how many guards stand below each other in `guard`, itself left out.
fn depth_of(guard: &Guard, named: &IndexMap<GuardName, Guard>, known: &[usize]) -> usize {
    let below = |item: &GuardRef| match item {
        GuardRef::Inline(guard) => depth_of(guard, named, known),
        GuardRef::Named(name) => {
            let at = named.get_index_of(name);
            at.and_then(|at| known.get(at).copied()).unwrap_or_default()
        }
    };
    let deepest = guard.items().iter().map(below).max();
    deepest.map_or(0, |deepest| deepest + 1)
}

/// Returns why a pointer can never name anything.
fn bad_pointer(field: &str) -> Option<&'static str> {
    let escapes = field.strip_prefix('/')?.split('~').skip(1);
    let mut bad = escapes.filter(|rest| !rest.starts_with(['0', '1']));
    bad.next().map(|_| "`~` is only allowed in `~0` and `~1`")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(items) if items.is_empty() => "an empty list",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
