//! A span, and the values it consists of.

use std::collections::BTreeMap;

use interlock_core::{event::Event, names::CallId};

/// What is known about a run apart from its log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunLabel {
    /// The run's id.
    pub run: String,
    /// The workflow.
    pub workflow: String,
    /// The client whose session it guards.
    pub client: Option<String>,
    /// The id of that session.
    pub session: Option<String>,
    /// The span that the run is part of.
    pub parent: Option<Parent>,
    /// The spans that single calls are part of.
    pub calls: BTreeMap<CallId, Parent>,
    /// Whether arguments, data and notes are sent, too.
    pub content: bool,
}

/// An event with its place in the log and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// Its number.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened.
    pub event: Event,
}

/// A span of another program that a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its trace, 32 hexadecimal digits.
    pub trace: String,
    /// The span, 16 hexadecimal digits.
    pub span: String,
}

impl Parent {
    /// Parses a `traceparent`; `None` if it does not count.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
        parts.next()?;
        let hex = |part: &str, length: usize| {
            part.len() == length
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let some = |part: &str| part.bytes().any(|byte| byte != b'0');
        let valid = hex(version, 2)
            && version != "ff"
            && hex(trace, 32)
            && hex(span, 16)
            && some(trace)
            && some(span);
        valid.then(|| Self {
            trace: trace.to_owned(),
            span: span.to_owned(),
        })
    }
}

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// Texts in their order.
    Texts(Vec<String>),
    /// An amount in US dollars, sent as a number with a fraction.
    Dollars {
        /// The amount in millionths of a millionth.
        pico: u64,
    },
}

/// Names and values.
pub(crate) type Attributes = Vec<(&'static str, Value)>;

/// Something that happened within a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// Its name.
    pub name: &'static str,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// Further attributes.
    pub attributes: Vec<(&'static str, Value)>,
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The trace, 32 hexadecimal digits.
    pub trace: String,
    /// Its own id, 16 hexadecimal digits.
    pub id: String,
    /// The id of the span that contains it.
    pub parent: Option<String>,
    /// Our span that it belongs to, where its parent is another program's.
    pub link: Option<Parent>,
    /// Its name.
    pub name: String,
    /// Whether it is a request to something elsewhere, such as a model.
    pub is_call_out: bool,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// When it ended; never before its beginning.
    pub ended_ms: u64,
    /// The number of the event that ended it.
    pub ended_seq: u64,
    /// What is known about it.
    pub attributes: Vec<(&'static str, Value)>,
    /// What happened within it.
    pub moments: Vec<Moment>,
    /// Why it is a failure, if it is one.
    pub failure: Option<String>,
}
