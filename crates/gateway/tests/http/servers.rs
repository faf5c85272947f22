//! The behavior of the gateway's own connection to a server over HTTP.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use interlock_gateway::{
    message::{Envelope, Id, Outcome},
    upstream::http::{HttpServer, Speaks},
};
use serde_json::{Value, json};

use crate::http::{
    scripted::{
        Asked, Says, Server, Then, ask, begin, begun, connect, modern, next, result, tell,
        with_session,
    },
    world::soon,
};

#[tokio::test]
async fn a_session_is_used_and_ended() {
    let mut server =
        Server::play(|asked| with_session(asked, |asked| result(asked, json!({"n": 1})))).await;
    let mut link = server.connect(Speaks::Any);
    begin(&mut link, &mut server).await;
    ask(&link, 2, "tools/list", json!({})).await;
    assert_eq!(next(&mut link).await, json!({"n": 1}));
    drop(link);
    let end = server.until(|asked| asked.http == "DELETE").await;
    assert_eq!(end.header("mcp-session-id"), Some("first"));
}

#[tokio::test]
async fn a_forgotten_session_is_begun_anew_as_it_was() {
    let mut server = Server::play(|asked| {
        let session = asked.header("mcp-session-id").map(str::to_owned);
        match (asked.body["method"].as_str(), session.as_deref()) {
            (Some("initialize"), _) if asked.body["id"].is_string() => begun(asked, "second"),
            (Some("tools/call"), Some("first")) => Says::Status(404, &[]),
            (Some("tools/call"), Some("second")) => result(asked, json!({"again": true})),
            _ => with_session(asked, |asked| result(asked, json!({}))),
        }
    })
    .await;
    let mut link = server.connect(Speaks::Any);
    begin(&mut link, &mut server).await;
    ask(&link, 2, "logging/setLevel", json!({"level": "error"})).await;
    next(&mut link).await;
    for (id, uri, method) in [
        (3, "a:a", "subscribe"),
        (4, "a:b", "subscribe"),
        (5, "a:a", "unsubscribe"),
    ] {
        ask(
            &link,
            id,
            &format!("resources/{method}"),
            json!({"uri": uri}),
        )
        .await;
        next(&mut link).await;
    }
    ask(&link, 6, "tools/call", json!({"name": "x"})).await;
    assert_eq!(next(&mut link).await, "notifications/tools/list_changed");
    assert_eq!(next(&mut link).await, json!({"again": true}));
    let again = server
        .until(|asked| asked.header("mcp-session-id") == Some("second"))
        .await;
    assert!(again.is("notifications/initialized"));
    let mut repeated = Vec::new();
    loop {
        let asked = server.until(|_| true).await;
        repeated.push(json!([asked.body["method"], asked.body["params"]]));
        if asked.is("tools/call") {
            break;
        }
    }
    let expected = json!([
        ["logging/setLevel", {"level": "error"}],
        ["resources/subscribe", {"uri": "a:b"}],
        ["tools/call", {"name": "x"}],
    ]);
    assert_eq!(json!(repeated), expected);
}

#[tokio::test]
async fn an_answer_that_broke_off_is_fetched() {
    let mut server =
        Server::play(
            |asked| match (asked.http.as_str(), asked.header("last-event-id")) {
                ("GET", Some("7")) => Says::Events(
                    &["data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"late\":true}}\n\n"],
                    Then::Ends,
                ),
                ("GET", _) => Says::Status(405, &[]),
                _ => with_session(asked, |_| {
                    Says::Events(
                        &[
                            "id: 7\nretry: 1\ndata:\n\n",
                            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n",
                        ],
                        Then::Ends,
                    )
                }),
            },
        )
        .await;
    let mut link = server.connect(Speaks::Any);
    begin(&mut link, &mut server).await;
    ask(&link, 2, "tools/call", json!({"name": "x"})).await;
    assert_eq!(next(&mut link).await, "notifications/progress");
    assert_eq!(next(&mut link).await, json!({"late": true}));
}

