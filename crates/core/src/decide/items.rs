//! A machine run for each line of an output, one after the other.

use super::{
    Work,
    transitions::{done, error, state_of},
};
use crate::{
    event::{Cause, Event},
    machine::{OnItemError, OverLines},
    names::FramePath,
    refusal::{Code, Refusal},
};

/// Items that one command starts at most: what it brings about stays small.
const ITEMS_AT_ONCE: u32 = 256;

impl Work<'_> {
    /// Lists the lines of the output that the state before left.
    pub(super) fn list_items(
        &mut self,
        path: &FramePath,
        lines: &OverLines,
    ) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        if frame.stay.items.is_none() {
            let items = split_lines(frame.line.output.as_str().unwrap_or_default());
            self.emit(Event::ItemsListed {
                path: path.clone(),
                items,
            });
        }
        self.next_item(path, lines)
    }

    /// Starts the next item, or ends the loop.
    fn next_item(&mut self, path: &FramePath, lines: &OverLines) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let Some(items) = &frame.stay.items else {
            return Ok(());
        };
        let (ended, failed, all) = (items.ended, items.failed, items.all.len());
        if all == 0 && lines.wants_items {
            let cause = self.placed(path, Cause::new(1, "there are no items"));
            return self.end_items(path, failed, Some(cause));
        }
        if usize::try_from(ended).is_ok_and(|ended| ended >= all) {
            return self.end_items(path, failed, None);
        }
        let Some(machine) = self.machine.machines.get(&lines.machine) else {
            let message = format!("`{}` is not known", lines.machine);
            let cause = self.placed(path, Cause::new("unknown_machine", message));
            return self.end_items(path, failed, Some(cause));
        };
        if self.items_started >= ITEMS_AT_ONCE {
            // The rest follows with the next `Advance`, which is due at once.
            return Ok(());
        }
        if self.states_used_up() {
            return self.stop_used_up();
        }
        self.items_started += 1;
        self.moves = 0;
        self.emit(Event::ItemStarted {
            path: path.clone(),
            index: ended,
            machine: lines.machine.clone(),
            initial: machine.initial.clone(),
            keys: (lines.item.clone(), lines.index.clone()),
            at_ms: self.at_ms,
        });
        self.settle(&path.child(&ended.to_string()))
    }

    /// Takes the end of an item whose machine ended.
    pub(super) fn end_item(
        &mut self,
        path: &FramePath,
        on_error: OnItemError,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let Some(items) = &frame.stay.items else {
            return Ok(());
        };
        let index = items.ended;
        self.emit(Event::ItemEnded {
            path: path.clone(),
            index,
            cause: cause.clone(),
        });
        match cause {
            Some(cause) if on_error == OnItemError::Fail || cause.cancelled => {
                let (frame, _) = self.stand(path)?;
                let failed = frame.stay.items.as_ref().map_or(1, |items| items.failed);
                self.end_items(path, failed, Some(of_item(index, cause)))
            }
            // Carried on with when this is settled: items do not nest on the stack.
            _ => self.settle(path),
        }
    }

    fn end_items(
        &mut self,
        path: &FramePath,
        failed: u64,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        if let Some(cause) = cause.as_ref().and_then(|cause| self.uncaught(path, cause)) {
            return self.end_uncaught(cause);
        }
        self.emit(Event::ItemsEnded {
            path: path.clone(),
            failed,
            cause: cause.clone(),
        });
        match cause {
            None => self.finish_composite(path, serde_json::Value::Null),
            Some(cause) => self.raise_own(path, &error(), Some(cause)),
        }
    }

    /// Ends a run that entered as many states as it may.
    pub(super) fn stop_used_up(&mut self) -> Result<(), Refusal> {
        let limit = self.machine.limits.states_max.unwrap_or_default();
        let message = format!("the run entered {limit} states, which is its limit");
        self.end_uncaught(Cause::new(Code::LimitExceeded.as_str(), message))
    }

    /// Tells whether the run may enter no more states.
    pub(super) fn states_used_up(&self) -> bool {
        let limit = self.machine.limits.states_max;
        limit.is_some_and(|limit| self.run.entered >= limit)
    }

    /// Ends the state at `path`, whose branches or called machine succeeded.
    pub(super) fn finish_composite(
        &mut self,
        path: &FramePath,
        output: serde_json::Value,
    ) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        if !self.is_durable() || state.capture.is_none() {
            return self.raise_own(path, &done(), None);
        }
        let file = self.output_file(path);
        match file {
            Ok(Some(file)) => {
                let text = output.as_str().unwrap_or_default().to_owned();
                self.write_output(path, text, file)
            }
            Ok(None) => self.finish(path, output, ""),
            Err(cause) => self.fail_for_good(path, *cause),
        }
    }

    /// Returns the file that the output of the state at `path` goes to.
    fn output_file(&self, path: &FramePath) -> Result<Option<String>, Box<Cause>> {
        let lost = || Box::new(Cause::new(1, "the state is not there"));
        let (frame, machine) = self.stand(path).map_err(|_| lost())?;
        let state = state_of(machine, frame).map_err(|_| lost())?;
        super::carry::output_file(state, frame, self.run.places.as_deref())
    }
}

/// Makes the failure of a loop from that of one of its items.
pub(super) fn of_item(index: u64, cause: Cause) -> Cause {
    let message = format!("item {index} failed: {}", cause.message);
    Cause {
        code: if cause.cancelled {
            cause.code.clone()
        } else {
            serde_json::Value::from(1)
        },
        message,
        ..cause
    }
}

/// Splits an output into its lines: a carriage return at the end is cut, blank ones are skipped.
fn split_lines(text: &str) -> Vec<String> {
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .filter(|line| !line.trim().is_empty())
        .map(str::to_owned)
        .collect()
}
