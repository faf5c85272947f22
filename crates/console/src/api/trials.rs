//! Tries out the text of a workflow: simulates lines, plays the cases of test files, proves properties. Nothing runs.

use std::{path::Path, sync::Arc};

use axum::{body::Body, extract::State};
use interlock_core::machine::{Machine, Object};
use interlock_formats::{Diagnostic, load};
use interlock_graph::{Graph, Trace};
use interlock_sandbox::Level;
use interlock_simulate::{OutputLine, Scenario, Simulation, cases::differences, input::short_form};
use serde_json::{Value, json};

use super::workflows::{Begun, Draft};
use crate::{
    bounded::Bounded,
    cases, proofs,
    reply::{Answered, Problem, json_reply},
    shared::Shared,
    workflows,
};

/// Maximum number of lines in one simulation.
const LINES_MAX: usize = 500;

/// Simulates lines on a text; nothing runs and nothing is recorded.
///
/// `marks` are those of the graph, first at the start and then after each answer.
pub(super) async fn simulate(State(shared): State<Arc<Shared>>, body: Body) -> Answered {
    let draft: Draft = super::long_body(body).await?;
    if draft.lines.len() > LINES_MAX {
        return Err(Problem::input(format!("at most {LINES_MAX} lines at once")));
    }
    let found = shared
        .in_turn(
            |shared| &shared.drafts,
            move |shared| with_machine(shared, &draft, |machine, _| played(machine, &draft)),
        )
        .await?;
    json_reply(&found)
}

/// Loads the machine of a text and passes it to `work`, or returns the diagnostics.
fn with_machine(
    shared: &Shared,
    draft: &Draft,
    work: impl FnOnce(&Machine, &Bounded<'_>) -> Result<Value, Problem>,
) -> Result<Value, Problem> {
    let (root, library) = shared.library(draft.project.as_deref())?;
    let library = workflows::of_draft(&root, &library, &draft.file)?;
    match load(&draft.source(), draft.machine.as_deref(), &library) {
        Ok(loaded) => work(&loaded.machine, &library),
        Err(found) => Ok(broken(&found)),
    }
}

fn broken(found: &[Diagnostic]) -> Value {
    json!({ "ok": false, "diagnostics": found })
}

/// Begins a simulated run.
fn begin(machine: &Machine, begun: &Begun) -> Result<Simulation, Problem> {
    let level = match begun.level.as_deref() {
        None => Scenario::default().level,
        Some(word) => Level::named(word)
            .ok_or_else(|| Problem::input(format!("there is no level `{word}`")))?,
    };
    let setting = Scenario {
        input: begun.conversation.clone(),
        level,
        ..Scenario::default()
    };
    Ok(Simulation::begun_with(
        machine.clone(),
        setting,
        begun.data.clone(),
    ))
}

fn played(machine: &Machine, draft: &Draft) -> Result<Value, Problem> {
    let mut simulation = begin(machine, &draft.begun)?;
    let (mut trace, mut followed) = (Trace::default(), 0);
    let mut marks = |simulation: &Simulation| {
        for event in simulation.events().iter().skip(followed) {
            trace.follow(event);
        }
        followed = simulation.events().len();
        Graph::at(machine, Some(simulation.run()), &trace).marks()
    };
    let mut marked = vec![marks(&simulation)];
    let mut answers = Vec::new();
    for (index, line) in draft.lines.iter().enumerate() {
        match answer(&mut simulation, line) {
            Ok(answer) => answers.push(answer),
            Err(error) => {
                let message = format!("line {}: {error}", index + 1);
                return Ok(
                    json!({ "ok": false, "answers": answers, "marks": marked, "message": message }),
                );
            }
        }
        marked.push(marks(&simulation));
    }
    Ok(json!({ "ok": true, "answers": answers, "marks": marked }))
}

/// Answers one line; if the line has an `expect`, the answer includes the differences.
fn answer(simulation: &mut Simulation, line: &Value) -> Result<Value, String> {
    let (line, expect) = match line {
        Value::String(short) => (short_form(short)?, None),
        line => split(line)?,
    };
    let answer = simulation
        .step(&line.to_string())
        .map_err(|error| error.message)?;
    let differ = expect.map(|expect: Object| differences(&expect, &answer));
    shown(&answer, differ)
}

/// Splits the expectation from a step of a test file.
fn split(step: &Value) -> Result<(Value, Option<Object>), String> {
    let mut line = step.clone();
    let fields = line.as_object_mut();
    match fields.and_then(|fields| fields.shift_remove("expect")) {
        None => Ok((line, None)),
        Some(Value::Object(expect)) => Ok((line, Some(expect))),
        Some(_) => Err("`expect` is not an object".to_owned()),
    }
}

fn shown(answer: &OutputLine, differ: Option<Vec<String>>) -> Result<Value, String> {
    let mut value = serde_json::to_value(answer).map_err(|error| error.to_string())?;
    if let (Some(fields), Some(differ)) = (value.as_object_mut(), differ) {
        fields.insert("differences".to_owned(), json!(differ));
    }
    Ok(value)
}

/// Plays the cases of the test files that refer to the draft's file.
pub(super) async fn cases(State(shared): State<Arc<Shared>>, body: Body) -> Answered {
    let draft: Draft = super::long_body(body).await?;
    let found = shared
        .in_turn(
            |shared| &shared.judging,
            move |shared| {
                with_machine(shared, &draft, |machine, library| {
                    let files = cases::of(Path::new(&draft.file), library, machine);
                    Ok(json!({ "ok": true, "files": files }))
                })
            },
        )
        .await?;
    json_reply(&found)
}

/// Proves the properties of a text; each failed one comes with a run that breaks it.
pub(super) async fn prove(State(shared): State<Arc<Shared>>, body: Body) -> Answered {
    let draft: Draft = super::long_body(body).await?;
    let found = shared
        .in_turn(
            |shared| &shared.proving,
            move |shared| {
                with_machine(shared, &draft, |machine, library| {
                    Ok(proofs::of(&draft.source(), machine, library)
                        .unwrap_or_else(|found| broken(&found)))
                })
            },
        )
        .await?;
    json_reply(&found)
}
