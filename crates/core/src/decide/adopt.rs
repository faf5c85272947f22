//! Moves a run of steps to another version of its workflow.

use super::{Answered, Reply, Work};
use crate::{
    event::Event,
    machine::{Activity, Machine, Object, Over},
    place::shown_path,
    refusal::{Code, Refusal},
    run::Frame,
};

impl<'a> Work<'a> {
    /// Moves the run to `machine`, which must have the run's current states.
    pub(super) fn adopt(&mut self, machine: &'a Machine, by: &str) -> Answered {
        if !self.is_resumable() {
            self.open()?;
        }
        if !self.run.is_durable() || !machine.durable {
            return Err(Refusal::new(
                Code::InvalidArguments,
                "only a run of steps moves to another version of its workflow",
            ));
        }
        if !fits(self.machine, machine, &self.run.root) {
            let path = shown_path(
                self.machine,
                &self.run,
                &crate::place::focus(&self.run, None),
            );
            return Err(Refusal::new(
                Code::InvalidArguments,
                format!("the run is in `{path}`, which the other version lacks"),
            ));
        }
        let has = |key: &String| self.run.root.line.context.contains_key(key);
        let variables: Object = machine
            .context
            .iter()
            .filter(|(key, _)| !has(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        self.emit(Event::MachineAdopted {
            machine: machine.id.clone(),
            hash: machine.hash.clone(),
            variables,
            by: by.to_owned(),
            at_ms: self.at_ms,
        });
        self.machine = machine;
        for path in self.run.open_leaves() {
            self.settle(&path)?;
        }
        Ok(Reply::Accepted)
    }
}

/// Returns whether `new` has the current states of `frame` and the frames below it, with activities of the same kind.
fn fits(old: &Machine, new: &Machine, frame: &Frame) -> bool {
    let (Some(was), Some(is)) = (frame.state(old), frame.state(new)) else {
        return false;
    };
    if frame.regions.is_empty() {
        return true;
    }
    // What is under way below a state goes on only where that state begins the same below it.
    let same = match (&was.activity, &is.activity) {
        (Activity::Parallel(was), Activity::Parallel(is)) => match (&was.over, &is.over) {
            (Over::Branches(was), Over::Branches(is)) => was.keys().eq(is.keys()),
            (Over::Lines(was), Over::Lines(is)) => was.machine == is.machine,
            _ => false,
        },
        (Activity::Call(was), Activity::Call(is)) => was.machine == is.machine,
        _ => false,
    };
    let mut below = frame.open_regions();
    same && below.all(|region| fits(old, new, &region.frame))
}
