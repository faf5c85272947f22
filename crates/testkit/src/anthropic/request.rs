//! What the client sent: the tools it offers, and everything the model would have read.

use serde_json::Value;

/// One request to the Messages endpoint.
#[derive(Debug, Clone)]
pub struct Request {
    body: Value,
}

/// A tool result that reached the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the tool call it answers.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Whether the client marked it as an error.
    pub failed: bool,
}

/// A tool call of the model with the result that reached it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id of the call.
    pub id: String,
    /// The tool, in the client's own words.
    pub name: String,
    /// Its input.
    pub input: Value,
    /// What came back.
    pub result: String,
    /// Whether the client marked the result as an error: refused or failed.
    pub failed: bool,
}

impl Request {
    pub(crate) fn new(body: Value) -> Request {
        Request { body }
    }

    /// The whole body.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// The model the client asked for.
    pub fn model(&self) -> &str {
        word(&self.body, "model")
    }

    /// Names of the tools offered; none in side requests such as titles.
    pub fn tools(&self) -> Vec<&str> {
        let tools = items(&self.body, "tools");
        tools.iter().map(|tool| word(tool, "name")).collect()
    }

    /// How many times tool results came back so far.
    pub fn turn(&self) -> usize {
        let answered = |message: &&Value| !blocks(message, "tool_result").is_empty();
        self.messages().iter().filter(answered).count()
    }

    /// All tool results in the transcript, in order.
    pub fn results(&self) -> Vec<ToolResult> {
        let blocks = self
            .messages()
            .iter()
            .flat_map(|message| blocks(message, "tool_result"));
        blocks.map(tool_result).collect()
    }

    /// The tool results in the newest message.
    pub fn last_results(&self) -> Vec<ToolResult> {
        let last = self
            .messages()
            .iter()
            .rev()
            .find(|message| word(message, "role") == "user");
        let blocks = last.map(|message| blocks(message, "tool_result"));
        blocks
            .unwrap_or_default()
            .into_iter()
            .map(tool_result)
            .collect()
    }

    /// The system prompt.
    pub fn system(&self) -> String {
        text_of(self.body.get("system").unwrap_or(&Value::Null))
    }

    /// Everything the model would read: the system prompt, then the messages with tool results and injected text.
    pub fn text(&self) -> String {
        let mut all = self.system();
        for message in self.messages() {
            all.push('\n');
            all.push_str(&text_of(message.get("content").unwrap_or(&Value::Null)));
        }
        all
    }

    /// The text of the first message, by which a script tells a sub-agent from the agent.
    pub fn prompt(&self) -> String {
        let first = self
            .messages()
            .first()
            .and_then(|message| message.get("content"));
        text_of(first.unwrap_or(&Value::Null))
    }

    /// Tool calls of the transcript that have been answered, with what came back.
    pub fn calls(&self) -> Vec<Call> {
        let results = self.results();
        let uses = self
            .messages()
            .iter()
            .flat_map(|message| blocks(message, "tool_use"));
        let answered = |block: &Value| {
            let id = word(block, "id");
            let result = results.iter().find(|result| result.id == id)?;
            Some(Call {
                id: id.to_owned(),
                name: word(block, "name").to_owned(),
                input: block.get("input").cloned().unwrap_or(Value::Null),
                result: result.text.clone(),
                failed: result.failed,
            })
        };
        uses.filter_map(answered).collect()
    }

    fn messages(&self) -> &[Value] {
        items(&self.body, "messages")
    }
}

/// Every answered tool call of all transcripts, each once, in the order in which the answers reached the model.
pub fn calls(requests: &[Request]) -> Vec<Call> {
    let mut all: Vec<Call> = Vec::new();
    for call in requests.iter().flat_map(Request::calls) {
        if !all.iter().any(|known| known.id == call.id) {
            all.push(call);
        }
    }
    all
}

fn tool_result(block: &Value) -> ToolResult {
    ToolResult {
        id: word(block, "tool_use_id").to_owned(),
        text: text_of(block.get("content").unwrap_or(&Value::Null)),
        failed: block.get("is_error") == Some(&Value::Bool(true)),
    }
}

/// All text in `content`, which is a string or a list of blocks, tool results included.
fn text_of(content: &Value) -> String {
    let part = |block: &Value| match word(block, "type") {
        "tool_result" => text_of(block.get("content").unwrap_or(&Value::Null)),
        _ => word(block, "text").to_owned(),
    };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(part).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn blocks<'a>(message: &'a Value, kind: &str) -> Vec<&'a Value> {
    let content = items(message, "content").iter();
    content
        .filter(|block| word(block, "type") == kind)
        .collect()
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
