//! Writes a draft as the text of a workflow.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use interlock_formats::yaml_scalar;
use interlock_tool_names::SHELL;

use crate::{
    commands::entries,
    level::Level,
    phases::{Phase, Phases},
};

/// Minimum for `max_iterations` of a state.
const CALLS_MIN: usize = 20;

/// Writes phases as a workflow file.
pub(crate) fn workflow(name: &str, sessions: usize, phases: &Phases) -> String {
    let looks = phases.all.get(&Level::Look).map(|phase| &phase.tools);
    let looks: BTreeSet<&String> = looks
        .into_iter()
        .flatten()
        .filter(|tool| *tool != SHELL)
        .collect();
    let shell = phases.all.values().any(|phase| phase.tools.contains(SHELL));
    let mut guards: BTreeMap<Option<Level>, String> = BTreeMap::new();
    let mut guard_lines = String::new();
    for target in phases
        .all
        .keys()
        .filter(|level| **level != Level::Look)
        .map(|level| Some(*level))
        .chain([None])
    {
        let passed = phases.evidence.before(target);
        // The longest command is the most specific.
        let Some(command) = passed.iter().max_by_key(|command| command.len()) else {
            continue;
        };
        let guard = format!("passed_before_{}", target.map_or("done", Level::phase));
        let _ = writeln!(
            guard_lines,
            "  {guard}: {{evidence: {{command: {}, since: last_edit}}}}",
            text(command)
        );
        guards.insert(target, guard);
    }
    let noun = if sessions == 1 { "session" } else { "sessions" };
    let mut out = format!(
        "# A draft, mined from {sessions} recorded {noun}: what was done, in the order in which it was done.
# Read it as a proposal: what agents did is not what they should be allowed to do. Take out what you do not want, and
# add what a person has to approve.
id: {name}
initial: looking
"
    );
    if !guard_lines.is_empty() {
        let _ = write!(
            out,
            "\nguards:\n  # Each time the phase began, this had been seen to pass since the last edit.\n{guard_lines}"
        );
    }
    out += "\nstates:\n";
    let name_of = |leader: Level| -> String {
        let levels = phases.all.get(&leader).map(|phase| &phase.levels);
        let names: Vec<&str> = levels
            .into_iter()
            .flatten()
            .map(|level| level.phase())
            .collect();
        names.join("_and_")
    };
    let event_of = |leader: Level| -> String {
        let levels = phases.all.get(&leader).map(|phase| &phase.levels);
        let names: Vec<&str> = levels
            .into_iter()
            .flatten()
            .map(|level| level.event())
            .collect();
        names.join("_AND_")
    };
    for (leader, phase) in &phases.all {
        let _ = write!(
            out,
            "  {}:\n{}",
            name_of(*leader),
            rules(*leader, phase, &looks, shell)
        );
        out += "    on:\n";
        for next in phase.next.iter().filter(|next| *next != leader) {
            let to = transition(&name_of(*next), guards.get(&Some(*next)));
            let _ = writeln!(out, "      {}: {to}", event_of(*next));
        }
        if phase.last {
            let _ = writeln!(out, "      DONE: {}", transition("done", guards.get(&None)));
        }
        out += "      GIVE_UP: failed\n";
    }
    out + "  done: {type: final}\n  failed: {type: final}\n"
}

fn transition(target: &str, guard: Option<&String>) -> String {
    match guard {
        Some(guard) => format!("{{target: {target}, guard: {guard}}}"),
        None => target.to_owned(),
    }
}

fn text(words: &str) -> String {
    yaml_scalar(&words.into())
}

/// Writes the tools, commands and limits of a phase.
fn rules(leader: Level, phase: &Phase, looks: &BTreeSet<&String>, shell: bool) -> String {
    let mut tools: BTreeSet<&str> = looks.iter().map(|tool| tool.as_str()).collect();
    tools.extend(phase.tools.iter().map(String::as_str));
    let looking = leader == Level::Look;
    let entries = entries(&phase.commands);
    if looking && shell {
        // Without a tool that writes, the shell can only read.
        tools.insert(SHELL);
    } else if entries.is_empty() {
        tools.remove(SHELL);
    }
    let tools: Vec<String> = tools.into_iter().map(text).collect();
    let mut out = format!("    allowed_tools: [{}]\n", tools.join(", "));
    if !looking && !entries.is_empty() {
        out += "    allowed_commands:\n";
        for entry in entries {
            let _ = writeln!(out, "      - {}", text(&entry));
        }
    }
    let calls = (phase.calls * 2).max(CALLS_MIN).next_multiple_of(10);
    let _ = writeln!(out, "    max_iterations: {calls}");
    out
}
