//! Responses: documents and streams that are interrupted, resumed, cancelled and ended.

use std::time::Duration;

use interlock_gateway::serve::Limits;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::http::{
    far_end::Seen,
    world::{Rules, Stream, World, call, initialize, json_of, modern},
};

const EVENTS: (&str, &str) = ("accept", "text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

fn go() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/go"})
}

fn say(what: u64) -> Value {
    let params = json!({"level": "info", "data": what});
    json!({"jsonrpc": "2.0", "method": "notifications/say", "params": params})
}

async fn get(world: &World, session: &str, last: Option<&str>) -> Response {
    let mut headers = vec![EVENTS, ("mcp-session-id", session)];
    headers.extend(last.map(|last| ("last-event-id", last)));
    world.send(Method::GET, "/mcp", &headers, "").await
}

#[tokio::test]
async fn an_answer_that_comes_alone_is_a_document() {
    let world = World::new().await;
    let session = world.session("2025-11-25").await;
    let response = world.post(Some(&session), &call("x", "echo")).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let expected = json!({"jsonrpc": "2.0", "id": "x", "result": {"of": "x"}});
    assert_eq!(json_of(response).await, expected);
}

#[tokio::test]
async fn what_comes_before_an_answer_makes_a_stream() {
    let world = World::new().await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = world.session(version).await;
        let mut stream = Stream::of(world.post(Some(&session), &call(5, "progress")).await);
        for number in [1, 2] {
            let told = stream.message().await.unwrap();
            assert_eq!(told["params"]["progress"], number, "{version}");
        }
        let answer = stream.message().await.unwrap();
        assert_eq!(
            (&answer["id"], &answer["result"]["done"]),
            (&json!(5), &json!(true))
        );
        assert_eq!(stream.message().await, None, "the answer ends the stream");
    }
}

