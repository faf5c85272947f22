//! What an approval means, in lines for people: where it leads, its data, what it is based on.
//!
//! INVARIANT: text that an agent may have written is shown by [`visible`](visible()): nothing of it reaches a terminal as a
//! command, and none of it can look like a line of Interlock.

use interlock_core::{
    event::{CallRecord, Event, PendingTransition},
    machine::Machine,
    pending::{About, Pending},
    run::Run,
    visible::visible,
};
use interlock_tool_names::{NAMES, WRITERS};

use crate::report::{Basis, meaning};

/// Maximum number of characters shown of one value of the data.
const VALUE_CHARS_MAX: usize = 400;
/// Maximum number of characters shown of a command, a field or a message.
const TEXT_CHARS_MAX: usize = 300;
/// Maximum number of characters shown of a headline.
const HEADLINE_CHARS_MAX: usize = 160;
/// End of a summary that was cut.
const CUT: &str = "...";
/// Maximum number of values of the data that are shown.
const VALUES_MAX: usize = 20;

/// A label and its text, as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The label; empty if the line continues the one before.
    pub name: &'static str,
    /// The text, with control characters made visible.
    pub text: String,
    /// Whether it is a reason not to approve.
    pub warns: bool,
}

impl Row {
    fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self {
            name,
            text: text.into(),
            warns: false,
        }
    }
}

/// Cuts `text` to at most `max` characters, marking the cut.
#[must_use]
pub fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept = text.chars().take(max.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// Shows text on one line, cut to `max` characters.
fn shortened(text: &str, max: usize) -> String {
    visible(&cut(text, max))
}

/// Reads one event of a run's log, with its time; `None`: there is none, or it cannot be read.
pub type Lookup<'a> = &'a dyn Fn(u64) -> Option<(Event, u64)>;

/// Summarizes a request in one line: `SHIP: draft -> shipped`.
#[must_use]
pub fn headline(machine: &Machine, run: &Run, pending: &Pending) -> String {
    let text = match pending.about() {
        About::Transition(PendingTransition { event, index, .. }) => {
            let meant = meaning(machine, run, pending.path(), event, Some(*index));
            meant.map_or_else(
                || format!("{event} in {}", pending.title),
                |meant| format!("{event}: {} -> {}", meant.from, meant.to.join(" or ")),
            )
        }
        About::Entry { .. } => format!("before {}", pending.title),
        About::Call(grant) => format!("{} {}", grant.call.tool, grant.call.summary),
    };
    shortened(&text, HEADLINE_CHARS_MAX)
}

/// Describes what an approval of a request means.
///
/// `log` says when evidence was observed, and for which line.
#[must_use]
pub fn rows(
    machine: &Machine,
    run: &Run,
    log: Lookup<'_>,
    pending: &Pending,
    now_ms: u64,
) -> Vec<Row> {
    let mut rows = about(machine, run, log, pending, now_ms);
    if pending.takes_passkey() {
        rows.push(Row::new(
            "yes by",
            "a passkey, on the page that `interlock console` opens",
        ));
    }
    rows
}

fn about(
    machine: &Machine,
    run: &Run,
    log: Lookup<'_>,
    pending: &Pending,
    now_ms: u64,
) -> Vec<Row> {
    let mut rows = Vec::new();
    match pending.about() {
        About::Transition(PendingTransition {
            event,
            index,
            message,
            data,
            ..
        }) => {
            rows.push(Row::new("takes", headline(machine, run, pending)));
            rows.push(Row::new("asks", shortened(message, TEXT_CHARS_MAX)));
            let mut name = "data";
            for (key, value) in data.iter().take(VALUES_MAX) {
                let text = format!("{key} = {value}");
                rows.push(Row::new(name, shortened(&text, VALUE_CHARS_MAX)));
                name = "";
            }
            if let Some(more @ 1..) = data.len().checked_sub(VALUES_MAX) {
                let text = format!("and {more} more (`interlock status --json` shows all)");
                rows.push(Row::new("", text));
            }
            let meant = meaning(machine, run, pending.path(), event, Some(*index));
            let bases = meant.map(|meant| meant.bases).unwrap_or_default();
            let mut name = "rests on";
            for basis in &bases {
                rows.push(Row {
                    name,
                    ..of_basis(basis, log, now_ms)
                });
                name = "";
            }
            if bases.is_empty() {
                rows.push(Row::new("rests on", "no guard: nothing but this answer"));
            }
        }
        About::Entry { message } => {
            rows.push(Row::new(
                "begins",
                shortened(&pending.title, TEXT_CHARS_MAX),
            ));
            rows.push(Row::new("asks", shortened(message, VALUE_CHARS_MAX)));
        }
        About::Call(grant) => {
            rows.push(Row::new("asks", "may this one call run?"));
            rows.push(Row::new(
                "tool",
                shortened(&grant.call.tool, TEXT_CHARS_MAX),
            ));
            let mut name = "with";
            for line in grant.call.summary.lines() {
                rows.push(Row::new(name, visible(line)));
                name = "";
            }
            rows.extend(unseen(&grant.call).map(|text| Row {
                warns: true,
                ..Row::new("", text)
            }));
        }
    }
    rows
}

/// Describes what a person does not see of a call, because the log does not contain it.
fn unseen(call: &CallRecord) -> Option<&'static str> {
    let is_writer = |names: &&&[&str]| {
        let common = names.first().is_some_and(|name| WRITERS.contains(name));
        common && names.contains(&call.tool.as_str())
    };
    let writes = NAMES.iter().any(|names| is_writer(&names));
    let lines = call.summary.lines().count();
    if writes && lines < 2 {
        // Stages put the diff into their summary.
        return Some("what it would write is not shown: an approval lets it write anything there");
    }
    let is_cut = lines < 2 && call.summary.ends_with(CUT);
    is_cut.then_some("it is longer: the rest is not shown")
}

