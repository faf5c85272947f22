//! The calls of a message: judged in order, granted, ended.

use super::Work;
use crate::{
    attempt::CallStatus,
    call::{CallResult, ToolCall},
    decide::{Answered, Reply, calls::record, people::Asking},
    event::{About, AllowSource, CallMarks, CallRecord, Event, NoAnswer, PendingGrant, VoidReason},
    judge::{StageVerdict, context_of, judge_stage, marks, only_reads},
    names::{CallId, Digest, FramePath},
    refusal::{Code, Refusal},
    run::Request,
    stage::{Step, step},
};

impl Work<'_> {
    /// Judges the next call of the message.
    pub(super) fn propose_in_stage(&mut self, path: &FramePath, call: &ToolCall) -> Answered {
        let next = match step(self.machine, &self.run, path) {
            Some(Step::Propose(at)) => Some(at),
            _ => None,
        };
        let (.., progress) = self.progress(path)?;
        let meant = next.and_then(|at| progress.calls.get(at)).filter(|next| {
            next.id == call.id && next.digest == call.digest && next.tool == call.tool
        });
        if meant.is_none() {
            return Err(Refusal::new(
                Code::NothingPending,
                format!("`{}` is not the call that is to be judged next", call.id),
            ));
        }
        let mode = self.mode();
        let Some(context) = context_of(self.machine, &self.run, call, path) else {
            return Err(super::super::no_frame(path));
        };
        match judge_stage(context, &mode) {
            StageVerdict::Allow(source) => {
                self.allow(path, record(call), source, only_reads(call), marks(context));
                Ok(Reply::Accepted)
            }
            StageVerdict::Ask(refusal, then) => {
                let grant = PendingGrant {
                    call: record(call),
                    refusal: refusal.clone(),
                    marks: marks(context),
                    then: Some(then),
                };
                let about = About::Call(Box::new(grant));
                let how = Asking::of(context.state().approval);
                self.ask(path, about, call.digest.clone(), how);
                Ok(Reply::Ask(refusal))
            }
            StageVerdict::Deny(source, refusal) => {
                self.deny(path, record(call), source, refusal.clone());
                self.go_on(path)?;
                Ok(Reply::Refused(refusal))
            }
        }
    }

    /// Records that a call of a message may not run, and what denied it.
    pub(super) fn deny(
        &mut self,
        path: &FramePath,
        call: CallRecord,
        source: &str,
        refusal: Refusal,
    ) {
        self.emit(Event::ToolDenied {
            path: path.clone(),
            call,
            source: source.to_owned(),
            refusal,
        });
    }

    /// Records that a call of a message may run, and is passed to its tool.
    fn allow(
        &mut self,
        path: &FramePath,
        call: CallRecord,
        source: AllowSource,
        reads: bool,
        marks: CallMarks,
    ) {
        let id = call.id.clone();
        self.emit(Event::ToolAllowed {
            path: path.clone(),
            call,
            source,
            reads,
            marks,
        });
        self.emit(Event::ToolStarted {
            path: path.clone(),
            call: id,
        });
    }

    /// Records the result of an allowed call of a message.
    pub(super) fn record_in_stage(
        &mut self,
        path: &FramePath,
        result: &CallResult,
        code: Option<&str>,
        ms: u64,
        told: &Digest,
    ) -> Result<(), Refusal> {
        let (.., progress) = self.progress(path)?;
        let id = result.id.clone().unwrap_or_default();
        let runs = progress
            .calls
            .iter()
            .any(|call| call.id == id && matches!(call.status, CallStatus::Running { .. }));
        if !runs {
            return Err(Refusal::new(
                Code::NothingPending,
                format!("`{id}` is not running"),
            ));
        }
        let open = self.run.calls.iter().find(|call| call.id == id).cloned();
        self.emit(Event::ToolEnded {
            path: path.clone(),
            call: id,
            ok: result.ok,
            code: code.map(str::to_owned),
            exit: result.exit,
            bytes: result.bytes,
            ms,
            wrote: result.wrote.clone(),
            told: told.clone(),
            text: None,
        });
        if let Some(open) = open {
            self.raise_after(&open, result.ok, &result.wrote)?;
        }
        // An interrupt may have led elsewhere.
        if self.progress(path).is_ok() {
            self.go_on(path)?;
        }
        Ok(())
    }

    /// Settles the interrupted call at `path` as a person decides.
    pub(in crate::decide) fn settle_call(
        &mut self,
        path: &FramePath,
        ok: bool,
        text: &str,
    ) -> Result<(), Refusal> {
        let (.., progress) = self.progress(path)?;
        let running: Vec<CallId> = progress
            .calls
            .iter()
            .filter(|call| call.status == CallStatus::Running { reads: false })
            .map(|call| call.id.clone())
            .collect();
        for id in running {
            self.emit(Event::ToolEnded {
                path: path.clone(),
                call: id,
                ok,
                code: (!ok).then(|| "failed".to_owned()),
                exit: None,
                bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
                ms: 0,
                wrote: Vec::new(),
                told: Digest::of(text),
                text: Some(text.to_owned()),
            });
        }
        self.start_again(path)?;
        self.go_on(path)
    }

    /// Uses a person's approval of a stage's call for the verdict on exactly this call.
    pub(in crate::decide) fn use_grant(&mut self, request: &Request) -> Result<(), Refusal> {
        let Some(grant) = request.call().cloned() else {
            return Ok(());
        };
        let path = &request.path;
        self.emit(Event::RequestUsed {
            path: path.clone(),
            id: request.id(),
            question: request.question.clone(),
        });
        let then = grant.then.unwrap_or_default();
        match then.denied {
            Some(refusal) => {
                self.deny(path, grant.call, "policy", refusal);
                self.go_on(path)
            }
            None => {
                let source = AllowSource::Grant;
                self.allow(path, grant.call, source, then.reads, grant.marks);
                Ok(())
            }
        }
    }

    /// Denies a call of a stage that nobody will approve; the stage continues.
    pub(in crate::decide) fn refuse_grant(
        &mut self,
        request: &Request,
        message: String,
    ) -> Result<(), Refusal> {
        let Some(grant) = request.call() else {
            return Ok(());
        };
        // Its arguments stand in the request.
        let call = CallRecord {
            summary: String::new(),
            agent: None,
            ..grant.call.clone()
        };
        let refusal = Refusal::new(Code::GrantDenied, message);
        self.deny(&request.path, call, "grant", refusal);
        self.go_on(&request.path)
    }

    /// Closes the open request of a stage, because nobody will answer it.
    pub(super) fn close_grant(&mut self, path: &FramePath, why: NoAnswer) -> Result<(), Refusal> {
        let mut requests = self.run.requests.iter();
        let open = requests.find(|request| {
            request.path == *path && request.is_of_stage() && request.granted.is_none()
        });
        let Some(request) = open.cloned() else {
            return Err(Refusal::new(Code::NothingPending, "nothing is asked there"));
        };
        self.void(&request, VoidReason::NoAnswer(why));
        self.refuse_grant(&request, why.sentence().to_owned())
    }
}
