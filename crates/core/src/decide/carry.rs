//! From the entry of a state to the end of its activity: fills texts, starts effects, counts attempts.

use interlock_expr::text::{Files, MissingInput, Places, TextError};
use serde_json::Value;

use super::{
    Work,
    transitions::{done, error, state_of},
};
use crate::{
    conversation::beside,
    event::{Cause, Event},
    fill::{Filled, file_of, fill, kind_of, sources},
    machine::{Capture, EffectKind, State},
    names::FramePath,
    refusal::{Code, Refusal},
    run::Frame,
};

impl Work<'_> {
    /// Starts the effect of the state at `path`, if the files named in its texts are available.
    pub(super) fn begin(&mut self, path: &FramePath, files: &Files) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        if frame.stay.effect().is_some() || !self.has_room() {
            return Ok(());
        }
        let beside = beside(self.machine, &self.run, path);
        let filled = fill(state, frame, self.run.places(), files, beside.as_ref());
        if let Some(beside) = beside {
            self.note_unfilled(path, beside.left.into_inner());
        }
        match filled {
            Ok(Filled::Nothing) | Err(MissingInput::File(_)) => Ok(()),
            Ok(Filled::Tested(output, None)) => self.finish(path, Value::String(output), ""),
            Ok(Filled::Tested(output, Some(file))) => self.write_output(path, output, file),
            Ok(Filled::Work(input, file)) => {
                let (frame, machine) = self.stand(path)?;
                let kind = kind_of(&state_of(machine, frame)?.activity);
                self.start_effect(path, kind, 1, input, file);
                Ok(())
            }
            Err(MissingInput::Wrong(error)) => self.fail_for_good(path, text_cause(&error)),
        }
    }

    /// Starts the effect that writes an output to a file before the state ends.
    pub(super) fn write_output(
        &mut self,
        path: &FramePath,
        output: String,
        file: String,
    ) -> Result<(), Refusal> {
        let input = serde_json::json!({ "text": output });
        self.start_effect(path, EffectKind::Write, 1, input, Some(file));
        Ok(())
    }

    /// Records the start of an effect; an `input` of null means that of the previous attempt.
    pub(super) fn start_effect(
        &mut self,
        path: &FramePath,
        kind: EffectKind,
        attempt: u32,
        input: Value,
        file: Option<String>,
    ) {
        self.emit(Event::EffectStarted {
            path: path.clone(),
            kind,
            attempt,
            input,
            file,
            at_ms: self.at_ms,
        });
    }

    /// Ends the activity at `path` with an output.
    pub(super) fn finish(
        &mut self,
        path: &FramePath,
        output: Value,
        stderr: &str,
    ) -> Result<(), Refusal> {
        let (_, state) = self.at(path)?;
        let key = match &state.capture {
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
        self.on_output(path)
    }

    /// Ends the state at `path` after its regions or its called machine succeeded, with their output if it captures one.
    pub(super) fn finish_composite(
        &mut self,
        path: &FramePath,
        output: Value,
    ) -> Result<(), Refusal> {
        let (frame, state) = self.at(path)?;
        if state.capture.is_none() {
            return self.raise_own(path, &done(), None);
        }
        match output_file(state, frame, self.run.places()) {
            Ok(Some(file)) => {
                let text = output.as_str().unwrap_or_default().to_owned();
                self.write_output(path, text, file)
            }
            Ok(None) => self.finish(path, output, ""),
            Err(cause) => self.fail_for_good(path, *cause),
        }
    }

    /// Handles a failure of the activity at `path`: another attempt follows, or the activity has failed.
    pub(super) fn fail(&mut self, path: &FramePath, cause: Cause) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let attempt = frame.stay.attempt();
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
        self.report_failed(path, &cause);
        // The log has it whole; what follows from it need not repeat it.
        self.raise_own(path, &error(), Some(cause.shortened()))
    }
}

/// Adds the number of attempts to the message of a transient failure.
pub(super) fn spent(mut cause: Cause, attempts: u32) -> Cause {
    if cause.passing.is_some() && attempts > 1 {
        cause.message = format!("{} ({attempts} attempts)", cause.message);
    }
    cause
}

/// Makes the failure for a text that cannot be filled.
pub(super) fn lack_cause(lack: MissingInput) -> Cause {
    match lack {
        MissingInput::Wrong(error) => text_cause(&error),
        MissingInput::File(file) => Cause::new(1, format!("`{file}` cannot be read here")),
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

/// Makes the refusal for settling an effect that does not exist.
pub(super) fn nothing_lost(wanted: Option<&str>) -> Refusal {
    let name = wanted.map_or_else(String::new, |wanted| format!(" at `{wanted}`"));
    Refusal::new(
        Code::NothingPending,
        format!("nothing{name} was cut off and waits for word of what became of it"),
    )
}

/// Returns the file that the output of a state is written to, or why it has none.
fn output_file(
    state: &State,
    frame: &Frame,
    places: Option<&Places>,
) -> Result<Option<String>, Box<Cause>> {
    file_of(state, &sources(frame, places)).map_err(|lack| Box::new(lack_cause(lack)))
}
