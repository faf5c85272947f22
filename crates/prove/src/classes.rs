//! Calls that represent all calls: every tool and command that is named, a witness for each pattern, and one that nobody
//! names.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use interlock_core::{
    Reply,
    call::{CallKind, FileWrite, ToolCall},
    command::{Command, CommandKind},
    decide,
    event::{CallMarks, Event},
    facts::SimpleCommand,
    machine::{Machine, Object},
    names::RunId,
    run::{Frame, Phase, Run},
};
use interlock_formats::Predicate;
use interlock_simulate::{InputLine, Scenario, call};
use serde_json::{Value, json};

use crate::{
    calls::{Class, End, Usable},
    facts::of_call,
    machine::{all_guards, machines},
    model::{Model, Standing},
    paths::Paths,
};

/// Commands that represent those that no workflow names.
const COMMANDS: [&str; 3] = ["ls", "./zz-program", "curl https://example.com"];

/// The tool that writes several files at once.
const PATCH: &str = "apply_patch";

/// Tools that every client has.
const TOOLS: [&str; 9] = [
    "Read",
    "Grep",
    "Glob",
    "LS",
    "WebFetch",
    "WebSearch",
    "Task",
    "TodoWrite",
    "mcp__zz__zz",
];

/// Makes all classes, and says where one may be missing.
pub(crate) fn all(
    written: &[&Machine],
    atoms: &[&Predicate],
    paths: &Paths,
) -> (Vec<Class>, Vec<String>) {
    let mut made = Made::default();
    for tool in tools(written, atoms) {
        made.tool(&tool, &paths.single);
    }
    for command in commands(written, atoms, paths) {
        made.command(&command);
    }
    made.files(written);
    for several in &paths.several {
        made.patch(several);
    }
    (made.classes, made.missed)
}

/// Returns whether a file is one that tools may write, whatever the workflow says.
pub(crate) fn may_be_written(path: &str) -> bool {
    let line = json!({"tool": "Write", "input": {"file_path": path, "content": "a\n"}});
    let Ok(InputLine::Tool(read)) = InputLine::from_value(line) else {
        return false;
    };
    let facts = call(&Scenario::default(), &read, "prove".to_owned()).facts;
    let writes = |write: &FileWrite| write.relative.as_deref() == Some(path);
    facts.protected.is_none() && facts.outside.is_none() && facts.writes.iter().any(writes)
}

#[derive(Debug, Default)]
struct Made {
    classes: Vec<Class>,
    missed: Vec<String>,
}

impl Made {
    fn add(&mut self, line: Value, proves: Option<String>) {
        if self.classes.iter().any(|class| class.line == line) {
            return;
        }
        let Ok(InputLine::Tool(read)) = InputLine::from_value(line.clone()) else {
            self.missed
                .push(format!("the call {line} could not be written"));
            return;
        };
        let call = call(&Scenario::default(), &read, "prove".to_owned());
        if let Some(why) = &call.facts.malformed {
            self.missed
                .push(format!("calls of `{}` were not tried: {why}", call.tool));
            return;
        }
        self.classes.push(Class { line, call, proves });
    }

    fn tool(&mut self, tool: &str, paths: &[String]) {
        let plain = |input: Value| json!({"tool": tool, "input": input});
        let on_files = |input: fn(&str) -> Value| {
            paths.iter().map(move |path| json!({"tool": tool, "input": input(path), "files": {path.clone(): "a\n"}}))
        };
        if tool == PATCH {
            for path in paths {
                self.patch(std::slice::from_ref(path));
            }
            return;
        }
        let lines: Vec<Value> = match tool {
            "Edit" => on_files(|path| json!({"file_path": path, "old_string": "a", "new_string": "b"})).collect(),
            "MultiEdit" => on_files(|path| json!({"file_path": path, "edits": [{"old_string": "a", "new_string": "b"}]})).collect(),
            "Write" => paths.iter().map(|path| plain(json!({"file_path": path, "content": "a\n"}))).collect(),
            "NotebookEdit" => paths.iter().map(|path| plain(json!({"notebook_path": path, "new_source": "a\n"}))).collect(),
            "Read" => paths.iter().map(|path| plain(json!({"file_path": path}))).collect(),
            "Grep" => vec![plain(json!({"pattern": "x"}))],
            "Glob" => vec![plain(json!({"pattern": "*"}))],
            "LS" => vec![plain(json!({"path": "."}))],
            "WebFetch" => vec![plain(json!({"url": "https://example.com", "prompt": "x"}))],
            "WebSearch" => vec![plain(json!({"query": "x"}))],
            "Task" | "Agent" => vec![plain(json!({"description": "x", "prompt": "x", "subagent_type": "general-purpose"}))],
            "TodoWrite" => vec![plain(json!({"todos": []}))],
            "Bash" => Vec::new(),
            _ => vec![plain(json!({}))],
        };
        for line in lines {
            self.add(line, None);
        }
    }