#[tokio::test]
async fn only_new_clients_get_an_event_without_text() {
    let world = World::new().await;
    for (version, primed) in [("2025-11-25", true), ("2025-06-18", false)] {
        let session = world.session(version).await;
        let response = world.post(Some(&session), &call(5, "progress")).await;
        let text = response.text().await.unwrap();
        assert_eq!(
            text.starts_with("id: 2-0\nretry: 1000\ndata: \n\n"),
            primed,
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_stream_that_broke_off_goes_on_where_it_was() {
    let world = World::new().await;
    let session = world.session("2025-11-25").await;
    let mut stream = Stream::of(world.post(Some(&session), &call(5, "wait")).await);
    let (last, _) = stream.next().await.unwrap();
    let last = last.unwrap();
    drop(stream);
    world.post(Some(&session), &go()).await;
    // Messages that arrived in the meantime, or were never read, can be requested repeatedly.
    for _ in 0..2 {
        let mut stream = Stream::of(get(&world, &session, Some(&last)).await);
        assert_eq!(stream.message().await.unwrap()["result"]["went"], true);
        assert_eq!(stream.message().await, None);
    }
    let mut whole = Stream::of(get(&world, &session, Some("2-0")).await);
    assert_eq!(whole.message().await.unwrap()["params"]["progress"], 1);
}

#[tokio::test]
async fn a_stream_that_is_gone_ends_at_once() {
    let world = World::new().await;
    let session = world.session("2025-11-25").await;
    for last in ["99-1", "nonsense", "1-99999999999999999999"] {
        let mut stream = Stream::of(get(&world, &session, Some(last)).await);
        assert_eq!(stream.message().await, None, "{last}");
    }
}

#[tokio::test]
async fn what_belongs_to_no_request_travels_in_the_common_stream() {
    let world = World::new().await;
    let session = world.session("2025-06-18").await;
    // No earlier message is lost.
    world.post(Some(&session), &say(1)).await;
    let mut first = Stream::of(get(&world, &session, None).await);
    let (last, data) = first.next().await.unwrap();
    assert!(data.contains("\"data\":1"));
    drop(first);
    world.post(Some(&session), &say(2)).await;
    let mut again = Stream::of(get(&world, &session, last.as_deref()).await);
    assert_eq!(again.message().await.unwrap()["params"]["data"], 2);
    // A client that reconnects takes the stream over.
    let mut newer = Stream::of(get(&world, &session, None).await);
    assert_eq!(again.message().await, None);
    world.post(Some(&session), &say(3)).await;
    assert_eq!(newer.message().await.unwrap()["params"]["data"], 3);
}

#[tokio::test]
async fn a_server_may_ask_within_the_stream_of_a_request() {
    let mut world = World::new().await;
    let session = world.session("2025-06-18").await;
    let mut stream = Stream::of(world.post(Some(&session), &call(5, "ask")).await);
    let asked = stream.message().await.unwrap();
    assert_eq!(
        (&asked["method"], &asked["id"]),
        (&json!("elicitation/create"), &json!(77))
    );
    let answer = json!({"jsonrpc": "2.0", "id": 77, "result": {"action": "accept"}});
    assert_eq!(world.post(Some(&session), &answer).await.status(), 202);
    world
        .until(&Seen::Answered(json!({"action": "accept"})))
        .await;
    assert_eq!(
        stream.message().await.unwrap()["result"]["action"],
        "accept"
    );
}

#[tokio::test]
async fn to_break_off_is_not_to_cancel_where_there_are_sessions() {
    let mut world = World::new().await;
    let session = world.session("2025-06-18").await;
    let stream = Stream::of(world.post(Some(&session), &call(5, "wait")).await);
    drop(stream);
    world.post(Some(&session), &go()).await;
    world
        .until(&Seen::Told("notifications/go".to_owned(), Value::Null))
        .await;
    let mut again = Stream::of(get(&world, &session, Some("2-0")).await);
    assert_eq!(again.message().await.unwrap()["params"]["progress"], 1);
    assert_eq!(again.message().await.unwrap()["result"]["went"], true);
}

#[tokio::test]
async fn a_cancelled_request_ends_its_stream() {
    let mut world = World::new().await;
    let session = world.session("2025-06-18").await;
    let mut stream = Stream::of(world.post(Some(&session), &call(5, "wait")).await);
    stream.message().await.unwrap();
    let params = json!({"requestId": 5});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    world.post(Some(&session), &cancel).await;
    world
        .until(&Seen::Told("notifications/cancelled".to_owned(), params))
        .await;
    assert_eq!(stream.message().await, None);
    // The id can be used again.
    assert_eq!(
        world.post(Some(&session), &call(5, "echo")).await.status(),
        200
    );
}

#[tokio::test]
async fn to_break_off_is_to_cancel_where_every_request_stands_alone() {
    let mut world = World::new().await;
    let mut stream = Stream::of(world.post_modern(&modern(call("mine", "wait"))).await);
    stream.message().await.unwrap();
    drop(stream);
    loop {
        match world.seen.recv().await.unwrap() {
            Seen::Told(method, params) => {
                assert_eq!(method, "notifications/cancelled");
                // The peer knows it by another id, because several clients may have chosen the same.
                assert!(params["requestId"].is_number());
                return;
            }
            _ => continue,
        }
    }
}

#[tokio::test]
async fn an_id_that_is_under_way_is_not_taken_twice() {
    let world = World::new().await;
    let session = world.session("2025-06-18").await;
    let mut first = Stream::of(world.post(Some(&session), &call(5, "wait")).await);
    first.message().await.unwrap();
    let second = world.post(Some(&session), &call(5, "echo")).await;
    assert_eq!(second.status(), 400);
    assert_eq!(json_of(second).await["error"]["code"], -32_600);
    world.post(Some(&session), &go()).await;
    assert_eq!(first.message().await.unwrap()["result"]["went"], true);
}

#[tokio::test]
async fn a_batch_is_answered_as_one() {
    let world = World::new().await;
    let session = world.session("2025-03-26").await;
    let told = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    let bad = json!({"jsonrpc": "2.0", "id": 3, "method": 7});
    let batch = json!([call(1, "echo"), told, call(2, "echo"), bad]);
    let answers = json_of(world.post(Some(&session), &batch).await).await;
    let mut ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_u64())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2), Some(3)]);
    let one = world.post(Some(&session), &json!([call(4, "echo")])).await;
    assert!(json_of(one).await.is_array(), "a batch of one is a batch");
    let nothing = world.post(Some(&session), &json!([told])).await;
    assert_eq!(nothing.status(), 202);
    // A batch begins no session, and none within a session.
    for batch in [
        json!([initialize("2025-03-26"), call(5, "echo")]),
        json!([call(6, "echo"), initialize("2025-03-26")]),
        json!([initialize("2025-03-26")]),
    ] {
        let refused = world.post(Some(&session), &batch).await;
        assert_eq!(refused.status(), 400, "{batch}");
        assert_eq!(json_of(refused).await["error"]["code"], -32_600, "{batch}");
    }
}

