//! From the entry of a state to the end of its activity: texts filled, effects started, tries counted.

use interlock_expr::{
    number::{Side, compare_text},
    text::{Beside, Files, Lack, Places, Sources, TextError},
};
use serde_json::Value;

use super::{
    Work,
    transitions::{done, error, state_of},
};
use crate::{
    conversation::beside,
    event::{Cause, Event},
    machine::{Activity, Capture, State, Test, TestOp},
    names::FramePath,
    place::shown_path,
    refusal::{Code, Refusal},
    run::Frame,
};

/// Characters that the reason of a pause may have.
const REASON_MAX: usize = 500;

/// What filling the texts of a state came to.
pub(crate) enum Filled {
    /// The state has no texts.
    Nothing,
    /// What the work is given, and the file its output goes to.
    Work(Value, Option<String>),
    /// What was found out by looking at a value.
    Tested(String, Option<String>),
}

impl Work<'_> {
    /// Tells whether starts of effects are events, and failures keep their place.
    pub(super) fn is_durable(&self) -> bool {
        self.run.places.is_some()
    }

    /// Starts what the state at `path` carries out, if the files its texts name are there.
    pub(super) fn begin(&mut self, path: &FramePath, files: &Files) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        if frame.effect.is_some() || !self.has_room() {
            return Ok(());
        }
        if matches!(state.activity, Activity::Stage(_)) {
            // What an attempt is given follows from the context and is not repeated here.
            self.emit(Event::EffectStarted {
                path: path.clone(),
                kind: STAGE.to_owned(),
                attempt: 1,
                input: Value::Null,
                file: None,
                at_ms: self.at_ms,
            });
            return Ok(());
        }
        if !self.is_durable() {
            return Ok(());
        }
        let beside = beside(self.machine, &self.run, path);
        let filled = fill(
            state,
            frame,
            self.run.places.as_deref(),
            files,
            beside.as_ref(),
        );
        if let Some(beside) = beside {
            self.note_left(path, beside.left.into_inner());
        }
        match filled {
            Ok(Filled::Nothing) | Err(Lack::File(_)) => Ok(()),
            Ok(Filled::Tested(output, None)) => self.finish(path, Value::String(output), ""),
            Ok(Filled::Tested(output, Some(file))) => self.write_output(path, output, file),
            Ok(Filled::Work(input, file)) => {
                let (frame, machine) = self.stand(path)?;
                let kind = kind_of(&state_of(machine, frame)?.activity).to_owned();
                self.emit(Event::EffectStarted {
                    path: path.clone(),
                    kind,
                    attempt: 1,
                    input,
                    file,
                    at_ms: self.at_ms,
                });
                Ok(())
            }
            Err(Lack::Wrong(error)) => self.fail_for_good(path, text_cause(&error)),
        }
    }

    /// Has an output written to a file before the state ends.
    pub(super) fn write_output(
        &mut self,
        path: &FramePath,
        output: String,
        file: String,
    ) -> Result<(), Refusal> {
        self.emit(Event::EffectStarted {
            path: path.clone(),
            kind: WRITE.to_owned(),
            attempt: 1,
            input: serde_json::json!({ "text": output }),
            file: Some(file),
            at_ms: self.at_ms,
        });
        Ok(())
    }

    /// Ends the activity at `path` with an output.
    pub(super) fn finish(
        &mut self,
        path: &FramePath,
        output: Value,
        stderr: &str,
    ) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let key = match &state_of(machine, frame)?.capture {
            Some(Capture::Key(key)) => Some(key.clone()),
            _ => None,
        };
        self.emit(Event::ActivityEnded {
            path: path.clone(),
            output,
            error: None,
            key,
            stderr: stderr.to_owned(),
        });
        self.keep_output(path)?;
        self.raise_own(path, &done(), None)
    }

    /// Takes a failure of the activity at `path`: another try follows, or it has failed.
    pub(super) fn fail(&mut self, path: &FramePath, cause: Cause) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let attempt = frame.effect.as_ref().map_or(1, |effect| effect.attempt);
        let place = format!("{}/{path}/{attempt}", self.run.id);
        let wait = state_of(machine, frame)?.retry.as_ref().and_then(|retry| {
            let wait = retry.next_wait(attempt, &cause)?;
            Some(wait.saturating_add(retry.jitter_ms(&place, self.at_ms)))
        });
        match wait {
            Some(wait_ms) => {
                self.emit(Event::AttemptFailed {
                    path: path.clone(),
                    attempt,
                    error: cause,
                    again_ms: self.at_ms.saturating_add(wait_ms),
                });
                Ok(())
            }
            None => self.fail_for_good(path, spent(cause, attempt)),
        }
    }

    /// Ends the activity at `path` with an error.
    pub(super) fn fail_for_good(&mut self, path: &FramePath, cause: Cause) -> Result<(), Refusal> {
        let cause = self.counted(path, self.placed(path, cause));
        self.emit(Event::ActivityEnded {
            path: path.clone(),
            output: Value::Null,
            error: Some(cause.clone()),
            key: None,
            stderr: String::new(),
        });
        // The log has it whole; what follows from it need not repeat it.
        self.raise_own(path, &error(), Some(cause.shortened()))
    }

    /// Gives a failure the code that the state at `path` has for all of its own.
    pub(super) fn counted(&self, path: &FramePath, cause: Cause) -> Cause {
        let state = self
            .stand(path)
            .and_then(|(frame, machine)| state_of(machine, frame));
        match state {
            Ok(state) => counted(state, cause),
            Err(_) => cause,
        }
    }

    /// Notes in a cause which state failed, where texts may ask for it.
    pub(super) fn placed(&self, path: &FramePath, mut cause: Cause) -> Cause {
        if self.is_durable() && cause.state.is_empty() {
            cause.state = shown_path(self.machine, &self.run, path);
        }
        cause
    }
}

