//! Explains a tool call, check by check, and shows the verdict that other states would give.
//!
//! The recorded verdict is shown unchanged. In addition, the recorded call is judged again by the usual rules: nothing
//! runs, nothing is recorded, and no file of the project is read.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::Uri,
};
use interlock_core::{
    event::Event,
    machine::{Activity, Machine},
    names::{RunId, StateName},
    place::machine_of,
    run::Run,
};
use interlock_simulate::{
    Explanation, RecordedVerdict, Reread, Scenario, explain_call, read_again, standing_in, told,
    with_arguments,
};
use interlock_store::{EventLog as _, Recorded, RunLog};
use interlock_view::checks;
use serde_json::{Value, json};

use super::{
    call::{self, Verdict, verdict},
    call_texts::{changes, cut, difference, handed_in},
    moment::exits,
};
use crate::{
    query::Query,
    reply::{Answered, Problem, json_reply},
    shared::{Shared, fits_a_log},
};

/// Maximum number of states that are offered for the same call.
const STATES_MAX: usize = 1_000;
/// Number of events after a call that are searched for its start.
const START_WITHIN: usize = 200;

pub(super) async fn why(
    State(shared): State<Arc<Shared>>,
    Path((id, seq)): Path<(String, u64)>,
    uri: Uri,
) -> Answered {
    fits_a_log(seq)?;
    let state = Query::of(uri.query()).text("state").map(StateName::from);
    let found = shared
        .blocking(move |shared| {
            let log = shared.home.open_run(&RunId::new(id))?;
            let Some(recorded) = log.events(seq).next().transpose()? else {
                return Err(Problem::unknown(format!("the log has no event {seq}")));
            };
            let run = shared.histories.at(&log, seq)?.run;
            let machine = log.machine_of(&run)?;
            let Some(found) = verdict(&recorded.event) else {
                return Err(Problem::unknown(format!(
                    "event {seq} is not a verdict on a tool call"
                )));
            };
            let scenario = scenario(shared, log.run())?;
            let looked = Looked {
                shared,
                log: &log,
                machine: &machine,
                run: &run,
                verdict: &found,
                scenario,
            };
            match state {
                Some(state) => looked.elsewhere(&state),
                None => looked.whole(&recorded),
            }
        })
        .await?;
    json_reply(&found)
}

/// Returns the scenario for the calls of a run: its project and its client, on this machine.
pub(super) fn scenario(shared: &Shared, id: &RunId) -> Result<Scenario, Problem> {
    let row = shared.row(id)?;
    let binding = shared.home.session_of(id)?;
    let client = binding.and_then(|binding| binding.session.client);
    let usual = shared.scenario.clone();
    Ok(Scenario {
        project_root: row.project,
        client: client.unwrap_or_else(|| usual.client.clone()),
        ..usual
    })
}

/// A verdict to be explained.
struct Looked<'a> {
    shared: &'a Shared,
    log: &'a RunLog,
    machine: &'a Machine,
    /// The run before the verdict.
    run: &'a Run,
    verdict: &'a Verdict<'a>,
    scenario: Scenario,
}

