//! The log for people: local time, and a call with its outcome on one line.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, IsTerminal as _},
};

use chrono::{DateTime, Local, NaiveDate};
use interlock_core::{
    event::{AllowSource, CallRecord, Event},
    names::CallId,
    visible::visible,
};
use interlock_store::Recorded;

use crate::{
    app::App,
    failure::{Done, Failure},
    log_line::{time, told},
    output::Style,
};

/// What was shown so far.
#[derive(Debug, Default)]
pub(super) struct Page {
    day: Option<NaiveDate>,
    /// Calls that were shown together with their outcome.
    whole: BTreeSet<CallId>,
}

/// How a call ended, and when.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    at_ms: u64,
    ok: bool,
    exit: Option<i64>,
}

/// Number of columns of a summary that are shown however narrow the terminal is.
const SUMMARY_MIN: usize = 12;

impl Page {
    /// Shows events that follow those shown before.
    pub(super) fn show(&mut self, app: &App, events: &[Recorded]) -> Done {
        let ended = outcomes(events);
        for recorded in events {
            let Some(text) = self.text(app, recorded, &ended)? else {
                continue;
            };
            let at = local(recorded.at_ms);
            let day = at.map(|at| at.date_naive());
            if day.is_some() && day != self.day {
                self.day = day;
                let shown = day.map(|day| day.to_string()).unwrap_or_default();
                app.output.line(&app.output.styled(Style::Dim, &shown))?;
            }
            let clock = at.map(|at| at.format("%H:%M:%S").to_string());
            let clock = clock.unwrap_or_else(|| time(recorded.at_ms));
            app.output
                .line(&format!("{:>4} {clock} {text}", recorded.seq))?;
        }
        Ok(())
    }

    /// Returns the text for an event; `None` if its call's line already contains it.
    fn text(
        &mut self,
        app: &App,
        recorded: &Recorded,
        ended: &BTreeMap<CallId, Outcome>,
    ) -> Result<Option<String>, Failure> {
        match &recorded.event {
            Event::CallAllowed { call, source, .. } => {
                let Some(outcome) = ended.get(&call.id) else {
                    // Its outcome is in the next line; the last call of a run may have no end.
                    if *source == AllowSource::Control {
                        return Ok(Some(self::call(app, call, Style::Green, "answered")));
                    }
                    return Ok(Some(self::call(app, call, Style::Yellow, "not ended")));
                };
                self.whole.insert(call.id.clone());
                let style = if outcome.ok { Style::Green } else { Style::Red };
                let word = match (outcome.exit, outcome.ok) {
                    (Some(exit), _) => format!("exit {exit}"),
                    (None, true) => "ok".to_owned(),
                    (None, false) => "failed".to_owned(),
                };
                let took = duration(outcome.at_ms.saturating_sub(recorded.at_ms));
                Ok(Some(self::call(
                    app,
                    call,
                    style,
                    &format!("{word}  {took}"),
                )))
            }
            Event::CallDenied { call, refusal, .. } => {
                let word = format!("denied ({})", refusal.code.as_str());
                Ok(Some(self::call(app, call, Style::Red, &word)))
            }
            Event::CallEnded { call, .. }
            | Event::LineConfined { call, .. }
            | Event::LineEnded { call, .. }
                if self.whole.contains(call) =>
            {
                Ok(None)
            }
            _ => told(app, recorded).map(Some),
        }
    }
}

/// Returns the outcomes of the calls whose end is in the events.
fn outcomes(events: &[Recorded]) -> BTreeMap<CallId, Outcome> {
    let ends = events.iter().filter_map(|recorded| match &recorded.event {
        Event::CallEnded { call, ok, exit, .. } => Some((
            call.clone(),
            Outcome {
                at_ms: recorded.at_ms,
                ok: *ok,
                exit: *exit,
            },
        )),
        _ => None,
    });
    ends.collect()
}

/// Formats a call with its outcome, cut to the width of the terminal.
fn call(app: &App, call: &CallRecord, style: Style, outcome: &str) -> String {
    // Number, time, tool and separators.
    let taken = 16 + call.tool.chars().count() + outcome.chars().count();
    let room = width().map(|width| width.saturating_sub(taken).max(SUMMARY_MIN));
    let summary = cut(&call.summary, room);
    let outcome = app.output.styled(style, outcome);
    let tool = app.output.styled(Style::Bold, &call.tool);
    format!("{tool} {summary}  {outcome}")
}

/// Cuts a text to a number of characters, on one line.
fn cut(text: &str, room: Option<usize>) -> String {
    let text = visible(text);
    match room {
        Some(room) if text.chars().count() > room => {
            let kept: String = text.chars().take(room.saturating_sub(1)).collect();
            format!("{kept}\u{2026}")
        }
        _ => text,
    }
}

/// Returns the width of the terminal; `None` if there is none, and nothing is cut.
fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let columns = crossterm::terminal::size().ok().map(|(columns, _)| columns);
    columns.filter(|columns| *columns > 0).map(usize::from)
}

/// Formats a duration.
fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// Returns a time in the local time zone.
fn local(at_ms: u64) -> Option<DateTime<Local>> {
    let at = DateTime::from_timestamp_millis(i64::try_from(at_ms).ok()?)?;
    Some(at.with_timezone(&Local))
}

#[cfg(test)]
mod tests {
    use super::{cut, duration};

    #[test]
    fn what_is_too_long_is_cut_and_stays_on_its_line() {
        assert_eq!(cut("npm test", Some(20)), "npm test");
        assert_eq!(cut("a\nb", None), "a\\x0ab");
        assert_eq!(cut("0123456789", Some(5)), "0123\u{2026}");
    }

    #[test]
    fn durations_are_written_for_people() {
        assert_eq!(duration(7), "7 ms");
        assert_eq!(duration(1_240), "1.2 s");
        assert_eq!(duration(61_000), "1 min 1 s");
    }
}
