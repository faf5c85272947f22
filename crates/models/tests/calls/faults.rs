//! Failing providers: the retries, the waits between them, and the final error.

use std::{sync::Arc, time::Duration};

use interlock_models::{
    Client, Code, Heard, Jitter, Key, Kind, Provider as To, RetryPolicy, Waited,
};
use interlock_process::Cancel;
use interlock_testkit::provider::{Reply, Script, call, text};
use serde_json::json;

use crate::support::{self, Fast, KEY, KINDS, Strict, at, request};

fn refused(status: u16) -> Reply {
    Reply::status(
        status,
        &json!({"error": {"type": "some_error", "message": "not now"}}),
    )
}

fn done() -> Reply {
    Reply::say(vec![text("done")])
}

/// Calls a provider that sends `replies`; returns the result, the waits and the number of requests.
fn play(
    kind: Kind,
    replies: Vec<Reply>,
    retry: &RetryPolicy,
) -> (
    Result<String, interlock_models::ModelError>,
    Vec<u128>,
    usize,
) {
    let model = Strict::start(Script::replies(replies));
    let clock = Fast::at(0);
    let client = Client::with_clock(Arc::clone(&clock) as _).unwrap();
    let (answer, _) = support::call(&client, &at(kind, &model.url()), &request(kind), retry);
    (
        answer.map(|answer| answer.text()),
        clock.waits_ms(),
        model.asked().len(),
    )
}

#[test]
fn passing_statuses_are_tried_four_times_with_doubling_waits() {
    for kind in KINDS {
        for status in [408, 409, 429, 500, 503, 529] {
            let (answer, waits, requests) =
                play(kind, vec![refused(status)], &RetryPolicy::default());
            let error = answer.unwrap_err();
            assert_eq!(error.code(), Code::ModelError, "{kind} {status}");
            assert_eq!(error.tries, 4);
            assert_eq!(waits, [500, 1_000, 2_000], "{kind} {status}");
            assert_eq!(requests, 4);
            let told = error.to_string();
            assert!(
                told.contains(&status.to_string())
                    && told.contains("not now")
                    && told.contains("4 times"),
                "{told}"
            );
        }
        let replies = vec![refused(503), refused(429), done()];
        let (answer, waits, _) = play(kind, replies, &RetryPolicy::default());
        assert_eq!(answer.as_deref(), Ok("done"));
        assert_eq!(waits, [500, 1_000]);
    }
}

#[test]
fn lasting_statuses_are_tried_once() {
    for kind in KINDS {
        for status in [400, 401, 403, 404, 405, 302] {
            let (answer, _, requests) =
                play(kind, vec![refused(status), done()], &RetryPolicy::default());
            let error = answer.unwrap_err();
            assert_eq!(
                (error.code(), error.tries, requests),
                (Code::ModelError, 1, 1),
                "{kind} {status}"
            );
        }
    }
}

