//! Posted requests: they match the providers' published schemas, and the same conversation gives the same bytes.

use std::path::Path;

use interlock_models::{
    Call, Client, Kind, Message, Opaque, Options, Part, Request, RetryPolicy, Thinking, ToolResult,
    ToolSpec,
};
use interlock_testkit::provider::{Script, text};
use serde_json::{Value, json};

use crate::support::{self, KINDS, Strict, at, model};

/// Returns a conversation with everything that a model or a tool server may produce.
fn odd(kind: Kind) -> Request {
    let call = |id: Option<&str>, name: &str, arguments: &str| {
        Part::Call(Call {
            provider_id: id.map(str::to_owned),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            ..Call::default()
        })
    };
    let opaque = |of: Kind, json: &str| {
        Part::Opaque(Opaque {
            of,
            json: json.to_owned(),
        })
    };
    let results = |contents: &[(&str, bool)]| Message::Results {
        results: contents
            .iter()
            .enumerate()
            .map(|(call, (content, is_error))| ToolResult {
                call,
                content: (*content).to_owned(),
                is_error: *is_error,
            })
            .collect(),
    };
    let tool = |name: &str, schema: Value| ToolSpec {
        name: name.to_owned(),
        description: if name == "Read" {
            String::new()
        } else {
            "A tool.".to_owned()
        },
        schema,
    };
    Request {
        model: model(kind).to_owned(),
        system: "You are thorough.".to_owned(),
        messages: vec![
            Message::user("Begin."),
            Message::Assistant {
                parts: vec![
                    opaque(
                        Kind::Anthropic,
                        r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#,
                    ),
                    Part::Text(" \n".to_owned()),
                    Part::Text("I read.".to_owned()),
                    opaque(Kind::Gemini, r#"{"thoughtSignature":"c2ln"}"#),
                    call(Some("same"), "Read", r#"{"file_path":"a","file_path":"b"}"#),
                    call(Some("same"), "files/read.all", "{\"x\": "),
                    call(Some("not lawful!"), "Grep", "[1]"),
                    call(None, "gone", ""),
                    opaque(
                        Kind::OpenAi,
                        r#"{"reasoning_content":"hm","reasoning_details":[]}"#,
                    ),
                    opaque(Kind::Ollama, r#"{"thinking":"hm"}"#),
                ],
            },
            results(&[
                ("text", false),
                ("invalid_arguments", true),
                ("", false),
                ("unknown_tool", true),
            ]),
            Message::user("3 turns left."),
            // An empty message, and the one after it.
            Message::Assistant { parts: Vec::new() },
            Message::user("Call `submit`."),
            Message::Assistant {
                parts: vec![Part::Text("Well.".to_owned())],
            },
            Message::user("Go on."),
        ],
        tools: vec![
            tool("Read", json!({})),
            tool(
                "files/read.all",
                json!({"properties": {"x": true, "wei rd": {"type": "string"}}, "required": ["x", "wei rd"]}),
            ),
            tool(
                "7up",
                json!({"type": ["object", "null"], "anyOf": [{"required": ["a"]}], "properties": {"a": {"type": "array"}}}),
            ),
            tool(
                &"long".repeat(40),
                json!({"type": "object", "properties": {}}),
            ),
            tool("submit", zoo()),
        ],
        options: Options::default(),
    }
}

/// Returns a schema with every keyword that some provider refuses.
fn zoo() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.org/zoo",
        "type": "object", "required": ["steps", "undescribed"], "additionalProperties": false, "minProperties": 1,
        "properties": {
            "steps": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"$ref": "#/$defs/step"}},
            "verdict": {"enum": ["approve", "reject"]}, "count": {"enum": [1, 2]}, "exact": {"const": "x"},
            "maybe": {"type": ["string", "null"], "pattern": "^a", "minLength": 1, "format": "email"},
            "either": {"type": ["string", "integer"]}, "any": {}, "when": {"type": "string", "format": "date-time"},
            "number": {"type": "number", "exclusiveMinimum": 0, "maximum": 9.5, "multipleOf": 0.5, "format": "decimal"},
            "one": {"oneOf": [{"type": "string"}, {"type": "null"}], "description": "one of them"},
            "all": {"allOf": [{"properties": {"p": {"type": "boolean"}}, "required": ["p"]}, {"description": "both"}]},
            "map": {"type": "object", "additionalProperties": {"type": "string"}, "patternProperties": {"^x": {}}},
            "tuple": {"type": "array", "prefixItems": [{"type": "string"}], "items": false},
            "if": {"type": "object", "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}},
            "tree": {"$ref": "#/$defs/tree"}, "nowhere": {"$ref": "#/$defs/nowhere"},
        },
        "$defs": {
            "step": {"type": "object", "required": ["file"], "properties": {"file": {"type": "string"}}},
            "tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
        },
    })
}

