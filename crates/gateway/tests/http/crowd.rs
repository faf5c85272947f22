//! Many concurrent clients: no answer is lost, and none goes to another client.

use std::sync::Arc;

use interlock_gateway::serve::Limits;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::http::world::{Rules, World, call, json_of, modern, soon};

const CLIENTS: u64 = 200;
const CALLS: u64 = 5;

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_clients_get_their_own_answers() {
    let world = Arc::new(World::new().await);
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let world = Arc::clone(&world);
        clients.spawn(async move {
            let has_session = client % 2 == 0;
            let session = if has_session {
                Some(world.session("2025-06-18").await)
            } else {
                None
            };
            for number in 0..CALLS {
                // All count in the same way, so that the ids of different clients are equal.
                let mut message = call(number, "echo");
                message["params"]["arguments"]["client"] = client.into();
                let response = match &session {
                    Some(session) => world.post(Some(session), &message).await,
                    None => world.post_modern(&modern(message)).await,
                };
                let answer = json_of(response).await;
                assert_eq!(answer["id"], number);
                assert_eq!(answer["result"]["client"], client, "of another client");
            }
        });
    }
    while let Some(done) = clients.join_next().await {
        done.unwrap();
    }
}

/// Sends a request that is refused, and returns the first bytes of its answer.
async fn refused(connection: &mut TcpStream) -> String {
    let request = b"PUT /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n\r\n";
    connection.write_all(request).await.unwrap();
    let mut read = vec![0; 65_536];
    let length = soon(connection.read(&mut read)).await.unwrap();
    String::from_utf8_lossy(&read[..length]).into_owned()
}

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_until_another_one_is_closed() {
    let world = World::with(Rules {
        limits: Limits {
            connections_max: 1,
            ..Rules::default().limits
        },
        ..Rules::default()
    })
    .await;
    let mut first = TcpStream::connect(world.address).await.unwrap();
    assert!(refused(&mut first).await.starts_with("HTTP/1.1 405"));
    let mut second = TcpStream::connect(world.address).await.unwrap();
    let waiting = tokio::spawn(async move { refused(&mut second).await });
    for _ in 0..20 {
        assert!(refused(&mut first).await.starts_with("HTTP/1.1 405"));
    }
    assert!(!waiting.is_finished());
    drop(first);
    assert!(soon(waiting).await.unwrap().starts_with("HTTP/1.1 405"));
}
