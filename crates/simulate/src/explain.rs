//! What one shell line would do in one state, and which rule decides.

use std::fmt;

use interlock_core::{
    call::FileWrite,
    facts::Word,
    machine::{Activity, Machine},
    names::StateName,
    refusal::Code,
};
use serde::Serialize;
use serde_json::json;

use crate::{
    calls,
    input::{InputLine, ToolLine},
    output::Verdict,
    simulation::{Setting, Simulation},
};

/// What a shell line would do, and what it is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Whether it may run.
    pub verdict: Verdict,
    /// Why not.
    pub code: Option<Code>,
    /// The rule that decided, as a sentence.
    pub message: String,
    /// The words of every command it would run.
    pub commands: Vec<Vec<String>>,
    /// The paths it would write or remove.
    pub writes: Vec<String>,
    /// The paths it would read.
    pub reads: Vec<String>,
    /// Why the line cannot be read.
    pub unreadable: Option<String>,
}

/// A state that the workflow does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{id}` has no state `{state}`; it has {known}")]
pub struct UnknownState {
    /// The machine.
    pub id: String,
    /// What was asked for.
    pub state: String,
    /// What there is.
    pub known: String,
}

/// Explains what `line` would do in `state` of `machine`.
///
/// A state of another machine in the file is named `machine/state`.
///
/// # Errors
/// [`UnknownState`] when there is no such state.
pub fn explain(
    machine: &Machine,
    state: &str,
    line: &str,
    setting: &Setting,
) -> Result<Explanation, UnknownState> {
    let standing = standing_in(machine, state).ok_or_else(|| unknown(machine, state))?;
    let proposal = ToolLine {
        tool: "Bash".to_owned(),
        input: json!({ "command": line }),
        client: Some("claude-code".to_owned()),
        ..ToolLine::default()
    };
    let facts = calls::call(setting, &proposal, "explain".to_owned()).facts;
    let answer = Simulation::new(standing, setting.clone()).take(InputLine::Tool(proposal));
    let shell = facts.shell.unwrap_or_default();
    Ok(Explanation {
        verdict: answer.verdict.unwrap_or(Verdict::Deny),
        code: answer.code,
        message: answer.message,
        commands: shell
            .commands
            .iter()
            .map(|command| command.words.iter().map(word).collect())
            .collect(),
        writes: facts.writes.iter().map(written).collect(),
        reads: facts.reads,
        unreadable: shell.unreadable,
    })
}

fn word(word: &Word) -> String {
    match word {
        Word::Literal(text) | Word::Dynamic(text) => text.clone(),
    }
}

fn written(write: &FileWrite) -> String {
    let path = write.relative.as_ref().or(write.path.as_ref());
    path.cloned()
        .unwrap_or_else(|| format!("(unknown, by {})", write.by))
}

/// Returns the machine with a run that begins in `state`, whatever happens there.
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
    let known: Vec<&str> = machine
        .states
        .iter()
        .filter(|(_, state)| state.shown_as.is_none())
        .map(|(name, _)| name.as_str())
        .take(20)
        .collect();
    UnknownState {
        id: machine.id.to_string(),
        state: state.to_owned(),
        known: known.join(", "),
    }
}

impl fmt::Display for Explanation {
    /// Writes the facts and the rule for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Allow => "allow",
            Verdict::Deny => "deny",
            Verdict::Ask => "ask",
        };
        match self.code {
            Some(code) => writeln!(f, "{verdict} ({code}): {}", self.message)?,
            None => writeln!(f, "{verdict}: {}", self.message)?,
        }
        if let Some(why) = &self.unreadable {
            writeln!(f, "  cannot be read: {why}")?;
        }
        for words in &self.commands {
            writeln!(f, "  runs    {}", words.join(" "))?;
        }
        for path in &self.writes {
            writeln!(f, "  writes  {path}")?;
        }
        for path in &self.reads {
            writeln!(f, "  reads   {path}")?;
        }
        Ok(())
    }
}
