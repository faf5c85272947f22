//! A conversation with a provider of each kind, as sent over the wire.

use crate::support::{self, KINDS, Strict, at, request};
use interlock_models::{Client, FinishReason, Kind, RetryPolicy};
use interlock_testkit::provider::{Say, Script, call, text};
use serde_json::json;

fn thinking(text: &str) -> Say {
    Say::Thinking(text.to_owned())
}

#[test]
fn text_and_calls_arrive_whole_from_every_kind() {
    for kind in KINDS {
        let said = vec![
            thinking("hm"),
            text("I read."),
            call("Read", json!({"file_path": "a"})),
            call("Read", json!({"file_path": "b"})),
        ];
        let model = Strict::start(Script::turns(vec![said]));
        let client = Client::new().unwrap();
        let (answer, heard) = support::call(
            &client,
            &at(kind, &model.url()),
            &request(kind),
            &RetryPolicy::once(),
        );
        let answer = answer.unwrap();
        assert_eq!(answer.text(), "I read.", "{kind}");
        let calls: Vec<_> = answer
            .calls()
            .map(|call| (call.name.as_str(), call.arguments.as_str(), call.incomplete))
            .collect();
        assert_eq!(
            calls,
            [
                ("Read", r#"{"file_path":"a"}"#, false),
                ("Read", r#"{"file_path":"b"}"#, false)
            ],
            "{kind}"
        );
        assert_eq!(answer.finish, FinishReason::ToolCalls, "{kind}");
        assert_eq!(answer.usage.input, Some(14), "{kind}");
        assert_eq!(answer.usage.output, Some(5), "{kind}");
        let cached = if kind == Kind::Ollama { None } else { Some(4) };
        assert_eq!(answer.usage.cached, cached, "{kind}");
        let loud: String = heard
            .iter()
            .filter(|one| !one.starts_with("thinking") && !one.starts_with("calling"))
            .cloned()
            .collect();
        assert_eq!(loud, "I read.", "{kind}");
        assert_eq!(
            heard.iter().filter(|one| *one == "calling Read").count(),
            2,
            "{kind}"
        );
        assert!(heard[0].starts_with("thinking"), "{kind}: {heard:?}");
    }
}

/// Plays two calls in one message, then the results, then `done`.
fn played(
    kind: Kind,
) -> (
    Vec<interlock_testkit::provider::ModelRequest>,
    interlock_models::Request,
) {
    let said = vec![
        thinking("hm"),
        text("I read."),
        call("Read", json!({"file_path": "a"})),
        call("Read", json!({"file_path": "b"})),
    ];
    let model = Strict::start(Script::turns(vec![said]));
    let client = Client::new().unwrap();
    let provider = at(kind, &model.url());
    let mut request = request(kind);
    let (answer, _) = support::call(&client, &provider, &request, &RetryPolicy::once());
    support::follow(&mut request, &answer.unwrap(), "text of a file");
    // As after a crash: rebuilt from the stored bytes.
    let stored = request.bytes();
    let request: interlock_models::Request = serde_json::from_slice(&stored).unwrap();
    assert_eq!(request.bytes(), stored, "{kind}");
    let (answer, _) = support::call(&client, &provider, &request, &RetryPolicy::once());
    let answer = answer.unwrap();
    assert_eq!(
        (answer.text().as_str(), answer.finish),
        ("done", FinishReason::Stop),
        "{kind}"
    );
    (model.asked(), request)
}

#[test]
fn results_go_back_to_the_calls_they_answer() {
    for kind in KINDS {
        let (asked, _) = played(kind);
        assert_eq!(
            asked[1].results(),
            ["text of a file", "text of a file"],
            "{kind}"
        );
        let expected_path = match kind {
            Kind::Anthropic => "/v1/messages",
            Kind::OpenAi => "/chat/completions",
            Kind::Gemini => "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            Kind::Ollama => "/api/chat",
        };
        assert_eq!(asked[1].path, expected_path);
    }
    let (asked, _) = played(Kind::Anthropic);
    let messages = &asked[1].body["messages"];
    assert_eq!(
        messages[1]["content"][0],
        json!({"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"})
    );
    let ids = [
        &messages[1]["content"][2]["id"],
        &messages[1]["content"][3]["id"],
    ];
    let answered = [
        &messages[2]["content"][0]["tool_use_id"],
        &messages[2]["content"][1]["tool_use_id"],
    ];
    assert_eq!(ids, answered);
    assert_eq!(
        messages.as_array().map(Vec::len),
        Some(3),
        "all results in one message"
    );

    let (asked, _) = played(Kind::Gemini);
    let contents = &asked[1].body["contents"];
    assert_eq!(contents[1]["parts"][1]["thoughtSignature"], "c2lnbmVk");
    assert_eq!(
        contents[2]["parts"][1]["functionResponse"]["id"],
        contents[1]["parts"][2]["functionCall"]["id"]
    );

    let (asked, _) = played(Kind::OpenAi);
    let messages = &asked[1].body["messages"];
    assert_eq!(messages[2]["reasoning_content"], "hm");
    assert_eq!(
        messages[3]["tool_call_id"],
        messages[2]["tool_calls"][0]["id"]
    );
    assert_eq!(
        messages[4]["tool_call_id"],
        messages[2]["tool_calls"][1]["id"]
    );

    let (asked, _) = played(Kind::Ollama);
    let messages = &asked[1].body["messages"];
    assert_eq!(messages[2]["thinking"], "hm");
    assert_eq!(
        messages[2]["tool_calls"][0]["function"]["arguments"],
        json!({"file_path": "a"})
    );
    assert_eq!(
        messages[3],
        json!({"role": "tool", "content": "text of a file", "tool_name": "Read"})
    );
}

#[test]
fn the_key_goes_where_its_kind_wants_it_and_own_headers_beside() {
    for kind in KINDS {
        let model = Strict::start(Script::turns(Vec::new()));
        let provider = at(kind, &model.url())
            .with_header("X-Team", "blue")
            .unwrap();
        let client = Client::new().unwrap();
        support::call(&client, &provider, &request(kind), &RetryPolicy::once())
            .0
            .unwrap();
        let asked = &model.asked()[0];
        let (header, value) = match kind {
            Kind::Anthropic => ("x-api-key", Some(support::KEY.to_owned())),
            Kind::OpenAi => ("authorization", Some(format!("Bearer {}", support::KEY))),
            Kind::Gemini => ("x-goog-api-key", Some(support::KEY.to_owned())),
            Kind::Ollama => ("authorization", None),
        };
        assert_eq!(asked.header(header).map(str::to_owned), value, "{kind}");
        assert_eq!(asked.header("x-team"), Some("blue"));
        let version = asked.header("anthropic-version");
        assert_eq!(version, (kind == Kind::Anthropic).then_some("2023-06-01"));
        assert!(!asked.path.contains(support::KEY));
    }
}

#[test]
fn a_hundred_calls_at_once_share_a_client() {
    let model = Strict::start(Script::new(|asked| {
        let begun = asked.body["messages"][0]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        interlock_testkit::provider::Reply::say(vec![text(begun)]).in_pieces(7)
    }));
    let client = Client::new().unwrap();
    let provider = at(Kind::Anthropic, &model.url());
    std::thread::scope(|scope| {
        for number in 0..100 {
            let (client, provider) = (&client, &provider);
            scope.spawn(move || {
                let mut request = request(Kind::Anthropic);
                request.messages =
                    vec![interlock_models::Message::user(format!("branch {number}"))];
                let (answer, heard) =
                    support::call(client, provider, &request, &RetryPolicy::default());
                assert_eq!(answer.unwrap().text(), format!("branch {number}"));
                assert_eq!(heard.concat(), format!("branch {number}"));
            });
        }
    });
    assert_eq!(model.asked().len(), 100);
}