/// Says how often something that may pass was tried.
pub(super) fn spent(mut cause: Cause, attempts: u32) -> Cause {
    if cause.passing.is_some() && attempts > 1 {
        cause.message = format!("{} ({attempts} attempts)", cause.message);
    }
    cause
}

/// Gives a failure the code that the state has for all of its own.
pub(super) fn counted(state: &State, cause: Cause) -> Cause {
    match state.fails_with {
        Some(code) if !cause.cancelled => Cause {
            code: Value::from(code),
            ..cause
        },
        _ => cause,
    }
}

/// The kind of work that only writes an output to its file.
pub(crate) const WRITE: &str = "write";

/// The kind of work of a model stage.
pub(crate) const STAGE: &str = "stage";

/// Returns the runner's name for what an activity does.
pub(crate) fn kind_of(activity: &Activity) -> &str {
    match activity {
        Activity::Task(work) | Activity::Ask(work) | Activity::Pause(work) => &work.kind,
        Activity::Stage(_) => STAGE,
        Activity::Wait { .. } => "wait",
        Activity::Each(_) => "items",
        _ => "read",
    }
}

/// Fills the texts of a state.
pub(crate) fn fill(
    state: &State,
    frame: &Frame,
    places: Option<&Places>,
    files: &Files,
    beside: Option<&Beside>,
) -> Result<Filled, Lack> {
    let none = Places::default();
    let sources = Sources {
        context: &frame.context,
        caught: frame.caught.as_deref(),
        places: places.unwrap_or(&none),
        files,
        beside,
    };
    match &state.activity {
        Activity::Task(work) | Activity::Ask(work) => {
            let input = work.input.fill(&sources)?;
            Ok(Filled::Work(input, file_of(state, &sources)?))
        }
        Activity::Pause(work) => {
            let input = work.input.fill(&sources)?;
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
        _ => Ok(Filled::Nothing),
    }
}

/// Returns the absolute path of the file that the output of a state goes to.
pub(crate) fn file_of(state: &State, sources: &Sources<'_>) -> Result<Option<String>, Lack> {
    let Some(Capture::File(path)) = &state.capture else {
        return Ok(None);
    };
    let path = path.fill(sources).map_err(|lack| lack.below("output"))?;
    if path.trim().is_empty() {
        return Err(wrong("`output` names no file".to_owned()));
    }
    let base = interlock_expr::text::Base::RunDir;
    Ok(Some(sources.places.absolute(&path, base)))
}

fn wrong(reason: String) -> Lack {
    Lack::Wrong(TextError {
        place: String::new(),
        reason,
        in_template: false,
    })
}

/// Looks at a value; the output is text.
fn look(test: &Test, sources: &Sources<'_>) -> Result<String, Lack> {
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
    let same = || plain(&left) == plain(&right);
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

fn plain(text: &str) -> &str {
    text.trim()
}

/// Makes a failure of a text that cannot be filled.
pub(super) fn lack_cause(lack: Lack) -> Cause {
    match lack {
        Lack::Wrong(error) => text_cause(&error),
        Lack::File(file) => Cause::new(1, format!("`{file}` cannot be read here")),
    }
}

fn text_cause(error: &TextError) -> Cause {
    let place = if error.place.is_empty() {
        String::new()
    } else {
        format!("argument `{}`: ", error.place)
    };
    let code = if error.in_template {
        Value::from("template_error")
    } else {
        Value::from(1)
    };
    Cause::new(code, format!("{place}{}", error.reason))
}

/// Says that nothing of the kind is there to be settled.
pub(super) fn nothing_lost(wanted: Option<&str>) -> Refusal {
    let name = wanted.map_or_else(String::new, |wanted| format!(" at `{wanted}`"));
    Refusal::new(
        Code::NothingPending,
        format!("nothing{name} was cut off and waits for word of what became of it"),
    )
}

/// Returns the file that the output of a state goes to, or why it has none.
pub(super) fn output_file(
    state: &State,
    frame: &Frame,
    places: Option<&Places>,
) -> Result<Option<String>, Box<Cause>> {
    let none = Places::default();
    let files = Files::new();
    let sources = Sources {
        context: &frame.context,
        caught: frame.caught.as_deref(),
        places: places.unwrap_or(&none),
        files: &files,
        beside: None,
    };
    file_of(state, &sources).map_err(|lack| Box::new(lack_cause(lack)))
}
