//! What `backtest` prints.

use std::collections::BTreeMap;

use interlock_backtest::{Backtest, Placed, Verdict};
use interlock_core::{instant::utc, machine::Machine};
use interlock_sessions::{Session, one_line};
use interlock_simulate::what_if::{Change, WhatIf};
use serde_json::{Value, json};

use super::{Found, Judged, Outcome, Tally};
use crate::{app::App, args::BacktestArgs, failure::Done, output::Style};

pub(crate) fn tell(
    app: &App,
    args: &BacktestArgs,
    found: &Found,
    judged: &Judged,
    tally: &Tally,
) -> Done {
    let out = app.output;
    let total = format!(
        "{} against {} with {}: {} refused at least.",
        args.workflow,
        count(tally.sessions, "session"),
        count(tally.calls, "call"),
        grouped(tally.refused),
    );
    let style = if tally.refused == 0 {
        Style::Green
    } else {
        Style::Red
    };
    out.line(&out.styled(style, &total))?;
    for line in about(args, found, tally) {
        out.line(&line)?;
    }
    let pairs = || found.sessions.iter().zip(&judged.sessions);
    let mut section = Section::new(app, args.limit);
    section.begin("Refused in every placement");
    for (session, outcome) in pairs() {
        if let Outcome::Placed(placed) = outcome {
            for one in &placed.everywhere {
                let best = placed.placed.get(one.index);
                section.item(&best.map_or_else(String::new, |best| refused(session, best)))?;
            }
        }
    }
    section.begin("Comes out differently than in the log");
    for (session, outcome) in pairs() {
        if let Outcome::Again(again) = outcome {
            for one in &again.differences {
                let why = one
                    .now
                    .message
                    .clone()
                    .unwrap_or_else(|| one.now.says.join(", "));
                section.item(&format!(
                    "{} event {}: {} — {why}",
                    short(session),
                    one.seq,
                    one.what
                ))?;
            }
        }
    }
    section.begin("The run stands still");
    for (session, outcome) in pairs() {
        if let Outcome::Placed(placed) = outcome {
            for stop in &placed.stops {
                section.item(&stopped(session, stop))?;
            }
        }
    }
    section.begin("First divergence, after which all is hypothetical");
    for (session, outcome) in pairs() {
        if let Some(line) = first(session, outcome) {
            section.item(&line)?;
        }
    }
    section.begin("Time in each state");
    for (state, (calls, ms)) in stays(&judged.sessions) {
        section.item(&format!(
            "{state}: {}, {}",
            count(calls, "call"),
            duration(ms)
        ))?;
    }
    section.begin("Rules that made no difference");
    for line in judged.rules.idle() {
        section.item(&line)?;
    }
    section.end()
}

/// A section of the output, whose heading is printed only if it has content.
struct Section<'a> {
    app: &'a App,
    limit: usize,
    heading: Option<&'static str>,
    shown: usize,
    more: usize,
}

impl<'a> Section<'a> {
    const fn new(app: &'a App, limit: usize) -> Self {
        Self {
            app,
            limit,
            heading: None,
            shown: 0,
            more: 0,
        }
    }

    fn begin(&mut self, heading: &'static str) {
        // Print first what the previous section left out; a closed pipe is noticed later.
        drop(self.end());
        self.heading = Some(heading);
        self.shown = 0;
    }

    fn item(&mut self, line: &str) -> Done {
        let out = self.app.output;
        if self.shown >= self.limit {
            self.more += 1;
            return Ok(());
        }
        if let Some(heading) = self.heading.take() {
            out.line("")?;
            out.line(&out.styled(Style::Bold, heading))?;
        }
        self.shown += 1;
        out.line(&format!("  {line}"))
    }

    fn end(&mut self) -> Done {
        let more = std::mem::take(&mut self.more);
        if more > 0 {
            self.app.output.line(&format!(
                "  … {more} more: `--limit {}` shows them",
                self.shown + more
            ))?;
        }
        Ok(())
    }
}