/// Sends a request and returns it as received, after checking it against the published schema.
fn sent(kind: Kind, request: &Request) -> interlock_testkit::provider::ModelRequest {
    let model = Strict::start(Script::new(|_| {
        interlock_testkit::provider::Reply::say(vec![text("done")])
    }));
    let client = Client::new().unwrap();
    support::call(
        &client,
        &at(kind, &model.url()),
        request,
        &RetryPolicy::once(),
    )
    .0
    .unwrap();
    model.asked().remove(0)
}

#[test]
fn odd_conversations_have_the_published_shape() {
    let options = [
        None,
        Some(Thinking::Off),
        Some(Thinking::Low),
        Some(Thinking::Medium),
        Some(Thinking::High),
        Some(Thinking::Tokens(500)),
        Some(Thinking::Tokens(9_000)),
    ];
    let models = |kind: Kind| match kind {
        Kind::Anthropic => [
            "claude-sonnet-4-5",
            "claude-opus-4-7",
            "claude-3-5-haiku-latest",
            "claude-opus-4-20250514",
        ],
        Kind::OpenAi => ["gpt-5", "o3", "gpt-4.1", "local"],
        Kind::Gemini => [
            "gemini-2.5-pro",
            "gemini-3-pro",
            "models/gemini-2.0-flash",
            "tunedModels/mine",
        ],
        Kind::Ollama => ["llama3.2", "qwen3:8b", "gpt-oss", "x"],
    };
    for kind in KINDS {
        for thinking in options {
            for (room, name) in [None, Some(1), Some(2_000), Some(100_000)]
                .into_iter()
                .zip(models(kind))
            {
                let mut request = odd(kind);
                request.model = name.to_owned();
                request.options = Options {
                    temperature: serde_json::Number::from_f64(0.2),
                    max_output_tokens: room,
                    thinking,
                };
                sent(kind, &request);
            }
        }
        let mut bare = odd(kind);
        bare.system = String::new();
        bare.tools = Vec::new();
        bare.messages.truncate(1);
        sent(kind, &bare);
    }
}

#[test]
fn a_conversation_is_posted_as_the_recorded_bytes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/requests");
    for kind in KINDS {
        let bytes = sent(kind, &odd(kind)).bytes;
        assert_eq!(bytes, sent(kind, &odd(kind)).bytes, "{kind}");
        let path = root.join(format!("{kind}.json"));
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        let posted: Value = serde_json::from_slice(&bytes).unwrap();
        let posted = format!("{posted:#}\n");
        if recorded != posted {
            let seen = std::env::temp_dir().join(format!("interlock-models-{kind}.json"));
            std::fs::write(&seen, &posted).unwrap();
            panic!(
                "{} is not what is posted: {}",
                path.display(),
                seen.display()
            );
        }
    }
}