fn of_basis(basis: &Basis, log: Lookup<'_>, now_ms: u64) -> Row {
    match basis {
        Basis::Said { field, value } => {
            let value = value
                .as_ref()
                .map_or("missing".to_owned(), ToString::to_string);
            let text = format!("{field} = {value} (the agent's word)");
            Row::new("", shortened(&text, VALUE_CHARS_MAX))
        }
        Basis::Seen {
            what,
            exit,
            wanted,
            begun_seq,
            holds,
        } => {
            let (ran, age) = begun_seq
                .and_then(|seq| when(log, seq, what, now_ms))
                .unwrap_or_default();
            let ended = match (begun_seq, exit, wanted) {
                (None, _, _) => "not seen".to_owned(),
                (Some(_), Some(exit), Some(_)) => format!("exit {exit}{age}"),
                (Some(_), Some(0), None) => format!("succeeded{age}"),
                (Some(_), Some(_), None) => format!("failed{age}"),
                (Some(_), None, _) => format!("exit not known{age}"),
            };
            let stale = if *holds { "" } else { ", does not count now" };
            let what = shortened(what, TEXT_CHARS_MAX);
            Row {
                name: "",
                text: format!("`{what}`{ran}: {ended}{stale}"),
                warns: !holds,
            }
        }
    }
}

/// Describes for which line evidence was observed, if that is another line, and how long ago.
fn when(log: Lookup<'_>, seq: u64, what: &str, now_ms: u64) -> Option<(String, String)> {
    let (event, at_ms) = log(seq)?;
    let age = format!(", {} ago", age(now_ms.saturating_sub(at_ms)));
    let call = match &event {
        Event::CallAllowed { call, .. } => call,
        Event::RequestOpened {
            about: About::Call(grant),
            ..
        } => &grant.call,
        _ => return Some((String::new(), age)),
    };
    let ran = if call.summary == what || !what.chars().any(char::is_whitespace) && call.tool == what
    {
        String::new()
    } else {
        format!(" (as `{}`)", shortened(&call.summary, TEXT_CHARS_MAX))
    };
    Some((ran, age))
}

/// Formats a duration in its largest whole unit.
#[must_use]
pub fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use interlock_core::names::{CallId, Digest};

    use super::*;

    #[test]
    fn a_person_is_told_what_no_client_shows_of_a_write() {
        for (tool, summary, is_told) in [
            ("Write", "a.txt", true),
            ("write_file", "a.txt", true),
            ("str_replace_editor", "a.txt", true),
            ("Write", "a.txt\n+one line", false),
            ("Read", "a.txt", false),
            ("read_file", "a.txt", false),
            ("Bash", "cargo test", false),
        ] {
            let call = CallRecord {
                id: CallId::new("t1"),
                tool: tool.to_owned(),
                digest: Digest::new("d"),
                summary: summary.to_owned(),
                agent: None,
            };
            assert_eq!(unseen(&call).is_some(), is_told, "{tool}: {summary}");
        }
    }
}