#[test]
fn a_redirect_is_not_followed_with_the_key() {
    let elsewhere = Strict::start(Script::replies(vec![done()]));
    let to = format!("{}/v1/messages", elsewhere.url());
    for status in [301, 302, 303, 307, 308] {
        let reply = Reply::status(status, &json!({})).with_header("location", &to);
        let (answer, _, _) = play(Kind::Anthropic, vec![reply], &RetryPolicy::default());
        assert!(answer.unwrap_err().to_string().contains("redirect"));
    }
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn retry_after_is_waited_for_up_to_its_bound() {
    let after = |value: &str| refused(429).with_header("retry-after", value);
    let waits = |reply: Reply| play(Kind::OpenAi, vec![reply, done()], &RetryPolicy::default()).1;
    assert_eq!(waits(after("7")), [7_000]);
    assert_eq!(waits(after("0.2")), [500], "less than its own wait");
    assert_eq!(waits(after("3600")), [60_000]);
    assert_eq!(waits(after("Thu, 01 Jan 1970 00:00:20 GMT")), [20_000]);
    assert_eq!(
        waits(after("soon")),
        [500],
        "what cannot be read is not there"
    );
    assert_eq!(waits(after("-1")), [500]);
    assert_eq!(
        waits(refused(503).with_header("retry-after-ms", "1500")),
        [1_500]
    );
}

#[test]
fn another_policy_waits_by_its_own_table() {
    // `initial_interval: 2`, factor 2, `max_interval: 10`, five attempts; `retry-after` up to the longest wait.
    let retry = RetryPolicy {
        max_attempts: 5,
        initial_interval: Duration::from_secs(2),
        backoff_factor: 2.0,
        max_interval: Duration::from_secs(10),
        jitter: Jitter::None,
        retry_after_max: Duration::from_secs(10),
    };
    let asks = refused(429).with_header("retry-after", "30");
    let replies = vec![refused(503), refused(503), asks, refused(503), refused(503)];
    let (answer, waits, requests) = play(Kind::Gemini, replies, &retry);
    assert_eq!(answer.unwrap_err().tries, 5);
    assert_eq!(waits, [2_000, 4_000, 10_000, 10_000]);
    assert_eq!(requests, 5);
}

#[test]
fn a_broken_stream_is_thrown_away_and_asked_for_again() {
    for kind in KINDS {
        let said = vec![
            text("half a message"),
            call("Read", json!({"file_path": "a"})),
        ];
        let whole = interlock_testkit::provider::stream(
            support::wire(kind),
            0,
            &said,
            interlock_testkit::provider::Stop::Done,
        );
        // Always before the last event, because what follows it does not count.
        let last = whole.trim_end().len().saturating_sub(30);
        for cut in (0..last).step_by(41) {
            for reply in [
                Reply::say(said.clone()).broken_at(cut),
                Reply::say(said.clone()).ended_at(cut),
            ] {
                let model = Strict::start(Script::replies(vec![reply, Reply::say(said.clone())]));
                let client = Client::with_clock(Fast::at(0)).unwrap();
                let (answer, heard) = support::call(
                    &client,
                    &at(kind, &model.url()),
                    &request(kind),
                    &RetryPolicy::default(),
                );
                let answer = answer.unwrap_or_else(|error| panic!("{kind} cut at {cut}: {error}"));
                assert_eq!(answer.text(), "half a message", "{kind} cut at {cut}");
                assert_eq!(answer.calls().count(), 1);
                assert!(
                    heard.iter().any(|one| one.starts_with("again after 1")),
                    "{kind} cut at {cut}"
                );
                let asked = model.asked();
                assert_eq!(asked.len(), 2, "{kind} cut at {cut}");
                assert_eq!(asked[0].bytes, asked[1].bytes, "the same request again");
            }
        }
    }
}

#[test]
fn silence_ends_a_try() {
    for kind in KINDS {
        for cut in [0, 60] {
            let replies = vec![Reply::say(vec![text("done")]).silent_at(cut), done()];
            let model = Strict::start(Script::replies(replies));
            let client = Client::with_clock(Fast::at(0)).unwrap();
            let provider = at(kind, &model.url()).with_silence(Duration::from_millis(300));
            let (answer, heard) =
                support::call(&client, &provider, &request(kind), &RetryPolicy::default());
            assert_eq!(answer.unwrap().text(), "done", "{kind}");
            assert!(
                heard.iter().any(|one| one.contains("was silent for 0.3 s")),
                "{heard:?}"
            );
        }
    }
}

#[test]
fn a_try_has_a_time() {
    let model = Strict::start(Script::replies(vec![done().silent_at(50)]));
    let client = Client::with_clock(Fast::at(0)).unwrap();
    let provider = at(Kind::Anthropic, &model.url()).with_timeout(Duration::from_millis(200));
    let (answer, _) = support::call(
        &client,
        &provider,
        &request(Kind::Anthropic),
        &RetryPolicy::once(),
    );
    assert!(
        answer
            .unwrap_err()
            .to_string()
            .contains("took longer than 0.2 s")
    );
}

#[test]
fn nobody_there_is_tried_again_and_named() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let clock = Fast::at(0);
    let client = Client::with_clock(Arc::clone(&clock) as _).unwrap();
    let provider = at(Kind::OpenAi, &format!("http://127.0.0.1:{port}"));
    let (answer, _) = support::call(
        &client,
        &provider,
        &request(Kind::OpenAi),
        &RetryPolicy::default(),
    );
    let told = answer.unwrap_err().to_string();
    assert!(
        told.contains(&format!("`127.0.0.1:{port}` cannot be reached: ")),
        "{told}"
    );
    assert_eq!(clock.waits_ms().len(), 3);
}