#[test]
fn arguments_go_back_as_they_came_where_they_are_an_object() {
    let asked = sent(Kind::Anthropic, &odd(Kind::Anthropic));
    let posted = String::from_utf8(asked.bytes).unwrap();
    assert!(
        posted.contains(r#""input":{"file_path":"a","file_path":"b"}"#),
        "{posted}"
    );
    let calls: Vec<Value> = asked.body["messages"][1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .cloned()
        .collect();
    assert_eq!(calls[1]["input"], json!({"INVALID_JSON": "{\"x\": "}));
    assert_eq!(calls[2]["input"], json!({"INVALID_JSON": "[1]"}));
    assert_eq!(calls[3]["input"], json!({}));
    let ids: Vec<&str> = calls
        .iter()
        .filter_map(|call| call["id"].as_str())
        .collect();
    assert_eq!(ids, ["same", "call_1_1", "call_1_2", "call_1_3"]);
}

#[test]
fn a_name_that_is_not_taken_is_changed_and_comes_back() {
    let own = [
        "files/read.all",
        "7up",
        "a b",
        "ünïcode",
        &"long".repeat(40),
    ];
    for kind in KINDS {
        let model = Strict::start(Script::new(|asked| {
            // Calls every tool by the name it was given.
            let names: Vec<String> = match asked.wire {
                interlock_testkit::provider::Wire::Anthropic => {
                    named(&asked.body["tools"], "/name")
                }
                interlock_testkit::provider::Wire::Gemini => {
                    named(&asked.body["tools"][0]["functionDeclarations"], "/name")
                }
                _ => named(&asked.body["tools"], "/function/name"),
            };
            let calls = names
                .iter()
                .map(|name| interlock_testkit::provider::call(name, json!({})));
            interlock_testkit::provider::Reply::say(calls.collect())
        }));
        let mut request = support::request(kind);
        request.tools = own
            .iter()
            .map(|name| ToolSpec {
                name: (*name).to_owned(),
                description: String::new(),
                schema: json!({}),
            })
            .collect();
        let client = Client::new().unwrap();
        let (answer, heard) = support::call(
            &client,
            &at(kind, &model.url()),
            &request,
            &RetryPolicy::once(),
        );
        let answer = answer.unwrap();
        let called: Vec<&str> = answer.calls().map(|call| call.name.as_str()).collect();
        assert_eq!(called, own, "{kind}");
        assert!(heard.contains(&"calling 7up".to_owned()), "{heard:?}");
        // In the next request, they are the same as in the first.
        support::follow(&mut request, &answer, "ok");
        support::call(
            &client,
            &at(kind, &model.url()),
            &request,
            &RetryPolicy::once(),
        )
        .0
        .unwrap();
        let asked = model.asked();
        assert_eq!(asked[0].body["tools"], asked[1].body["tools"]);
    }
}

fn named(tools: &Value, path: &str) -> Vec<String> {
    let names = tools.as_array().into_iter().flatten();
    names
        .filter_map(|tool| tool.pointer(path)?.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_conversation_that_is_not_whole_is_not_sent() {
    let model = Strict::start(Script::turns(Vec::new()));
    let client = Client::new().unwrap();
    let calls = Message::Assistant {
        parts: vec![Part::Call(Call {
            name: "Read".to_owned(),
            arguments: "{}".to_owned(),
            ..Call::default()
        })],
    };
    let result = |call: usize| ToolResult {
        call,
        content: String::new(),
        is_error: false,
    };
    let begin = Message::user("Begin.");
    let flawed = [
        vec![],
        vec![calls.clone()],
        vec![begin.clone(), calls.clone()],
        vec![begin.clone(), calls.clone(), begin.clone()],
        vec![
            begin.clone(),
            calls.clone(),
            Message::Results {
                results: vec![result(1)],
            },
        ],
        vec![
            begin.clone(),
            calls.clone(),
            Message::Results {
                results: vec![result(0), result(0)],
            },
        ],
        vec![
            begin,
            Message::Results {
                results: vec![result(0)],
            },
        ],
    ];
    for messages in flawed {
        let request = Request {
            messages,
            ..support::request(Kind::OpenAi)
        };
        let (answer, _) = support::call(
            &client,
            &at(Kind::OpenAi, &model.url()),
            &request,
            &RetryPolicy::once(),
        );
        assert!(answer.unwrap_err().to_string().contains("is not whole"));
    }
    assert!(model.asked().is_empty());
}

#[test]
fn bases_may_hold_the_version_or_a_path() {
    let cases = [
        (Kind::Anthropic, "/v1", "/v1/messages"),
        (Kind::Anthropic, "/proxy/", "/proxy/v1/messages"),
        (Kind::OpenAi, "/v1", "/v1/chat/completions"),
        (Kind::OpenAi, "/openai/v1/", "/openai/v1/chat/completions"),
        (
            Kind::Gemini,
            "/v1beta",
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        ),
        (Kind::Ollama, "/ollama", "/ollama/api/chat"),
    ];
    for (kind, base, path) in cases {
        let model = Strict::start(Script::turns(Vec::new()));
        let client = Client::new().unwrap();
        let provider = at(kind, &format!("{}{base}", model.url()));
        support::call(
            &client,
            &provider,
            &support::request(kind),
            &RetryPolicy::once(),
        )
        .0
        .unwrap();
        assert_eq!(model.asked()[0].path, path);
    }
}

#[test]
fn connections_are_used_again() {
    for kind in KINDS {
        let model = Strict::start(Script::turns(Vec::new()));
        let client = Client::new().unwrap();
        let provider = at(kind, &model.url());
        for _ in 0..50 {
            support::call(
                &client,
                &provider,
                &support::request(kind),
                &RetryPolicy::once(),
            )
            .0
            .unwrap();
        }
        // A call that begins before the previous connection is free opens another one.
        assert!(model.connections() < 25, "{kind}: {}", model.connections());
    }
}
