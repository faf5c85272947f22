//! Shell lines: their facts in two places, and the verdict and plan for each kind of state.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use interlock_clients::{ClientId, tool};
use interlock_confine::{AllowedLine, Decided, plan};
use interlock_core::{
    call::ToolCall,
    command::{Command, CommandKind},
    confinement_at, decide, evolve,
    machine::Machine,
    names::{CallId, FramePath, RunId, StateName},
    run::Run,
};
use interlock_facts::{CallContext, Disk, Proposal, facts};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{standing_in, told};
use serde_json::{Value, json};

use crate::verdicts::places;

/// Number of lines in one group.
const GROUP: usize = 20;
/// A plan is made of one in this many lines, in each state.
const PLANNED: usize = 9;

const STATES: &str = r#"
id: w
initial: reads
interrupts:
  schema: {trigger: {file_pattern: "db/**"}, target: reads}
states:
  reads:
    allowed_tools: [Read, Grep, Glob, Bash]
    allowed_commands: ["cargo test *", "make", "git status", "npm run lint"]
    blocked_env: [PROD_DB_URL]
    on: {TESTED: {target: writes, guards: [{evidence: {command: "cargo test"}}]}, NEXT: writes}
  writes:
    allowed_tools: [Read, Grep, Glob, Edit, Write, Bash]
    background: ["npm run dev"]
    env_overrides: {CI: "1"}
    max_files_per_state: 3
    on: {NEXT: listed}
  listed:
    allowed_tools: [Read, Edit, Bash]
    allowed_commands: ["cargo *", "rm -r target", "git add *", "docker compose up"]
    on: {NEXT: secrets}
  secrets:
    allowed_tools: [Read, Grep, Glob, Edit, Write, Bash]
    secrets: deny
    on_denied: ask
    on: {NEXT: free}
  free: {blocked_env: [API_KEY], on: {NEXT: end}}
  end: {type: final}
"#;

/// Returns the findings of every group of lines, by name.
pub(crate) fn found() -> Vec<(String, String)> {
    let source = Source::new("w.yaml", STATES);
    let machine = load(&source, None, &NoWorkflows).unwrap().machine;
    let judge = Judge::new(machine);
    let mut all = Vec::new();
    let mut number = 0;
    for (file, lines) in lines() {
        for (group, lines) in lines.chunks(GROUP).enumerate() {
            let mut text = String::new();
            for line in lines {
                number += 1;
                text.push_str(&judge.judged(line, number));
            }
            all.push((format!("{file} {group}"), text));
        }
    }
    all
}

/// Reads the lines of every file, by name.
fn lines() -> BTreeMap<String, Vec<String>> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut all = BTreeMap::new();
    for folder in ["shell", "habits", "dangers"] {
        for entry in fs::read_dir(tests.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let lines: Vec<String> = match path.extension().and_then(|end| end.to_str()) {
                Some("txt") => lines
                    .filter(|line| !line.starts_with("# "))
                    .map(|line| line.split(" ⇒").next().unwrap_or_default())
                    .map(|line| line.replace('⏎', "\n"))
                    .collect(),
                Some("jsonl") => lines
                    .map(|line| serde_json::from_str::<Value>(line).unwrap())
                    .filter_map(|row| Some(row.get("line")?.as_str()?.to_owned()))
                    .collect(),
                _ => continue,
            };
            all.insert(format!("{folder}/{name}"), lines);
        }
    }
    all
}

struct Judge {
    machine: Machine,
    /// A run in each of its states.
    runs: Vec<Run>,
    plain: CallContext,
    other: CallContext,
    disk: interlock_facts::GivenDisk,
    decided: Decided,
}

impl Judge {
    fn new(machine: Machine) -> Self {
        let command = Command {
            at_ms: 1,
            kind: CommandKind::Start {
                input: Default::default(),
                by: "ana".to_owned(),
                durable: None,
            },
        };
        let new = Run::new(RunId::new("r"));
        let decision = decide(&machine, &new, &command);
        let run = decision.events.iter().fold(new, evolve);
        let states = ["reads", "writes", "listed", "secrets", "free"];
        let runs =
            states.map(|state| standing_in(&run, &FramePath::root(), &StateName::new(state)));
        let disk = places::disk();
        Self {
            machine,
            runs: runs.into(),
            plain: places::plain().resolved(&disk),
            other: places::other().resolved(&disk),
            disk,
            decided: places::decided(),
        }
    }

    fn judged(&self, line: &str, number: usize) -> String {
        let call = call(line, &self.plain, &self.disk);
        let mut text = format!("{line}\n{call:?}\n");
        for (at, run) in self.runs.iter().enumerate() {
            let said = told(&self.machine, run, &FramePath::root(), &call);
            writeln!(text, "  {said:?}").unwrap();
            if number % PLANNED != at {
                continue;
            }
            let confinement = confinement_at(&self.machine, run, &call, &FramePath::root());
            writeln!(text, "  {confinement:?}").unwrap();
            if let Some(confinement) = confinement {
                let allowed = AllowedLine {
                    text: line,
                    directory: &self.plain.site.cwd,
                    facts: call.facts.shell.as_ref().unwrap(),
                    confinement: &confinement,
                    machine: &self.machine,
                    context: &self.plain,
                    decided: &self.decided,
                };
                writeln!(text, "  {:?}", plan(&allowed, &self.disk)).unwrap();
            }
        }
        let call = self::call(line, &self.other, &self.disk);
        writeln!(text, "{call:?}").unwrap();
        for run in &self.runs {
            let said = told(&self.machine, run, &FramePath::root(), &call);
            writeln!(text, "  {said:?}").unwrap();
        }
        text
    }
}

fn call(line: &str, context: &CallContext, disk: &dyn Disk) -> ToolCall {
    let known = tool(ClientId::ClaudeCode, "Bash");
    let proposal = Proposal {
        id: CallId::new("c"),
        tool: "Bash",
        common: known.common,
        shape: known.shape,
        input: &json!({ "command": line }),
        doubled: None,
        agent: None,
        branch: None,
    };
    facts(proposal, context, disk)
}
