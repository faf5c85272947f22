//! The Responses protocol of OpenAI, which Codex speaks.

use serde_json::{Value, json};

use super::{Answer, HttpRequest, Said, Wire, items, text_of, text_said, word};

/// Kinds of input items that bring the result of a call.
const RESULTS: [&str; 2] = ["function_call_output", "custom_tool_call_output"];

/// Server-sent events at `…/responses`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Responses;

impl Wire for Responses {
    fn asks(&self, asked: &HttpRequest) -> bool {
        asked.method == "POST" && asked.path.ends_with("/responses")
    }

    fn aside(&self, asked: &HttpRequest) -> Answer {
        if asked.path.contains("/models") {
            return Answer::json(&json!({"object": "list", "data": [], "models": []}));
        }
        Answer::missing(&json!({"error": {"message": "scripted"}}))
    }

    fn offers(&self, _body: &Value) -> bool {
        true
    }

    fn offers_call(&self, body: &Value, said: &Said) -> bool {
        let tools = offered(body);
        match said {
            Said::Words(_) => true,
            Said::Function {
                namespace: Some(space),
                name,
                ..
            } => {
                let mut within = tools.iter().filter(|tool| word(tool, "name") == space);
                within.any(|space| named(items(space, "tools"), name).is_some())
            }
            Said::Function { name, .. } => tools.iter().any(|tool| word(tool, "name") == name),
            Said::Plain { name, input } => {
                let mut tools = tools.iter().filter(|tool| word(tool, "name") == *name);
                tools.any(|tool| code_may_call(tool, input))
            }
        }
    }

    fn results(&self, body: &Value) -> Vec<String> {
        let outputs = items(body, "input").iter();
        let outputs = outputs.filter(|item| RESULTS.contains(&word(item, "type")));
        outputs
            .map(|item| text_of(item.get("output").unwrap_or(&Value::Null)))
            .collect()
    }

    fn say(&self, _asked: &HttpRequest, _body: &Value, turn: usize, said: Option<&Said>) -> Answer {
        let item = item(turn, said);
        let response = format!("resp_{turn}");
        let mut events = String::new();
        let mut event = |kind: &str, mut data: Value| {
            if let Some(data) = data.as_object_mut() {
                data.insert("type".to_owned(), json!(kind));
            }
            events += &format!("event: {kind}\ndata: {data}\n\n");
        };
        let status = |status: &str, output: Value| json!({"id": response, "object": "response", "status": status, "output": output, "usage": usage()});
        event(
            "response.created",
            json!({"response": status("in_progress", json!([]))}),
        );
        event(
            "response.output_item.added",
            json!({"output_index": 0, "item": item}),
        );
        event(
            "response.output_item.done",
            json!({"output_index": 0, "item": item}),
        );
        event(
            "response.completed",
            json!({"response": status("completed", json!([item]))}),
        );
        Answer::events(events)
    }
}

/// The tools of the request: its own, those it adds, and those of the namespace that needs no name.
fn offered(body: &Value) -> Vec<&Value> {
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

/// Whether the code calls what the description of the tool that runs it declares.
///
/// Tools of servers are not declared there: code finds them among `ALL_TOOLS`.
fn code_may_call(tool: &Value, code: &str) -> bool {
    let Some((_, call)) = code.split_once("await tools.") else {
        return true;
    };
    let called = call.split('(').next().unwrap_or_default();
    let declared = word(tool, "description");
    let of_a_server = called.starts_with("mcp__") && declared.contains("ALL_TOOLS");
    of_a_server || declared.contains(&format!("{called}("))
}

/// The tool of this name.
fn named<'a>(tools: &'a [Value], name: &str) -> Option<&'a Value> {
    tools.iter().find(|tool| word(tool, "name") == name)
}

fn item(turn: usize, said: Option<&Said>) -> Value {
    let call = format!("call_{turn}");
    match said {
        None | Some(Said::Words(_)) => json!({
            "type": "message", "id": format!("msg_{turn}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text_said(said), "annotations": []}],
        }),
        Some(Said::Plain { name, input }) => json!({
            "type": "custom_tool_call", "id": format!("ctc_{turn}"), "call_id": call,
            "name": name, "input": input, "status": "completed",
        }),
        Some(Said::Function {
            namespace,
            name,
            arguments,
        }) => {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_{turn}"), "call_id": call,
                "name": name, "arguments": arguments.to_string(), "status": "completed",
            });
            if let (Some(namespace), Some(item)) = (namespace, item.as_object_mut()) {
                item.insert("namespace".to_owned(), json!(namespace));
            }
            item
        }
    }
}

fn usage() -> Value {
    json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    })
}
