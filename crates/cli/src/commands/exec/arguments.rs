//! Parses the arguments of `exec` without building the whole command line, because each tool call pays for it.

use std::{ffi::OsString, path::PathBuf};

use clap::Parser as _;
use interlock_core::policy::Stance;
use interlock_sandbox::Level;

use crate::args::{Colour, ExecArgs, LineRights};

/// Run one shell line with the rights of a state.
// Only these arguments: building all commands takes longer than starting the line.
#[derive(Debug, clap::Parser)]
#[command(name = "interlock exec")]
struct Words {
    /// When to use colours; `exec` prints none.
    #[arg(long = "color", value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    _color: Colour,
    #[command(flatten)]
    args: ExecArgs,
}

/// What `exec` must run, and how to confine it.
#[derive(Debug)]
pub(super) struct Arguments {
    /// Source of the permission.
    pub(super) wanted: Permission,
    /// The shell line.
    pub(super) line: String,
    /// The project; by default found from the directory.
    pub(super) project: Option<PathBuf>,
    /// Lowest level at which the line may run.
    pub(super) require: Option<Level>,
    /// Highest level to use, to see what a lesser kernel would enforce.
    pub(super) at_most: Level,
    /// Whether the line may access the network.
    pub(super) network: bool,
    /// Additional commands that count as listed.
    pub(super) allow: Vec<String>,
}

/// The permission with which a line runs.
#[derive(Debug)]
pub(super) enum Permission {
    /// The verdict with this ticket.
    Ticket(String),
    /// The same, passed on by a first process that listens at this place.
    #[cfg(target_os = "linux")]
    Behind { place: String, ticket: String },
    /// The caller, with a plan on standard input.
    Planned,
    /// A person, for this kind of state.
    Stance(Stance),
}

/// Creates arguments without options.
fn plain(wanted: Permission, line: String) -> Arguments {
    Arguments {
        wanted,
        line,
        project: None,
        require: None,
        at_most: Level::Full,
        network: false,
        allow: Vec::new(),
    }
}

/// Parses the arguments of `exec`.
pub(super) fn read(arguments: &[OsString]) -> Result<Arguments, String> {
    let words: Vec<&str> = arguments
        .iter()
        .map(|word| word.to_str().ok_or("the line is not valid UTF-8"))
        .collect::<Result<_, _>>()?;
    if words == ["--planned"] {
        return Ok(plain(Permission::Planned, String::new()));
    }
    if let ["--ticket", ticket, "--", line] = words.as_slice() {
        let wanted = Permission::Ticket((*ticket).to_owned());
        return Ok(plain(wanted, (*line).to_owned()));
    }
    #[cfg(target_os = "linux")]
    if let [option, place, "--ticket", ticket, "--", line] = words.as_slice()
        && *option == interlock_sandbox::behind::OPTION
    {
        let wanted = Permission::Behind {
            place: (*place).to_owned(),
            ticket: (*ticket).to_owned(),
        };
        return Ok(plain(wanted, (*line).to_owned()));
    }
    if let ["--", line @ ..] = words.as_slice()
        && !line.is_empty()
    {
        let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        return Ok(plain(Permission::Stance(Stance::NoWrite), line_of(&line)));
    }
    let whole = std::iter::once("exec").chain(words.iter().copied());
    let args = Words::try_parse_from(whole)
        .map_err(|error| error.render().to_string())?
        .args;
    if args.ticket.is_some() {
        return Err(
            "`--ticket` takes no other option, and the whole line as one word after `--`"
                .to_owned(),
        );
    }
    let require = args.require.map(level).transpose()?;
    let at_most = args.at_most.map_or(Ok(Level::Full), level)?;
    Ok(Arguments {
        wanted: Permission::Stance(match args.held {
            LineRights::NoWrite => Stance::NoWrite,
            LineRights::Writing => Stance::Writing,
            LineRights::Free => Stance::Free,
        }),
        line: line_of(&args.line),
        project: args.project,
        require,
        at_most,
        network: args.network,
        allow: args.allow,
    })
}

fn level(word: String) -> Result<Level, String> {
    Level::named(&word).ok_or_else(|| {
        format!("`{word}` is not a level: use `environment`, `partial`, `files` or `full`")
    })
}

/// Joins the words of a command with its operands; a single word is a shell line.
fn line_of(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => {
            let quoted = words
                .iter()
                .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
            quoted.collect::<Vec<_>>().join(" ")
        }
    }
}
