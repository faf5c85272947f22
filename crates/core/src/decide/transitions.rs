//! Transitions: which one an event selects, and what taking it does.

use interlock_expr::nearest::nearest;

use super::{Answered, Reply, Work};
use crate::{
    address::{self, Bind},
    command::TransitionRequest,
    event::{ApprovalKind, Event, PendingTransition, TransitionKind},
    holds::{Scope, Unmet, unmet},
    judge::awaits_approval,
    machine::{Activity, Machine, Object, Rule, State, Target, Transition},
    names::{EventName, FramePath},
    refusal::{Code, Refusal},
    run::Frame,
};

impl Work<'_> {
    /// Decides a request for a transition; a refusal is recorded.
    pub(super) fn transition(&mut self, request: &TransitionRequest) -> Answered {
        let answered = self.try_transition(request);
        if let Err(refusal) = &answered
            && !self.run.is_over()
        {
            self.emit(Event::TransitionRejected {
                path: self.path.clone(),
                event: request.event.clone(),
                refusal: refusal.clone(),
            });
        }
        answered
    }

    fn try_transition(&mut self, request: &TransitionRequest) -> Answered {
        self.open()?;
        if let Some(pause) = &self.run.paused {
            return Err(Refusal::new(
                Code::Paused,
                format!("the run is paused by {}; a person resumes it", pause.by),
            ));
        }
        let path = self.addressed(request)?;
        self.path = path.clone();
        let (frame, _) = self.stand(&path)?;
        if let Some(pending) = frame.stay.pending_transition() {
            return Err(awaits_approval(pending));
        }
        refuse_reserved(&request.data)?;
        self.assume_writes(&path, request)?;
        let before = (self.run.clone(), self.events.len());
        let answered = self.ask_event(&path, request);
        if answered.is_err() {
            // INVARIANT: a rejected transition changes nothing.
            self.run = before.0;
            self.events.truncate(before.1);
        }
        answered
    }

    /// Finds the frame a request is for, and binds the sub-agent that makes it.
    fn addressed(&mut self, request: &TransitionRequest) -> Result<FramePath, Refusal> {
        let branch = request.branch.as_deref();
        if request.is_by_a_person() {
            return address::locate_for_person(&self.run, branch);
        }
        let agent = request.agent.as_ref();
        let address = address::locate(self.machine, &self.run, branch, agent)?;
        if let Some(Bind { agent, path }) = address.bind {
            self.emit(Event::AgentBound { agent, path });
        }
        Ok(address.path)
    }

    /// Selects the transition of the event, and takes it or asks a person first.
    fn ask_event(&mut self, path: &FramePath, request: &TransitionRequest) -> Answered {
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        let own = state.raises(&request.event);
        let Some((event, rule)) = state
            .on
            .get_key_value(request.event.as_str())
            .filter(|_| !own)
        else {
            return self.unknown_event(path, request, own);
        };
        let (event, rule) = (event.clone(), rule.clone());
        let (index, transition) = choose(self.scope(machine, frame), &event, &rule, &request.data)?;
        self.possible(path, &transition.target)?;
        if let Some(approval) = &transition.approval {
            let message = approval.message.clone().unwrap_or_else(|| {
                let at = machine.shown(&frame.at);
                format!("may `{event}` be taken from `{at}`?")
            });
            let asked = PendingTransition {
                event: event.clone(),
                index,
                data: request.data.clone(),
                message,
                by: request.by.clone(),
            };
            let question = self.question(path, &asked, &transition)?;
            // A yes to anything but this very question is none.
            let consent = match approval.kind {
                ApprovalKind::Person => self.consent(path, request, &question),
                // A client's prompt carries no assertion.
                ApprovalKind::Passkey => None,
            };
            match consent {
                Some((by, request)) => self.answer(&request, &by, true, None),
                None => {
                    self.check_context(path, &request.data)?;
                    return Ok(self.park(path, asked, question, approval.kind));
                }
            }
        }
        let taken = Taken {
            event,
            data: request.data.clone(),
            by: request.by.clone(),
        };
        self.take(path, &transition.target, taken)?;
        Ok(Reply::Accepted)
    }

    fn unknown_event(
        &mut self,
        path: &FramePath,
        request: &TransitionRequest,
        own: bool,
    ) -> Answered {
        let (frame, machine) = self.stand(path)?;
        let state = state_of(machine, frame)?;
        if let (false, Some(to)) = (own, &state.safe_next) {
            self.check_context(path, &request.data)?;
            let (from, to) = (frame.at.clone(), to.clone());
            self.emit(Event::TransitionTaken {
                path: path.clone(),
                event: EventName::new(request.event.clone()),
                from,
                to,
                how: TransitionKind::SafeNext,
                data: request.data.clone(),
                by: request.by.clone(),
                at_ms: self.at_ms,
            });
            self.settle(path)?;
            return Ok(Reply::Accepted);
        }
        if matches!(state.activity, Activity::Stage(_)) {
            return Err(Refusal::new(
                Code::UnknownEvent,
                format!(
                    "`{}` is a model stage: what follows it is decided by what its model hands in",
                    machine.shown(&frame.at)
                ),
            ));
        }
        let known: Vec<&str> = state.on.keys().map(EventName::as_str).collect();
        let list = if known.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", known.join(", "))
        };
        let nearest = nearest(&request.event, known.iter().copied())
            .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        Err(Refusal::new(
            Code::UnknownEvent,
            format!(
                "`{}` has no event `{}`: {list}{nearest}",
                machine.shown(&frame.at),
                request.event
            ),
        ))
    }

    /// Refuses a transition to `target` that would fail, before anything is recorded.
    pub(super) fn possible(&self, path: &FramePath, target: &Target) -> Result<(), Refusal> {
        let (frame, machine) = self.stand(path)?;
        match target {
            Target::Return if frame.line.handling.is_none() => Err(Refusal::new(
                Code::NoReturn,
                format!(
                    "`{}` was not entered by an interrupt, so there is nowhere to return to",
                    frame.at
                ),
            )),
            Target::State(to) => {
                let calls = machine.states.get(to).is_some_and(calls);
                let depth = self.call_depth(path);
                let limit = self.machine.limits.call_depth_max;
                if calls && depth >= limit {
                    return Err(Refusal::new(
                        Code::LimitExceeded,
                        format!("calls are nested {depth} deep and {limit} is the limit"),
                    ));
                }
                Ok(())
            }
            Target::Return | Target::End(_) => Ok(()),
        }
    }

    /// Counts the calls that surround the frame at `path`.
    pub(super) fn call_depth(&self, path: &FramePath) -> usize {
        let mut frame = &self.run.root;
        let mut depth = 0;
        for name in path.names() {
            let Some(region) = frame.region(name) else {
                break;
            };
            depth += usize::from(frame.state(self.machine).is_some_and(calls));
            frame = &region.frame;
        }
        depth
    }

    pub(super) fn check_context(&self, path: &FramePath, data: &Object) -> Result<(), Refusal> {
        let limit = self.machine.limits.context_bytes_max;
        let (frame, _) = self.stand(path)?;
        if data.is_empty() {
            return Ok(());
        }
        self.refuse_upstream(data)?;
        let size =
            |object: &Object| serde_json::to_string(object).map_or(usize::MAX, |text| text.len());
        // Each key of the data takes the place of the one that is there.
        let kept = frame
            .line
            .context
            .iter()
            .filter(|(key, _)| !data.contains_key(*key));
        let kept: Object = kept
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if size(data).saturating_add(size(&kept)) > limit {
            return Err(Refusal::new(
                Code::LimitExceeded,
                format!("the context would pass {limit} bytes: send less data"),
            ));
        }
        Ok(())
    }

    /// Takes a transition whose guards hold.
    pub(super) fn take(
        &mut self,
        path: &FramePath,
        target: &Target,
        taken: Taken,
    ) -> Result<(), Refusal> {
        self.check_context(path, &taken.data)?;
        self.on_leave(path)?;
        let (frame, _) = self.stand(path)?;
        let from = frame.at.clone();
        let (to, how) = match target {
            Target::State(to) => (to.clone(), TransitionKind::Written),
            Target::Return => match &frame.line.handling {
                Some(handling) => (handling.return_to.clone(), TransitionKind::Returned),
                None => return self.possible(path, target),
            },
            Target::End(outcome) => return self.end_frame(path, *outcome, None),
        };
        self.emit(Event::TransitionTaken {
            path: path.clone(),
            event: taken.event,
            from,
            to,
            how,
            data: taken.data,
            by: taken.by,
            at_ms: self.at_ms,
        });
        self.settle(path)?;
        if how == TransitionKind::Returned {
            self.raise_kept(path)?;
        }
        Ok(())
    }
}