#[test]
fn a_key_is_in_no_message() {
    let body = json!({"error": {"message":
        format!("Incorrect API key provided: {KEY}, also sk-ant-01****hown. Header s3cret-header-value-1 and Bearer other-secret-2.")}});
    for kind in [Kind::Anthropic, Kind::OpenAi, Kind::Gemini] {
        for reply in [
            Reply::status(401, &body),
            Reply::page(403, &body.to_string()),
            Reply::raw(format!("data: {body}\n\n")),
            Reply::raw(body.to_string()),
        ] {
            let model = Strict::start(Script::replies(vec![reply]));
            let client = Client::with_clock(Fast::at(0)).unwrap();
            let provider = at(kind, &model.url())
                .with_header("x-own", "s3cret-header-value-1")
                .unwrap();
            let provider = provider
                .with_header("x-auth", "Bearer other-secret-2")
                .unwrap();
            let (answer, heard) =
                support::call(&client, &provider, &request(kind), &RetryPolicy::default());
            let told = format!("{} {heard:?} {provider:?}", answer.unwrap_err());
            for secret in [KEY, "sk-ant-01", "s3cret-header", "other-secret"] {
                assert!(!told.contains(secret), "{kind}: {told}");
            }
        }
    }
    assert_eq!(format!("{:?}", Key::new(KEY).unwrap()), "Key(..)");
}

#[test]
fn a_conversation_that_is_too_long_has_its_own_code() {
    let said = [
        (
            Kind::Anthropic,
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": "prompt is too long: 208310 tokens > 200000 maximum"}}),
        ),
        (
            Kind::Anthropic,
            413,
            json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        ),
        (
            Kind::OpenAi,
            400,
            json!({"error": {"type": "invalid_request_error", "code": "context_length_exceeded",
            "message": "Your input exceeds the limit."}}),
        ),
        (
            Kind::OpenAi,
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error",
            "message": "the request exceeds the available context size, try increasing it"}}),
        ),
        (
            Kind::OpenAi,
            400,
            json!({"object": "error", "message": "This model's maximum context length is 8192 tokens."}),
        ),
        (
            Kind::Gemini,
            400,
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
            "message": "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}),
        ),
        (
            Kind::Ollama,
            400,
            json!({"error": "the input length exceeds the context length"}),
        ),
    ];
    for (kind, status, body) in said {
        let (answer, _, requests) = play(
            kind,
            vec![Reply::status(status, &body), done()],
            &RetryPolicy::default(),
        );
        let error = answer.unwrap_err();
        assert_eq!(
            (error.code(), requests),
            (Code::ContextOverflow, 1),
            "{kind} {body}"
        );
    }
    // In the middle of a stream, too.
    let line = "data: {\"error\":{\"message\":\"This model's maximum context length is 8192 tokens.\"}}\n\n";
    let (answer, _, _) = play(
        Kind::OpenAi,
        vec![Reply::raw(line)],
        &RetryPolicy::default(),
    );
    assert_eq!(answer.unwrap_err().code(), Code::ContextOverflow);
}