impl Looked<'_> {
    /// Describes the call where it was proposed.
    fn whole(&self, recorded: &Recorded) -> Result<Value, Problem> {
        let mut found = call::why(self.machine, self.run, &recorded.event).unwrap_or_default();
        let Value::Object(fields) = &mut found else {
            return Ok(found);
        };
        let Verdict {
            call,
            refusal,
            path,
            ..
        } = self.verdict;
        let code = refusal.map(|refusal| refusal.code);
        fields.insert("seq".to_owned(), json!(recorded.seq));
        fields.insert("checks".to_owned(), json!(checks(code)));
        fields.insert("of_stage".to_owned(), json!(self.verdict.of_stage));
        fields.insert("level".to_owned(), json!(self.level(recorded.seq)?));
        let handed = self.handed_in()?;
        fields.insert(
            "arguments".to_owned(),
            json!(self.arguments(handed.as_ref())),
        );
        fields.insert("diff".to_owned(), json!(self.diff(handed.as_ref())));
        let reread = self.reread(handed.as_ref());
        let kept = match &reread {
            Ok(reread) => json!({ "exact": reread.exact, "lacks": reread.lacks }),
            Err(why) => json!({ "exact": false, "missing": why }),
        };
        fields.insert("kept".to_owned(), kept);
        let call_again = reread.as_ref().ok().map(|reread| &reread.call);
        let facts = call_again.map(|again| {
            let mut found = explain_call(self.machine, self.run, path, again);
            if self.verdict.of_stage {
                // The stage determines its permitted calls, not the rules for external agents.
                (found.rule, found.instead) = (None, None);
            }
            facts(&found, &self.scenario.project_root, &self.shared.secrets)
        });
        fields.insert("facts".to_owned(), json!(facts));
        let own = machine_of(self.machine, self.run, path);
        // The current verdict of the engine, in addition to the recorded one.
        let judged_again = call_again.filter(|_| !self.verdict.of_stage);
        let leads: Vec<Value> = exits(self.machine, self.run, path)
            .into_iter()
            .map(|exit| {
                let told: Vec<Value> = exit
                    .leads
                    .iter()
                    .filter(|state| own.is_some_and(|own| own.states.contains_key(*state)))
                    .map(|state| {
                        let told = judged_again.and_then(|again| self.told_in(state, again));
                        json!({ "state": state, "verdict": told.map(|told| told.verdict) })
                    })
                    .collect();
                json!({
                    "event": exit.event, "open": exit.open, "approval": exit.approval, "why": exit.why,
                    "leads": told,
                })
            })
            .collect();
        fields.insert("leads".to_owned(), json!(leads));
        let here = self.run.frame(path).map(|frame| &frame.at);
        let states: Vec<&StateName> = own
            .filter(|_| judged_again.is_some())
            .into_iter()
            .flat_map(|own| &own.states)
            .filter(|(name, state)| {
                matches!(state.activity, Activity::Await) && Some(*name) != here
            })
            .map(|(name, _)| name)
            .take(STATES_MAX)
            .collect();
        let again = judged_again.and_then(|again| told(self.machine, self.run, path, again));
        let again = again.map(|again| {
            json!({ "verdict": again.verdict, "code": again.refusal.map(|refusal| refusal.code) })
        });
        fields.insert("again".to_owned(), json!(again));
        fields.insert("states".to_owned(), json!(states));
        fields.insert("tool".to_owned(), json!(call.tool));
        self.shared.mask(&mut found);
        Ok(found)
    }

    /// Returns the verdict on the same call in `state`.
    fn elsewhere(&self, state: &StateName) -> Result<Value, Problem> {
        let path = self.verdict.path;
        let own = machine_of(self.machine, self.run, path);
        if !own.is_some_and(|own| own.states.contains_key(state)) {
            return Err(Problem::unknown(format!(
                "the workflow has no state `{state}`"
            )));
        }
        if self.verdict.of_stage {
            return Err(Problem::input(
                "what a stage may call is said by the stage: no other state has it",
            ));
        }
        let handed = self.handed_in()?;
        let Reread { call, exact, lacks } = self.reread(handed.as_ref()).map_err(Problem::input)?;
        let run = standing_in(self.run, path, state);
        let Some(told) = told(self.machine, &run, path, &call) else {
            return Err(Problem::input(
                "in that state the call would count elsewhere",
            ));
        };
        let explained = explain_call(self.machine, &run, path, &call);
        let code = told.refusal.as_ref().map(|refusal| refusal.code);
        let mut found = json!({
            "state": state,
            "verdict": told.verdict,
            "code": code,
            "message": told.refusal.map(|refusal| refusal.message),
            "rule": explained.rule,
            "instead": explained.instead,
            "checks": checks(code),
            "exact": exact,
            "lacks": lacks,
        });
        self.shared.mask(&mut found);
        Ok(found)
    }

    fn told_in(
        &self,
        state: &StateName,
        call: &interlock_core::call::ToolCall,
    ) -> Option<RecordedVerdict> {
        let path = self.verdict.path;
        let run = standing_in(self.run, path, state);
        told(self.machine, &run, path, call)
    }

    fn reread(&self, handed: Option<&Value>) -> Result<Reread, &'static str> {
        let record = self.verdict.call;
        match handed {
            Some(input) => Ok(with_arguments(&self.scenario, record, input)),
            None if self.verdict.of_stage => {
                Err("the answer of the model is not stored with the log")
            }
            None => read_again(&self.scenario, record),
        }
    }

    /// Finds the arguments from the model, which are stored beside the log.
    fn handed_in(&self) -> Result<Option<Value>, Problem> {
        if !self.verdict.of_stage {
            return Ok(None);
        }
        let Verdict { path, call, .. } = self.verdict;
        Ok(handed_in(self.log, self.run.seq, path, &call.id)?)
    }

    /// Returns the arguments by name, with secrets masked; `None` if the log has only a line for people.
    fn arguments(&self, handed: Option<&Value>) -> Option<Vec<Value>> {
        let parsed = serde_json::from_str::<Value>(&self.verdict.call.summary).ok();
        let whole = handed.or(parsed.as_ref())?;
        let fields = whole.as_object()?;
        Some(
            fields
                .iter()
                .map(|(name, value)| {
                    let text = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned);
                    let text = self.shared.secrets.masked_value(name, &text).into_owned();
                    json!({ "name": name, "text": cut(&text) })
                })
                .collect(),
        )
    }

    /// Returns the changes by the call as lines of a difference; empty if the log does not contain them.
    fn diff(&self, handed: Option<&Value>) -> Vec<String> {
        if let Some(input) = handed {
            let lines = changes(input);
            if !lines.is_empty() {
                return lines;
            }
        }
        difference(self.verdict.call)
    }

    /// Returns how far the kernel confined the call's command line, if it was started.
    fn level(&self, seq: u64) -> Result<Option<Value>, Problem> {
        for recorded in self.log.events(seq + 1).take(START_WITHIN) {
            if let Event::LineConfined {
                call,
                level,
                unconfined,
                ..
            } = recorded?.event
                && call == self.verdict.call.id
            {
                return Ok(Some(json!({ "level": level, "unconfined": unconfined })));
            }
        }
        Ok(None)
    }
}

/// Formats the facts of a call as JSON.
fn facts(found: &Explanation, root: &str, secrets: &interlock_tools::Secrets) -> Value {
    let commands: Vec<Value> = found
        .commands
        .iter()
        .zip(&found.details)
        .map(|(words, detail)| {
            let words: Vec<String> = words
                .iter()
                .map(|word| secrets.masked(word).into_owned())
                .collect();
            let mut about = json!(detail);
            // The project's own path is irrelevant for the command.
            let directory = detail.directory.as_deref();
            let within = directory.map(|place| match place.strip_prefix(root) {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    rest.trim_start_matches('/')
                }
                _ => place,
            });
            if let Value::Object(fields) = &mut about {
                fields.insert("directory".to_owned(), json!(within));
            }
            json!({ "words": words, "about": about })
        })
        .collect();
    json!({
        "commands": commands,
        "reads": found.reads,
        "writes": found.writes,
        "removes": found.removes,
        "network": found.network,
        "env": found.env,
        "asks": found.asks,
        "unreadable": found.unreadable,
        "rule": found.rule,
        "instead": found.instead,
    })
}
