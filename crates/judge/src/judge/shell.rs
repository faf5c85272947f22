//! The shell rules: from the facts of a line to a refusal.
//!
//! The checks in [`ROWS`] run in order; the first objection decides.

mod covered;
mod entries;
mod limits;
mod steering;

use interlock_tool_names::{FETCHERS, READER, WRITERS};

use super::{JudgeContext, environment};
use crate::{
    call::{FileWrite, PathArea},
    facts::{Beside, CommandClass, InlineCode, NetworkDirection, ShellFacts, SimpleCommand},
    policy::Stance,
    refusal::{Code, Refusal},
};

use covered::{covered_as_it_stands, names_of_listed};
pub(super) use entries::{entry_of_person, is_covered, is_listed, words_beyond};
use entries::{longest, passes_beside};
pub(super) use steering::{names_plainly, steering_variables};

/// One rule about shell lines, numbered as the documentation numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellRule {
    /// The line touches a protected thing.
    Protected = 1,
    /// It is unknown which commands the line runs.
    Unreadable = 2,
    /// The line has a command without an entry.
    Listed = 3,
    /// The line sets a variable that changes what programs do.
    Names = 4,
    /// The line has a command whose effect is unknown.
    Opaque = 5,
    /// The line changes the machine or its privileges.
    Privilege = 6,
    /// The line writes or removes files.
    Write = 7,
    /// The line reaches the network.
    Network = 8,
    /// The line uses a blocked variable.
    Environment = 9,
    /// The line writes more than the state allows.
    Limits = 10,
}

impl ShellRule {
    /// Returns the number of the rule.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Describes what the rule is about.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Protected => "protected thing",
            Self::Unreadable => "line that cannot be read",
            Self::Listed => "command without an entry in `allowed_commands`",
            Self::Names => "variable that changes what programs do",
            Self::Opaque => "command whose effect is not known",
            Self::Privilege => "command that changes the machine or its privileges",
            Self::Write => "write or removal",
            Self::Network => "network",
            Self::Environment => "blocked variable",
            Self::Limits => "limit on files or lines",
        }
    }
}

/// The objection of a rule to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The rule.
    pub rule: ShellRule,
    /// The stable code.
    pub code: Code,
    /// What is wrong.
    pub what: String,
    /// What would be allowed instead.
    pub instead: String,
}

impl Objection {
    /// Formats the objection as one sentence for the agent.
    pub(super) fn refusal(&self) -> Refusal {
        Refusal::new(self.code, format!("{}: {}", self.what, self.instead))
    }
}

/// `Ok`, or an objection.
pub(super) type Found = Result<(), Box<Objection>>;

