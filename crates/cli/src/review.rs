//! What a person sees before answering: what an approval means, what it is based on, what has changed.

use std::io::{IsTerminal as _, Write as _};

use interlock_clients::review::{Changes, Row, headline, rows, since_start};
use interlock_core::{
    event::Event,
    machine::Machine,
    names::ApprovalId,
    pending::{Pending, pending},
    run::Run,
};
use interlock_store::{Home, RunLog, StoreError};
use interlock_view::report::moves;

use crate::{
    app::App,
    failure::{Done, Exit, Failure},
    live::{Live, now_ms},
    output::Style,
};

/// Number of lines of a diff that are shown with a question.
const DIFF_LINES: usize = 40;

/// What an approval of a request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Review {
    /// The question, line by line.
    pub(crate) rows: Vec<Row>,
    /// What has changed since the run began.
    pub(crate) changes: Changes,
}

impl Review {
    /// Collects what a person needs to know about a request.
    ///
    /// # Errors
    /// The log of the run cannot be read.
    pub(crate) fn of(
        home: &Home,
        log: &RunLog,
        (machine, run): (&Machine, &Run),
        asked: &Pending,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            rows: rows(machine, run, Some(log), asked, now_ms()),
            changes: since_start(home, log)?,
        })
    }

    /// Prints it, with the question last; a long diff is cut if `more` says how to see the rest.
    fn print(&self, app: &App, more: Option<&str>) -> Done {
        let out = app.output;
        let shown = more.map_or(usize::MAX, |_| DIFF_LINES);
        for line in self.changes.diff.iter().take(shown) {
            let line = match colour(line) {
                Some(style) => out.styled(style, line),
                None => line.clone(),
            };
            out.line(&line)?;
        }
        if let (Some(more), left @ 1..) = (more, self.changes.diff.len().saturating_sub(shown)) {
            out.line(&format!("... {left} more lines: {more}"))?;
        }
        if !self.changes.diff.is_empty() {
            out.line("")?;
        }
        let row = |name: &str, text: &str| -> Done {
            let name = out.styled(Style::Bold, &format!("{name:<9}"));
            out.line(&format!("{name} {text}"))
        };
        row("changed", &self.changes.head)?;
        for note in &self.changes.notes {
            row("", note)?;
        }
        for one in &self.rows {
            if one.warns {
                row(one.name, &out.styled(Style::Yellow, &one.text))?;
            } else {
                row(one.name, &one.text)?;
            }
        }
        Ok(())
    }
}

/// Returns the style of a line of a diff.
pub(crate) fn colour(line: &str) -> Option<Style> {
    match line.as_bytes() {
        [b'+', ..] => Some(Style::Green),
        [b'-', ..] => Some(Style::Red),
        [b'@', b'@', ..] => Some(Style::Dim),
        _ => None,
    }
}

/// Returns the requests selected by `name`; without a name, all.
pub(crate) fn meant(live: &Live, name: Option<&str>) -> Vec<Pending> {
    let mut all = pending(&live.machine, &live.run);
    all.retain(|one| name.is_none_or(|name| one.is_named(name)));
    all
}

/// Shows everything about the requests, without answering.
pub(crate) fn show(app: &App, live: &Live, meant: &[Pending]) -> Done {
    for asked in meant {
        let review = Review::of(&live.home, &live.log, (&live.machine, &live.run), asked)?;
        review.print(app, None)?;
    }
    Ok(())
}

/// Returns whether there is a person here who can be asked.
fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Shows a person at a terminal what an approval means, and asks for confirmation.
///
/// Without a terminal, the command itself counts as the confirmation.
///
/// # Errors
/// The person declines; then nothing is answered.
pub(crate) fn confirm(app: &App, live: &Live, meant: &[Pending]) -> Done {
    if meant.is_empty() || !is_attended() {
        return Ok(());
    }
    let mut reviews = Vec::new();
    for asked in meant {
        let review = Review::of(&live.home, &live.log, (&live.machine, &live.run), asked)?;
        review.print(app, Some("`d` shows all of them"))?;
        reviews.push(review);
    }
    loop {
        app.output.text("approve? [y/N, d: the whole diff] ")?;
        std::io::stdout().flush()?;
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line)?;
        match line.trim() {
            "y" | "Y" | "yes" => return Ok(()),
            "d" | "D" if read > 0 => {
                for review in &reviews {
                    review.print(app, None)?;
                }
            }
            _ => {
                if read == 0 {
                    app.output.line("")?;
                }
                app.output.line("nothing was answered; it still waits")?;
                return Err(Failure::Said(Exit::Failed));
            }
        }
    }
}

/// Describes the outcome of answered requests, one line each.
pub(crate) fn answered(
    word: &str,
    (machine, run): (&Machine, &Run),
    meant: &[Pending],
    events: &[Event],
) -> Vec<String> {
    let ids: Vec<&ApprovalId> = events
        .iter()
        .filter_map(|event| match event {
            Event::RequestAnswered { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    let taken = moves(events);
    let mut lines = Vec::new();
    for one in meant {
        if !ids.contains(&&one.id()) {
            continue;
        }
        let line = headline(machine, run, one);
        // What happened counts, not what was foreseen.
        let line = match (taken.first(), line.split_once(": ")) {
            (Some((event, from, to)), Some((asked, _))) if ids.len() == 1 && event == asked => {
                interlock_core::visible::visible(&format!("{event}: {from} -> {to}"))
            }
            _ => line,
        };
        lines.push(format!("{word} {line}"));
    }
    lines
}
