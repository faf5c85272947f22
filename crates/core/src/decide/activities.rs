//! Outcomes of the activities that Interlock runs.

use serde_json::Value;

use super::{Answered, Reply, Work, stage::End, transitions::state_of};
use crate::{
    command::ActivityOutcome,
    effects::late_ms,
    event::Cause,
    machine::Activity,
    names::FramePath,
    place::shown_path,
    refusal::{Code, Refusal},
    run::RunningAt,
};

impl Work<'_> {
    /// Handles the outcome of a running task, stage, question or wait.
    pub(super) fn end_activity(
        &mut self,
        wanted: Option<&str>,
        outcome: &ActivityOutcome,
    ) -> Answered {
        self.open_and_going()?;
        let path = self.running(wanted)?;
        self.path = path.clone();
        let known = self.run.frame(&path).and_then(|frame| frame.stay.effect());
        if known.is_some_and(|effect| effect.at != RunningAt::Started) {
            return Err(nothing_running());
        }
        let is_stage = self.is_stage(&path);
        match outcome {
            ActivityOutcome::Done { output, .. } if is_stage => self.hand_in(&path, output)?,
            ActivityOutcome::Failed(cause) if is_stage => {
                let code = cause.code.as_str().unwrap_or("model_error");
                self.exit(&path, End::failed(code, &cause.message))?;
            }
            ActivityOutcome::Done { output, stderr } => {
                self.finish(&path, output.clone(), stderr)?;
            }
            ActivityOutcome::Failed(cause) => self.fail(&path, cause.clone())?,
        }
        Ok(Reply::Accepted)
    }

    /// Ends every wait that is due.
    pub(super) fn advance(&mut self) -> Answered {
        self.open()?;
        for path in self.run.open_leaves() {
            if !self.is_open(&path) || self.stage_is_due(&path)? || self.task_is_late(&path)? {
                continue;
            }
            let (frame, machine) = self.stand(&path)?;
            let again = frame.stay.effect().map(|effect| effect.at);
            if let Some(RunningAt::Waiting(until)) = again
                && until <= self.at_ms
                && self.run.paused.is_none()
            {
                self.start_again(&path)?;
                continue;
            }
            let activity = &state_of(machine, frame)?.activity;
            if activity.lines().is_some() && self.run.paused.is_none() {
                self.settle(&path)?;
                continue;
            }
            let &Activity::Wait { wait_ms } = activity else {
                continue;
            };
            if self.at_ms < frame.stay.entered_ms.saturating_add(wait_ms)
                || self.run.paused.is_some()
            {
                continue;
            }
            self.finish(&path, Value::Null, "")?;
            if self.run.is_over() {
                break;
            }
        }
        Ok(Reply::Accepted)
    }

    /// Ends a task that exceeded its time limit, whatever its attempt; tells whether it did.
    fn task_is_late(&mut self, path: &FramePath) -> Result<bool, Refusal> {
        let (frame, state) = self.at(path)?;
        let Some(running) = frame.stay.effect().filter(|_| self.run.paused.is_none()) else {
            return Ok(false);
        };
        if late_ms(state, running).is_none_or(|late| self.at_ms < late) {
            return Ok(false);
        }
        let limit = state.timeout_ms.unwrap_or_default();
        let before = match &running.trouble {
            Some(trouble) => format!("; before that: {trouble}"),
            None => String::new(),
        };
        let message = format!(
            "the state took longer than {} s, which is its `timeout`{before}",
            seconds(limit)
        );
        self.fail_for_good(path, Cause::new("timeout", message))?;
        Ok(true)
    }

    /// Finds the frame whose activity `wanted` names.
    fn running(&self, wanted: Option<&str>) -> Result<FramePath, Refusal> {
        let mut running = self.run.open_leaves();
        running.retain(|path| self.carries_out(path));
        let mut meant = running.iter().filter(|path| self.is_named(path, wanted));
        match (meant.next(), meant.next()) {
            (Some(path), None) => Ok(path.clone()),
            (None, _) => Err(nothing_running()),
            (Some(_), Some(_)) => {
                let shown = |path: &FramePath| shown_path(self.machine, &self.run, path);
                let names: Vec<String> = running.iter().map(shown).collect();
                Err(Refusal::new(
                    Code::UnknownBranch,
                    format!(
                        "several activities are running, name one: {}",
                        names.join(", ")
                    ),
                ))
            }
        }
    }

    fn carries_out(&self, path: &FramePath) -> bool {
        self.stand(path)
            .and_then(|(frame, machine)| {
                let state = state_of(machine, frame)?;
                // A loop between two of its items is carried on with by the engine alone.
                let loops = state.activity.lines().is_some();
                Ok(
                    frame.stay.pending_transition().is_none()
                        && state.raises_own_events()
                        && !loops,
                )
            })
            .unwrap_or(false)
    }
}

/// Formats milliseconds as seconds.
fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1000, ms % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn nothing_running() -> Refusal {
    Refusal::new(Code::NothingPending, "no activity of that name is running")
}