/// Describes what the result is based on.
fn about(args: &BacktestArgs, found: &Found, tally: &Tally) -> Vec<String> {
    let mut lines = Vec::new();
    let mut formats: BTreeMap<String, u64> = BTreeMap::new();
    for session in &found.sessions {
        let version = session.version.as_ref();
        let version = version.map_or_else(String::new, |version| format!(" {version}"));
        *formats
            .entry(format!("{}{version}", session.format.title()))
            .or_default() += 1;
    }
    let formats = formats
        .iter()
        .map(|(name, number)| format!("{number} of {name}"));
    lines.push(format!("Read: {}.", formats.collect::<Vec<_>>().join(", ")));
    if tally.everywhere > 0 {
        lines.push(format!(
            "{} refused in every placement.",
            count_is(tally.everywhere, "call"),
        ));
    }
    if tally.approvals > 0 {
        lines.push(format!(
            "{} of a person assumed to be approvals.",
            count_is(tally.approvals, "answer")
        ));
    }
    if tally.not_run > 0 {
        lines.push(format!(
            "{} not run when recorded, and counted neither way.",
            count_is(tally.not_run, "call")
                .replace(" is", " was")
                .replace(" are", " were"),
        ));
    }
    if tally.exits_unknown > 0 {
        let what = count_is(tally.exits_unknown, "shell line");
        lines.push(if args.assume_exit {
            format!("{what} taken for lines that ended with 0, since the recording does not say it (`--assume-exit`).")
        } else {
            format!("{what} without a known exit code, and no evidence; `--assume-exit` takes them for 0.")
        });
    }
    if tally.not_judged > 0 {
        lines.push(format!(
            "{} not judged: the recording keeps too little.",
            count_is(tally.not_judged, "call")
        ));
    }
    if tally.bounded {
        lines.push("Not every state was followed: fewer refusals may be possible.".to_owned());
    }
    if found.left_out > 0 {
        let number = u64::try_from(found.left_out).unwrap_or(u64::MAX);
        lines.push(format!(
            "{} left out: of another client or project, or older.",
            count_is(number, "session")
        ));
    }
    lines.extend(losses(found));
    lines
}

/// Describes what could not be read in the recordings.
fn losses(found: &Found) -> Vec<String> {
    let losses = found.losses();
    let mut lines = Vec::new();
    if losses.repeated > 0 {
        lines.push(format!(
            "{} in several recordings, and counted once.",
            count_is(losses.repeated, "call")
        ));
    }
    if losses.broken > 0 {
        lines.push(format!("{} not JSON.", count_is(losses.broken, "line")));
    }
    if !losses.unknown.is_empty() {
        let kinds = losses.unknown.iter();
        let kinds = kinds.map(|(kind, number)| format!("{number} `{kind}`"));
        let all = losses.unknown.values().sum();
        lines.push(format!(
            "{} of a kind that is not known: {}.",
            count_is(all, "record"),
            kinds.collect::<Vec<_>>().join(", ")
        ));
    }
    let mut newer: Vec<String> = found.sessions.iter().filter_map(newer).collect();
    newer.sort();
    newer.dedup();
    lines.extend(newer);
    lines
}

/// Reports that a recording is from a newer version than those tested.
fn newer(session: &Session) -> Option<String> {
    let (tried, version) = (session.format.tried()?, session.version.as_deref()?);
    let parts = |text: &str| -> Vec<u64> {
        let numbers = text
            .split(['.', '-', '+'])
            .map_while(|part| part.parse().ok());
        numbers.collect()
    };
    (parts(version) > parts(tried)).then(|| {
        format!(
            "{} {version} is newer than {tried}, the newest that was tried: something may be missed.",
            session.format.title()
        )
    })
}

fn short(session: &Session) -> String {
    session.id.chars().take(8).collect()
}

/// Names a call: its session, its number from 1, the tool and the essential arguments.
fn named(session: &Session, index: usize) -> String {
    let what = session.calls.get(index).map(|call| {
        let record = call.record.as_ref().map(|record| record.summary.clone());
        let what = record.unwrap_or_else(|| one_line(&call.input));
        format!("{} {what}", call.tool)
    });
    format!(
        "{} #{} {}",
        short(session),
        index + 1,
        what.unwrap_or_default()
    )
}

fn stopped(session: &Session, stop: &interlock_backtest::Stop) -> String {
    let which = if stop.first == stop.last {
        format!("#{}", stop.first + 1)
    } else {
        format!("#{} to #{}", stop.first + 1, stop.last + 1)
    };
    let why = match stop.waits_for.as_slice() {
        [] => String::new(),
        said => format!(": {}", cut(&said.join("; "))),
    };
    format!(
        "{} {which} in {}{why}",
        short(session),
        stop.states.join(", ")
    )
}

/// Describes where and why a call is refused.
fn refused(session: &Session, one: &Placed) -> String {
    let why = one.refusal.as_ref().map_or_else(String::new, |refusal| {
        let place = one.states.join(", ");
        format!(": {} in {place}: {}", refusal.code, cut(&refusal.message))
    });
    format!("{}{why}", named(session, one.index))
}

/// Maximum number of characters of a reason; `--json` has all of it.
const REASON_MAX: usize = 200;

fn cut(text: &str) -> String {
    if text.chars().count() <= REASON_MAX {
        return text.to_owned();
    }
    text.chars().take(REASON_MAX).chain("…".chars()).collect()
}

/// Describes where a session first differs from its recording.
fn first(session: &Session, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Placed(placed) => {
            let one = placed.placed.iter().find(|one| one.is_refused())?;
            Some(refused(session, one))
        }
        Outcome::Again(again) => Some(format!("{} event {}", short(session), again.first?)),
    }
}

