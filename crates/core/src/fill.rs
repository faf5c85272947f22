//! The texts of a state, filled with values when the state is entered.

use interlock_expr::{
    number::{Side, compare_text},
    text::{Base, Beside, Files, MissingInput, Places, Sources, TextError},
};
use serde_json::Value;

use crate::{
    machine::{Activity, Capture, EffectKind, Over, State, Task, Test, TestOp},
    run::Frame,
};

/// Maximum number of characters of the reason for a pause.
const REASON_MAX: usize = 500;

/// Result of filling the texts of a state.
pub(crate) enum Filled {
    /// The state has no texts.
    Nothing,
    /// Input of the effect, and the file that its output is written to.
    Work(Value, Option<String>),
    /// Result of testing a value.
    Tested(String, Option<String>),
}

/// Returns the kind of an activity's effect; for an activity without one, it is reading files.
pub(crate) fn kind_of(activity: &Activity) -> EffectKind {
    match activity {
        Activity::Task(task) => EffectKind::from(&task.kind),
        Activity::Ask(_) => EffectKind::Ask,
        Activity::Pause(_) => EffectKind::Pause,
        Activity::Stage(_) => EffectKind::Stage,
        Activity::Wait { .. } => EffectKind::Wait,
        Activity::Parallel(parallel) if matches!(parallel.over, Over::Lines(_)) => {
            EffectKind::Items
        }
        _ => EffectKind::Read,
    }
}

/// Fills the texts of a state.
pub(crate) fn fill(
    state: &State,
    frame: &Frame,
    places: Option<&Places>,
    files: &Files,
    beside: Option<&Beside>,
) -> Result<Filled, MissingInput> {
    let sources = Sources {
        files,
        beside,
        ..sources(frame, places)
    };
    match &state.activity {
        Activity::Task(Task { input, .. }) | Activity::Ask(input) => {
            let input = input.fill(&sources)?;
            Ok(Filled::Work(input, file_of(state, &sources)?))
        }
        Activity::Pause(input) => {
            let input = input.fill(&sources)?;
            let reason = input
                .get("reason")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if reason.chars().count() > REASON_MAX {
                return Err(wrong(format!(
                    "`reason` has over {REASON_MAX} characters: say it shorter"
                )));
            }
            Ok(Filled::Work(input, None))
        }
        Activity::Test(test) => {
            let output = look(test, &sources)?;
            Ok(Filled::Tested(output, file_of(state, &sources)?))
        }
        // What an attempt is given follows from the run: its start does not repeat it.
        Activity::Stage(_) => Ok(Filled::Work(Value::Null, None)),
        _ => Ok(Filled::Nothing),
    }
}

/// Used if no file has been read.
static NO_FILES: Files = Files::new();
/// Places that paths are resolved against in a run without folders.
static NO_PLACES: Places = Places {
    run_dir: String::new(),
    project: String::new(),
    home: String::new(),
};

/// Returns the values that fill the texts of `frame`, besides files and a conversation.
pub(crate) fn sources<'a>(frame: &'a Frame, places: Option<&'a Places>) -> Sources<'a> {
    Sources {
        context: &frame.line.context,
        caught: frame.line.caught.as_deref(),
        places: places.unwrap_or(&NO_PLACES),
        files: &NO_FILES,
        beside: None,
    }
}

/// Returns the absolute path of the file that the output of a state is written to.
pub(crate) fn file_of(
    state: &State,
    sources: &Sources<'_>,
) -> Result<Option<String>, MissingInput> {
    let Some(Capture::File(path)) = &state.capture else {
        return Ok(None);
    };
    let path = path.fill(sources).map_err(|lack| lack.below("output"))?;
    if path.trim().is_empty() {
        return Err(wrong("`output` names no file".to_owned()));
    }
    let base = Base::RunDir;
    Ok(Some(sources.places.absolute(&path, base)))
}

fn wrong(reason: String) -> MissingInput {
    MissingInput::Wrong(TextError {
        place: String::new(),
        reason,
        in_template: false,
    })
}

/// Tests a value; the result is text.
fn look(test: &Test, sources: &Sources<'_>) -> Result<String, MissingInput> {
    let name = if matches!(test.op, TestOp::Value | TestOp::Empty | TestOp::NotEmpty) {
        "value"
    } else {
        "left"
    };
    let left = test.left.fill(sources).map_err(|lack| lack.below(name))?;
    let right = test
        .right
        .fill(sources)
        .map_err(|lack| lack.below("right"))?;
    let compared = || {
        compare_text(&left, &right).map_err(|side| {
            let (name, text) = match side {
                Side::Left => ("left", &left),
                Side::Right => ("right", &right),
            };
            let shown: String = text.trim().chars().take(40).collect();
            wrong(format!("`{name}` is `{shown}`, which is not a number"))
        })
    };
    let blank = || matches!(left.trim(), "" | "null");
    let same = || left.trim() == right.trim();
    let found = match test.op {
        TestOp::Value => return Ok(left),
        TestOp::Equal => same(),
        TestOp::NotEqual => !same(),
        TestOp::Greater => compared()?.is_gt(),
        TestOp::Less => compared()?.is_lt(),
        TestOp::GreaterEqual => compared()?.is_ge(),
        TestOp::LessEqual => compared()?.is_le(),
        TestOp::Empty => blank(),
        TestOp::NotEmpty => !blank(),
    };
    Ok(found.to_string())
}
