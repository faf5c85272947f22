//! The transcript of an attempt, folded from the events of its run and the messages stored next to them.
//!
//! Transcripts are created in no other way: what an attempt sends while it runs and what it sends after a crash cannot differ.

use std::collections::BTreeSet;

use interlock_core::{
    attempt::PendingCall,
    event::{AllowSource, Event},
    machine::BEGIN,
    names::{CallId, FramePath},
};
use interlock_models::{Message, ToolResult};
use interlock_store::Messages;
use interlock_tools::Seen;

use super::{
    kept::{KeptAnswer, KeptResult, Unreadable, read},
    texts,
};

/// The transcript of one attempt of a stage.
#[derive(Debug)]
pub struct Transcript {
    /// First message to the model.
    begin: String,
    /// Tool that ends the stage; empty if an answer does.
    completion_tool: String,
    messages: Vec<Message>,
    /// The message whose calls are being handled.
    open: Option<Open>,
    /// Findings about an answer without a call.
    findings: Vec<String>,
    /// Calls that run because a person approved them.
    granted: BTreeSet<CallId>,
    /// Files that the model has read.
    seen: Seen,
}

/// A message whose calls are being handled.
#[derive(Debug)]
struct Open {
    message: KeptAnswer,
    ids: Vec<CallId>,
    results: Vec<Option<(String, bool)>>,
}

impl Transcript {
    /// Creates a transcript without history.
    #[must_use]
    pub fn new(begin: Option<&str>, completion_tool: Option<&str>) -> Self {
        let begin = begin.unwrap_or(BEGIN).to_owned();
        Self {
            messages: vec![Message::user(&begin)],
            begin,
            completion_tool: completion_tool.unwrap_or_default().to_owned(),
            open: None,
            findings: Vec::new(),
            granted: BTreeSet::new(),
            seen: Seen::new(),
        }
    }

    /// Returns all complete messages, with results for every call.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the message whose calls are being handled.
    pub(super) fn open(&self) -> Option<&KeptAnswer> {
        self.open.as_ref().map(|open| &open.message)
    }

    /// Returns the files that the model has read.
    pub(super) const fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Returns whether a call runs because a person approved it.
    pub(super) fn is_granted(&self, call: &CallId) -> bool {
        self.granted.contains(call)
    }

    /// Returns the frame of an event that belongs to a transcript.
    #[must_use]
    pub fn frame_of(event: &Event) -> Option<&FramePath> {
        concerns(event)
    }

    /// Adds an event of the stage's frame.
    ///
    /// # Errors
    /// A stored message cannot be read.
    pub fn take(&mut self, event: &Event, kept: &Messages) -> Result<(), Unreadable> {
        match event {
            Event::StageEntered { .. } => {
                let tool = Some(self.completion_tool.as_str()).filter(|tool| !tool.is_empty());
                *self = Self::new(Some(&self.begin), tool);
            }
            Event::ModelResponded { digest, calls, .. } => {
                self.answered(read(kept, digest)?, calls);
            }
            Event::ToolAllowed {
                call,
                source: AllowSource::Grant,
                ..
            } => {
                self.granted.insert(call.id.clone());
            }
            Event::ToolDenied { call, refusal, .. } => {
                let text = texts::refused(refusal.code.as_str(), &refusal.message);
                self.result(&call.id, text, true);
            }
            Event::ToolEnded {
                call,
                ok,
                told,
                text,
                ..
            } => match text {
                Some(text) => self.result(call, text.clone(), !ok),
                None => {
                    let result: KeptResult = read(kept, told)?;
                    for file in &result.seen {
                        self.seen.note(file);
                    }
                    self.result(call, result.text, result.is_error);
                }
            },
            Event::CompletionRejected {
                call: Some(call),
                findings,
                ..
            } => {
                let text = if findings.is_empty() {
                    texts::completion_ignored()
                } else {
                    texts::completion_findings(findings)
                };
                self.result(call, text, true);
            }
            Event::CompletionRejected {
                call: None,
                findings,
                ..
            } => self.findings.clone_from(findings),
            Event::TurnEnded { reminder, .. } => self.end_turn(reminder),
            _ => {}
        }
        Ok(())
    }

    fn answered(&mut self, message: KeptAnswer, calls: &[PendingCall]) {
        self.open = Some(Open {
            message,
            ids: calls.iter().map(|call| call.id.clone()).collect(),
            results: vec![None; calls.len()],
        });
    }

    fn result(&mut self, call: &CallId, text: String, is_error: bool) {
        let Some(open) = &mut self.open else {
            return;
        };
        let at = open.ids.iter().position(|id| id == call);
        if let Some(slot) = at.and_then(|at| open.results.get_mut(at)) {
            *slot = Some((text, is_error));
        }
    }

    /// Ends a turn: adds the results of its calls, or a reminder for the model.
    fn end_turn(&mut self, reminder: &str) {
        let Some(open) = self.open.take() else {
            return;
        };
        let count = open.message.answer.calls().count();
        self.messages.push(open.message.answer.message());
        if count > 0 {
            let mut given = open.results.into_iter();
            let results = (0..count).map(|call| {
                let given = given.next().flatten();
                let (content, is_error) = given.unwrap_or_else(|| (texts::unanswered(), true));
                ToolResult {
                    call,
                    content,
                    is_error,
                }
            });
            let results = results.collect();
            self.messages.push(Message::Results { results });
        }
        let said = match reminder {
            "" => return,
            "cut" => texts::cut_reminder(&self.completion_tool),
            "answer" => texts::answer_findings(&self.findings),
            "empty" => texts::nothing_said(),
            _ => texts::reminder(&self.completion_tool),
        };
        self.messages.push(Message::user(said));
    }
}

/// Returns the frame of an event that belongs to a transcript.
pub(crate) fn concerns(event: &Event) -> Option<&FramePath> {
    match event {
        Event::StageEntered { path, .. }
        | Event::ModelResponded { path, .. }
        | Event::ToolAllowed { path, .. }
        | Event::ToolDenied { path, .. }
        | Event::ToolEnded { path, .. }
        | Event::CompletionRejected { path, .. }
        | Event::TurnEnded { path, .. } => Some(path),
        _ => None,
    }
}