#[test]
fn an_error_in_the_stream_is_tried_again_where_it_may_pass() {
    let passing = [
        (
            Kind::Anthropic,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        ),
        (
            Kind::OpenAi,
            "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n",
        ),
        (
            Kind::OpenAi,
            "data: {\"error\":{\"code\":429,\"message\":\"slow down\"}}\n\n",
        ),
        (
            Kind::OpenAi,
            "data: {\"error\":{\"code\":\"408\",\"message\":\"too slow\"}}\n\n",
        ),
        (
            Kind::OpenAi,
            "data: {\"error\":{\"type\":\"server_error\",\"message\":\"oops\"}}\n\n",
        ),
        (
            Kind::Gemini,
            "data: {\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\",\"message\":\"busy\"}}\n\n",
        ),
        (
            Kind::Ollama,
            "{\"error\":\"model runner has unexpectedly stopped\"}\n",
        ),
    ];
    for (kind, body) in passing {
        let (answer, waits, _) = play(
            kind,
            vec![Reply::raw(body), done()],
            &RetryPolicy::default(),
        );
        assert_eq!(answer.as_deref(), Ok("done"), "{kind}");
        assert_eq!(waits.len(), 1);
    }
    let lasting = [
        (
            Kind::Anthropic,
            "data: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}\n\n",
        ),
        (
            Kind::OpenAi,
            "data: {\"error\":{\"code\":401,\"message\":\"no\"}}\n\n",
        ),
        (
            Kind::Gemini,
            "data: {\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"no\"}}\n\n",
        ),
    ];
    for (kind, body) in lasting {
        let (answer, _, requests) = play(
            kind,
            vec![Reply::raw(body), done()],
            &RetryPolicy::default(),
        );
        assert_eq!((answer.unwrap_err().tries, requests), (1, 1), "{kind}");
    }
}

#[test]
fn what_is_no_stream_is_told_with_its_sentence() {
    for kind in [Kind::Anthropic, Kind::OpenAi, Kind::Gemini] {
        let reply = Reply::raw("{\"error\":{\"message\":\"this model cannot stream\"}}");
        let (answer, _, requests) = play(kind, vec![reply, done()], &RetryPolicy::default());
        let told = answer.unwrap_err().to_string();
        assert!(
            told.contains("this model cannot stream") && told.contains("not with a stream"),
            "{told}"
        );
        assert_eq!(requests, 1);
        let (answer, _, _) = play(
            kind,
            vec![Reply::raw("<html><body>log in</body></html>")],
            &RetryPolicy::default(),
        );
        let told = answer.unwrap_err().to_string();
        assert!(!told.contains("log in"), "a page is not repeated: {told}");
    }
}

#[test]
fn what_a_server_refuses_is_left_out_and_stays_so() {
    // A server that supports no `stream_options`, no `max_tokens` and no temperature; each refusal names one of them.
    let script = Script::new(|asked| {
        let holds = |key: &str| asked.body.get(key).is_some();
        let no = |what: &str| {
            Reply::status(
                400,
                &json!({"error": {"message": format!("Unsupported parameter: '{what}'"), "param": what}}),
            )
        };
        if holds("stream_options") {
            no("stream_options")
        } else if holds("max_tokens") {
            no("max_tokens")
        } else if holds("temperature") {
            no("temperature")
        } else if holds("reasoning_effort") {
            no("reasoning_effort")
        } else {
            Reply::say(vec![text("done")])
        }
    });
    let model = Strict::start(script);
    let client = Client::with_clock(Fast::at(0)).unwrap();
    let provider = at(Kind::OpenAi, &model.url());
    let mut request = request(Kind::OpenAi);
    request.options.max_output_tokens = Some(100);
    request.options.temperature = serde_json::Number::from_f64(0.5);
    request.options.thinking = Some(interlock_models::Thinking::High);
    for requests in [5, 6] {
        let (answer, heard) = support::call(&client, &provider, &request, &RetryPolicy::once());
        assert_eq!(answer.unwrap().text(), "done");
        assert_eq!(model.asked().len(), requests, "{heard:?}");
    }
    assert_eq!(model.asked()[5].body["max_completion_tokens"], 100);
}

