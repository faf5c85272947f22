//! What a person answers: approvals of transitions, grants of calls.

use super::{Answered, Reply, Work, transitions::Taking};
use crate::{
    command::Answer,
    event::Event,
    machine::Object,
    names::{Digest, FramePath},
    refusal::{Code, Refusal},
    report::shown_path,
};

/// Something that waits for a person.
#[derive(Debug, Clone)]
struct Waiting {
    path: FramePath,
    shown: String,
    /// The call, for a grant; `None`: a parked transition.
    digest: Option<Digest>,
}

impl Work<'_> {
    /// A person says yes.
    pub(super) fn approve(&mut self, answer: &Answer) -> Answered {
        self.open()?;
        if let Some(key) = answer.data.keys().find(|key| key.starts_with('_')) {
            return Err(Refusal::new(
                Code::ReservedKey,
                format!("`{key}` is reserved: leave out keys that begin with `_`"),
            ));
        }
        for waiting in self.meant(answer)? {
            if !self.still_waits(&waiting) {
                continue;
            }
            self.path = waiting.path.clone();
            match waiting.digest {
                Some(digest) => {
                    self.emit(Event::GrantIssued {
                        path: waiting.path,
                        digest,
                        by: answer.by.clone(),
                    });
                }
                None => self.approve_parked(&waiting.path, answer)?,
            }
        }
        Ok(Reply::Accepted)
    }

    fn approve_parked(&mut self, path: &FramePath, answer: &Answer) -> Result<(), Refusal> {
        let target = match self
            .recheck(path)
            .and_then(|target| self.possible(path, &target).map(|()| target))
        {
            Ok(target) => target,
            Err(refusal) => {
                self.emit(Event::ApprovalDropped {
                    path: path.clone(),
                    refusal: refusal.clone(),
                });
                self.raise_kept(path)?;
                return Err(refusal);
            }
        };
        let (frame, _) = self.stand(path)?;
        let Some(parked) = frame.parked.clone() else {
            return Ok(());
        };
        let mut data: Object = parked.data;
        data.extend(answer.data.clone());
        self.emit(Event::ApprovalGranted {
            path: path.clone(),
            by: answer.by.clone(),
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

    /// Takes an approved transition; a match kept while parked is raised after it.
    fn take_kept_along(
        &mut self,
        path: &FramePath,
        target: &crate::machine::Target,
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
        self.open()?;
        for waiting in self.meant(answer)? {
            if !self.still_waits(&waiting) {
                continue;
            }
            self.path = waiting.path.clone();
            let (path, by, note) = (waiting.path, answer.by.clone(), answer.note.clone());
            match waiting.digest {
                Some(digest) => self.emit(Event::GrantDenied {
                    path,
                    digest,
                    by,
                    note,
                }),
                None => {
                    self.emit(Event::ApprovalRejected {
                        path: path.clone(),
                        by,
                        note,
                    });
                    self.raise_kept(&path)?;
                }
            }
        }
        Ok(Reply::Accepted)
    }

    /// Returns what the answer is for: all that waits at one state.
    fn meant(&self, answer: &Answer) -> Result<Vec<Waiting>, Refusal> {
        let all = self.waiting();
        if all.is_empty() {
            return Err(Refusal::new(
                Code::NothingPending,
                "nothing waits for an answer: it was answered already, or never asked",
            ));
        }
        if let Some(wanted) = &answer.path {
            let meant: Vec<Waiting> = all
                .iter()
                .filter(|waiting| waiting.shown == *wanted || waiting.path.to_string() == *wanted)
                .cloned()
                .collect();
            if meant.is_empty() {
                return Err(Refusal::new(
                    Code::UnknownBranch,
                    format!("nothing waits at `{wanted}`; waiting: {}", names(&all)),
                ));
            }
            return Ok(meant);
        }
        let first = all
            .first()
            .map(|waiting| waiting.shown.clone())
            .unwrap_or_default();
        if all.iter().any(|waiting| waiting.shown != first) {
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

    /// Tells whether an earlier answer of the same command has not settled it.
    fn still_waits(&self, waiting: &Waiting) -> bool {
        match &waiting.digest {
            None => self
                .run
                .frame(&waiting.path)
                .is_some_and(|frame| frame.parked.is_some()),
            Some(digest) => self
                .run
                .grants
                .iter()
                .any(|grant| grant.path == waiting.path && grant.digest == *digest),
        }
    }

    fn waiting(&self) -> Vec<Waiting> {
        let mut all: Vec<Waiting> = Vec::new();
        let shown = |path: &FramePath| shown_path(self.machine, &self.run, path);
        let mut frames = vec![FramePath::root()];
        while let Some(path) = frames.pop() {
            let Some(frame) = self.run.frame(&path) else {
                continue;
            };
            if frame.parked.is_some() {
                all.push(Waiting {
                    shown: shown(&path),
                    path: path.clone(),
                    digest: None,
                });
            }
            let below = frame.children.iter().filter(|child| child.ended.is_none());
            frames.extend(below.rev().map(|child| path.child(&child.name)));
        }
        let asked = self
            .run
            .grants
            .iter()
            .filter(|grant| grant.granted_by.is_none());
        all.extend(asked.map(|grant| Waiting {
            shown: shown(&grant.path),
            path: grant.path.clone(),
            digest: Some(grant.digest.clone()),
        }));
        all
    }
}

fn names(all: &[Waiting]) -> String {
    let mut names: Vec<&str> = all.iter().map(|waiting| waiting.shown.as_str()).collect();
    names.dedup();
    names.join(", ")
}
