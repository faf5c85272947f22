//! Refused requests, one per line of `refusals.json`: the request, and the status and code of the response.

use interlock_gateway::{
    metrics::Metrics,
    serve::{Access, Limits, Resource, ServeError, ServeSettings, listen},
};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

use crate::http::{
    far_end::{CREDENTIAL, RUN, Script, Seen},
    world::{Rules, World, call, initialize, json_of, modern},
};

const CASES: &str = include_str!("refusals.json");
const TOKEN: &str = "a token that nobody guesses";

#[tokio::test]
async fn what_is_not_a_request_of_ours_is_refused() {
    let world = World::with(Rules {
        limits: Limits {
            message_bytes_max: 2_000,
            ..Rules::default().limits
        },
        ..Rules::default()
    })
    .await;
    let session = world.session("2025-06-18").await;
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    for case in &cases {
        let name = &case["name"];
        let method: Method = case["method"].as_str().unwrap_or("POST").parse().unwrap();
        let path = case["path"].as_str().unwrap_or("/mcp");
        let mut headers = vec![
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ];
        for (header, value) in case["headers"].as_object().into_iter().flatten() {
            headers.retain(|(known, _)| known != header);
            let value = match value.as_str() {
                Some("SESSION") => &session,
                Some(value) => value,
                None => continue,
            };
            headers.push((header, value));
        }
        let body = match &case["body"] {
            Value::String(text) => text.replace("LONG", &"x".repeat(3_000)),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let response = world.send(method, path, &headers, body).await;
        assert_eq!(
            u64::from(response.status().as_u16()),
            case["status"],
            "{name}"
        );
        let allow = response.headers().get("allow");
        let allow = allow.map(|value| value.to_str().unwrap());
        assert_eq!(allow, case["allow"].as_str(), "{name}");
        let body = json_of(response).await;
        assert_eq!(body["error"]["code"], case["code"], "{name}: {body}");
        if let Some(id) = case.get("id") {
            assert_eq!(body["id"], *id, "{name}");
        }
        if let Some(data) = case.get("data") {
            assert_eq!(body["error"]["data"], *data, "{name}");
        }
    }
}

#[tokio::test]
async fn beyond_loopback_nobody_listens_without_a_token() {
    let (script, _) = Script::new();
    let settings = ServeSettings {
        listen: "0.0.0.0:0".parse().unwrap(),
        access: Access::default(),
        limits: Limits::default(),
        grace: Duration::ZERO,
        verbose: false,
        log: None,
    };
    let refused = listen(settings, script, Metrics::default()).await;
    assert!(matches!(refused, Err(ServeError::NoToken(_))));
}

async fn guarded() -> World {
    World::with(Rules {
        listen: "0.0.0.0:0",
        access: Access {
            token: Some(TOKEN.to_owned()),
            resource: Some(Resource {
                address: "https://gateway.example/mcp".to_owned(),
                authorization_servers: vec!["https://login.example".to_owned()],
            }),
            ..Access::default()
        },
        ..Rules::default()
    })
    .await
}

const HEADERS: [(&str, &str); 2] = [
    ("accept", "application/json, text/event-stream"),
    ("content-type", "application/json"),
];

#[tokio::test]
async fn who_asks_is_told_by_the_token() {
    let mut world = guarded().await;
    let server = format!("Bearer {TOKEN}");
    let run = format!("Bearer {CREDENTIAL}");
    let basic = format!("Basic {CREDENTIAL}");
    let run_path = format!("/run/{CREDENTIAL}/mcp");
    let nobody = Seen::Opened(interlock_gateway::govern::Caller::Nobody);
    let of_run = Seen::Opened(interlock_gateway::govern::Caller::Run(RUN.into()));
    let cases: [(&str, Option<&str>, u16, Option<&Seen>); 12] = [
        ("/mcp", None, 401, None),
        ("/mcp", Some("Bearer wrong"), 401, None),
        ("/mcp", Some("Bearer "), 401, None),
        ("/mcp", Some("Basic YTpi"), 401, None),
        ("/mcp", Some(&basic), 401, None),
        ("/mcp", Some("Bearer ilr_other"), 401, None),
        ("/mcp", Some("Bearer ilr_unreadable"), 503, None),
        ("/run/ilr_other/mcp", Some(&server), 401, None),
        ("/mcp", Some(&server), 200, Some(&nobody)),
        ("/mcp", Some(&run), 200, Some(&of_run)),
        (&run_path, None, 200, Some(&of_run)),
        (&run_path, Some(&server), 200, Some(&of_run)),
    ];
    for (path, token, status, opened) in cases {
        let mut headers = HEADERS.to_vec();
        headers.extend(token.map(|token| ("authorization", token)));
        let body = initialize("2025-11-25").to_string();
        let response = world.send(Method::POST, path, &headers, body).await;
        assert_eq!(response.status(), status, "{path} {token:?}");
        if status == 401 {
            let challenge = response.headers()["www-authenticate"].to_str().unwrap();
            let metadata = "https://gateway.example/.well-known/oauth-protected-resource/mcp";
            assert_eq!(
                challenge,
                format!("Bearer resource_metadata=\"{metadata}\"")
            );
        }
        if let Some(opened) = opened {
            world.until(opened).await;
        }
    }
}

#[tokio::test]
async fn a_page_is_let_in_by_its_whole_origin() {
    let own = "https://console.example";
    let world = World::with(Rules {
        access: Access {
            origins: vec![own.to_owned()],
            ..Access::default()
        },
        ..Rules::default()
    })
    .await;
    for (origin, status) in [
        (own, 200),
        ("https://CONSOLE.example", 200),
        ("https://console.example.evil.example", 403),
        ("https://console.exampl", 403),
        ("http://console.example", 403),
    ] {
        let mut headers = HEADERS.to_vec();
        headers.push(("origin", origin));
        let body = initialize("2025-11-25").to_string();
        let response = world.send(Method::POST, "/mcp", &headers, body).await;
        assert_eq!(response.status(), status, "{origin}");
    }
}

#[tokio::test]
async fn a_session_is_its_callers_alone() {
    let world = guarded().await;
    let run_path = format!("/run/{CREDENTIAL}/mcp");
    let server = format!("Bearer {TOKEN}");
    let body = initialize("2025-11-25").to_string();
    let begun = world.send(Method::POST, &run_path, &HEADERS, body).await;
    let session = begun.headers()["mcp-session-id"].to_str().unwrap();
    let mut headers = HEADERS.to_vec();
    headers.push(("mcp-session-id", session));
    let body = call(1, "echo").to_string();
    let own = world
        .send(Method::POST, &run_path, &headers, body.clone())
        .await;
    assert_eq!(own.status(), 200);
    headers.push(("authorization", &server));
    let other = world.send(Method::POST, "/mcp", &headers, body).await;
    assert_eq!(
        other.status(),
        404,
        "the server's own token is another caller"
    );
}

#[tokio::test]
async fn a_client_without_a_session_shares_nothing_with_whom_another_credential_lets_in() {
    let mut world = guarded().await;
    let server = format!("Bearer {TOKEN}");
    let run = format!("Bearer {CREDENTIAL}");
    let nobody = Seen::Opened(interlock_gateway::govern::Caller::Nobody);
    let of_run = Seen::Opened(interlock_gateway::govern::Caller::Run(RUN.into()));
    for (token, opened) in [(&server, &nobody), (&run, &of_run)] {
        let mut headers = HEADERS.to_vec();
        headers.extend([
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
            ("authorization", token),
        ]);
        let list = modern(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        let sent = world.send(Method::POST, "/mcp", &headers, list.to_string());
        assert_eq!(sent.await.status(), 200);
        world.until(opened).await;
    }
}

#[tokio::test]
async fn what_is_open_to_all_tells_nothing() {
    let world = guarded().await;
    let get = async |path: &str, token: Option<&str>| {
        let headers: Vec<_> = token
            .map(|token| ("authorization", token))
            .into_iter()
            .collect();
        world.send(Method::GET, path, &headers, "").await
    };
    assert_eq!(
        json_of(get("/healthz", None).await).await,
        json!({"status": "ok"})
    );
    assert_eq!(get("/metrics", None).await.status(), 401);
    let server = format!("Bearer {TOKEN}");
    let numbers = get("/metrics", Some(&server)).await;
    assert!(
        numbers
            .text()
            .await
            .unwrap()
            .contains("interlock_sessions 0\n")
    );
    let metadata = json_of(get("/.well-known/oauth-protected-resource/mcp", None).await).await;
    assert_eq!(metadata["resource"], "https://gateway.example/mcp");
    assert_eq!(
        metadata["authorization_servers"],
        json!(["https://login.example"])
    );
}

#[tokio::test]
async fn headers_of_parameters_must_say_what_the_body_says() {
    let world = World::new().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(world.post_modern(&modern(list)).await.status(), 200);
    let cases = [
        (json!("eu"), Some("eu"), 200),
        (json!("größe"), Some("=?base64?Z3LDtsOfZQ==?="), 200),
        (json!(null), None, 200),
        (json!("eu"), Some("us"), 400),
        (json!("eu"), None, 400),
        (json!(null), Some("eu"), 400),
        (json!("größe"), Some("=?base64?%%?="), 400),
    ];
    for (argument, header, status) in cases {
        let mut message = modern(call(2, "echo"));
        message["params"]["arguments"] = json!({"region": argument});
        let mut headers = HEADERS.to_vec();
        headers.extend([
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "echo"),
        ]);
        headers.extend(header.map(|header| ("mcp-param-region", header)));
        let sent = world.send(Method::POST, "/mcp", &headers, message.to_string());
        let response = sent.await;
        assert_eq!(response.status(), status, "{argument} {header:?}");
        if status == 400 {
            assert_eq!(json_of(response).await["error"]["code"], -32_020);
        }
    }
}
