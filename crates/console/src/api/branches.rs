//! The branches and items of a run at one moment, with the transitions, limits and evidence of the open ones.

use interlock_core::{
    machine::Machine,
    names::FramePath,
    place::{focus, title},
    run::{Region, RegionEnd, Run},
};
use interlock_view::report::{LimitsReport, evidence, report};
use serde_json::{Map, Value, json};

use super::moment::exits;

/// Maximum number of branches and items that are listed; the first ones are.
const LISTED_MAX: usize = 200;
/// Maximum number of open branches whose transitions, limits, evidence and context are sent.
const DESCRIBED_MAX: usize = 24;

/// Lists the branches and items of a run, each after the one that contains it.
///
/// `before` is the run one event earlier, to show what that event has changed.
pub(super) fn branches(machine: &Machine, run: &Run, before: &Run) -> Value {
    let mut listed = Vec::new();
    let mut more = 0_usize;
    let mut described = 0_usize;
    let mut open = vec![FramePath::root()];
    while let Some(path) = open.pop() {
        if let Some(region) = region(run, &path) {
            if listed.len() >= LISTED_MAX {
                more += 1;
            } else {
                let is_leaf = !run.is_over() && is_working(region);
                let is_described = is_leaf && described < DESCRIBED_MAX;
                described += usize::from(is_described);
                let here = is_described.then(|| here(machine, run, before, &path));
                listed.push(branch(machine, run, &path, region, here));
            }
        }
        let below = run.frame(&path).map(|frame| frame.regions.as_slice());
        // The stack is taken from its end, so the first region is pushed last.
        open.extend(
            below
                .unwrap_or_default()
                .iter()
                .rev()
                .map(|region| path.child(&region.name)),
        );
    }
    json!({ "listed": listed, "more": more })
}

/// Returns whether a region works itself, rather than regions below it.
fn is_working(region: &Region) -> bool {
    region.is_open() && region.frame.regions.is_empty()
}

fn region<'r>(run: &'r Run, path: &FramePath) -> Option<&'r Region> {
    let (parent, name) = path.split_last()?;
    let above = run.frame(&parent)?;
    let found = above.regions.iter().find(|region| region.name == name);
    found.map(AsRef::as_ref)
}

fn branch(
    machine: &Machine,
    run: &Run,
    path: &FramePath,
    region: &Region,
    here: Option<Value>,
) -> Value {
    let agents: Vec<&str> = run
        .agents
        .iter()
        .filter(|(agent, at)| *at == path && !run.away.contains(*agent))
        .map(|(agent, _)| agent.as_str())
        .collect();
    json!({
        "path": path.to_string(),
        "depth": path.names().len().saturating_sub(1),
        "title": title(machine, run, path),
        "status": status(region),
        "agents": agents,
        "here": here,
    })
}

/// Describes an open branch, with its context one event earlier.
fn here(machine: &Machine, run: &Run, before: &Run, path: &FramePath) -> Value {
    let context = |run: &Run| json!(run.frame(path).map(|frame| frame.line.context.as_ref()));
    let mut found = line(machine, run, path);
    // A branch that has just begun has changed nothing.
    let earlier = match context(before) {
        Value::Null => context(run),
        earlier => earlier,
    };
    if let Value::Object(fields) = &mut found {
        fields.insert("before".to_owned(), earlier);
    }
    found
}

/// Returns the word for a branch's progress.
fn status(region: &Region) -> &'static str {
    match &region.ended {
        Some(RegionEnd::Succeeded { .. }) => "succeeded",
        Some(RegionEnd::Failed(_)) => "failed",
        Some(RegionEnd::Cancelled) => "cancelled",
        Some(RegionEnd::Waiting) => "waiting",
        Some(RegionEnd::Merged) => "merged",
        None if region.frame.stay.waits_at_join() => "waiting",
        None => "open",
    }
}

/// Describes the region at `path`: context, tools, transitions, limits and evidence.
pub(super) fn line(machine: &Machine, run: &Run, path: &FramePath) -> Value {
    let seen = report(machine, run, Some(path));
    let transitions: Vec<Value> = exits(machine, run, path)
        .into_iter()
        .map(|exit| {
            json!({
                "event": exit.event,
                "leads": exit.leads,
                "open": exit.open,
                "approval": exit.approval,
                "why": exit.why,
            })
        })
        .collect();
    json!({
        "context": seen.context,
        "tools": seen.tools,
        "transitions": transitions,
        "limits": limits(seen.limits),
        "evidence": evidence(machine, run, path),
    })
}

/// Describes the region that is shown first.
pub(super) fn first(machine: &Machine, run: &Run) -> Map<String, Value> {
    match line(machine, run, &focus(run, None)) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn limits(limits: LimitsReport) -> Vec<Value> {
    [
        ("iterations", limits.iterations),
        ("files", limits.files),
        ("bytes", limits.bytes),
    ]
    .into_iter()
    .filter_map(|(name, pair)| {
        let [used, max] = pair?;
        Some(json!({ "name": name, "used": used, "max": max }))
    })
    .collect()
}
