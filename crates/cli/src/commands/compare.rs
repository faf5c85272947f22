//! `compare`: compares two runs, or judges the log of one run under another workflow.

use std::path::Path;

use interlock_core::names::RunId;
use interlock_simulate::{
    Scenario,
    compare::{Alignment, Stretch, fingerprint},
    what_if::{CannotJudge, Difference, Outcome, Standing, WhatIf, Window, what_if},
};
use interlock_store::{EventLog as _, Home, Recorded, RunLog};
use interlock_view::narrator::describe;
use serde_json::{Value, json};

use crate::{
    app::App,
    args::CompareArgs,
    commands::console::scenario,
    failure::{Done, Exit, Failure},
    live,
    output::Style,
};

/// Maximum number of events of a difference shown for each run.
const LINES_MAX: usize = 12;

pub(crate) fn run(app: &App, args: &CompareArgs) -> Done {
    let home = app.home()?;
    let found = |wanted: &str| app.find_run(Some(wanted)).map_err(as_usage);
    let id = found(&args.run)?;
    let differs = match (&args.other, &args.under) {
        (Some(other), _) => runs(
            app,
            args,
            &Side::of(&home, id)?,
            &Side::of(&home, found(other)?)?,
        )?,
        (None, Some(workflow)) => under(app, args, &home, id, workflow)?,
        (None, None) => {
            return Err(Failure::usage(anyhow::anyhow!(
                "name another run, or a workflow with `--under`"
            )));
        }
    };
    if differs {
        return Err(Failure::Said(Exit::Failed));
    }
    Ok(())
}

/// Turns a missing run into a usage error: code 1 is reserved for a difference.
fn as_usage(failure: Failure) -> Failure {
    match failure {
        Failure::Error(_, error) => Failure::Error(Exit::Usage, error),
        said @ Failure::Said(_) => said,
    }
}

/// A run that is compared.
struct Side {
    id: RunId,
    log: RunLog,
    project: String,
    name: Option<String>,
    workflow: String,
    hash: String,
    events: u64,
}

impl Side {
    fn of(home: &Home, id: RunId) -> Result<Self, Failure> {
        let log = home.open_run(&id)?;
        let machine = log.machine()?;
        Ok(Self {
            project: project_of(home, &id)?,
            name: log.name()?,
            workflow: machine.id.to_string(),
            hash: machine.hash,
            events: log.count()?,
            id,
            log,
        })
    }

    fn prints(&self) -> Result<Vec<u64>, Failure> {
        let mut prints = Vec::new();
        for recorded in self.log.events(0) {
            prints.push(fingerprint(&recorded?.event, &self.project));
        }
        Ok(prints)
    }

    /// Reads some of the events in a range.
    fn events(&self, range: &std::ops::Range<u64>) -> Result<Vec<Recorded>, Failure> {
        let events = self.log.events(range.start).take(LINES_MAX);
        let mut found = Vec::new();
        for recorded in events {
            let recorded = recorded?;
            if recorded.seq >= range.end {
                break;
            }
            found.push(recorded);
        }
        Ok(found)
    }

    fn shown(&self) -> String {
        let name = self
            .name
            .as_ref()
            .map_or_else(String::new, |name| format!(" ({name})"));
        format!(
            "{}{name}: {} events, {}",
            self.id, self.events, self.workflow
        )
    }

    fn json(&self) -> Value {
        json!({ "run": self.id, "name": self.name, "workflow": self.workflow, "hash": self.hash, "events": self.events })
    }
}

fn project_of(home: &Home, id: &RunId) -> Result<String, Failure> {
    let all = home.list_runs_where(|run| run == id)?;
    let card = all.iter().find_map(|run| run.listed.card());
    let project = card.map(|card| card.project_root.to_string_lossy().into_owned());
    Ok(project.unwrap_or_default())
}

/// Compares two runs; returns whether they differ.
fn runs(app: &App, args: &CompareArgs, left: &Side, right: &Side) -> Result<bool, Failure> {
    let aligned = Alignment::of(&left.prints()?, &right.prints()?);
    let all: Vec<&Stretch> = aligned.differences().map(|(_, stretch)| stretch).collect();
    let shown = all.get(..args.limit.min(all.len())).unwrap_or_default();
    if args.json {
        let mut differences = Vec::new();
        for stretch in shown {
            let lines = |side: &Side, range| -> Result<Vec<Value>, Failure> {
                let events = side.events(range)?;
                Ok(events.iter().map(json_line).collect())
            };
            differences.push(json!({
                "left": { "from": stretch.left.start, "to": stretch.left.end, "events": lines(left, &stretch.left)? },
                "right": { "from": stretch.right.start, "to": stretch.right.end, "events": lines(right, &stretch.right)? },
            }));
        }
        app.output.json(&json!({
            "left": left.json(), "right": right.json(), "same_workflow": left.hash == right.hash,
            "differing": all.len(), "differences": differences,
        }))?;
        return Ok(!all.is_empty());
    }
    let out = app.output;
    let (minus, plus) = (out.styled(Style::Red, "-"), out.styled(Style::Green, "+"));
    out.line(&format!("{minus} {}", left.shown()))?;
    out.line(&format!("{plus} {}", right.shown()))?;
    if left.hash != right.hash {
        out.line("They follow different workflows, or different versions of one.")?;
    }
    if all.is_empty() {
        out.line("No difference: every event says the same.")?;
        return Ok(false);
    }
    out.line(&format!(
        "{}. Numbers are those of the events in each log.",
        count(all.len(), "difference")
    ))?;
    for stretch in shown {
        out.line("")?;
        for (side, range, sign) in [
            (left, &stretch.left, &minus),
            (right, &stretch.right, &plus),
        ] {
            let events = side.events(range)?;
            for recorded in &events {
                let told = describe(recorded.seq, &recorded.event);
                out.line(&format!(
                    "{sign} {:>4} {} {}",
                    recorded.seq, told.title, told.detail
                ))?;
            }
            let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            if length > events.len() {
                out.line(&format!("{sign}      … {} more", length - events.len()))?;
            }
        }
    }
    more(app, all.len(), shown.len())?;
    Ok(true)
}