/// Sums the time that runs spent in each state.
fn stays(sessions: &[Outcome]) -> Vec<(String, (u64, Option<u64>))> {
    let mut all: Vec<(String, (u64, Option<u64>))> = Vec::new();
    for outcome in sessions {
        let Outcome::Placed(placed) = outcome else {
            continue;
        };
        for stay in &placed.stays {
            match all.iter_mut().find(|(state, _)| *state == stay.state) {
                Some((_, (calls, ms))) => {
                    *calls += stay.calls;
                    *ms = ms.zip(stay.ms).map(|(sum, more)| sum + more);
                }
                None => all.push((stay.state.clone(), (stay.calls, stay.ms))),
            }
        }
    }
    all
}

fn duration(ms: Option<u64>) -> String {
    let Some(ms) = ms else {
        return "time not known".to_owned();
    };
    let seconds = ms / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

/// Formats a number with a comma between the thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

fn count_is(number: u64, what: &str) -> String {
    let is = if number == 1 { "is" } else { "are" };
    format!("{} {is}", count(number, what))
}

pub(crate) fn as_json(
    args: &BacktestArgs,
    machine: &Machine,
    found: &Found,
    judged: &Judged,
    tally: &Tally,
) -> Value {
    let pairs = found.sessions.iter().zip(&judged.sessions);
    let sessions: Vec<Value> = pairs
        .map(|(session, outcome)| session_json(session, outcome))
        .collect();
    let losses = found.losses();
    json!({
        "workflow": machine.id,
        "hash": machine.hash,
        "calls": tally.calls,
        "refused": tally.refused,
        "refused_everywhere": tally.everywhere,
        "approvals": tally.approvals,
        "not_run": tally.not_run,
        "not_judged": tally.not_judged,
        "exits_unknown": tally.exits_unknown,
        "exits_assumed": args.assume_exit,
        "bounded": tally.bounded,
        "left_out": found.left_out,
        "losses": {"broken": losses.broken, "unknown": losses.unknown, "repeated": losses.repeated},
        "idle_rules": judged.rules.idle(),
        "sessions": sessions,
    })
}

fn session_json(session: &Session, outcome: &Outcome) -> Value {
    let mut value = json!({
        "session": session.id,
        "source": session.source,
        "format": session.format.title(),
        "client": session.client,
        "version": session.version,
        "last": session.last_ms().map(utc),
        "refused": outcome.refused(),
    });
    let more = match outcome {
        Outcome::Placed(placed) => placed_json(session, placed),
        Outcome::Again(again) => again_json(again),
    };
    if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
        value.extend(more);
    }
    value
}

fn placed_json(session: &Session, found: &Backtest) -> Value {
    let call = |one: &Placed| {
        let call = session.calls.get(one.index);
        json!({
            "call": one.index + 1,
            "id": call.map(|call| &call.id),
            "tool": call.map(|call| &call.tool),
            "before": one.before,
            "state": one.states,
            "verdict": match one.verdict {
                Verdict::Allow => "allow",
                Verdict::Ask => "ask",
                Verdict::Deny => "deny",
                Verdict::NotJudged => "not_judged",
            },
            "code": one.refusal.as_ref().map(|refusal| refusal.code.as_str()),
            "message": one.refusal.as_ref().map(|refusal| &refusal.message),
            "ran": one.ran,
        })
    };
    let everywhere = found.everywhere.iter().map(|one| {
        let because = one.because.iter().map(|(states, refusal)| {
            json!({"state": states, "code": refusal.code, "message": refusal.message})
        });
        json!({"call": one.index + 1, "because": because.collect::<Vec<_>>()})
    });
    let stops = found.stops.iter().map(|stop| {
        json!({"first": stop.first + 1, "last": stop.last + 1, "state": stop.states, "waits_for": stop.waits_for})
    });
    let stays = found
        .stays
        .iter()
        .map(|stay| json!({"state": stay.state, "calls": stay.calls, "ms": stay.ms}));
    let first = found.placed.iter().find(|one| one.is_refused());
    json!({
        "transitions": if found.recorded { "recorded" } else { "placed" },
        "approvals": found.approvals,
        "refused_everywhere": everywhere.collect::<Vec<_>>(),
        "first_divergence": first.map(|one| one.index + 1),
        "stops": stops.collect::<Vec<_>>(),
        "states": stays.collect::<Vec<_>>(),
        "can_end": found.can_end,
        "calls": found.placed.iter().map(call).collect::<Vec<_>>(),
    })
}

fn again_json(found: &WhatIf) -> Value {
    let differences = found.differences.iter().map(|one| {
        json!({
            "seq": one.seq, "what": one.what, "refused": one.change == Change::Refused,
            "then": one.then.says, "now": one.now.says, "message": one.now.message,
        })
    });
    let not_judged = found
        .not_judged
        .iter()
        .map(|one| json!({"seq": one.seq, "what": one.what, "why": one.why}));
    json!({
        "transitions": "recorded",
        "judged": found.judged,
        "not_judged": not_judged.collect::<Vec<_>>(),
        "differing": found.differing,
        "first_divergence": found.first,
        "differences": differences.collect::<Vec<_>>(),
        "then": found.then,
        "now": found.now,
    })
}