    fn command(&mut self, command: &str) {
        let line = json!({"tool": "Bash", "input": {"command": command}});
        self.add(line, Some(command.to_owned()));
    }

    /// Adds a patch that writes files.
    fn patch(&mut self, paths: &[String]) {
        let files: String = paths
            .iter()
            .map(|path| format!("*** Add File: {path}\n+a\n"))
            .collect();
        let text = format!("*** Begin Patch\n{files}*** End Patch");
        self.add(json!({"tool": PATCH, "input": {"command": text}}), None);
        let last = self.classes.last();
        if last.is_none_or(|class| class.call.facts.writes.len() != paths.len()) {
            self.missed.push("not every patch is tried".to_owned());
        }
    }

    /// Adds calls of tools for which a piece of evidence requires a path.
    fn files(&mut self, written: &[&Machine]) {
        use interlock_core::guard::{EvidenceOf, Guard};
        for guard in written.iter().flat_map(|machine| all_guards(machine)) {
            if let Guard::Evidence(one) = guard
                && let EvidenceOf::Tool {
                    tool,
                    path: Some(path),
                } = &one.of
            {
                let path = std::slice::from_ref(path);
                self.tool(&tool.replace('*', "x"), path);
            }
        }
    }
}

pub(crate) fn patterns(written: &[&Machine], atoms: &[&Predicate]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, machine) in written.iter().flat_map(|machine| machines(machine)) {
        found.extend(
            machine
                .interrupts
                .values()
                .map(|one| one.file_pattern.clone()),
        );
    }
    found.extend(atoms.iter().filter_map(|atom| match atom {
        Predicate::Writes(Some(pattern)) => Some(pattern.clone()),
        _ => None,
    }));
    let mut seen = BTreeSet::new();
    found.retain(|pattern| seen.insert(pattern.clone()));
    found
}

fn tools(written: &[&Machine], atoms: &[&Predicate]) -> Vec<String> {
    use interlock_core::guard::{EvidenceOf, Guard};
    let mut found: Vec<String> = ["Edit", "Write", "MultiEdit", "NotebookEdit"]
        .map(str::to_owned)
        .to_vec();
    found.extend(TOOLS.map(str::to_owned));
    for (_, machine) in written.iter().flat_map(|machine| machines(machine)) {
        for state in machine.states.values() {
            let policy = &state.policy;
            found.extend(policy.allowed_tools.iter().flatten().cloned());
            found.extend(policy.disallowed_tools.iter().cloned());
        }
    }
    let guards = written.iter().flat_map(|machine| all_guards(machine));
    found.extend(guards.filter_map(|guard| match guard {
        Guard::Evidence(one) => match &one.of {
            EvidenceOf::Tool { tool, .. } => Some(tool.clone()),
            EvidenceOf::Command { .. } => None,
        },
        _ => None,
    }));
    found.extend(atoms.iter().filter_map(|atom| match atom {
        Predicate::Tool(tool) => Some(tool.clone()),
        _ => None,
    }));
    let mut seen = BTreeSet::new();
    let witnesses = found.iter().map(|tool| tool.replace('*', "x"));
    witnesses
        .filter(|tool| !tool.is_empty() && seen.insert(tool.clone()))
        .collect()
}

