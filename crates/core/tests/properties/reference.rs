//! A deliberately simple second implementation that checks every event.

use std::collections::BTreeSet;

use interlock_core::{
    event::{AllowSource, Event, RequestKind, TransitionKind},
    guard::{FieldGuard, Guard, GuardRef, Op},
    machine::{Machine, Object, Target, Transition},
    names::FramePath,
    run::{Frame, Run},
};
use interlock_view::report;
use serde_json::Value;

use crate::properties::history::{History, stay};

/// The reference's own state besides the run: approvals by frame, and the history of its calls.
#[derive(Debug)]
pub(crate) struct Reference<'a> {
    machine: &'a Machine,
    yes: BTreeSet<FramePath>,
    history: History,
    over: bool,
}

type Checked = Result<(), String>;

impl<'a> Reference<'a> {
    pub(crate) fn new(machine: &'a Machine) -> Self {
        Self {
            machine,
            yes: BTreeSet::new(),
            history: History::default(),
            over: false,
        }
    }

    /// Checks an event against the run before it.
    pub(crate) fn check(&self, run: &Run, event: &Event) -> Checked {
        if self.over {
            return Err("an event after the end of the run".to_owned());
        }
        match event {
            Event::TransitionTaken {
                path,
                event,
                from,
                to,
                how,
                ..
            } => {
                let (frame, machine) = self.stand(run, path)?;
                ensure(frame.at == *from, "it leaves a state the frame is not in")?;
                let state = machine.states.get(from).ok_or("an unknown state is left")?;
                match how {
                    TransitionKind::Returned => {
                        let back = frame
                            .line
                            .handling
                            .as_ref()
                            .map(|handling| &handling.return_to);
                        ensure(
                            back == Some(to),
                            "it returns to where no interrupt came from",
                        )
                    }
                    TransitionKind::SafeNext => {
                        ensure(
                            !state.on.contains_key(event),
                            "safe_next is used for an event that exists",
                        )?;
                        ensure(
                            state.safe_next.as_ref() == Some(to),
                            "safe_next leads elsewhere",
                        )
                    }
                    TransitionKind::Written => {
                        let rule = state.on.get(event).ok_or("the event is not written")?;
                        let fits = |transition: &&Transition| {
                            transition.target == Target::State(to.clone())
                                && self.guards_hold(machine, frame, &transition.guards)
                                && (transition.approval.is_none() || self.yes.contains(path))
                        };
                        ensure(
                            rule.transitions.iter().any(|t| fits(&t)),
                            "no written transition with true guards and its approval leads there",
                        )
                    }
                }
            }
            Event::InterruptRaised {
                path,
                interrupt,
                file,
                from,
                to,
                ..
            } => {
                let (frame, machine) = self.stand(run, path)?;
                let rule = machine
                    .interrupts
                    .get(interrupt)
                    .ok_or("an unknown interrupt")?;
                ensure(
                    rule.target == *to && frame.at == *from,
                    "the interrupt leads elsewhere",
                )?;
                ensure(
                    frame.line.handling.is_none() && frame.stay.request.is_none(),
                    "an interrupt inside a handler or while parked",
                )?;
                ensure(is_like(&rule.file_pattern, file), "the file does not match")
            }
            Event::CallAllowed {
                path,
                call,
                source,
                marks,
            } => {
                self.check_call(run, path, &call.tool, *source, marks.counts)?;
                if marks.counts {
                    self.check_limits(run, path, &marks.files)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn check_call(
        &self,
        run: &Run,
        path: &FramePath,
        tool: &str,
        source: AllowSource,
        counts: bool,
    ) -> Checked {
        if !counts {
            return ensure(source == AllowSource::Control, "a call that does not count");
        }
        let (frame, machine) = self.stand(run, path)?;
        ensure(
            run.paused.is_none() && frame.stay.request.is_none(),
            "a call passes while the run stands still",
        )?;
        let policy = &machine
            .states
            .get(&frame.at)
            .ok_or("an unknown state")?
            .policy;
        // No name from the generator contains a star.
        let has = |list: &[String]| list.iter().any(|name| name == tool);
        let listed = policy.allowed_tools.as_ref().is_none_or(|list| has(list));
        let into_a_fork = tool == "Task" && !path.is_root();
        ensure(
            listed || source == AllowSource::Grant || into_a_fork,
            "a tool the state does not list",
        )?;
        ensure(!has(&policy.disallowed_tools), "a tool the state disallows")?;
        let used = self.history.calls(&stay(run, path));
        ensure(
            policy.iterations_max.is_none_or(|limit| used < limit),
            "a call over the limit",
        )
    }

    fn check_limits(&self, run: &Run, path: &FramePath, files: &[String]) -> Checked {
        let (frame, machine) = self.stand(run, path)?;
        let state = machine.states.get(&frame.at).ok_or("an unknown state")?;
        let stay = stay(run, path);
        let bytes = self.history.bytes(&stay);
        let (count, grew) = self.history.files_with(&stay, files);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let policy = &state.policy;
        ensure(
            policy.result_bytes_max.is_none_or(|limit| bytes < limit),
            "a call over the budget",
        )?;
        ensure(
            !grew || policy.files_max.is_none_or(|limit| count <= limit),
            "a file over the limit",
        )
    }

    /// Checks the reported transitions from each leaf of the run, and the counters there.
    pub(crate) fn check_standing(&self, run: &Run) -> Checked {
        for path in run.open_leaves() {
            let (frame, machine) = self.stand(run, &path)?;
            let state = machine.states.get(&frame.at).ok_or("an unknown state")?;
            for way in report(self.machine, run, Some(&path)).events {
                let rule = state.on.get(&way.event).ok_or("an unknown event")?;
                let open = |one: &Transition| {
                    let returns = one.target == Target::Return;
                    (!returns || frame.line.handling.is_some())
                        && self.guards_hold(machine, frame, &one.guards)
                };
                ensure(
                    way.ready == rule.transitions.iter().any(open),
                    "what its guards say is otherwise",
                )?;
            }
            let stay = stay(run, &path);
            ensure(
                frame.stay.used.calls == self.history.calls(&stay),
                "the calls of the stay are otherwise",
            )?;
            ensure(
                frame.stay.used.bytes == self.history.bytes(&stay),
                "the bytes of the stay are otherwise",
            )?;
            let files = self.history.files(&stay);
            ensure(
                files.is_none_or(|files| *files == frame.stay.used.files),
                "the files of the stay are otherwise",
            )?;
        }
        Ok(())
    }

    /// Records what later checks need; `run` is the run before the event.
    pub(crate) fn follow(&mut self, run: &Run, event: &Event) {
        self.history.follow(run, event);
        match event {
            Event::RequestAnswered {
                path,
                about: RequestKind::Transition,
                yes: true,
                ..
            } => {
                self.yes.insert(path.clone());
            }
            Event::TransitionTaken { path, .. } | Event::InterruptRaised { path, .. } => {
                self.yes.remove(path);
            }
            Event::RunEnded { .. } | Event::RunCancelled { .. } => self.over = true,
            _ => {}
        }
    }

    fn stand<'r>(
        &self,
        run: &'r Run,
        path: &FramePath,
    ) -> Result<(&'r Frame, &'a Machine), String> {
        let frame = run.frame(path).ok_or("no such frame")?;
        let machine = match &frame.machine {
            None => self.machine,
            Some(key) => self.machine.machines.get(key).ok_or("no such machine")?,
        };
        Ok((frame, machine))
    }

    fn guards_hold(&self, machine: &Machine, frame: &Frame, guards: &[GuardRef]) -> bool {
        guards
            .iter()
            .all(|guard| self.holds(machine, frame, guard) == Some(true))
    }

    /// Evaluates the generator's guards; returns `None` if that is impossible.
    fn holds(&self, machine: &Machine, frame: &Frame, guard: &GuardRef) -> Option<bool> {
        let guard = match guard {
            GuardRef::Inline(guard) => guard.as_ref(),
            GuardRef::Named(name) => machine.guards.get(name)?,
        };
        match guard {
            Guard::Not(inner) => self.holds(machine, frame, inner).map(|holds| !holds),
            Guard::Evidence(guard) => {
                Some(self.history.has_read(guard.since, frame.stay.entered_seq))
            }
            Guard::Field(field) => Some(field_holds(&frame.line.context, field)),
            _ => None,
        }
    }
}

fn field_holds(context: &Object, field: &FieldGuard) -> bool {
    let seen = context.get(&field.field).filter(|value| !value.is_null());
    let number = seen.and_then(Value::as_i64);
    let wanted = field.value.as_ref().and_then(Value::as_i64);
    match field.op {
        Op::Exists => seen.is_some(),
        Op::NotExists => seen.is_none(),
        Op::Eq => number.is_some() && number == wanted,
        Op::Neq => number.is_some() && number != wanted,
        Op::Gt => number
            .zip(wanted)
            .is_some_and(|(seen, wanted)| seen > wanted),
        Op::Lte => number
            .zip(wanted)
            .is_some_and(|(seen, wanted)| seen <= wanted),
        _ => false,
    }
}

/// Returns whether a file is of one of the generator's two kinds.
fn is_like(pattern: &str, file: &str) -> bool {
    match pattern {
        "db/**" => file.starts_with("db/"),
        _ => file.starts_with("docs/") && file.ends_with(".md") && file.matches('/').count() == 1,
    }
}

fn ensure(holds: bool, otherwise: &str) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(otherwise.to_owned())
    }
}
