//! The answer to a control call: a text for the model, and the same as a structured value.

use interlock_core::{
    event::Event,
    machine::Object,
    names::{FramePath, RunId},
    refusal::Refusal,
};
use interlock_view::{briefing, report, teach};
use serde_json::{Value, json};

use crate::{live::Live, refused::Refused};

/// Answer to a call of a control tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// One sentence, followed by the state of the run.
    pub text: String,
    /// The structured answer, in the format of a simulation's output line, with `run`.
    pub structured: Object,
    /// Whether the call was refused.
    pub refused: bool,
}

/// The reply of a run to a call.
#[derive(Debug)]
pub(crate) struct RunReply<'a> {
    pub(crate) message: String,
    pub(crate) events: &'a [Event],
    /// Frame that the call concerns; `None` for the first unfinished one.
    pub(crate) focus: Option<&'a FramePath>,
}

impl Answer {
    /// Creates a positive answer with the present state of `live`.
    pub(crate) fn of_run(live: &Live, said: &RunReply<'_>) -> Self {
        let told = briefing(&live.machine, &live.run, said.focus);
        let mut structured = head(Some(live.id()), true, None, &said.message);
        add_report(&mut structured, live, said);
        structured.insert("briefing".to_owned(), json!(told));
        Self {
            text: format!("{}\n\n{told}", sentence(&said.message)),
            structured,
            refused: false,
        }
    }

    /// Creates a refusal in the words of the engine, with what is possible in the present state of `live`.
    pub(crate) fn no(live: &Live, refusal: &Refusal, said: &RunReply<'_>) -> Self {
        let mut structured = head(
            Some(live.id()),
            false,
            Some(refusal.code.as_str()),
            &refusal.message,
        );
        add_report(&mut structured, live, said);
        let mut text = format!("Refused (`{}`): {}", refusal.code, ended(&refusal.message));
        let teach = teach(&live.machine, &live.run, said.focus);
        if !teach.is_empty() {
            text.push(' ');
            text.push_str(&teach);
        }
        Self {
            text,
            structured,
            refused: true,
        }
    }

    /// Creates a positive answer that concerns no run.
    pub(crate) fn without_run(message: &str, more: Object) -> Self {
        let mut structured = head(None, true, None, message);
        structured.extend(more);
        structured.insert("log".to_owned(), json!([]));
        Self {
            text: sentence(message),
            structured,
            refused: false,
        }
    }

    /// Returns the answer as a `CallToolResult`.
    #[must_use]
    pub fn into_result(self) -> Value {
        let content = json!([{"type": "text", "text": self.text}]);
        let mut result = Object::new();
        result.insert("content".to_owned(), content);
        result.insert("structuredContent".to_owned(), self.structured.into());
        result.insert("isError".to_owned(), self.refused.into());
        result.into()
    }

    /// Appends to the text.
    pub(crate) fn with_text(mut self, more: &str) -> Self {
        self.text.push_str("\n\n");
        self.text.push_str(more);
        self
    }
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        let Refused {
            word,
            message,
            runs,
        } = refused;
        let mut structured = head(None, false, Some(word.as_str()), &message);
        if !runs.is_empty() {
            structured.insert("runs".to_owned(), json!(runs));
        }
        structured.insert("log".to_owned(), json!([]));
        Self {
            text: format!("Refused (`{word}`): {}", ended(&message)),
            structured,
            refused: true,
        }
    }
}

fn head(run: Option<&RunId>, ok: bool, code: Option<&str>, message: &str) -> Object {
    let mut object = Object::new();
    object.insert("run".to_owned(), json!(run));
    object.insert("ok".to_owned(), json!(ok));
    object.insert("code".to_owned(), json!(code));
    object.insert("message".to_owned(), json!(message));
    object
}

fn add_report(object: &mut Object, live: &Live, said: &RunReply<'_>) {
    // A report consists of text, numbers and ordered maps: serializing it cannot fail.
    if let Ok(Value::Object(report)) =
        serde_json::to_value(report(&live.machine, &live.run, said.focus))
    {
        object.extend(report);
    }
    let log: Vec<&str> = said.events.iter().map(Event::name).collect();
    object.insert("log".to_owned(), json!(log));
}

/// Turns a message into a sentence, with a capital letter and a full stop.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(char::to_uppercase);
    ended(
        &first
            .into_iter()
            .flatten()
            .chain(letters)
            .collect::<String>(),
    )
}

fn ended(message: &str) -> String {
    if message.ends_with(['.', '?', '!', ':', '\n']) {
        message.to_owned()
    } else {
        format!("{message}.")
    }
}