#[tokio::test]
async fn a_refused_client_has_no_session() {
    let world = World::new().await;
    let mut refused = initialize("2025-06-18");
    refused["params"]["refuse"] = json!(true);
    let response = world.post(None, &refused).await;
    assert!(!response.headers().contains_key("mcp-session-id"));
    assert_eq!(json_of(response).await["error"]["message"], "refused");
}

#[tokio::test]
async fn a_session_ends_with_delete() {
    let mut world = World::new().await;
    let session = world.session("2025-06-18").await;
    let mut common = Stream::of(get(&world, &session, None).await);
    let headers = [("mcp-session-id", session.as_str())];
    assert_eq!(
        world
            .send(Method::DELETE, "/mcp", &headers, "")
            .await
            .status(),
        200
    );
    assert_eq!(common.message().await, None);
    world.until(&Seen::Closed).await;
    assert_eq!(
        world.post(Some(&session), &call(1, "echo")).await.status(),
        404
    );
}

#[tokio::test]
async fn subscriptions_are_known_by_the_clients_own_ids() {
    let mut world = World::new().await;
    let listen = json!({"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen"});
    let mut stream = Stream::of(world.post_modern(&modern(listen)).await);
    let first = stream.message().await.unwrap();
    assert_eq!(
        first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "sub"
    );
    world.stop();
    assert_eq!(stream.message().await, None, "a server that ends ends it");
    world.ended().await;
}

#[tokio::test]
async fn the_id_of_a_subscription_is_translated_in_the_result_of_its_own_request_alone() {
    const ID: &str = "io.modelcontextprotocol/subscriptionId";
    let world = World::new().await;
    let session = world.session("2025-11-25").await;
    let listen = json!({"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen", "params": {"ends": true}});
    let mut named = call("sub", "echo");
    named["params"]["arguments"] = json!({"_meta": {ID: "of the server"}});
    for (message, expected) in [(listen, "sub"), (named, "of the server")] {
        for response in [
            world.post_modern(&modern(message.clone())).await,
            world.post(Some(&session), &message).await,
        ] {
            let answer = json_of(response).await;
            assert_eq!(answer["id"], "sub");
            assert_eq!(answer["result"]["_meta"][ID], expected, "{message}");
        }
    }
}

#[tokio::test]
async fn what_is_under_way_is_finished_when_the_server_ends() {
    let mut world = World::new().await;
    let session = world.session("2025-06-18").await;
    let mut stream = Stream::of(world.post(Some(&session), &call(5, "wait")).await);
    stream.message().await.unwrap();
    let mut common = Stream::of(get(&world, &session, None).await);
    // The connection that sends `go` exists before the server stops accepting new ones.
    let client = world.client.clone();
    let url = world.url("/mcp");
    let (begin, begun) = tokio::sync::oneshot::channel::<()>();
    let body = reqwest::Body::wrap_stream(futures_util::stream::once(async move {
        begun.await.ok();
        Ok::<_, std::io::Error>(go().to_string())
    }));
    let request = client
        .post(url)
        .headers(
            [EVENTS, JSON, ("mcp-session-id", session.as_str())]
                .into_iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .collect(),
        )
        .header("accept", "application/json")
        .body(body);
    let going = tokio::spawn(request.send());
    world
        .until(&Seen::Asked(
            "tools/call".to_owned(),
            call(5, "wait")["params"].clone(),
        ))
        .await;
    // Another request shows that the connection with the open body has been accepted.
    assert_eq!(
        world.post(Some(&session), &call(6, "echo")).await.status(),
        200
    );
    world.stop();
    assert_eq!(common.message().await, None);
    begin.send(()).ok();
    assert_eq!(going.await.unwrap().unwrap().status(), 202);
    assert_eq!(stream.message().await.unwrap()["result"]["went"], true);
    world.ended().await;
}

