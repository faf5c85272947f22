//! What a person sees before they answer: what a yes means, what it rests on, what has changed.

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

/// Lines of a difference that are shown beside a question.
const DIFF_LINES: usize = 40;

/// What a yes to one request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Review {
    /// What is asked, line by line.
    pub(crate) rows: Vec<Row>,
    /// What has changed since the run began.
    pub(crate) changes: Changes,
}

impl Review {
    /// Looks at what waits in a run.
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

    /// Prints it, what is asked last; a long difference is cut where `more` says how to see the rest.
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

/// Returns the colour of a line of a difference.
pub(crate) fn colour(line: &str) -> Option<Style> {
    match line.as_bytes() {
        [b'+', ..] => Some(Style::Green),
        [b'-', ..] => Some(Style::Red),
        [b'@', b'@', ..] => Some(Style::Dim),
        _ => None,
    }
}

/// Returns what waits and is meant by `name`; without a name all that waits.
pub(crate) fn meant(live: &Live, name: Option<&str>) -> Vec<Pending> {
    let mut all = pending(&live.machine, &live.run);
    all.retain(|one| name.is_none_or(|name| one.is_named(name)));
    all
}

/// Shows all that is known of what waits, and answers nothing.
pub(crate) fn show(app: &App, live: &Live, meant: &[Pending]) -> Done {
    for asked in meant {
        let review = Review::of(&live.home, &live.log, (&live.machine, &live.run), asked)?;
        review.print(app, None)?;
    }
    Ok(())
}

/// Tells whether a person sits here who can be asked.
fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Shows a person at a terminal what a yes means, and asks whether they mean it.
///
/// Where nobody sits, whoever calls has said what they mean.
///
/// # Errors
/// They do not; then nothing is answered.
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

/// What became of requests that a person has answered, in a line each.
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
        // Where it led is what happened, not what was foreseen.
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