fn json_line(recorded: &Recorded) -> Value {
    let told = describe(recorded.seq, &recorded.event);
    json!({ "seq": recorded.seq, "event": told.title, "detail": told.detail })
}

/// Judges the log of a run under a workflow; returns whether anything differs.
fn under(
    app: &App,
    args: &CompareArgs,
    home: &Home,
    id: RunId,
    workflow: &str,
) -> Result<bool, Failure> {
    // The exit code for a difference means nothing else.
    let other = live::load_to_read(app, workflow).map_err(|failure| match failure {
        Failure::Said(_) => Failure::Said(Exit::Usage),
        failure => as_usage(failure),
    })?;
    let side = Side::of(home, id)?;
    let pinned = side.log.machine()?;
    let usual = scenario(app);
    let client = home
        .session_of(&side.id)?
        .and_then(|binding| binding.session.client);
    let scenario = Scenario {
        project_root: if Path::new(&side.project).is_absolute() {
            side.project.clone()
        } else {
            usual.project_root.clone()
        },
        client: client.unwrap_or_else(|| usual.client.clone()),
        ..usual
    };
    let log = side.log.events(0).map(|recorded| Ok(recorded?.event));
    let window = Window {
        from: 0,
        limit: args.limit,
    };
    let found = what_if::<Stopped>(log, &pinned, &other.machine, &scenario, window);
    let found = found.map_err(|stopped| match stopped {
        Stopped::Cannot(why) => Failure::usage(why),
        Stopped::Store(error) => error.into(),
    })?;
    let differs = found.differing > 0;
    if args.json {
        let mut value = serde_json::to_value(&found)?;
        live::put(&mut value, "run", side.json());
        live::put(&mut value, "workflow", json!(other.machine.id));
        live::put(&mut value, "hash", json!(other.machine.hash));
        app.output.json(&value)?;
        return Ok(differs);
    }
    tell(app, &side, workflow, &found)?;
    Ok(differs)
}

/// Why a log is not judged.
pub(crate) enum Stopped {
    Cannot(CannotJudge),
    Store(interlock_store::StoreError),
}

impl From<CannotJudge> for Stopped {
    fn from(why: CannotJudge) -> Self {
        Self::Cannot(why)
    }
}

impl From<interlock_store::StoreError> for Stopped {
    fn from(error: interlock_store::StoreError) -> Self {
        Self::Store(error)
    }
}

fn tell(app: &App, side: &Side, workflow: &str, found: &WhatIf) -> Done {
    let out = app.output;
    out.line(&format!(
        "{}, under {workflow}. Nothing runs.",
        side.shown()
    ))?;
    let judged = format!("{} judged", steps(found.judged));
    if found.differing == 0 {
        out.line(&format!("No difference: {judged}."))?;
    } else {
        out.line(&format!(
            "{judged}, {} out differently. After the first of these, everything is hypothetical: the agent would have received another answer.",
            if found.differing == 1 { "1 comes".to_owned() } else { format!("{} come", found.differing) },
        ))?;
    }
    for one in &found.differences {
        out.line("")?;
        difference(app, one)?;
    }
    let shown = found.differences.len();
    more(
        app,
        usize::try_from(found.differing).unwrap_or(usize::MAX),
        shown,
    )?;
    if found.differing > 0 {
        out.line("")?;
    }
    if let Some(seq) = found.over {
        out.line(&format!(
            "Under {workflow} the run is over at event {seq}: nothing after it is judged."
        ))?;
    }
    if found.unjudged > 0 {
        out.line(&format!(
            "{} not judged, and taken as recorded:",
            steps(found.unjudged)
        ))?;
        for one in found.not_judged.iter().take(LINES_MAX) {
            out.line(&format!("  {:>4} {} ({})", one.seq, one.what, one.why))?;
        }
    }
    let stands =
        |standing: &Standing| format!("{} ({})", standing.state.join(", "), standing.status);
    if found.then != found.now {
        out.line(&format!("then: {}", stands(&found.then)))?;
        out.line(&format!("now:  {}", stands(&found.now)))?;
    }
    Ok(())
}

fn difference(app: &App, one: &Difference) -> Done {
    let out = app.output;
    let what = out.styled(Style::Bold, &one.what);
    out.line(&format!("{:>4} {what}", one.seq))?;
    let said = |outcome: &Outcome| {
        let says = if outcome.says.is_empty() {
            "nothing".to_owned()
        } else {
            outcome.says.join(", ")
        };
        let why = outcome
            .message
            .as_ref()
            .map_or_else(String::new, |why| format!(": {why}"));
        format!("in {}: {says}{why}", outcome.state.join(", "))
    };
    out.line(&format!("     then {}", said(&one.then)))?;
    out.line(&format!("     now  {}", said(&one.now)))?;
    if one.yes_assumed {
        out.line("     the following steps assume an approval")?;
    }
    if !one.lacks.is_empty() {
        out.line(&format!("     {}", one.lacks))?;
    }
    Ok(())
}

fn steps(number: u64) -> String {
    if number == 1 {
        "1 step is".to_owned()
    } else {
        format!("{number} steps are")
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}

fn more(app: &App, all: usize, shown: usize) -> Done {
    if all > shown {
        app.output.line("")?;
        app.output.line(&format!(
            "… {} more: `--limit {all}` shows them",
            count(all - shown, "difference")
        ))?;
    }
    Ok(())
}
