//! Many concurrent clients: no answer is lost, and none goes to another client.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::http::world::{World, call, json_of, modern};

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
