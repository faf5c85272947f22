//! What a person answers: approvals of transitions, grants of calls.

use super::{
    Answered, Reply, Work,
    question::Subject,
    transitions::{Taking, state_of},
};
use crate::{
    command::Answer,
    event::{Cause, Event},
    instant::utc,
    machine::{Object, Refused, Target},
    names::{ApprovalId, FramePath},
    pending::{About, Pending, pending},
    refusal::{Code, Refusal},
    run::{Grant, PendingTransition, Request, Run, Settled, Settlement},
};

impl Work<'_> {
    /// A person says yes.
    pub(super) fn approve(&mut self, answer: &Answer) -> Answered {
        self.answerable(answer)?;
        if let Some(key) = answer.data.keys().find(|key| key.starts_with('_')) {
            return Err(Refusal::new(
                Code::ReservedKey,
                format!("`{key}` is reserved: leave out keys that begin with `_`"),
            ));
        }
        let meant = self.meant(answer)?;
        let only_calls = meant
            .iter()
            .all(|one| matches!(one.about, About::Call { .. }));
        if only_calls && !answer.data.is_empty() {
            return Err(Refusal::new(
                Code::InvalidArguments,
                "a call is granted as it was proposed, without data: say no to it and tell the agent what to propose instead",
            ));
        }
        for waiting in meant {
            if !self.still_waits(&waiting) {
                continue;
            }
            self.path = waiting.path.clone();
            match &waiting.about {
                About::Call { digest, .. } => {
                    let of_stage = self.grant_of_stage(&waiting);
                    self.emit(Event::GrantIssued {
                        path: waiting.path.clone(),
                        digest: digest.clone(),
                        by: answer.by.clone(),
                        id: waiting.id.clone(),
                        at_ms: Some(self.at_ms),
                    });
                    if let Some(grant) = of_stage {
                        self.use_grant(&grant)?;
                    }
                }
                About::Entry { .. } => self.let_in(&waiting, answer)?,
                About::Transition { .. } => self.approve_parked(&waiting, answer)?,
            }
        }
        Ok(Reply::Accepted)
    }

    fn approve_parked(&mut self, waiting: &Pending, answer: &Answer) -> Result<(), Refusal> {
        let path = &waiting.path;
        let Some(parked) = self.parked_as(waiting) else {
            return Ok(());
        };
        let target = match self
            .recheck(path, &parked)
            .and_then(|target| self.unchanged(path, &parked).map(|()| target))
            .and_then(|target| self.possible(path, &target).map(|()| target))
        {
            Ok(target) => target,
            Err(refusal) => {
                self.emit(Event::ApprovalDropped {
                    path: path.clone(),
                    refusal: refusal.clone(),
                    id: waiting.id.clone(),
                    at_ms: Some(self.at_ms),
                });
                self.raise_kept(path)?;
                return Err(refusal);
            }
        };
        let mut data: Object = parked.data;
        data.extend(answer.data.clone());
        // Before the yes is recorded: what cannot be merged leaves the question open.
        self.check_context(path, &data)?;
        self.emit(Event::ApprovalGranted {
            path: path.clone(),
            by: answer.by.clone(),
            id: waiting.id.clone(),
            at_ms: Some(self.at_ms),
        });
        self.take_kept_along(
            path,
            &target,
            Taking {
                event: parked.event,
                data,
                by: parked.by,
            },
        )
    }

    /// Finds the transition that `waiting` asks about.
    fn parked_as(&self, waiting: &Pending) -> Option<PendingTransition> {
        if waiting.in_prompt {
            let mut prompts = self.run.prompts.iter();
            let open = prompts.find(|prompt| prompt.id() == waiting.id);
            return open.map(|prompt| prompt.parked.clone());
        }
        self.run.frame(&waiting.path)?.stay.parked.clone()
    }

    /// Finds the open request of a stage that `waiting` is.
    fn grant_of_stage(&self, waiting: &Pending) -> Option<Grant> {
        let open = self.run.grants.iter().find(|grant| {
            grant.call.is_some()
                && grant.path == waiting.path
                && grant.asked.as_ref().map(Request::id) == waiting.id
        });
        open.cloned()
    }

    /// A person lets a state begin.
    fn let_in(&mut self, waiting: &Pending, answer: &Answer) -> Result<(), Refusal> {
        self.may_answer_with(&waiting.path, answer)?;
        if answer.edit.is_some() {
            return self.change_and_let_in(waiting, answer);
        }
        self.answer_entry(waiting, answer, true);
        self.say(&waiting.path, answer);
        self.settle(&waiting.path)
    }

    /// A person does not let a state begin.
    fn keep_out(&mut self, waiting: &Pending, answer: &Answer) -> Result<(), Refusal> {
        let path = &waiting.path;
        let (frame, machine) = self.stand(path)?;
        let no = state_of(machine, frame)?
            .approval_before
            .as_ref()
            .map_or_else(Refused::default, |before| before.no);
        self.answer_entry(waiting, answer, false);
        match no {
            Refused::Cancels => self.cancel(&answer.by).map(drop),
            Refused::Fails => {
                let note = answer
                    .note
                    .as_deref()
                    .map_or_else(String::new, |note| format!(": {note}"));
                let message = format!("{} said no{note}", answer.by);
                let cause = self.placed(path, Cause::new("rejected", message));
                self.raise_failure(path, "FAIL", 1, cause)
            }
        }
    }

    pub(super) fn answer_entry(&mut self, waiting: &Pending, answer: &Answer, yes: bool) {
        self.emit(Event::PersonAnswered {
            path: waiting.path.clone(),
            id: waiting.id.clone().unwrap_or_default(),
            yes,
            by: answer.by.clone(),
            note: answer.note.clone(),
            at_ms: self.at_ms,
        });
    }

    /// Refuses where what the person was asked about is not what it was.
    fn unchanged(&self, path: &FramePath, parked: &PendingTransition) -> Result<(), Refusal> {
        let Some(asked) = &parked.asked else {
            return Ok(());
        };
        let (frame, machine) = self.stand(path)?;
        let rule = machine
            .states
            .get(&frame.at)
            .and_then(|state| state.on.get(&parked.event));
        let now = match rule.and_then(|rule| rule.transitions.get(parked.index)) {
            Some(transition) => self.question(
                path,
                Subject {
                    event: &parked.event,
                    index: parked.index,
                    transition,
                    data: &parked.data,
                },
            )?,
            None => return Ok(()),
        };
        if now == asked.question {
            return Ok(());
        }
        Err(Refusal::new(
            Code::GuardFailed,
            format!(
                "what the guards of `{}` read has changed since `{}` was asked, so the question is void: ask for the transition again",
                parked.event,
                asked.id()
            ),
        ))
    }

    /// Takes an approved transition; a match kept while parked is raised after it.
    fn take_kept_along(
        &mut self,
        path: &FramePath,
        target: &Target,
        taking: Taking,
    ) -> Result<(), Refusal> {
        let kept = self
            .run
            .frame(path)
            .map(|frame| frame.queue.clone())
            .unwrap_or_default();
        let handling = self
            .run
            .frame(path)
            .is_some_and(|frame| frame.handling.is_some());
        self.take(path, target, taking)?;
        if handling {
            return Ok(());
        }
        for hit in kept {
            if self
                .run
                .frame(path)
                .is_some_and(|frame| frame.children.is_empty())
                && !self.run.is_over()
            {
                self.raise_one(path, &hit)?;
            }
        }
        Ok(())
    }

    /// A person says no.
    pub(super) fn reject(&mut self, answer: &Answer) -> Answered {
        self.answerable(answer)?;
        for waiting in self.meant(answer)? {
            if !self.still_waits(&waiting) {
                continue;
            }
            self.path = waiting.path.clone();
            let (by, note) = (answer.by.clone(), answer.note.clone());
            match waiting.about {
                About::Call { ref digest, .. } => {
                    let of_stage = self.grant_of_stage(&waiting);
                    self.emit(Event::GrantDenied {
                        path: waiting.path.clone(),
                        digest: digest.clone(),
                        by,
                        note: note.clone(),
                        id: waiting.id.clone(),
                        at_ms: Some(self.at_ms),
                        why: None,
                    });
                    if let Some(grant) = of_stage {
                        self.refuse_grant(&grant, "denied", note.as_deref())?;
                    }
                }
                About::Entry { .. } => self.keep_out(&waiting, answer)?,
                About::Transition { .. } => {
                    let (path, id, at_ms) = (waiting.path, waiting.id, Some(self.at_ms));
                    self.emit(Event::ApprovalRejected {
                        path: path.clone(),
                        by,
                        note,
                        id,
                        at_ms,
                    });
                    self.raise_kept(&path)?;
                }
            }
        }
        Ok(Reply::Accepted)
    }

    /// Refuses an answer to a run that takes none; one that came too late is told so.
    fn answerable(&self, answer: &Answer) -> Result<(), Refusal> {
        self.open().map_err(|refusal| {
            match answer
                .path
                .as_deref()
                .and_then(|name| settled(&self.run, name))
            {
                Some(late) => Refusal::new(
                    refusal.code,
                    format!("{}; {}", sentence(late), refusal.message),
                ),
                None => refusal,
            }
        })
    }

    /// Returns what the answer is for: what it names, else all that waits at one state.
    fn meant(&self, answer: &Answer) -> Result<Vec<Pending>, Refusal> {
        let seen = |one: &Pending| match (&one.asked, answer.before) {
            (Some(asked), Some(before)) => asked.seq < before,
            _ => true,
        };
        let all: Vec<Pending> = pending(self.machine, &self.run)
            .into_iter()
            .filter(seen)
            .collect();
        if let Some(wanted) = &answer.path {
            return self.named(&all, wanted);
        }
        let Some(first) = all.first().map(|waiting| self.place_of(waiting)) else {
            let last = self
                .run
                .settled
                .back()
                .map_or_else(String::new, |last| format!("; {}", sentence(last)));
            return Err(Refusal::new(
                Code::NothingPending,
                format!("nothing waits for an answer{last}"),
            ));
        };
        if all.iter().any(|waiting| self.place_of(waiting) != first) {
            return Err(Refusal::new(
                Code::UnknownBranch,
                format!(
                    "several states wait for an answer, name one: {}",
                    names(&all)
                ),
            ));
        }
        Ok(all)
    }

    /// Names the state that a request is about; the same for every item of a list.
    fn place_of(&self, waiting: &Pending) -> String {
        let mut at = FramePath::root();
        let mut place = String::new();
        for name in waiting.path.names() {
            at = at.child(name);
            let is_item = self.spread_around(&at).is_some();
            place.push_str(if is_item { "*" } else { name });
            place.push('/');
        }
        let frame = self.run.frame(&waiting.path);
        frame.map_or(place.clone(), |frame| format!("{place}{}", frame.at))
    }

    fn named(&self, all: &[Pending], wanted: &str) -> Result<Vec<Pending>, Refusal> {
        let meant: Vec<Pending> = all
            .iter()
            .filter(|one| one.is_named(wanted))
            .cloned()
            .collect();
        let by_id = |one: &Pending| one.id.as_ref().is_some_and(|id| id.as_str() == wanted);
        if meant.len() > 1 && meant.iter().any(by_id) {
            return Err(Refusal::new(
                Code::UnknownBranch,
                format!(
                    "`{wanted}` is both an approval and a state, name one otherwise: {}",
                    names(&meant)
                ),
            ));
        }
        if !meant.is_empty() {
            return Ok(meant);
        }
        let late = settled(&self.run, wanted);
        if let Some(late) = late {
            return Err(Refusal::new(Code::NothingPending, sentence(late)));
        }
        if all.is_empty() {
            return Err(Refusal::new(
                Code::NothingPending,
                format!("nothing waits at `{wanted}`, nor anywhere else in this run"),
            ));
        }
        Err(Refusal::new(
            Code::UnknownBranch,
            format!("nothing waits at `{wanted}`; waiting: {}", names(all)),
        ))
    }

    /// Tells whether an earlier answer of the same command has not settled it.
    fn still_waits(&self, waiting: &Pending) -> bool {
        match &waiting.about {
            About::Transition { .. } => self.parked_as(waiting).is_some(),
            About::Entry { .. } => self
                .run
                .frame(&waiting.path)
                .is_some_and(|frame| frame.stay.held.is_some()),
            About::Call { digest, .. } => self.run.grants.iter().any(|grant| {
                let id = grant.asked.as_ref().map(Request::id);
                grant.path == waiting.path
                    && grant.digest == *digest
                    && id == waiting.id
                    && grant.granted_by.is_none()
            }),
        }
    }
}

/// Finds what became of the request with this id.
fn settled<'r>(run: &'r Run, id: &str) -> Option<&'r Settled> {
    let wanted = ApprovalId::from(id);
    run.settled.iter().rev().find(|one| one.id == wanted)
}

/// Says who answered a request, what and when.
fn sentence(settled: &Settled) -> String {
    let Settled { id, about, .. } = settled;
    let when = settled
        .at_ms
        .map_or_else(String::new, |at_ms| format!(" at {}", utc(at_ms)));
    let by = settled.by.as_deref().unwrap_or("nobody");
    match settled.how {
        Settlement::Approved => format!("`{id}` (`{about}`) was answered by {by}{when}: yes"),
        Settlement::Rejected => format!("`{id}` (`{about}`) was answered by {by}{when}: no"),
        Settlement::Void => {
            let why = settled.note.as_deref().unwrap_or("it is over");
            format!("`{id}` (`{about}`) is void{when}: {why}")
        }
    }
}

fn names(all: &[Pending]) -> String {
    let mut names: Vec<String> = all
        .iter()
        .map(|one| match &one.id {
            Some(id) => format!("{} ({id})", one.shown),
            None => one.shown.clone(),
        })
        .collect();
    names.dedup();
    names.join(", ")
}
