//! Answers of people: approvals of transitions, states and calls.

use super::{
    Answered, Reply, Work,
    transitions::{Taken, refuse_reserved},
};
use crate::{
    command::Answer,
    event::{
        About, ApprovalKind, Cause, Event, PendingTransition, PromptCall, RequestKind, VoidReason,
    },
    guard::EvidenceGuard,
    instant::utc,
    machine::{Object, Refused, Target},
    names::{ApprovalId, Digest, FramePath},
    passkey::PasskeyAssertion,
    pending::{Pending, pending},
    refusal::{Code, Refusal},
    run::{Request, Run, Settled, Settlement},
};

/// How a person is asked.
#[derive(Debug, Default)]
pub(super) struct Asking {
    /// What an approval requires.
    pub(super) approval: ApprovalKind,
    /// Call for which the client asks in its own prompt.
    pub(super) prompt: Option<PromptCall>,
}

impl Asking {
    /// Asks outside a client's prompt: the request waits for an answer.
    pub(super) const fn of(approval: ApprovalKind) -> Self {
        Self {
            approval,
            prompt: None,
        }
    }
}

impl Work<'_> {
    /// Handles an approval.
    pub(super) fn approve(&mut self, answer: &Answer) -> Answered {
        self.answerable(answer)?;
        refuse_reserved(&answer.data)?;
        let meant = self.meant(answer)?;
        for waiting in &meant {
            self.check_passkey(&waiting.request, answer)?;
        }
        let only_calls = meant.iter().all(|one| one.request.call().is_some());
        if only_calls && !answer.data.is_empty() {
            return Err(Refusal::new(
                Code::InvalidArguments,
                "a call is granted as it was proposed, without data: reject it and tell the agent what to propose instead",
            ));
        }
        for waiting in meant {
            let Some(request) = self.still_waits(&waiting) else {
                continue;
            };
            self.path = request.path.clone();
            match &request.about {
                About::Call(_) => {
                    self.answer_with(&request, answer);
                    if request.is_of_stage() {
                        self.use_grant(&request)?;
                    }
                }
                About::Entry { .. } => self.admit(&request, answer)?,
                About::Transition(pending) => self.approve_transition(&request, pending, answer)?,
            }
        }
        Ok(Reply::Accepted)
    }

    fn approve_transition(
        &mut self,
        request: &Request,
        pending: &PendingTransition,
        answer: &Answer,
    ) -> Result<(), Refusal> {
        let path = &request.path;
        let target = match self
            .recheck(path, pending)
            .and_then(|target| self.unchanged(request, pending).map(|()| target))
            .and_then(|target| self.possible(path, &target).map(|()| target))
        {
            Ok(target) => target,
            Err(refusal) => {
                let why = VoidReason::Refused(refusal.clone());
                self.void(request, why);
                self.raise_kept(path)?;
                return Err(refusal);
            }
        };
        let mut data: Object = pending.data.clone();
        data.extend(answer.data.clone());
        // Before the yes is recorded: what cannot be merged leaves the question open.
        self.check_context(path, &data)?;
        self.answer_with(request, answer);
        self.take_kept_along(
            path,
            &target,
            Taken {
                event: pending.event.clone(),
                data,
                by: pending.by.clone(),
            },
        )
    }

    /// Approves the entry of a state.
    fn admit(&mut self, waiting: &Request, answer: &Answer) -> Result<(), Refusal> {
        self.may_answer_with(&waiting.path, answer)?;
        if answer.edit.is_some() {
            return self.change_and_admit(waiting, answer);
        }
        self.answer_with(waiting, answer);
        self.say(&waiting.path, answer);
        self.settle(&waiting.path)
    }

    /// Rejects the entry of a state.
    fn reject_entry(&mut self, waiting: &Request, answer: &Answer) -> Result<(), Refusal> {
        let path = &waiting.path;
        let (_, state) = self.at(path)?;
        let no = state
            .approval_before
            .as_ref()
            .map_or_else(Refused::default, |before| before.no);
        self.reject_with(waiting, answer);
        match no {
            Refused::Cancels => self.cancel(&answer.by).map(drop),
            Refused::Fails => {
                let note = answer
                    .note
                    .as_deref()
                    .map_or_else(String::new, |note| format!(": {note}"));
                let message = format!("{} said no{note}", answer.by);
                self.raise_failure(path, "FAIL", 1, Cause::new("rejected", message))
            }
        }
    }

    /// Opens a request to a person; returns its id.
    pub(super) fn ask(
        &mut self,
        path: &FramePath,
        about: About,
        question: Digest,
        how: Asking,
    ) -> ApprovalId {
        let Asking { approval, prompt } = how;
        let id = ApprovalId::of(self.run.seq);
        self.emit(Event::RequestOpened {
            path: path.clone(),
            about,
            question,
            prompt,
            approval,
            at_ms: self.at_ms,
        });
        id
    }

    /// Opens a request for which the frame waits.
    pub(super) fn park(
        &mut self,
        path: &FramePath,
        asked: PendingTransition,
        question: Digest,
        approval: ApprovalKind,
    ) -> Reply {
        let message = asked.message.clone();
        let about = About::Transition(asked);
        let id = self.ask(path, about, question, Asking::of(approval));
        Reply::Pending { message, id }
    }

    /// Records an approval, with its passkey assertion.
    pub(super) fn answer_with(&mut self, request: &Request, answer: &Answer) {
        let evidence = (answer.passkey.clone(), answer.votes.clone());
        self.record_answer(
            request,
            (&answer.by, true),
            answer.note.as_deref(),
            evidence,
        );
    }

    /// Records a rejection by a person.
    fn reject_with(&mut self, request: &Request, answer: &Answer) {
        let evidence = (None, answer.votes.clone());
        self.record_answer(
            request,
            (&answer.by, false),
            answer.note.as_deref(),
            evidence,
        );
    }

    /// Records an answer.
    pub(super) fn answer(&mut self, request: &Request, by: &str, yes: bool, note: Option<&str>) {
        self.record_answer(request, (by, yes), note, (None, None));
    }

    fn record_answer(
        &mut self,
        request: &Request,
        (by, yes): (&str, bool),
        note: Option<&str>,
        (passkey, votes): (Option<Box<PasskeyAssertion>>, Option<Digest>),
    ) {
        self.emit(Event::RequestAnswered {
            path: request.path.clone(),
            id: request.id(),
            about: request.about.kind(),
            question: request.question.clone(),
            yes,
            by: by.to_owned(),
            note: note.map(str::to_owned),
            passkey,
            votes,
            at_ms: self.at_ms,
        });
        let asked = |guard: &EvidenceGuard| guard.substance_shown().is_some();
        if yes
            && request.about.kind() != RequestKind::Call
            && self.machine.evidence_guards().any(asked)
        {
            self.emit(Event::ProjectAccepted { by: by.to_owned() });
        }
    }

    /// Records that a request no longer needs an answer.
    pub(super) fn void(&mut self, request: &Request, why: VoidReason) {
        self.emit(Event::RequestVoided {
            path: request.path.clone(),
            id: request.id(),
            question: request.question.clone(),
            why,
            at_ms: self.at_ms,
        });
    }

    /// Refuses an approval if its question has changed.
    fn unchanged(&self, asked: &Request, pending: &PendingTransition) -> Result<(), Refusal> {
        let path = &asked.path;
        let (frame, machine) = self.stand(path)?;
        let rule = machine
            .states
            .get(&frame.at)
            .and_then(|state| state.on.get(&pending.event));
        let now = match rule.and_then(|rule| rule.transitions.get(pending.index)) {
            Some(transition) => self.question(path, pending, transition)?,
            None => return Ok(()),
        };
        if now == asked.question {
            return Ok(());
        }
        Err(Refusal::new(
            Code::GuardFailed,
            format!(
                "what the guards of `{}` read has changed since `{}` was asked, so the question is void: ask for the transition again",
                pending.event,
                asked.id()
            ),
        ))
    }

    /// Takes an approved transition; an interrupt queued meanwhile is raised after it.
    fn take_kept_along(
        &mut self,
        path: &FramePath,
        target: &Target,
        taken: Taken,
    ) -> Result<(), Refusal> {
        let kept = self
            .run
            .frame(path)
            .map(|frame| frame.line.queue.clone())
            .unwrap_or_default();
        let handling = self
            .run
            .frame(path)
            .is_some_and(|frame| frame.line.handling.is_some());
        self.take(path, target, taken)?;
        if handling {
            return Ok(());
        }
        for hit in kept {
            if self
                .run
                .frame(path)
                .is_some_and(|frame| frame.regions.is_empty())
                && !self.run.is_over()
            {
                self.raise_one(path, &hit)?;
            }
        }
        Ok(())
    }

    /// Handles a rejection.
    pub(super) fn reject(&mut self, answer: &Answer) -> Answered {
        self.answerable(answer)?;
        for waiting in self.meant(answer)? {
            let Some(request) = self.still_waits(&waiting) else {
                continue;
            };
            self.path = request.path.clone();
            match request.about {
                About::Call(_) => {
                    self.reject_with(&request, answer);
                    if request.is_of_stage() {
                        let note = answer.note.as_deref();
                        let note = note.map_or_else(String::new, |note| format!(": {note}"));
                        let message = format!("denied: a person said no{note}");
                        self.refuse_grant(&request, message)?;
                    }
                }
                About::Entry { .. } => self.reject_entry(&request, answer)?,
                About::Transition(_) => {
                    self.reject_with(&request, answer);
                    self.raise_kept(&request.path)?;
                }
            }
        }
        Ok(Reply::Accepted)
    }

    /// Refuses an answer to a run that accepts none; a late answer is told what happened.
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

    /// Returns the requests that an answer is for: the one it names, otherwise all that wait at one state.
    fn meant(&self, answer: &Answer) -> Result<Vec<Pending>, Refusal> {
        let seen = |one: &Pending| answer.before.is_none_or(|before| one.request.seq < before);
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

    /// Names the state that a request is about; it is the same for all items of a list.
    fn place_of(&self, waiting: &Pending) -> String {
        let mut at = FramePath::root();
        let mut place = String::new();
        for name in waiting.path().names() {
            at = at.child(name);
            let is_item = self.items_around(&at).is_some();
            place.push_str(if is_item { "*" } else { name });
            place.push('/');
        }
        let frame = self.run.frame(waiting.path());
        frame.map_or(place.clone(), |frame| format!("{place}{}", frame.at))
    }

    fn named(&self, all: &[Pending], wanted: &str) -> Result<Vec<Pending>, Refusal> {
        let meant: Vec<Pending> = all
            .iter()
            .filter(|one| one.is_named(wanted))
            .cloned()
            .collect();
        let by_id = |one: &Pending| one.id().as_str() == wanted;
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

    /// Returns the request, unless an earlier answer of the same command has settled it.
    fn still_waits(&self, waiting: &Pending) -> Option<Request> {
        let open = self.run.request(waiting.path(), &waiting.id());
        open.filter(|request| request.granted.is_none()).cloned()
    }
}

/// Finds the settled request with this id.
fn settled<'r>(run: &'r Run, id: &str) -> Option<&'r Settled> {
    let wanted = ApprovalId::from(id);
    run.settled.iter().rev().find(|one| one.id == wanted)
}

/// Says who answered a request, how and when.
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
        .map(|one| format!("{} ({})", one.shown, one.id()))
        .collect();
    names.dedup();
    names.join(", ")
}