fn commands(written: &[&Machine], atoms: &[&Predicate], paths: &Paths) -> Vec<String> {
    use interlock_core::guard::{EvidenceOf, Guard};
    let mut found: Vec<String> = Vec::new();
    let mut proving: Vec<String> = Vec::new();
    for guard in written.iter().flat_map(|machine| all_guards(machine)) {
        if let Guard::Evidence(one) = guard
            && let EvidenceOf::Command {
                text, directory, ..
            } = &one.of
        {
            let line = match directory {
                Some(directory) => format!("cd {directory} && {text}"),
                None => text.clone(),
            };
            if !proving.contains(&line) {
                proving.push(line);
            }
        }
    }
    found.extend(proving.iter().cloned());
    if (2..=6).contains(&proving.len()) {
        found.push(proving.join(" && "));
    }
    for (_, machine) in written.iter().flat_map(|machine| machines(machine)) {
        for state in machine.states.values() {
            for entry in state.policy.allowed_commands.iter().flatten() {
                found.push(entry.text.trim_end().trim_end_matches(" *").to_owned());
                let words = entry.words.len();
                for length in 1..words {
                    found.push(
                        entry
                            .words
                            .iter()
                            .take(length)
                            .cloned()
                            .collect::<Vec<_>>()
                            .join(" "),
                    );
                }
            }
        }
    }
    for atom in atoms {
        if let Predicate::Command { text, .. } = atom {
            found.push(text.clone());
        }
    }
    found.extend(COMMANDS.map(str::to_owned));
    let single = paths.single.iter().cloned();
    for files in single.chain(paths.several.iter().map(|files| files.join(" "))) {
        found.push(format!("touch {files}"));
        found.push(format!("rm -f {files}"));
    }
    let mut seen = BTreeSet::new();
    found.retain(|command| seen.insert(command.clone()));
    found
}

/// Asks the engine in each state which calls may run; of those that it treats alike, the first is kept.
pub(crate) fn usable(model: &Model) -> BTreeMap<Standing, Vec<Usable>> {
    let mut table = BTreeMap::new();
    for (key, machine) in machines(&model.machine) {
        for (name, state) in &machine.states {
            if state.raises_own_events() {
                continue;
            }
            let run = standing_run(&(key.clone(), name.clone()));
            let mut seen = BTreeSet::new();
            let mut found = Vec::new();
            for class in 0..model.classes.len() {
                let Some(one) = of_state(model, &run, class, state.policy.files_max.is_some())
                else {
                    continue;
                };
                let like = (one.signature.clone(), one.keys.clone(), one.asked);
                if seen.insert(like) {
                    found.push(one);
                }
            }
            table.insert((key.clone(), name.clone()), found);
        }
    }
    table
}

/// Makes a run that is in a state and has not done anything there.
fn standing_run((machine, at): &Standing) -> Run {
    let mut run = Run::new(RunId::new("sim"));
    run.phase = Phase::Open;
    run.root = Frame::entering(machine.clone(), at.clone(), Arc::new(Object::new()), 0, 0);
    run.seq = 1;
    run
}

/// Returns for every call whether it may run in a state, and its consequences there.
pub(crate) fn judged(model: &Model, standing: &Standing) -> Vec<Option<Usable>> {
    let state = model.state(standing.0.as_ref(), &standing.1);
    let counts_files = state.is_some_and(|state| state.policy.files_max.is_some());
    let run = standing_run(standing);
    (0..model.classes.len())
        .map(|class| of_state(model, &run, class, counts_files))
        .collect()
}

fn of_state(model: &Model, run: &Run, class: usize, counts_files: bool) -> Option<Usable> {
    let known = model.classes.get(class)?;
    let command = Command {
        at_ms: 0,
        kind: CommandKind::Propose(Box::new(known.call.clone())),
    };
    let decision = decide(&model.machine, run, &command);
    let (marks, asked) = decision.events.iter().find_map(|event| match event {
        Event::CallAllowed { marks, .. } => Some((marks.clone(), false)),
        Event::RequestOpened {
            about: interlock_core::event::About::Call(grant),
            ..
        } => Some((grant.marks.clone(), true)),
        _ => None,
    })?;
    debug_assert!(asked || decision.reply == Reply::Accepted);
    let atoms = model.slots.iter().flat_map(Predicate::parts);
    let said: String = atoms
        .map(|atom| if of_call(atom, &known.call) { '1' } else { '0' })
        .collect();
    Some(Usable {
        class,
        asked,
        keys: marks.evidence.iter().map(|mark| mark.key.clone()).collect(),
        ends: ends(model, known, &marks),
        signature: signature(known, &marks, counts_files, &said),
    })
}