/// The function that checks one row.
type RowCheck = fn(JudgeContext<'_>, &ShellFacts, Stance) -> Found;

/// The rows in order; `true`: an approval of the call overrides the row.
const ROWS: [(RowCheck, bool); 9] = [
    (readable, false),
    (every_command_listed, true),
    (names_set, true),
    (opaque, true),
    (privilege, true),
    (writes, true),
    (network, true),
    (environment::check, false),
    (within_limits, false),
];

/// Returns the first objection to a line, checking row by row.
pub(super) fn check(context: JudgeContext<'_>, facts: &ShellFacts, granted: bool) -> Found {
    let stance = context.state.policy.stance();
    ROWS.iter()
        .filter(|(_, excused)| !(granted && *excused))
        .try_for_each(|(row, _)| row(context, facts, stance))
}

/// Makes an objection.
pub(super) fn refuse(
    rule: ShellRule,
    code: Code,
    what: impl Into<String>,
    instead: impl Into<String>,
) -> Found {
    Err(Box::new(Objection {
        rule,
        code,
        what: what.into(),
        instead: instead.into(),
    }))
}

fn readable(_: JudgeContext<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    match &facts.unreadable {
        Some(why) if stance != Stance::Free => refuse(
            ShellRule::Unreadable,
            Code::ShellUnreadable,
            format!("the shell line cannot be read: {why}"),
            "write every command name and every file name out",
        ),
        _ => Ok(()),
    }
}

fn every_command_listed(context: JudgeContext<'_>, facts: &ShellFacts, _: Stance) -> Found {
    if context.state.policy.allowed_commands.is_none() {
        return Ok(());
    }
    let anything_listed = facts
        .commands
        .iter()
        .any(|command| is_covered(context, command));
    let stranger = facts.commands.iter().find(|command| {
        let passes =
            is_covered(context, command) || anything_listed && passes_beside(context, command);
        !passes
    });
    let Some(command) = stranger else {
        return Ok(());
    };
    let instead = match &command.beside {
        Beside::Directory | Beside::OddDirectory if anything_listed => {
            "`cd` passes to a directory of the project that is written out".to_owned()
        }
        Beside::ReadsFiles if anything_listed => {
            "combined with a listed command, a filter is allowed only after a pipe and without files of its own"
                .to_owned()
        }
        Beside::Does(option) if anything_listed => format!(
            "combined with a listed command, a filter is allowed only with options that select what it prints; leave `{option}` out"
        ),
        _ => listing(context, command),
    };
    let listed: Vec<&str> = context
        .state
        .policy
        .allowed_commands
        .iter()
        .flatten()
        .map(|entry| entry.text.as_str())
        .collect();
    let listed = if listed.is_empty() {
        "none".to_owned()
    } else {
        listed.join(", ")
    };
    refuse(
        ShellRule::Listed,
        Code::CommandNotAllowed,
        format!(
            "`{}` is not among the allowed commands of `{}`: {listed}",
            show(command),
            context.frame.at
        ),
        instead,
    )
}

/// Says how a command that is not listed can be run.
fn listing(context: JudgeContext<'_>, command: &SimpleCommand) -> String {
    let reads = command.class == CommandClass::Reader && command.opaque.is_none();
    if reads && context.call.facts.writes.is_empty() && context.state.policy.lets_pass(&[READER]) {
        return format!("use the {READER} tool to look at files");
    }
    format!(
        "a person can list `{}` under `allowed_commands`",
        limits::shown(command.words.get(..2).unwrap_or(&command.words))
    )
}

fn names_set(context: JudgeContext<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    let listed = context.state.policy.allowed_commands.is_some();
    let by_person = stance == Stance::Writing && by_person(context, facts).is_some();
    let strict = stance == Stance::NoWrite || stance == Stance::Writing && listed || by_person;
    match facts.env.set.iter().find(|set| set.changes_programs) {
        Some(set) if strict => refuse(
            ShellRule::Names,
            Code::ShellUnreadable,
            format!("setting `{}` changes what programs do", set.name),
            "leave it out",
        ),
        _ if listed || by_person => names_of_listed(context, facts),
        _ => Ok(()),
    }
}

fn opaque(context: JudgeContext<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    if let Err(objection) = covered_as_it_stands(context, facts) {
        // A blocked variable is refused by its name, whatever option it is the value of.
        environment::check(context, facts, stance)?;
        return Err(objection);
    }
    if stance != Stance::NoWrite {
        return Ok(());
    }
    let held = kernel_holds(context, facts);
    let found = facts.commands.iter().find(|command| {
        command.opaque.is_some()
            && !is_covered(context, command)
            && !(held && is_contained(command))
    });
    let Some(command) = found else { return Ok(()) };
    let why = command.opaque.as_deref().unwrap_or_default();
    refuse(
        ShellRule::Opaque,
        Code::ShellUnreadable,
        format!(
            "what `{}` does cannot be known ({why}), and `{}` may not write",
            show(command),
            context.frame.at
        ),
        instead_of_opaque(context, facts, command),
    )
}

/// Returns whether `command` has an unknown effect, but none if the kernel refuses every write.
///
/// Such a command is code within the line, or version control in another repository.
#[must_use]
pub fn is_contained(command: &SimpleCommand) -> bool {
    let is_code =
        command.class == CommandClass::Interpreter && command.inline_code == InlineCode::Yes;
    command.opaque.is_some() && (command.contained || is_code)
}

/// Returns whether the kernel confines the line's own code completely: no writes and no network.
///
/// In a state with `allowed_commands`, the kernel permits more.
fn kernel_holds(context: JudgeContext<'_>, facts: &ShellFacts) -> bool {
    context.call.facts.kernel_holds
        && facts.network.is_empty()
        && context.state.policy.allowed_commands.is_none()
}

/// Says what would be allowed instead of a command whose effect is unknown.
fn instead_of_opaque(
    context: JudgeContext<'_>,
    facts: &ShellFacts,
    command: &SimpleCommand,
) -> String {
    if is_contained(command) {
        return instead_of_contained(context, facts, command);
    }
    let is_known_program = matches!(
        command.class,
        CommandClass::Nothing
            | CommandClass::Reader
            | CommandClass::Writer
            | CommandClass::VersionControl
    );
    if is_known_program && !command.loose.is_empty() {
        return "put `--` before the file names, or write them out".to_owned();
    }
    if is_known_program {
        return "leave that out".to_owned();
    }
    format!(
        "use a command that only reads, or let a person list `{}` under `allowed_commands`",
        limits::shown(command.words.get(..2).unwrap_or(&command.words))
    )
}

/// Says what would be allowed instead of a command that the kernel would have to confine.
fn instead_of_contained(
    context: JudgeContext<'_>,
    facts: &ShellFacts,
    command: &SimpleCommand,
) -> String {
    if context.call.facts.kernel_holds && !facts.network.is_empty() {
        return "download in one call and compute in another: with network access it is not confined"
            .to_owned();
    }
    format!(
        "use a command that only reads; `{}` runs only where the kernel confines it, at level `files` or better",
        limits::shown(command.words.get(..1).unwrap_or(&command.words))
    )
}

fn privilege(context: JudgeContext<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    if stance == Stance::Free {
        return Ok(());
    }
    let mut commands = facts.commands.iter();
    let found = commands.find(|command| command.changes_machine() && !is_covered(context, command));
    match found {
        Some(command) => refuse(
            ShellRule::Privilege,
            Code::CommandNotAllowed,
            format!("`{}` changes the machine or its privileges", show(command)),
            "a person has to run it",
        ),
        None => alone_unconfined(context, facts),
    }
}

/// Returns the first command that only the person's entry allows, for which the whole line runs unconfined.
fn by_person<'a>(context: JudgeContext<'_>, facts: &'a ShellFacts) -> Option<&'a SimpleCommand> {
    let mut commands = facts.commands.iter();
    commands.find(|command| entry_of_person(context, command).is_some())
}

/// Refuses a command of unknown effect beside one that a person lets run unconfined: both would be unconfined.
fn alone_unconfined(context: JudgeContext<'_>, facts: &ShellFacts) -> Found {
    let Some(person) = by_person(context, facts) else {
        return Ok(());
    };
    let beside = |command: &&SimpleCommand| {
        command.opaque.is_some() && entry_of_person(context, command).is_none()
    };
    match facts.commands.iter().find(beside) {
        Some(command) => refuse(
            ShellRule::Privilege,
            Code::CommandNotAllowed,
            format!(
                "`{}` would run unconfined beside `{}`, and what it does cannot be known",
                show(command),
                show(person)
            ),
            "run it in a line of its own",
        ),
        None => Ok(()),
    }
}

fn writes(context: JudgeContext<'_>, _: &ShellFacts, stance: Stance) -> Found {
    let mut writes = context
        .call
        .facts
        .writes
        .iter()
        .filter(|write| !covered_history(context, write) && !covered_result(context, write));
    if stance == Stance::Free {
        // Protected things lie below these, whatever else does.
        return match writes.find(|write| write.removes && write.place == PathArea::Whole) {
            Some(write) => refuse(
                ShellRule::Protected,
                Code::Protected,
                format!(
                    "`{}` removes the whole of `{}`, which contains protected files",
                    write.by,
                    write.path.as_deref().unwrap_or_default()
                ),
                "name what is to go below it",
            ),
            None => Ok(()),
        };
    }
    let found = match stance {
        Stance::Free => None,
        Stance::NoWrite => writes.next(),
        Stance::Writing => writes.find(|write| match write.place {
            PathArea::Outside | PathArea::Whole => true,
            PathArea::Unknown => write.recursive,
            PathArea::Project | PathArea::Scratch => false,
        }),
    };
    let Some(write) = found else { return Ok(()) };
    let path = write
        .relative
        .as_deref()
        .or(write.path.as_deref())
        .unwrap_or("an unknown path");
    let verb = if write.removes { "removes" } else { "writes" };
    let (why, instead) = instead_of_writing(stance, write);
    refuse(
        ShellRule::Write,
        Code::ShellWrite,
        format!("`{}` {verb} `{path}`, and {why}", write.by),
        instead,
    )
}

/// Says why a write is refused, and what would be allowed.
fn instead_of_writing(stance: Stance, write: &FileWrite) -> (&'static str, &'static str) {
    match (stance, write.place) {
        (Stance::NoWrite, _) if write.by.starts_with(['>', '&']) => (
            "this state may not write",
            "leave the redirection out: the output is shown anyway",
        ),
        (Stance::NoWrite, _) => (
            "this state may not write",
            "look at files here, and take a transition before you change them",
        ),
        (_, PathArea::Whole) => (
            "that is the project or all that is around it",
            "name what is to go, below the project",
        ),
        (_, PathArea::Unknown) => ("everything below it would go", "write the directory out"),
        _ => (
            "only the project and temporary directories may be written",
            "use a path inside the project",
        ),
    }
}

/// Returns whether a write goes to the history of a listed version control command.
///
/// Any write of such a command outside its repository is judged like other writes.
fn covered_history(context: JudgeContext<'_>, write: &FileWrite) -> bool {
    history_of(context, write).is_some_and(|command| is_covered(context, command))
}

/// Returns whether a write is the result of a listed program, which the kernel confines to its places.
fn covered_result(context: JudgeContext<'_>, write: &FileWrite) -> bool {
    context.state.policy.stance() == Stance::NoWrite
        && result_of(context, write).is_some_and(|command| is_covered(context, command))
}

/// Returns the program of unknown effect that names this file in an option for its result.
fn result_of<'a>(context: JudgeContext<'a>, write: &FileWrite) -> Option<&'a SimpleCommand> {
    let facts = context.call.facts.shell.as_ref()?;
    facts.commands.iter().find(|command| {
        matches!(
            command.class,
            CommandClass::ProjectCode | CommandClass::Unknown
        ) && command.opaque.is_some()
            && !write.removes
            && show(command) == write.by
    })
}