/// The origin and the data of a transition to take.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) event: EventName,
    pub(super) data: Object,
    pub(super) by: String,
}

/// Refuses data with a key that is reserved for the engine.
pub(super) fn refuse_reserved(data: &Object) -> Result<(), Refusal> {
    let reserved = data.keys().find(|key| key.starts_with('_'));
    reserved.map_or(Ok(()), |key| {
        let message = format!("`{key}` is reserved: leave out keys that begin with `_`");
        Err(Refusal::new(Code::ReservedKey, message))
    })
}

/// Returns the current state of a frame.
pub(super) fn state_of<'a>(machine: &'a Machine, frame: &Frame) -> Result<&'a State, Refusal> {
    machine.states.get(&frame.at).ok_or_else(|| {
        Refusal::new(
            Code::UnknownBranch,
            format!("`{}` is not a state of `{}`", frame.at, machine.id),
        )
    })
}

/// Returns the rule for `event` of the activity itself in the current state of `frame`.
///
/// The `error` of a state with items is raised only if starting their regions fails; later failures belong to the regions.
pub(super) fn rule_of<'a>(state: &'a State, frame: &Frame, event: &EventName) -> Option<&'a Rule> {
    let is_of_lines = state.activity.items().is_some() && !frame.regions.is_empty();
    let rule = state.on.get(event);
    rule.filter(|_| !(is_of_lines && *event == error()))
}

