//! Tests without a connection: waits, prices, options, addresses, and the stored bytes of a conversation.

use std::time::Duration;

use interlock_models::{
    Call, Jitter, Key, Kind, Message, Opaque, Options, Part, Price, Provider, Request, RetryPolicy,
    Thinking, ToolResult, ToolSpec, Usage,
};
use serde_json::{Value, json};

fn waits(retry: &RetryPolicy, jitter: f64) -> Vec<u128> {
    let tries = 1..=retry.max_attempts;
    tries
        .map_while(|tried| retry.wait(tried, None, jitter))
        .map(|wait| wait.as_millis())
        .collect()
}

#[test]
fn waits_grow_to_their_bound_and_never_beyond_what_can_be_said() {
    let seconds = |initial: f64, factor: f64, most: u64, tries: u32, jitter: Jitter| RetryPolicy {
        max_attempts: tries,
        initial_interval: Duration::from_secs_f64(initial),
        backoff_factor: factor,
        max_interval: Duration::from_secs(most),
        jitter,
        retry_after_max: Duration::from_secs(most),
    };
    let table = [
        (RetryPolicy::default(), 0.0, vec![500, 1_000, 2_000]),
        (RetryPolicy::default(), 0.99999, vec![375, 750, 1_500]),
        (
            seconds(2.0, 2.0, 60, 5, Jitter::None),
            0.5,
            vec![2_000, 4_000, 8_000, 16_000],
        ),
        (
            seconds(0.5, 2.0, 128, 10, Jitter::None),
            0.5,
            vec![
                500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000,
            ],
        ),
        (
            seconds(1.0, 1.0, 9, 3, Jitter::Second),
            0.5,
            vec![1_500, 1_500],
        ),
        (
            seconds(5.0, 3.0, 9, 4, Jitter::None),
            0.5,
            vec![5_000, 9_000, 9_000],
        ),
        (seconds(5.0, 2.0, 0, 3, Jitter::None), 0.5, vec![0, 0]),
        (
            seconds(1.0, f64::INFINITY, 9, 3, Jitter::None),
            0.5,
            vec![1_000, 9_000],
        ),
        (
            seconds(1.0, f64::NAN, 9, 3, Jitter::None),
            0.5,
            vec![1_000, 1_000],
        ),
        (
            seconds(1.0, 0.1, 9, 3, Jitter::None),
            f64::NAN,
            vec![1_000, 1_000],
        ),
        (RetryPolicy::once(), 0.5, vec![]),
        (seconds(1.0, 2.0, 9, 0, Jitter::None), 0.5, vec![]),
    ];
    for (retry, jitter, expected) in table {
        assert_eq!(waits(&retry, jitter), expected, "{retry:?}");
    }
    let long = seconds(3_600_000.0, 10.0, 3_600_000, u32::MAX, Jitter::Second);
    assert_eq!(
        long.wait(u32::MAX - 1, None, 0.0),
        Some(Duration::from_hours(1_000))
    );
    let asked = Some(Duration::from_secs(5));
    assert_eq!(
        RetryPolicy::default().wait(1, asked, 0.5),
        Some(Duration::from_secs(5))
    );
}

#[test]
fn costs_are_exact_or_not_known() {
    let price = |input: &str, output: &str, cached: Option<&str>| Price {
        input: input.parse().unwrap(),
        output: output.parse().unwrap(),
        cached_input: cached.map(|cached| cached.parse().unwrap()),
    };
    let usage = |input: u64, output: u64, cached: u64| Usage {
        input: Some(input),
        output: Some(output),
        cached: Some(cached),
        reasoning: Some(1),
    };
    let table = [
        (
            price("3", "15", Some("0.3")),
            usage(1_000_000, 1_000_000, 0),
            Some(18_000_000_000_000),
        ),
        (
            price("3", "15", Some("0.30")),
            usage(3, 1, 1),
            Some(6_000_000 + 300_000 + 15_000_000),
        ),
        (price("3", "15", None), usage(3, 0, 1), Some(9_000_000)),
        (price("0.000001", "0", None), usage(1, 9, 0), Some(1)),
        // More tokens from the cache than there were: the price must not become negative.
        (price("3", "15", Some("0.3")), usage(1, 0, 5), Some(300_000)),
        (price("3", "15", None), usage(u64::MAX, 0, 0), None),
        (
            price("3", "15", None),
            Usage {
                input: None,
                ..usage(1, 1, 0)
            },
            None,
        ),
        (
            price("3", "15", None),
            Usage {
                output: None,
                ..usage(1, 1, 0)
            },
            None,
        ),
        (
            price("3", "15", None),
            Usage {
                cached: None,
                ..usage(1, 1, 0)
            },
            Some(18_000_000),
        ),
    ];
    for (price, usage, cost) in table {
        assert_eq!(price.pico_usd(&usage), cost, "{price:?} {usage:?}");
    }
    for bad in [
        "",
        ".5",
        "-1",
        "1.0000001",
        "1e3",
        "1,5",
        "nan",
        "99999999999999999999",
    ] {
        assert!(bad.parse::<interlock_models::Rate>().is_err(), "{bad}");
    }
}

