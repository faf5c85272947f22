//! The model calls of an unfinished node, and the answers that the log already contains.

use interlock_core::{
    event::Event,
    names::{Digest, FramePath},
};

/// The model calls of a node that has not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    calls: Vec<Called>,
}

/// One model call in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Called {
    number: u32,
    request: Digest,
    /// Digest of the answer; `None` if the log has none.
    answer: Option<Digest>,
}

/// The state of a request in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// The log does not contain it.
    New,
    /// The log contains the call, but no end of it.
    Called,
    /// The log contains the answer, with this digest.
    Answered(Digest),
}

impl Answers {
    /// Collects the calls made at `path` that no output was made from; `events` are all events of the run.
    ///
    /// Calls of a failed attempt count, and so do calls before a person resumed the run.
    #[must_use]
    pub fn of(path: &FramePath, events: &[Event]) -> Self {
        let mut calls: Vec<Called> = Vec::new();
        for event in events {
            match event {
                Event::ModelCalled {
                    path: at,
                    turn,
                    digest,
                    ..
                } if at == path => calls.push(Called {
                    number: *turn,
                    request: digest.clone(),
                    answer: None,
                }),
                Event::ModelResponded {
                    path: at,
                    turn,
                    digest,
                    ..
                } if at == path => {
                    let mut newest = calls.iter_mut().rev();
                    if let Some(call) = newest.find(|call| call.number == *turn) {
                        call.answer = Some(digest.clone());
                    }
                }
                Event::ModelFailed { path: at, turn, .. } if at == path => {
                    calls.retain(|call| call.number != *turn || call.answer.is_some());
                }
                Event::ActivityEnded {
                    path: at,
                    error: None,
                    ..
                } if at == path => calls.clear(),
                _ => {}
            }
        }
        Self { calls }
    }

    /// Removes and returns the state of the call with this number and request.
    ///
    /// An answered call with another number and the same request counts too, because the set of records may have
    /// changed.
    pub fn take(&mut self, number: u32, request: &Digest) -> Known {
        let is_same = |call: &Called| call.request == *request;
        let at = self
            .calls
            .iter()
            .position(|call| is_same(call) && call.answer.is_some())
            .or_else(|| {
                let mut calls = self.calls.iter();
                calls.position(|call| is_same(call) && call.number == number)
            });
        match at.map(|at| self.calls.swap_remove(at).answer) {
            None => Known::New,
            Some(None) => Known::Called,
            Some(Some(answer)) => Known::Answered(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use interlock_core::attempt::{FinishReason, Usage};

    use super::*;
    use interlock_core::event::Cause;

    fn digest(text: &str) -> Digest {
        Digest::new(text)
    }

    fn called(turn: u32, request: &str) -> Event {
        Event::ModelCalled {
            path: FramePath::root(),
            turn,
            provider: "p".to_owned(),
            model: "m".to_owned(),
            digest: digest(request),
        }
    }

    fn answered(turn: u32, answer: &str) -> Event {
        Event::ModelResponded {
            path: FramePath::root(),
            turn,
            digest: digest(answer),
            finish: FinishReason::Stop,
            calls: Vec::new(),
            usage: Usage::default(),
            ms: 1,
        }
    }

    fn failed(turn: u32) -> Event {
        Event::ModelFailed {
            path: FramePath::root(),
            turn,
            code: "model_error".to_owned(),
            message: String::new(),
            again_ms: None,
        }
    }

    #[test]
    fn each_answer_is_used_once_and_a_failed_call_is_new() {
        let events = [
            called(1, "a"),
            answered(1, "A"),
            called(2, "a"),
            failed(2),
            called(2, "a"),
            answered(2, "B"),
            called(3, "c"),
            failed(3),
            called(4, "d"),
        ];
        let mut known = Answers::of(&FramePath::root(), &events);
        for (number, request, wanted) in [
            (5, "a", Known::Answered(digest("A"))),
            (2, "a", Known::Answered(digest("B"))),
            (6, "a", Known::New),
            (3, "c", Known::New),
            (4, "d", Known::Called),
            (4, "d", Known::New),
        ] {
            let found = known.take(number, &digest(request));
            assert_eq!(found, wanted, "{number} {request}");
        }
    }

    #[test]
    fn what_an_output_was_made_of_is_asked_again() {
        let ended = |error: Option<Cause>| Event::ActivityEnded {
            path: FramePath::root(),
            output: serde_json::Value::Null,
            error,
            key: None,
            stderr: String::new(),
        };
        let failed = ended(Some(Cause::new(1, "it failed")));
        for (end, wanted) in [
            (failed, Known::Answered(digest("A"))),
            (ended(None), Known::New),
        ] {
            let events = [called(1, "a"), answered(1, "A"), end];
            let mut known = Answers::of(&FramePath::root(), &events);
            assert_eq!(known.take(1, &digest("a")), wanted);
        }
    }

    #[test]
    fn calls_of_other_lines_are_none_of_this_one() {
        let events = [called(1, "a"), answered(1, "A")];
        let path = FramePath::root().child("b");
        let mut known = Answers::of(&path, &events);
        assert_eq!(known.take(1, &digest("a")), Known::New);
    }
}
