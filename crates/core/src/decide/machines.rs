//! Called machines: their input and their result.

use serde_json::Value;

use super::{Work, carry, transitions::error};
use crate::{
    event::{Cause, Event},
    fill::sources,
    machine::{Call, Machine, Object, Outcome},
    names::FramePath,
    refusal::{Code, Refusal},
};

impl Work<'_> {
    pub(super) fn call_machine(
        &mut self,
        path: &FramePath,
        caller: &Machine,
        call: &Call,
    ) -> Result<(), Refusal> {
        let limit = self.machine.limits.call_depth_max;
        let cause = |code: &str, message: String| Some(Cause::new(code, message));
        if self.call_depth(path) >= limit {
            let message = format!("calls are nested {limit} deep, which is the limit");
            return self.raise_own(path, &error(), cause(Code::LimitExceeded.as_str(), message));
        }
        let Some(called) = self.machine.machines.get(&call.machine) else {
            let message = format!(
                "`{}` calls `{}`, which is not known",
                caller.id, call.machine
            );
            return self.raise_own(path, &error(), cause("unknown_machine", message));
        };
        if self.before_entry()? {
            return Ok(());
        }
        let passed = match self.passed(path, call) {
            Ok(passed) => passed,
            Err(failed) => return self.raise_own(path, &error(), Some(*failed)),
        };
        let mut context = called.context.clone();
        context.extend(call.input.clone());
        context.extend(passed);
        self.emit(Event::MachineCalled {
            path: path.clone(),
            machine: call.machine.clone(),
            shown: called.id.to_string(),
            initial: called.initial.clone(),
            context,
        });
        self.settle(&path.child(called.id.as_str()))
    }

    /// Fills the texts that a call passes.
    fn passed(&self, path: &FramePath, call: &Call) -> Result<Object, Box<Cause>> {
        let mut passed = Object::new();
        let Some(frame) = self.run.frame(path) else {
            return Ok(passed);
        };
        let sources = sources(frame, self.run.places());
        for (key, text) in &call.passed {
            let filled = text.fill(&sources).map_err(|lack| lack.below(key));
            match filled {
                Ok(value) => drop(passed.insert(key.clone(), Value::String(value))),
                Err(lack) => return Err(Box::new(carry::lack_cause(lack))),
            }
        }
        Ok(passed)
    }

    pub(super) fn machine_returned(
        &mut self,
        parent: &FramePath,
        path: &FramePath,
        call: &Call,
        outcome: Outcome,
        cause: Option<Cause>,
    ) -> Result<(), Refusal> {
        let (frame, _) = self.stand(path)?;
        let name = path
            .split_last()
            .map(|(_, name)| name.to_owned())
            .unwrap_or_default();
        let at = frame.at.clone();
        let output = frame.line.output.as_ref().clone();
        let merged: Object = frame
            .line
            .context
            .iter()
            .filter(|(key, _)| match &call.output {
                Some(keys) => keys.contains(key),
                None => !call.input.contains_key(*key),
            })
            .map(|(key, value)| match &call.namespace {
                Some(namespace) => (format!("{namespace}::{key}"), value.clone()),
                None => (key.clone(), value.clone()),
            })
            .collect();
        let cause = (outcome == Outcome::Failure).then(|| {
            cause.unwrap_or_else(|| {
                let message = format!("`{name}` ended in `{at}`");
                self.placed(path, Cause::new("machine_failed", message))
            })
        });
        self.emit(Event::MachineReturned {
            path: parent.clone(),
            outcome,
            merged,
            output: match cause {
                None => output.clone(),
                Some(_) => Value::Null,
            },
            cause: cause.clone(),
        });
        match cause {
            None => self.finish_composite(parent, output),
            Some(cause) => self.raise_own(parent, &error(), Some(cause)),
        }
    }
}
