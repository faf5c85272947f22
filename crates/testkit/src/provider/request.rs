//! Requests of a client: the offered tools, and everything that the model would read.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::wire::{items, responses, text_of, word};
use super::{Say, Wire};

/// A request for a message.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The protocol.
    pub wire: Wire,
    /// The path, with its query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, parsed.
    pub body: Value,
    /// The body's bytes.
    pub bytes: Vec<u8>,
    /// Number of requests before it.
    pub number: usize,
    /// Number of the model's messages in it.
    pub turn: usize,
}

/// The result of a tool call, as sent to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolResult {
    /// The id of the call.
    pub(super) id: String,
    /// Its text.
    pub(super) text: String,
    /// Whether the client marked it as an error.
    pub(super) failed: bool,
}

/// A model's tool call with its result, as sent to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id of the call.
    pub id: String,
    /// The name of the tool, as the client calls it.
    pub name: String,
    /// Its input.
    pub input: Value,
    /// The text of the result.
    pub result: String,
    /// Whether the client marked the result as an error: refused or failed.
    pub failed: bool,
}

impl ModelRequest {
    /// Returns the first header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the requested model.
    pub(super) fn model(&self) -> &str {
        match word(&self.body, "model") {
            "" => "scripted",
            model => model,
        }
    }

    /// Returns whether the client wants a stream.
    pub(super) fn wants_stream(&self) -> bool {
        match self.wire {
            Wire::Anthropic | Wire::OpenAi => self.body["stream"] == true,
            Wire::Gemini => self.path.contains(":stream"),
            Wire::Responses | Wire::Ollama => true,
        }
    }

    /// Returns the names of the offered tools.
    pub fn tools(&self) -> Vec<&str> {
        self.wire.tools(&self.body)
    }

    /// Returns whether the request offers tools; requests for titles and the like do not.
    pub fn offers_tools(&self) -> bool {
        // Codex makes no side requests, and adds tools in many places.
        self.wire == Wire::Responses || !self.tools().is_empty()
    }

    /// Returns whether the request offers the tool of a call; true for other parts.
    pub(crate) fn offers(&self, say: &Say) -> bool {
        match say {
            Say::Call {
                name,
                arguments,
                tool,
            } => match self.wire {
                Wire::Responses => responses::offers(&self.body, name, arguments, tool),
                _ => self.tools().contains(&name.as_str()),
            },
            Say::Text(_) | Say::Thinking(_) => true,
        }
    }

    /// Returns the results of the model's last calls, in order.
    pub fn results(&self) -> Vec<String> {
        let messages = self.wire.messages(&self.body);
        let last = messages.iter().rposition(|it| self.wire.is_by_model(it));
        let newest = messages.iter().skip(last.map_or(0, |at| at + 1));
        let results = newest.flat_map(|message| self.wire.results(message));
        results.map(|result| result.text).collect()
    }

    /// Returns the results of all calls as the model reads them, in order.
    pub(crate) fn all_results(&self) -> Vec<String> {
        let results = self.tool_results().into_iter();
        results.map(|result| result.text).collect()
    }

    /// Returns the number of messages with results so far.
    pub fn rounds(&self) -> usize {
        let messages = self.wire.messages(&self.body).iter();
        let answered = |message: &&Value| !self.wire.results(message).is_empty();
        messages.filter(answered).count()
    }

    fn tool_results(&self) -> Vec<ToolResult> {
        let messages = self.wire.messages(&self.body).iter();
        messages
            .flat_map(|message| self.wire.results(message))
            .collect()
    }

    /// Returns a prefix for ids that distinguishes the conversations of one session; empty if not needed.
    pub(super) fn conversation(&self) -> String {
        if self.wire != Wire::Anthropic {
            return String::new();
        }
        let mut hasher = DefaultHasher::new();
        self.prompt().hash(&mut hasher);
        format!("{:016x}_", hasher.finish())
    }
}

/// Methods for Anthropic's Messages protocol.
impl ModelRequest {
    /// Returns the system prompt.
    pub fn system(&self) -> String {
        text_of(&self.body["system"])
    }

    /// Returns everything that the model would read: the system prompt, then the messages with tool results and
    /// injected text.
    pub fn text(&self) -> String {
        let messages = items(&self.body, "messages").iter();
        let messages = messages.map(|message| text_of(&message["content"]));
        let all: Vec<String> = std::iter::once(self.system()).chain(messages).collect();
        all.join("\n")
    }

    /// Returns the text of the first message, by which a script distinguishes a sub-agent from the agent.
    pub fn prompt(&self) -> String {
        let first = items(&self.body, "messages").first();
        first.map_or_else(String::new, |message| text_of(&message["content"]))
    }

    /// Returns the answered tool calls in the transcript, with their results.
    pub fn calls(&self) -> Vec<Call> {
        let results = self.tool_results();
        let messages = items(&self.body, "messages").iter();
        let blocks = messages.flat_map(|message| items(message, "content"));
        let answered = |block: &Value| {
            let id = word(block, "id");
            let result = results.iter().find(|result| result.id == id)?;
            Some(Call {
                id: id.to_owned(),
                name: word(block, "name").to_owned(),
                input: block["input"].clone(),
                result: result.text.clone(),
                failed: result.failed,
            })
        };
        blocks
            .filter(|block| block["type"] == "tool_use")
            .filter_map(answered)
            .collect()
    }
}

/// Returns every answered tool call of all transcripts, each once, in the order in which the answers reached the model.
pub fn calls(requests: &[ModelRequest]) -> Vec<Call> {
    let mut all: Vec<Call> = Vec::new();
    for call in requests.iter().flat_map(ModelRequest::calls) {
        if !all.iter().any(|known| known.id == call.id) {
            all.push(call);
        }
    }
    all
}