#[tokio::test]
async fn what_does_not_end_in_time_is_ended() {
    let mut world = World::with(Rules {
        grace: Duration::ZERO,
        ..Rules::default()
    })
    .await;
    let session = world.session("2025-06-18").await;
    let mut stream = Stream::of(world.post(Some(&session), &call(5, "wait")).await);
    stream.message().await.unwrap();
    world.stop();
    world.ended().await;
    assert_eq!(stream.message().await, None);
    world.until(&Seen::Closed).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_stops_nobody_else() {
    let world = World::new().await;
    let mut slow = Stream::of(world.post_modern(&modern(call(1, "flood"))).await);
    // The same channel, while the first stream is full.
    for number in 2..20 {
        let answer = json_of(world.post_modern(&modern(call(number, "echo"))).await).await;
        assert_eq!(answer["result"]["of"], number);
    }
    let mut last = None;
    while let Some(message) = slow.message().await {
        last = Some(message);
    }
    assert_eq!(
        last.unwrap()["result"]["done"],
        true,
        "the answer is never lost"
    );
}

#[tokio::test]
async fn too_much_at_once_is_refused() {
    let world = World::with(Rules {
        limits: Limits {
            requests_max: 2,
            sessions_max: 1,
            ..Rules::default().limits
        },
        ..Rules::default()
    })
    .await;
    let session = world.session("2025-06-18").await;
    let mut first = Stream::of(world.post(Some(&session), &call(1, "wait")).await);
    first.message().await.unwrap();
    let mut second = Stream::of(world.post(Some(&session), &call(2, "wait")).await);
    second.message().await.unwrap();
    let third = world.post(Some(&session), &call(3, "echo")).await;
    assert_eq!(third.status(), 429);
    assert_eq!(json_of(third).await["id"], 3);
    let another = world.post(None, &initialize("2025-06-18")).await;
    assert_eq!(another.status(), 503);
}

#[tokio::test]
async fn a_session_that_rests_makes_room_for_a_new_one() {
    let world = World::with(Rules {
        limits: Limits {
            sessions_max: 1,
            rest: std::time::Duration::ZERO,
            ..Rules::default().limits
        },
        ..Rules::default()
    })
    .await;
    let first = world.session("2025-06-18").await;
    let second = world.session("2025-06-18").await;
    let gone = world.post(Some(&first), &call(1, "echo")).await;
    assert_eq!(gone.status(), 404);
    let there = world.post(Some(&second), &call(1, "echo")).await;
    assert_eq!(there.status(), 200);
}

#[tokio::test]
async fn the_transport_before_2025_has_one_stream() {
    let mut world = World::new().await;
    let other = [("accept", "application/json")];
    let refused = world.send(Method::GET, "/sse", &other, "").await;
    assert_eq!(refused.status(), 406);
    let response = world.send(Method::GET, "/sse", &[EVENTS], "").await;
    let mut stream = Stream::of(response);
    let (_, endpoint) = stream.next().await.unwrap();
    assert!(endpoint.starts_with("/messages?session_id="), "{endpoint}");
    for (message, field) in [
        (initialize("2024-11-05"), "protocolVersion"),
        (call(1, "echo"), "of"),
    ] {
        let posted = world
            .send(Method::POST, &endpoint, &[JSON], message.to_string())
            .await;
        assert_eq!(posted.status(), 202);
        let answer = stream.message().await.unwrap();
        assert_eq!(answer["id"], message["id"]);
        assert!(answer["result"].get(field).is_some(), "{answer}");
    }
    // The endpoint is not a session of the other transport… and both end with the stream.
    drop(stream);
    world.until(&Seen::Closed).await;
    let late = world
        .send(
            Method::POST,
            &endpoint,
            &[JSON],
            call(2, "echo").to_string(),
        )
        .await;
    assert_eq!(late.status(), 404);
}