#[test]
fn a_model_that_knows_no_budget_is_told_how_hard_to_think() {
    let script = Script::new(|asked| match asked.body["thinking"]["type"].as_str() {
        Some("enabled") => Reply::status(
            400,
            &json!({"error": {"type": "invalid_request_error", "message":
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\""}}),
        ),
        _ => Reply::say(vec![text("done")]),
    });
    let model = Strict::start(script);
    let client = Client::with_clock(Fast::at(0)).unwrap();
    let mut request = request(Kind::Anthropic);
    request.options.thinking = Some(interlock_models::Thinking::Low);
    let (answer, _) = support::call(
        &client,
        &at(Kind::Anthropic, &model.url()),
        &request,
        &RetryPolicy::once(),
    );
    assert_eq!(answer.unwrap().text(), "done");
    let asked = model.asked();
    assert_eq!(asked[0].body["thinking"]["budget_tokens"], 4_096);
    assert_eq!(asked[1].body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(asked[1].body["output_config"], json!({"effort": "low"}));
}

#[test]
fn a_pulled_handle_ends_a_stream_a_head_and_a_wait() {
    for kind in KINDS {
        for cut in [0, 40] {
            let model = Strict::start(Script::replies(vec![done().silent_at(cut)]));
            let client = Client::new().unwrap();
            let cancel = Cancel::new().unwrap();
            let (provider, request) = (at(kind, &model.url()), request(kind));
            std::thread::scope(|scope| {
                let calling = scope.spawn(|| {
                    client.call(
                        &provider,
                        &request,
                        &RetryPolicy::default(),
                        &cancel,
                        &mut |_| {},
                    )
                });
                while model.asked().is_empty() {
                    std::thread::yield_now();
                }
                cancel.cancel();
                let error = calling.join().unwrap().unwrap_err();
                assert_eq!((error.code(), error.tries), (Code::Cancelled, 1), "{kind}");
            });
        }
    }
    // A wait of an hour.
    let model = Strict::start(Script::replies(vec![refused(503)]));
    let client = Client::new().unwrap();
    let cancel = Cancel::new().unwrap();
    let retry = RetryPolicy {
        initial_interval: Duration::from_hours(1),
        max_interval: Duration::from_hours(1),
        ..RetryPolicy::default()
    };
    let pulled = cancel.clone();
    let error = client
        .call(
            &at(Kind::OpenAi, &model.url()),
            &request(Kind::OpenAi),
            &retry,
            &cancel,
            &mut |heard| {
                if matches!(heard, Heard::Again { .. }) {
                    pulled.cancel();
                }
            },
        )
        .unwrap_err();
    assert_eq!((error.code(), error.tries), (Code::Cancelled, 1));
    // A call that was cancelled before it began sends nothing.
    let (before, _) = (model.asked().len(), ());
    let error = client.call(
        &at(Kind::OpenAi, &model.url()),
        &request(Kind::OpenAi),
        &retry,
        &cancel,
        &mut |_| {},
    );
    assert_eq!(error.unwrap_err().code(), Code::Cancelled);
    assert_eq!(model.asked().len(), before);
}

#[test]
fn the_system_clock_waits_until_it_is_pulled() {
    let cancel = Cancel::new().unwrap();
    let pulled = cancel.clone();
    let thread = std::thread::spawn(move || pulled.cancel());
    let waited =
        interlock_models::Clock::wait(&interlock_models::SystemClock, Duration::MAX, &cancel);
    assert_eq!(waited, Waited::Cancelled);
    thread.join().unwrap();
    let over = interlock_models::Clock::wait(
        &interlock_models::SystemClock,
        Duration::ZERO,
        &Cancel::new().unwrap(),
    );
    assert_eq!(over, Waited::Over);
    assert!(To::new(Kind::OpenAi, Some("ftp://x"), None).is_err());
}
