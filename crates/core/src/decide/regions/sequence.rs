//! A machine run for each line of an output, one after the other.

use crate::{
    decide::{Work, transitions::error},
    event::{Cause, Event, Merged, RegionKind, RegionOutcome, RegionsStart},
    machine::{OnItemError, Outcome, OverLines},
    names::FramePath,
    refusal::Refusal,
};

/// Maximum number of items that one command starts, so that its result stays small.
const ITEMS_AT_ONCE: u32 = 256;

impl Work<'_> {
    /// Lists the lines of the previous output.
    pub(in crate::decide) fn list_items(
        &mut self,
        path: &FramePath,
        lines: &OverLines,
    ) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        if frame.stay.items().is_none() {
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
        let Some(items) = frame.stay.items() else {
            return Ok(());
        };
        let (ended, failed, all) = (items.ended, items.failed, items.all.len());
        if all == 0 && lines.wants_items {
            let cause = Cause::new(1, "there are no items");
            return self.end_items(path, failed, Some(cause));
        }
        if usize::try_from(ended).is_ok_and(|ended| ended >= all) {
            return self.end_items(path, failed, None);
        }
        let Some(machine) = self.machine.machines.get(&lines.machine) else {
            let message = format!("`{}` is not known", lines.machine);
            let cause = Cause::new("unknown_machine", message);
            return self.end_items(path, failed, Some(cause));
        };
        if self.items_started >= ITEMS_AT_ONCE {
            // The rest follows with the next `Advance`, which is due at once.
            return Ok(());
        }
        if self.before_entry()? {
            return Ok(());
        }
        self.items_started += 1;
        self.moves = 0;
        let start = RegionsStart::Line {
            index: ended,
            machine: lines.machine.clone(),
            initial: machine.initial.clone(),
            keys: (lines.item.clone(), lines.index.clone()),
            at_ms: self.at_ms,
        };
        self.start_regions(path, start)
    }

    /// Handles the end of an item's machine.
    pub(in crate::decide) fn end_item(
        &mut self,
        path: &FramePath,
        on_error: OnItemError,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let Some(items) = frame.stay.items() else {
            return Ok(());
        };
        let index = items.ended;
        self.emit(Event::RegionEnded {
            path: path.child(&index.to_string()),
            kind: RegionKind::Line,
            outcome: match cause {
                None => RegionOutcome::Succeeded,
                Some(_) => RegionOutcome::Failed,
            },
            exits: Vec::new(),
            cause: cause.clone(),
        });
        match cause {
            Some(cause) if on_error == OnItemError::Fail || cause.cancelled => {
                let (frame, _) = self.stand(path)?;
                let failed = frame.stay.items().map_or(1, |items| items.failed);
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
        let cause = cause.map(|cause| self.placed(path, cause));
        if let Some(cause) = &cause
            && self.fails_run(path, cause)?
        {
            return Ok(());
        }
        self.emit(Event::Joined {
            path: path.clone(),
            lines: Vec::new(),
            outcome: match cause {
                None => Outcome::Success,
                Some(_) => Outcome::Failure,
            },
            merged: Merged::default(),
            failed,
            cause: cause.clone(),
            next: None,
            may_part: false,
        });
        match cause {
            None => self.finish_composite(path, serde_json::Value::Null),
            Some(cause) => self.raise_own(path, &error(), Some(cause)),
        }
    }
}

/// Makes the failure of a loop from that of one of its items.
pub(in crate::decide) fn of_item(index: u64, cause: Cause) -> Cause {
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

/// Splits an output into lines, without a carriage return at their ends and without blank lines.
fn split_lines(text: &str) -> Vec<String> {
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .filter(|line| !line.trim().is_empty())
        .map(str::to_owned)
        .collect()
}
