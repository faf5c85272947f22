//! `backtest`: judges recorded sessions under a workflow.

mod find;
mod judge;
mod print;

use interlock_backtest::Options;
use serde_json::json;

use crate::{
    app::App,
    args::BacktestArgs,
    failure::{Done, Exit, Failure},
    live,
};

pub(crate) use find::{Found, find, root_of};
pub(crate) use judge::{Judged, Outcome, Tally, judge, settings};

pub(crate) fn run(app: &App, args: &BacktestArgs) -> Done {
    let loaded = live::load_to_read(app, &args.workflow).map_err(as_usage)?;
    let found = find(app, &args.sessions)?;
    let options = Options {
        assume_exit: args.assume_exit,
        ..Options::default()
    };
    let judged = judge(app, &loaded.machine, &found, options)?;
    let tally = Tally::of(&judged.sessions);
    if args.json {
        app.output.json(&print::as_json(
            args,
            &loaded.machine,
            &found,
            &judged,
            &tally,
        ))?;
    } else {
        print::tell(app, args, &found, &judged, &tally)?;
    }
    if tally.refused > 0 {
        return Err(Failure::Said(Exit::Failed));
    }
    if tally.is_undecided() || !found.losses().is_none() {
        return Err(Failure::Said(Exit::Undecided));
    }
    Ok(())
}

/// Turns errors of the workflow into usage errors: code 1 is reserved for refused calls.
fn as_usage(failure: Failure) -> Failure {
    match failure {
        Failure::Said(_) => Failure::Said(Exit::Usage),
        Failure::Error(_, error) => Failure::Error(Exit::Usage, error),
    }
}

/// Describes in one sentence what a workflow would have refused; returns `true` if anything.
///
/// Unknown exit codes stay unknown.
pub(crate) fn sentence(
    app: &App,
    name: &str,
    machine: &interlock_core::machine::Machine,
    found: &Found,
    since: Option<&str>,
) -> Result<(String, bool, serde_json::Value), Failure> {
    let judged = judge(app, machine, found, Options::default())?;
    let tally = Tally::of(&judged.sessions);
    let when = since.map_or_else(
        || format!("of {}", print::count(tally.sessions, "session")),
        |since| format!("of the last {since}"),
    );
    let mut text = format!(
        "{name} would have refused {} of {} {when}",
        print::grouped(tally.refused),
        print::count(tally.calls, "call"),
    );
    if tally.is_undecided() {
        text += &format!("; {} not judged", print::count(tally.not_judged, "call"));
    }
    let report = json!({
        "file": name, "refused": tally.refused, "calls": tally.calls,
        "sessions": tally.sessions, "not_judged": tally.not_judged,
    });
    Ok((text, tally.refused > 0, report))
}