#[tokio::test]
async fn an_answer_is_fetched_from_the_last_event_although_a_stream_had_none() {
    let fetched = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fetched);
    let mut server =
        Server::play(
            move |asked| match (asked.http.as_str(), asked.header("last-event-id")) {
                ("GET", Some("7")) if count.fetch_add(1, Ordering::SeqCst) == 0 => {
                    Says::Events(&[": nothing yet\n\n"], Then::Ends)
                }
                ("GET", Some("7")) => Says::Events(
                    &["data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"late\":true}}\n\n"],
                    Then::Ends,
                ),
                ("GET", _) => Says::Status(405, &[]),
                _ => with_session(asked, |_| {
                    Says::Events(&["id: 7\nretry: 1\ndata:\n\n"], Then::Ends)
                }),
            },
        )
        .await;
    let mut link = server.connect(Speaks::Any);
    begin(&mut link, &mut server).await;
    ask(&link, 2, "tools/call", json!({"name": "x"})).await;
    assert_eq!(next(&mut link).await, json!({"late": true}));
    assert_eq!(fetched.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_answer_that_cannot_be_fetched_is_a_failure() {
    let server = Server::play(|_| Says::Events(&["id: 7\ndata: \n\n"], Then::Ends)).await;
    let mut link = server.connect(Speaks::Any);
    ask(&link, 2, "tools/call", modern(json!({"name": "x"}))).await;
    let failed = next(&mut link).await;
    assert_eq!(failed["code"], -32_603);
    assert_eq!(
        failed["message"],
        "the server `far` ended the stream before it answered"
    );
}

#[tokio::test]
async fn what_a_server_says_by_itself_is_heard() {
    let mut server = Server::play(|asked| {
        match (asked.http.as_str(), asked.header("last-event-id")) {
            ("GET", None) => Says::Events(
                // Older servers may tell several things at once.
                &["id: 1\nretry: 1\ndata: [{\"jsonrpc\":\"2.0\",\"method\":\"notifications/one\"},{\"jsonrpc\":\"2.0\",\"method\":\"notifications/two\"}]\n\n"],
                Then::Ends,
            ),
            ("GET", Some("1")) => Says::Events(
                &["id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\n\n"],
                Then::Stays,
            ),
            _ => with_session(asked, |_| Says::Status(202, &[])),
        }
    })
    .await;
    let mut link = server.connect(Speaks::Any);
    begin(&mut link, &mut server).await;
    assert_eq!(next(&mut link).await, "notifications/one");
    assert_eq!(next(&mut link).await, "notifications/two");
    assert_eq!(next(&mut link).await, "roots/list");
    let answer = Envelope::response(Id::from(9), Outcome::result(&json!({"roots": []})));
    link.outgoing.send(answer).await.unwrap();
    let answered = server
        .until(|asked| asked.body.get("result").is_some())
        .await;
    assert_eq!(answered.body["id"], 9);
}

#[tokio::test]
async fn nothing_is_sent_to_another_origin() {
    let mut other = Server::play(|asked| result(asked, json!({}))).await;
    let place = other.url();
    let server = Server::play(move |asked| {
        if asked.path == "/mcp" && asked.is("here") {
            Says::To(308, "/moved".to_owned())
        } else if asked.path == "/moved" {
            result(asked, json!({"moved": true}))
        } else {
            Says::To(307, place.clone())
        }
    })
    .await;
    let (mut link, _) = connect(
        &server.url(),
        &[("authorization", "Bearer secret")],
        Speaks::Any,
    );
    ask(&link, 1, "there", json!({})).await;
    let failed = next(&mut link).await;
    assert_eq!(failed["data"]["status"], 307, "{failed}");
    ask(&link, 2, "here", json!({})).await;
    assert_eq!(next(&mut link).await, json!({"moved": true}));
    assert!(
        other.seen.try_recv().is_err(),
        "the other server got nothing"
    );
}

#[tokio::test]
async fn credentials_come_from_the_configuration_and_challenges_are_told() {
    let mut server = Server::play(|_| {
        Says::Status(
            401,
            &[("www-authenticate", "Bearer resource_metadata=\"https://x\"")],
        )
    })
    .await;
    let (mut link, _) = connect(
        &server.url(),
        &[("Authorization", "Bearer own"), ("x-team", "a")],
        Speaks::Any,
    );
    ask(&link, 1, "initialize", json!({})).await;
    let failed = next(&mut link).await;
    assert_eq!(
        failed["data"]["wwwAuthenticate"],
        "Bearer resource_metadata=\"https://x\""
    );
    let text = failed["message"].as_str().unwrap();
    assert!(
        text.starts_with("the server `far` wants other credentials"),
        "{text}"
    );
    let asked = server.until(|_| true).await;
    assert_eq!(asked.header("authorization"), Some("Bearer own"));
    assert_eq!(asked.header("x-team"), Some("a"));
}

#[test]
fn headers_of_the_protocol_are_not_configured() {
    for name in [
        "Mcp-Session-Id",
        "accept",
        "Host",
        "MCP-Protocol-Version",
        "not a name",
    ] {
        let made = HttpServer::new("http://127.0.0.1/", [(name, "x")], Speaks::Any);
        assert!(made.is_err(), "{name}");
    }
    for url in [
        "ftp://127.0.0.1/",
        "127.0.0.1",
        "http://",
        "file:///etc/passwd",
    ] {
        assert!(HttpServer::new(url, [], Speaks::Any).is_err(), "{url}");
    }
}

#[tokio::test]
async fn a_servers_own_error_passes_as_it_is() {
    let error = json!({"code": -32_022, "message": "no", "data": {"supported": ["2025-11-25"], "requested": "x"}});
    let said = error.clone();
    let server = Server::play(move |_| {
        Says::Json(400, json!({"jsonrpc": "2.0", "id": null, "error": said}))
    })
    .await;
    let mut link = server.connect(Speaks::Any);
    ask(&link, 1, "server/discover", modern(json!({}))).await;
    assert_eq!(next(&mut link).await, error);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure_of_each_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let (mut link, _) = connect(&url, &[], Speaks::Any);
    for id in 1..3 {
        ask(&link, id, "initialize", json!({})).await;
        let failed = next(&mut link).await;
        assert_eq!(failed["code"], -32_603);
        let text = failed["message"].as_str().unwrap();
        assert!(
            text.starts_with("the server `far` cannot be reached"),
            "{text}"
        );
        assert!(
            !text.contains("http://"),
            "an address may hold a secret: {text}"
        );
    }
}

#[tokio::test]
async fn too_large_an_answer_is_refused() {
    let server = Server::play(|asked| result(asked, json!("x".repeat(200_000)))).await;
    let mut link = server.connect(Speaks::Any);
    ask(&link, 1, "tools/list", json!({})).await;
    assert_eq!(
        next(&mut link).await["message"],
        "the server `far` answered with more than 100000 bytes"
    );
}

#[tokio::test]
async fn headers_say_what_the_body_says() {
    let mut server = Server::play(|asked| {
        let region = asked.header("mcp-param-region").map(str::to_owned);
        match (asked.body["method"].as_str(), region.as_deref()) {
            (Some("tools/list"), _) => result(asked, json!({"tools": [{
                "name": "grüß",
                "inputSchema": {"type": "object", "properties": {"at": {"type": "object", "properties": {
                    "region": {"type": "string", "x-mcp-header": "Region"},
                }}}},
            }]})),
            (Some("tools/call"), None) => {
                let error = json!({"code": -32_020, "message": "header is missing"});
                Says::Json(400, json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": error}))
            }
            _ => result(asked, json!({"region": region})),
        }
    })
    .await;
    let mut link = server.connect(Speaks::Any);
    let arguments = json!({"at": {"region": "eu"}});
    ask(
        &link,
        1,
        "tools/call",
        modern(json!({"name": "grüß", "arguments": arguments})),
    )
    .await;
    // Not known before: the list is requested, and the call is sent again.
    assert_eq!(next(&mut link).await, json!({"region": "eu"}));
    let first = server.until(|_| true).await;
    assert_eq!(first.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(first.header("mcp-method"), Some("tools/call"));
    assert_eq!(first.header("mcp-name"), Some("=?base64?Z3LDvMOf?="));
    assert_eq!(first.header("mcp-session-id"), None);
}

#[tokio::test]
async fn tools_with_marks_that_are_not_valid_are_left_out() {
    let server = Server::play(|asked| {
        let marked = |mark: Value, kind: &str| json!({"type": "object", "properties": {"p": {"type": kind, "x-mcp-header": mark}}});
        result(asked, json!({"tools": [
            {"name": "good", "inputSchema": marked(json!("P"), "string")},
            {"name": "plain", "inputSchema": {"type": "object"}},
            {"name": "empty", "inputSchema": marked(json!(""), "string")},
            {"name": "spaced", "inputSchema": marked(json!("a b"), "string")},
            {"name": "number", "inputSchema": marked(json!("P"), "number")},
            {"name": "twice", "inputSchema": {"type": "object", "properties": {
                "a": {"type": "string", "x-mcp-header": "P"}, "b": {"type": "string", "x-mcp-header": "p"}}}},
            {"name": "items", "inputSchema": {"type": "object", "properties": {
                "a": {"type": "array", "items": {"type": "string", "x-mcp-header": "P"}}}}},
        ]}))
    })
    .await;
    let (mut link, mut notes) = connect(&server.url(), &[], Speaks::Any);
    ask(&link, 1, "tools/list", modern(json!({}))).await;
    let listed = next(&mut link).await;
    let names: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["good", "plain"]);
    assert!(notes.recv().await.unwrap().contains("`empty`"));
}

#[tokio::test]
async fn to_cancel_is_to_close_the_stream_or_to_say_so() {
    let waits: &[&str] = &["data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"];
    let mut server =
        Server::play(move |asked| with_session(asked, |_| Says::Events(waits, Then::Stays))).await;
    let mut link = server.connect(Speaks::Any);
    begin(&mut link, &mut server).await;
    for (id, params, is_told) in [
        (2, modern(json!({"name": "x"})), false),
        (3, json!({"name": "x"}), true),
    ] {
        ask(&link, id, "tools/call", params).await;
        assert_eq!(next(&mut link).await, "notifications/progress");
        tell(&link, "notifications/cancelled", json!({"requestId": id})).await;
        soon(server.closed.recv()).await.unwrap();
        if is_told {
            let asked = server
                .until(|asked| asked.is("notifications/cancelled"))
                .await;
            assert_eq!(asked.body["params"]["requestId"], id);
        }
    }
}

/// Returns a server of the transport before 2025, which responds in its single stream.
fn old(endpoint: &'static [&'static str]) -> impl Fn(&Asked) -> Says + Send + Sync {
    move |asked| match (asked.http.as_str(), asked.path.as_str()) {
        ("GET", "/mcp") => Says::Events(endpoint, Then::Stays),
        ("POST", "/post?id=1") => Says::Status(202, &[]),
        _ => Says::Status(405, &[]),
    }
}

#[tokio::test]
async fn an_old_server_is_found_by_itself() {
    const EVENTS: &[&str] = &[
        "event: endpoint\ndata: /post?id=1\n\n",
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"old\":true}}\n\n",
    ];
    for speaks in [Speaks::Any, Speaks::OneStream] {
        let mut server = Server::play(old(EVENTS)).await;
        let mut link = server.connect(speaks);
        ask(&link, 1, "initialize", json!({})).await;
        assert_eq!(next(&mut link).await, json!({"old": true}));
        let posted = server.until(|asked| asked.path == "/post?id=1").await;
        assert!(posted.is("initialize"));
        tell(&link, "notifications/initialized", Value::Null).await;
        server
            .until(|asked| asked.is("notifications/initialized"))
            .await;
    }
}

#[tokio::test]
async fn an_old_server_may_not_send_messages_elsewhere() {
    const EVENTS: &[&str] = &["event: endpoint\ndata: http://evil.example/post\n\n"];
    let server = Server::play(old(EVENTS)).await;
    let mut link = server.connect(Speaks::OneStream);
    ask(&link, 1, "initialize", json!({})).await;
    let failed = next(&mut link).await;
    assert_eq!(
        failed["message"],
        "the server `far` wants messages posted to another place"
    );
    assert!(
        soon(link.incoming.recv()).await.is_none(),
        "the connection ends"
    );
}
