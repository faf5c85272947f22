//! OpenAI's Responses protocol, which Codex uses.

use serde_json::{Value, json};

use super::{Message, Say, items, word};
use crate::provider::Tool;

/// Types of input items with the result of a call.
const RESULTS: [&str; 2] = ["function_call_output", "custom_tool_call_output"];
/// Types of input items with a call of the model.
const CALLS: [&str; 2] = ["function_call", "custom_tool_call"];

pub(super) fn is_result(item: &Value) -> bool {
    RESULTS.contains(&word(item, "type"))
}

pub(super) fn is_by_model(item: &Value) -> bool {
    CALLS.contains(&word(item, "type")) || item["role"] == "assistant"
}

/// Returns the offered tools: the request's own, those it adds, and those in the namespace `functions`.
pub(super) fn offered(body: &Value) -> Vec<&Value> {
    let added = items(body, "input").iter();
    let added = added.filter(|item| word(item, "type") == "additional_tools");
    let all = items(body, "tools")
        .iter()
        .chain(added.flat_map(|item| items(item, "tools")));
    let open = |tool: &&Value| word(tool, "name") == "functions";
    let (open, named): (Vec<&Value>, Vec<&Value>) = all.partition(open);
    let within = open.into_iter().flat_map(|space| items(space, "tools"));
    within.chain(named).collect()
}

/// Returns whether the request offers the called tool.
pub(in crate::provider) fn offers(body: &Value, name: &str, input: &str, tool: &Tool) -> bool {
    let is_named = |tool: &&Value, name: &str| word(tool, "name") == name;
    let mut tools = offered(body).into_iter();
    match tool {
        Tool::Function => tools.any(|tool| is_named(&tool, name)),
        Tool::In(space) => {
            let spaces = tools.filter(|tool| is_named(tool, space));
            let mut within = spaces.flat_map(|space| items(space, "tools"));
            within.any(|tool| is_named(&tool, name))
        }
        Tool::Text => tools.any(|tool| is_named(&tool, name) && code_may_call(tool, input)),
    }
}

/// Returns whether the description of the code tool declares the tool that the code calls.
///
/// Tools of MCP servers are not declared there: code finds them in `ALL_TOOLS`.
fn code_may_call(tool: &Value, code: &str) -> bool {
    let Some((_, call)) = code.split_once("await tools.") else {
        return true;
    };
    let called = call.split('(').next().unwrap_or_default();
    let declared = word(tool, "description");
    let of_a_server = called.starts_with("mcp__") && declared.contains("ALL_TOOLS");
    of_a_server || declared.contains(&format!("{called}("))
}

pub(super) fn stream(message: &Message<'_>) -> String {
    let mut events = String::new();
    let mut event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        events += &format!("event: {kind}\ndata: {data}\n\n");
    };
    let response = |status: &str, output: &[Value]| {
        json!({"response": {
            "id": format!("resp_{}", message.turn), "object": "response", "status": status,
            "output": output, "usage": usage(),
        }})
    };
    let items: Vec<Value> = (0..)
        .zip(message.said)
        .map(|(index, say)| item(message, index, say))
        .collect();
    event("response.created", response("in_progress", &[]));
    for (index, item) in items.iter().enumerate() {
        for kind in ["response.output_item.added", "response.output_item.done"] {
            event(kind, json!({"output_index": index, "item": item}));
        }
    }
    event("response.completed", response("completed", &items));
    events
}

fn item(message: &Message<'_>, index: usize, say: &Say) -> Value {
    let id = |prefix| message.id(prefix, index);
    let (name, input, tool) = match say {
        Say::Text(text) => {
            return json!({
                "type": "message", "id": id("msg"), "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            });
        }
        Say::Thinking(text) => {
            let summary = json!([{"type": "summary_text", "text": text}]);
            return json!({"type": "reasoning", "id": id("rs"), "summary": summary});
        }
        Say::Call {
            name,
            arguments,
            tool,
        } => (name, arguments, tool),
    };
    if *tool == Tool::Text {
        return json!({
            "type": "custom_tool_call", "id": id("ctc"), "call_id": id("call"), "name": name,
            "input": input, "status": "completed",
        });
    }
    let mut item = json!({
        "type": "function_call", "id": id("fc"), "call_id": id("call"), "name": name,
        "arguments": input, "status": "completed",
    });
    if let Tool::In(space) = tool {
        item["namespace"] = json!(space);
    }
    item
}

fn usage() -> Value {
    json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    })
}
