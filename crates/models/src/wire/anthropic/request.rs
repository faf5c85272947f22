//! What is posted to Anthropic.

use reqwest::Url;
use serde::Serialize;
use serde_json::{Number, Value, value::RawValue};

use crate::{
    Kind, Message, Opaque, Part, Request, Thinking, ToolResult,
    wire::{Dialect, Names, Outgoing, ids, join, raw, schema},
};

/// Fewest tokens that may be set aside for thinking.
const BUDGET_MIN: u64 = 1_024;
/// The newest models that are told a budget for thinking; others are told how hard to think.
const BUDGETED: [&str; 6] = [
    "claude-3",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
];

#[derive(Serialize)]
struct Body<'r> {
    model: &'r str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    system: &'r str,
    messages: Vec<Turn<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'r Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    stream: bool,
}

#[derive(Serialize)]
struct Turn<'r> {
    role: &'static str,
    content: Vec<Block<'r>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'r> {
    Text {
        #[serde(rename = "type")]
        kind: &'static str,
        text: &'r str,
    },
    Call {
        #[serde(rename = "type")]
        kind: &'static str,
        id: String,
        name: &'r str,
        input: Box<RawValue>,
    },
    Result {
        #[serde(rename = "type")]
        kind: &'static str,
        tool_use_id: String,
        content: &'r str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// As it came.
    Raw(&'r RawValue),
}

#[derive(Serialize)]
struct Tool<'r> {
    name: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'r str,
    input_schema: Value,
}

pub(in crate::wire) fn outgoing(
    base: &Url,
    request: &Request,
    names: &Names,
    dialect: Dialect,
) -> serde_json::Result<Outgoing> {
    let options = &request.options;
    let asked = options.thinking.filter(|_| !dialect.no_thinking);
    let thinks = asked.is_some_and(|thinking| thinking != Thinking::Off);
    let room = options.max_output_tokens;
    let mut max_tokens = room.unwrap_or_else(|| default_room(&request.model));
    let is_budgeted = is_budgeted(&request.model) != dialect.other_thinking;
    let (thinking, output_config) = match asked {
        None => (None, None),
        Some(Thinking::Off) => (Some(serde_json::json!({"type": "disabled"})), None),
        Some(asked) if is_budgeted => {
            let budget = budget(asked)
                .min(max_tokens.saturating_sub(1))
                .max(BUDGET_MIN);
            max_tokens = max_tokens.max(budget.saturating_add(1));
            let thinking = serde_json::json!({"type": "enabled", "budget_tokens": budget});
            (Some(thinking), None)
        }
        Some(asked) => (
            Some(serde_json::json!({"type": "adaptive"})),
            Some(serde_json::json!({"effort": effort(asked)})),
        ),
    };
    let tools = request.tools.iter().map(|tool| Tool {
        name: names.out(&tool.name),
        description: &tool.description,
        input_schema: schema::anthropic(&tool.schema),
    });
    let body = Body {
        model: &request.model,
        max_tokens,
        system: &request.system,
        messages: turns(&request.messages, names),
        tools: tools.collect(),
        // A model that thinks takes none.
        temperature: options
            .temperature
            .as_ref()
            .filter(|_| !thinks && !dialect.no_temperature),
        thinking,
        output_config,
        stream: true,
    };
    Ok(Outgoing {
        url: join(base, "v1", &["messages"]),
        headers: &[("anthropic-version", "2023-06-01")],
        body: serde_json::to_vec(&body)?,
    })
}

/// Puts messages of one side that follow each other into one: results and what is said beside them.
fn turns<'r>(messages: &'r [Message], names: &'r Names) -> Vec<Turn<'r>> {
    let ids = ids::all(messages);
    let mut turns: Vec<Turn<'r>> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let (role, content) = match message {
            Message::User { text } => ("user", text_block(text).into_iter().collect()),
            Message::Assistant { parts } => ("assistant", parts_of(parts, ids.get(at), names)),
            Message::Results { results } => {
                let calls = at.checked_sub(1).and_then(|before| ids.get(before));
                ("user", results_of(results, calls))
            }
        };
        match turns.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            // A message without any content is refused.
            _ if content.is_empty() => {}
            _ => turns.push(Turn { role, content }),
        }
    }
    turns
}

/// Text of nothing but white space is refused.
fn text_block(text: &str) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { kind: "text", text })
}

fn parts_of<'r>(parts: &'r [Part], ids: Option<&Vec<String>>, names: &'r Names) -> Vec<Block<'r>> {
    let mut ids = ids.into_iter().flatten();
    let blocks = parts.iter().filter_map(|part| match part {
        Part::Text(text) => text_block(text),
        Part::Call(call) => Some(Block::Call {
            kind: "tool_use",
            id: ids.next().cloned().unwrap_or_default(),
            name: names.out(&call.name),
            input: raw::arguments(&call.arguments),
        }),
        Part::Opaque(Opaque {
            of: Kind::Anthropic,
            json,
        }) => raw::object(json).map(Block::Raw),
        Part::Opaque(_) => None,
    });
    blocks.collect()
}

fn results_of<'r>(results: &'r [ToolResult], calls: Option<&Vec<String>>) -> Vec<Block<'r>> {
    let blocks = results.iter().map(|result| Block::Result {
        kind: "tool_result",
        tool_use_id: calls
            .and_then(|ids| ids.get(result.call))
            .cloned()
            .unwrap_or_default(),
        content: &result.content,
        is_error: result.is_error,
    });
    blocks.collect()
}

/// Returns the tokens of one message where nothing is said: this protocol has no default.
fn default_room(model: &str) -> u64 {
    let small = ["claude-3-opus", "claude-3-sonnet", "claude-3-haiku"];
    if small.iter().any(|begin| model.starts_with(begin)) {
        4_096
    } else if model.starts_with("claude-3-5") {
        8_192
    } else {
        32_000
    }
}

fn is_budgeted(model: &str) -> bool {
    // `claude-opus-4-20250514` is the first of its line.
    let is_first = |line: &str| {
        model
            .strip_prefix(line)
            .is_some_and(|rest| rest.starts_with("20"))
    };
    BUDGETED.iter().any(|begin| model.starts_with(begin))
        || is_first("claude-opus-4-")
        || is_first("claude-sonnet-4-")
}

fn budget(thinking: Thinking) -> u64 {
    match thinking {
        Thinking::Off => 0,
        Thinking::Low => 4_096,
        Thinking::Medium => 12_000,
        Thinking::High => 24_000,
        Thinking::Tokens(tokens) => tokens.into(),
    }
}

fn effort(thinking: Thinking) -> &'static str {
    match thinking {
        Thinking::Off | Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
        Thinking::Tokens(tokens) => super::super::effort_of(tokens),
    }
}