/// Returns the first transition of `rule` whose guards hold.
pub(super) fn choose(
    scope: Scope<'_>,
    event: &EventName,
    rule: &Rule,
    data: &Object,
) -> Result<(usize, Transition), Refusal> {
    let mut failed: Vec<Unmet> = Vec::new();
    for (index, transition) in rule.transitions.iter().enumerate() {
        let unmet = unmet(scope, &transition.guards);
        if unmet.is_empty() {
            return Ok((index, transition.clone()));
        }
        failed.extend(unmet);
    }
    let (code, head) = if rule.branched {
        (
            Code::NoBranchMatched,
            format!("no branch of `{event}` has guards that hold"),
        )
    } else {
        (
            Code::GuardFailed,
            format!("`{event}` needs guards that do not hold"),
        )
    };
    Err(Refusal::new(
        code,
        format!("{head}: {}{}", reasons(&failed), later(&failed, data)),
    ))
}

pub(super) fn reasons(failed: &[Unmet]) -> String {
    let reasons: Vec<String> = failed
        .iter()
        .map(|unmet| format!("`{}`: {}", unmet.guard, unmet.reason))
        .collect();
    reasons.join("; ")
}

/// Tells an agent that sent the value with this transition that it counts from the next one on.
fn later(failed: &[Unmet], data: &Object) -> String {
    let sent = failed
        .iter()
        .filter_map(|unmet| unmet.key.as_deref())
        .find(|key| data.contains_key(*key));
    sent.map_or_else(String::new, |key| {
        format!("; guards see the context from before this transition, so `{key}` counts only from the next one on: set it with a transition that is taken first")
    })
}

/// Returns the event of composite states that have ended.
pub(super) fn done() -> EventName {
    EventName::new("done")
}

/// Returns the event of a failed activity.
pub(super) fn error() -> EventName {
    EventName::new("error")
}

fn calls(state: &State) -> bool {
    matches!(state.activity, Activity::Call(_))
}