#[test]
fn thinking_is_read_as_it_is_written() {
    let table = [
        (json!(false), Some(Thinking::Off)),
        (json!(0), Some(Thinking::Off)),
        (json!("off"), Some(Thinking::Off)),
        (json!(true), Some(Thinking::Medium)),
        (json!("low"), Some(Thinking::Low)),
        (json!("medium"), Some(Thinking::Medium)),
        (json!("high"), Some(Thinking::High)),
        (json!(8_000), Some(Thinking::Tokens(8_000))),
        (json!("much"), None),
        (json!(-1), None),
        (json!(1.5), None),
        (json!(5_000_000_000_u64), None),
        (json!(null), None),
        (json!({}), None),
    ];
    for (written, read) in table {
        assert_eq!(Thinking::try_from(written.clone()).ok(), read, "{written}");
        if let Some(read) = read {
            assert_eq!(Thinking::try_from(Value::from(read)), Ok(read));
        }
    }
    let options = |thinking: Thinking| Options {
        temperature: serde_json::Number::from_f64(0.2),
        max_output_tokens: None,
        thinking: Some(thinking),
    };
    assert_eq!(
        options(Thinking::High).lacking(Kind::Anthropic),
        ["temperature"]
    );
    assert!(options(Thinking::Off).lacking(Kind::Anthropic).is_empty());
    assert_eq!(
        options(Thinking::Tokens(9)).lacking(Kind::OpenAi),
        ["thinking"]
    );
    assert!(
        options(Thinking::Tokens(9))
            .lacking(Kind::Gemini)
            .is_empty()
    );
}

#[test]
fn a_conversation_is_stored_as_these_bytes() {
    let call = Call {
        provider_id: Some("c1".to_owned()),
        name: "Read".to_owned(),
        arguments: r#"{"a":1,"a":1.0}"#.to_owned(),
        incomplete: true,
        opaque: Some(Opaque {
            of: Kind::Gemini,
            json: r#"{"thoughtSignature":"s"}"#.to_owned(),
        }),
    };
    let request = Request {
        model: "m".to_owned(),
        system: "s".to_owned(),
        messages: vec![
            Message::user("u"),
            Message::Assistant {
                parts: vec![Part::Text("t".to_owned()), Part::Call(call)],
            },
            Message::Results {
                results: vec![ToolResult {
                    call: 0,
                    content: "r".to_owned(),
                    is_error: true,
                }],
            },
        ],
        tools: vec![ToolSpec {
            name: "Read".to_owned(),
            description: "d".to_owned(),
            schema: json!({"z": 1.10, "a": 9_007_199_254_740_993_u64}),
        }],
        options: Options {
            temperature: serde_json::from_str("0.70").ok(),
            max_output_tokens: Some(5),
            thinking: Some(Thinking::Low),
        },
    };
    let stored = concat!(
        r#"{"model":"m","system":"s","messages":[{"user":{"text":"u"}},{"assistant":{"parts":[{"text":"t"},"#,
        r#"{"call":{"provider_id":"c1","name":"Read","arguments":"{\"a\":1,\"a\":1.0}","incomplete":true,"#,
        r#""opaque":{"of":"gemini","json":"{\"thoughtSignature\":\"s\"}"}}}]}},"#,
        r#"{"results":{"results":[{"call":0,"content":"r","is_error":true}]}}],"#,
        r#""tools":[{"name":"Read","description":"d","schema":{"z":1.1,"a":9007199254740993}}],"#,
        r#""options":{"temperature":0.70,"max_output_tokens":5,"thinking":"low"}}"#,
    );
    assert_eq!(String::from_utf8(request.bytes()).unwrap(), stored);
    let read: Request = serde_json::from_str(stored).unwrap();
    assert_eq!(read.bytes(), stored.as_bytes());
    assert!(serde_json::from_str::<Request>(r#"{"model":"m","messages":[],"more":1}"#).is_err());
}

#[test]
fn addresses_and_keys_that_cannot_be_used_are_refused_without_being_told() {
    let bad = [
        "",
        "x",
        "ftp://x",
        "http://",
        "http://me:secret@x",
        "http://secret@x",
        "file:///secret",
    ];
    for address in bad {
        let told = Provider::new(Kind::OpenAi, Some(address), None)
            .unwrap_err()
            .to_string();
        assert!(
            address.contains("file:") || !told.contains("secret"),
            "{told}"
        );
    }
    for key in ["", " ", "a b", "a\nb", "ключ", "a\u{0}"] {
        assert!(Key::new(key).is_err(), "{key:?}");
    }
    let ollama = [
        ("127.0.0.1", "http://127.0.0.1:11434/"),
        ("there:80", "http://there/"),
        ("[::1]", "http://[::1]:11434/"),
        ("[::1]:9", "http://[::1]:9/"),
        ("0.0.0.0", "http://127.0.0.1:11434/"),
        ("http://0.0.0.0:9", "http://127.0.0.1:9/"),
        ("https://there/", "https://there/"),
    ];
    for (written, meant) in ollama {
        assert_eq!(
            Provider::new(Kind::Ollama, Some(written), None)
                .unwrap()
                .base_url(),
            meant
        );
    }
    let provider = Provider::new(Kind::OpenAi, None, None).unwrap();
    for header in ["Content-Type", "host", "Transfer-Encoding", "a b", ""] {
        assert!(
            provider.clone().with_header(header, "x").is_err(),
            "{header}"
        );
    }
    assert!(provider.with_header("x", "a\nb").is_err());
}