/// Describes the consequences of a call, apart from the keys of its evidence.
fn signature(class: &Class, marks: &CallMarks, counts_files: bool, said: &str) -> String {
    let hits: Vec<String> = marks
        .hits
        .iter()
        .map(|hit| hit.interrupt.to_string())
        .collect();
    let files: &[String] = if counts_files { &marks.files } else { &[] };
    let evidence: Vec<String> = marks
        .evidence
        .iter()
        .map(|mark| {
            format!(
                "{} {} {} {}",
                mark.proves_success, mark.proves_exit, mark.after_writes, mark.failure_only
            )
        })
        .collect();
    let watched = !marks.watched.is_empty();
    let in_fork = class.call.kind == CallKind::SubAgent;
    format!(
        "{} {} {} {hits:?} {files:?} {evidence:?} {watched} {said} {in_fork} {}",
        marks.counts,
        marks.writes,
        marks.shell,
        writes_unseen(&class.call)
    )
}

/// Returns whether a call may write, to paths that its line shows or to others.
///
/// A line whose commands are all known to read only writes nothing.
pub(crate) fn writes_unseen(call: &ToolCall) -> bool {
    call.facts.shell.as_ref().is_some_and(|shell| {
        let unknown =
            |command: &SimpleCommand| command.opaque.is_some() || command.directory.is_none();
        shell.unreadable.is_some()
            || !shell.asks.is_empty()
            || !shell.writes.is_empty()
            || !shell.removes.is_empty()
            || shell.commands.iter().any(unknown)
    })
}

/// Returns every end of a call that may have consequences.
fn ends(model: &Model, class: &Class, marks: &CallMarks) -> Vec<End> {
    let good = End {
        ok: true,
        exit: Some(0),
        ..End::default()
    };
    let mut ends = vec![good.clone()];
    let watched = class.call.facts.shell.is_some();
    let named_exit = |atom: &Predicate| match atom {
        Predicate::Command { exit, .. } if of_call(atom, &class.call) => *exit,
        _ => None,
    };
    let asked = model
        .slots
        .iter()
        .flat_map(Predicate::parts)
        .filter_map(named_exit);
    let mut codes: Vec<i64> = asked.collect();
    for mark in &marks.evidence {
        codes.extend(
            model
                .evidence
                .get(&mark.key)
                .into_iter()
                .flatten()
                .map(|(exit, _)| *exit),
        );
    }
    let of_property = |atom: &Predicate| matches!(atom, Predicate::Writes(_));
    let writes = marks.writes
        && model
            .slots
            .iter()
            .flat_map(Predicate::parts)
            .any(of_property);
    let matters =
        writes || !marks.evidence.is_empty() || !marks.hits.is_empty() || !codes.is_empty();
    if matters && watched {
        let other = codes
            .iter()
            .max()
            .map_or(1, |code| code.saturating_add(1))
            .max(1);
        codes.push(other);
        let mut seen = BTreeSet::from([0]);
        codes.retain(|code| seen.insert(*code));
        ends.extend(codes.iter().map(|code| End {
            ok: false,
            exit: Some(*code),
            ..End::default()
        }));
        ends.push(End::default());
    } else if matters {
        ends.push(End::default());
    }
    if writes_unseen(&class.call) {
        // A program may write what its line does not show, which `interlock exec` sees.
        let by_path = &model.written;
        let all = ends.clone();
        for wrote in by_path {
            let mut end = if matters {
                all.clone()
            } else {
                vec![good.clone()]
            };
            for one in &mut end {
                one.wrote.clone_from(wrote);
            }
            ends.extend(end);
        }
    }
    ends
}
