//! `telemetry`: sends the events of runs to a collector, as OpenTelemetry spans.

use std::time::Duration;

use interlock_core::names::RunId;
use interlock_store::{EventLog as _, Home, Listed, Recorded};
use interlock_telemetry::{Happened, Parent, RunLabel, Sender, Settings, Span, request, spans};

use crate::{
    app::App,
    args::TelemetryArgs,
    failure::{Done, Failure},
    telemetry::settings,
};

/// Idle time after which the sending process ends.
const QUIET: Duration = Duration::from_secs(3);
/// Interval of sending, so that many events go together.
const EVERY: Duration = Duration::from_secs(2);
/// How long no other process tries after one has failed.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

pub(crate) fn run(app: &App, args: &TelemetryArgs) -> Done {
    let settings = settings().map_err(Failure::usage)?;
    let home = app.home()?;
    if args.due {
        return tell_due(&home, &settings);
    }
    let id = home.find_run(args.run.as_deref(), &app.project())?;
    if args.stdout {
        let all = told_spans(&home, &id, &settings, 0)?.spans;
        return app.output.json(&request(&settings.resource, &all));
    }
    let Some(sender) = Sender::new(&settings)? else {
        return Err(Failure::usage(anyhow::anyhow!(
            "telemetry is off: set `OTEL_EXPORTER_OTLP_ENDPOINT`, or `[telemetry] endpoint` in your config.toml; `--stdout` prints the spans"
        )));
    };
    let from = if args.again {
        0
    } else {
        home.told(&id)?.events
    };
    let new = told_spans(&home, &id, &settings, from)?;
    sender.send(&new.spans)?;
    keep(&home, &id, new.events)?;
    app.output.line(&format!(
        "sent {} spans of run `{id}`{}",
        new.spans.len(),
        settings
            .endpoint
            .as_deref()
            .map_or_else(String::new, |endpoint| format!(" at {endpoint}"))
    ))
}

/// Sends the news of every run until there are none.
fn tell_due(home: &Home, settings: &Settings) -> Done {
    let Some(sender) = Sender::new(settings)? else {
        return Ok(());
    };
    loop {
        let Some(lock) = home.lock_telling()? else {
            return Ok(());
        };
        let mut quiet = Duration::ZERO;
        while quiet < QUIET {
            match tell_all(home, settings, &sender) {
                Ok(true) => quiet = Duration::ZERO,
                Ok(false) => quiet += EVERY,
                Err(failure) => {
                    // The lock is held for a while, so that nobody tries again at once.
                    std::thread::sleep(AFTER_FAILURE);
                    return Err(failure);
                }
            }
            std::thread::sleep(EVERY);
        }
        drop(lock);
        // No other process was started for what came between the last check and the release of the lock.
        if !is_anything_new(home)? {
            return Ok(());
        }
    }
}

fn is_anything_new(home: &Home) -> Result<bool, Failure> {
    for run in home.list_runs()? {
        if let Listed::Known(card) = run.listed
            && home.told(&run.id)?.events < card.events
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sends the news of every run; returns `true` if there were any.
fn tell_all(home: &Home, settings: &Settings, sender: &Sender<'_>) -> Result<bool, Failure> {
    let mut any = false;
    for run in home.list_runs()? {
        let Listed::Known(card) = run.listed else {
            continue;
        };
        let told = home.told(&run.id)?.events;
        if told >= card.events {
            continue;
        }
        any = true;
        let new = told_spans(home, &run.id, settings, told)?;
        match sender.send(&new.spans) {
            // Spans that a collector will never accept are not offered forever.
            Err(error) if !error.is_final() => return Err(error.into()),
            Ok(()) | Err(_) => keep(home, &run.id, new.events)?,
        }
    }
    Ok(any)
}

fn keep(home: &Home, run: &RunId, events: u64) -> Done {
    let told = home.told(run)?;
    Ok(home.keep_told(run, &interlock_store::TelemetryMark { events, ..told })?)
}

/// Spans that ended since, and the number of events.
struct New {
    spans: Vec<Span>,
    events: u64,
}

fn told_spans(home: &Home, run: &RunId, settings: &Settings, from: u64) -> Result<New, Failure> {
    let log = home.open_run(run)?;
    let mut happened = Vec::new();
    for recorded in log.events(0) {
        let Recorded {
            seq, at_ms, event, ..
        } = recorded?;
        happened.push(Happened { seq, at_ms, event });
    }
    let binding = home.session_of(run)?;
    let about = RunLabel {
        run: run.to_string(),
        workflow: log.machine()?.id.to_string(),
        client: binding
            .as_ref()
            .and_then(|binding| binding.session.client.clone()),
        session: binding.map(|binding| binding.session.session),
        parent: home.told(run)?.parent.as_deref().and_then(Parent::parse),
        calls: home
            .call_parents(run)?
            .into_iter()
            .filter_map(|(call, parent)| Some((call, Parent::parse(&parent)?)))
            .collect(),
        content: settings.content,
    };
    let events = happened.last().map_or(0, |last| last.seq + 1);
    let mut all = spans(&about, happened);
    all.retain(|span| span.ended_seq >= from);
    Ok(New { spans: all, events })
}
