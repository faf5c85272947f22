//! Explains what one shell line would do in one state, and which rule decides.

mod render;

use interlock_core::{
    Finding,
    call::{CallFacts, FileWrite, ToolCall},
    facts::{CommandClass, NetworkDirection, ShellAsk, ShellFacts, SimpleCommand, Word},
    machine::{Activity, Machine},
    names::StateName,
    policy::Stance,
    refusal::{Code, Refusal},
};
use interlock_expr::nearest::nearest;
use interlock_facts::Disk;
use serde::Serialize;
use serde_json::json;

use crate::{calls, input::ToolLine, output::Verdict, scenario::Scenario, simulation::Simulation};

/// The effects of a shell line, and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Whether it may run.
    pub verdict: Verdict,
    /// Code of the refusal.
    pub code: Option<Code>,
    /// Message for the agent.
    pub message: String,
    /// The words of every command it would run.
    pub commands: Vec<Vec<String>>,
    /// The paths it would write or remove.
    pub writes: Vec<String>,
    /// The paths it would read.
    pub reads: Vec<String>,
    /// Why the line is unreadable.
    pub unreadable: Option<String>,
    /// State in which it is judged.
    pub state: String,
    /// What shell lines may do in the state.
    pub stance: Option<Stance>,
    /// Shell rule that decided; `None` if none objects.
    pub rule: Option<DecidingRule>,
    /// What would be allowed instead.
    pub instead: Option<String>,
    /// Details of each command, in the order of `commands`.
    pub details: Vec<Detail>,
    /// Paths among those written that it would remove or move away.
    pub removes: Vec<String>,
    /// Its use of environment variables.
    pub env: VariableUse,
    /// Its network access.
    pub network: Vec<Reach>,
    /// Questions that only the files could answer.
    pub asks: Vec<String>,
}

/// The rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecidingRule {
    /// Number of the rule, as in the book.
    pub number: u8,
    /// Subject of the rule.
    pub about: &'static str,
}

/// Details of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detail {
    /// Class of its program.
    pub class: CommandClass,
    /// Wrappers around it, outermost first.
    pub via: Vec<String>,
    /// Directory in which it runs, if known.
    pub directory: Option<String>,
    /// Why its effects are unknown.
    pub opaque: Option<String>,
    /// Whether it may run only if the kernel keeps it from writing.
    pub contained: bool,
    /// Entry of `allowed_commands` that covers it.
    pub entry: Option<String>,
    /// Whether its input is a pipe of the line.
    pub from_pipe: bool,
    /// Whether exit code 0 of the line proves that this command exited with 0.
    pub proved: bool,
}

/// A line's use of environment variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VariableUse {
    /// Variables that it uses.
    pub used: Vec<String>,
    /// Variables that it sets.
    pub set: Vec<String>,
    /// Variables among these that change what programs do.
    pub changes_programs: Vec<String>,
    /// Whether it prints the whole environment.
    pub dump: bool,
}

/// A network access of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// Direction of the access.
    pub direction: NetworkDirection,
    /// Host, if the line names it.
    pub host: Option<String>,
    /// Command that makes the access.
    pub by: String,
}

/// The workflow has no such state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{id}` has no state `{state}`{near}; it has {known}")]
pub struct UnknownState {
    /// Id of the machine.
    pub id: String,
    /// Requested state.
    pub state: String,
    /// The state that was probably meant, as part of the sentence; empty if none.
    pub near: String,
    /// The existing states.
    pub known: String,
}

/// Explains what `line` would do in `state` of `machine`, with `disk` as the source of what only files show.
///
/// A state of another machine in the file is named `machine/state`.
///
/// # Errors
/// [`UnknownState`] if there is no such state.
pub fn explain(
    machine: &Machine,
    state: &str,
    line: &str,
    setting: &Scenario,
    disk: &dyn Disk,
) -> Result<Explanation, UnknownState> {
    let standing = standing_in(machine, state).ok_or_else(|| unknown(machine, state))?;
    let proposal = ToolLine {
        tool: "Bash".to_owned(),
        input: json!({ "command": line }),
        client: Some("claude-code".to_owned()),
        ..ToolLine::default()
    };
    let call = calls::call_on(setting, &proposal, "explain".to_owned(), disk);
    let simulation = Simulation::new(standing, setting.clone());
    let finding = simulation.shell_finding(&call);
    let answer = simulation.answer_to(call.clone());
    let refusal = answer
        .code
        .map(|code| Refusal::new(code, answer.message.clone()));
    let verdict = answer.verdict.unwrap_or(Verdict::Deny);
    Ok(Explanation {
        // The agent also gets a message about an allowed call.
        message: answer.message,
        ..explained(&call, finding, (verdict, refusal), state.to_owned())
    })
}