/// Returns whether a write goes to the history of a version control command, not to a file of the project.
///
/// For a command that changes files without naming them, the history represents those files.
pub(super) fn is_history(context: JudgeContext<'_>, write: &FileWrite) -> bool {
    !write.removes && history_of(context, write).is_some_and(|command| !command.changes_unnamed)
}

/// Returns the version control command that writes its own history.
fn history_of<'a>(context: JudgeContext<'a>, write: &FileWrite) -> Option<&'a SimpleCommand> {
    let facts = context.call.facts.shell.as_ref()?;
    write
        .path
        .as_deref()
        .filter(|path| path.split('/').any(|part| part == ".git"))?;
    facts.commands.iter().find(|command| {
        command.class == CommandClass::VersionControl && show(command).starts_with(&write.by)
    })
}

fn network(context: JudgeContext<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    if stance != Stance::NoWrite {
        return Ok(());
    }
    let policy = &context.state.policy;
    let may_get = FETCHERS.iter().any(|tool| policy.lets_pass(&[tool]));
    let found = facts.network.iter().find(|reach| {
        let covered = reach
            .command
            .and_then(|index| facts.commands.get(index))
            .is_some_and(|command| is_covered(context, command));
        let passes = match reach.direction {
            NetworkDirection::Local => true,
            NetworkDirection::Get => may_get,
            NetworkDirection::Send | NetworkDirection::Listen => false,
        };
        !covered && !passes
    });
    let Some(reach) = found else { return Ok(()) };
    let instead = match reach.direction {
        NetworkDirection::Get => &format!("it passes where {} is allowed", FETCHERS.join(" or ")),
        _ if may_get => {
            "fetch with GET and print to the terminal, or let a person list the command"
        }
        _ => "let a person list the command under `allowed_commands`",
    };
    refuse(
        ShellRule::Network,
        Code::CommandNotAllowed,
        format!(
            "`{}` reaches the network, which `{}` does not allow",
            reach.by, context.frame.at
        ),
        instead,
    )
}

fn within_limits(context: JudgeContext<'_>, facts: &ShellFacts, stance: Stance) -> Found {
    limits::lines(context, facts, stance)?;
    limits::files(context, stance)
}

/// Names the tool that measures an edit.
fn use_tool(context: JudgeContext<'_>) -> String {
    let policy = &context.state.policy;
    let tool = WRITERS.into_iter().find(|tool| policy.lets_pass(&[tool]));
    match tool {
        Some(tool) => format!("use the {tool} tool"),
        None => "use a tool that edits files".to_owned(),
    }
}

/// Returns the longest entry that allows `command`, as written.
pub(super) fn entry_of<'a>(context: JudgeContext<'a>, command: &SimpleCommand) -> Option<&'a str> {
    longest(context, command).map(|(entry, _)| entry.text.as_str())
}

/// Formats a command for a message, truncated.
pub(super) fn show(command: &SimpleCommand) -> String {
    limits::shown(&command.words)
}