/// Describes what a call would do, and its verdict in `state`.
pub(crate) fn explained(
    call: &ToolCall,
    finding: Option<Finding>,
    (verdict, refusal): (Verdict, Option<Refusal>),
    state: String,
) -> Explanation {
    let facts = &call.facts;
    let shell = facts.shell.clone().unwrap_or_default();
    let code = refusal.as_ref().map(|refusal| refusal.code);
    let (stance, objection, entries) = match finding {
        Some(finding) => (Some(finding.stance), finding.objection, finding.entries),
        None => (None, None, Vec::new()),
    };
    // The tool itself may be refused, or the run may be over.
    let objection = objection.filter(|found| Some(found.code) == code);
    Explanation {
        verdict,
        code,
        message: refusal.map(|refusal| refusal.message).unwrap_or_default(),
        commands: shell
            .commands
            .iter()
            .map(|command| command.words.iter().map(word).collect())
            .collect(),
        writes: shown(facts, |_| true),
        reads: facts.reads.clone(),
        unreadable: shell.unreadable.clone(),
        state,
        stance,
        rule: objection.as_ref().map(|found| DecidingRule {
            number: found.rule.number(),
            about: found.rule.about(),
        }),
        instead: objection.map(|found| found.instead),
        details: shell
            .commands
            .iter()
            .zip(entries)
            .map(|(command, entry)| detail(command, entry))
            .collect(),
        removes: shown(facts, |write| write.removes),
        env: environment(&shell),
        network: network(&shell),
        asks: shell.asks.iter().map(ask).collect(),
    }
}

fn detail(command: &SimpleCommand, entry: Option<String>) -> Detail {
    Detail {
        class: command.class,
        via: command.via.clone(),
        directory: command.directory.clone(),
        opaque: command.opaque.clone(),
        contained: entry.is_none() && interlock_core::is_contained(command),
        entry,
        from_pipe: command.from_pipe,
        proved: command.proves_success,
    }
}

fn environment(shell: &ShellFacts) -> VariableUse {
    let set = &shell.env.set;
    VariableUse {
        used: shell.env.used.clone(),
        set: set.iter().map(|set| set.name.clone()).collect(),
        changes_programs: set
            .iter()
            .filter(|set| set.changes_programs)
            .map(|set| set.name.clone())
            .collect(),
        dump: shell.env.dump,
    }
}

fn network(shell: &ShellFacts) -> Vec<Reach> {
    shell
        .network
        .iter()
        .map(|reach| Reach {
            direction: reach.direction,
            host: reach.host.clone(),
            by: reach.by.clone(),
        })
        .collect()
}

fn ask(ask: &ShellAsk) -> String {
    match ask {
        ShellAsk::Repository { directory, .. } => {
            format!("is `{directory}` a repository of its own?")
        }
        ShellAsk::Options {
            pattern, directory, ..
        } => {
            format!("does a file that `{pattern}` matches in `{directory}` begin with `-`?")
        }
    }
}

fn word(word: &Word) -> String {
    match word {
        Word::Literal(text) | Word::Dynamic(text) => text.clone(),
    }
}

/// Formats the paths of some writes, without duplicates.
fn shown(facts: &CallFacts, wanted: impl Fn(&FileWrite) -> bool) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for write in facts.writes.iter().filter(|write| wanted(write)) {
        let path = write.relative.as_ref().or(write.path.as_ref());
        let path = path
            .cloned()
            .unwrap_or_else(|| format!("(unknown, by {})", write.by));
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Returns the machine with `state` as its initial state, whatever happens there.
fn standing_in(machine: &Machine, state: &str) -> Option<Machine> {
    let mut standing = if machine.states.contains_key(state) {
        Machine {
            initial: StateName::from(state),
            ..machine.clone()
        }
    } else {
        let (above, inner) = state.rsplit_once('/')?;
        let id = above.rsplit('/').next().unwrap_or(above);
        let called = machine
            .machines
            .iter()
            .find(|(key, called)| key.as_str() == id || called.id.as_str() == id)
            .map(|(_, called)| called)
            .filter(|called| called.states.contains_key(inner))
            .or_else(|| Some(machine).filter(|own| own.states.contains_key(inner)))?;
        Machine {
            initial: StateName::from(inner),
            machines: machine.machines.clone(),
            ..called.clone()
        }
    };
    let at = standing.states.get_mut(standing.initial.as_str())?;
    if !matches!(at.activity, Activity::Final { .. }) {
        at.activity = Activity::Await;
    }
    Some(standing)
}

fn unknown(machine: &Machine, state: &str) -> UnknownState {
    let written = machine.states.iter();
    let written = written.filter(|(_, state)| state.shown_as.is_none());
    let names = || written.clone().map(|(name, _)| name.as_str());
    let known: Vec<&str> = names().take(20).collect();
    let near = nearest(state, names()).map(|near| format!(" (did you mean `{near}`?)"));
    UnknownState {
        id: machine.id.to_string(),
        state: state.to_owned(),
        near: near.unwrap_or_default(),
        known: known.join(", "),
    }
}
