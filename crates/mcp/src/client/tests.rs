#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::ffi::OsString;

use super::*;
use crate::{
    era::MODERN,
    notes::Notes,
    transport::{Running, stdio::Process},
};

/// A server of the modern protocol. What it answers is in the name of the tool.
const SERVER: &str = r#"
rounds=0
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  answer='"error":{"code":-32601,"message":"no such method"}'
  more='"result":{"resultType":"input_required"'
  case "$line" in
    *server/discover*)
      answer='"result":{"resultType":"complete","supportedVersions":["MODERN"],"capabilities":{}}' ;;
    *'"patient"'*)
      rounds=$((rounds + 1))
      case "$rounds$line" in
        1*inputResponses*|1*requestState*) ;;
        1*) answer="$more,\"requestState\":\"one\"}" ;;
        2*'"inputResponses":{}'*'"requestState":"one"'*|2*'"requestState":"one"'*'"inputResponses":{}'*)
          answer="$more}" ;;
        3*requestState*) ;;
        3*'"inputResponses":{}'*)
          answer='"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}' ;;
      esac ;;
    *'"asking"'*) answer="$more,\"inputRequests\":{\"a\":{\"method\":\"elicitation/create\"}}}" ;;
    *'"odd"'*) answer="$more,\"inputRequests\":[]}" ;;
    *'"endless"'*) answer="$more}" ;;
    *'"calling"'*)
      printf '%s\n' '{"jsonrpc":"2.0","id":"s1","method":"ping"}' \
        '{"jsonrpc":"2.0","id":"s2","method":"sampling/createMessage"}'
      read -r ping; read -r sampling
      case "$ping" in *'"s1"'*'"result":{}'*) ping=pong ;; esac
      case "$sampling" in *'"s2"'*-32601*) sampling=nobody ;; esac
      answer='"result":{"content":[{"type":"text","text":"'$ping' '$sampling'"}]}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$answer"
done
"#;

async fn called(tool: &str) -> String {
    let server = Process {
        command: "sh".into(),
        args: ["-c", &SERVER.replace("MODERN", MODERN)]
            .map(OsString::from)
            .into(),
        env: [].into(),
        cwd: None,
    };
    let options = ConnectOptions {
        label: "server".to_owned(),
        bytes_max: 100_000,
        notes: Notes::to_channel().0,
        running: Running::new().0,
    };
    let client = McpClient::connect(Box::new(server), options);
    let outcome = client.call(tool, Object::new()).await;
    client.close();
    match outcome {
        Outcome::Result(result) => result.get().to_owned(),
        Outcome::Error(error) => {
            let error: Value = serde_json::from_str(error.get()).unwrap();
            error.get("message").unwrap().as_str().unwrap().to_owned()
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_goes_on_with_the_state_that_its_server_gave_it() {
    // What only the modern protocol has is not passed on.
    assert_eq!(
        called("patient").await,
        r#"{"content":[{"type":"text","text":"done"}]}"#
    );
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_that_needs_a_person_or_never_ends_fails() {
    for (tool, said) in [
        (
            "asking",
            "the server needs `elicitation/create` of the client",
        ),
        ("odd", "`inputRequests` of the server is not an object"),
        ("endless", "the server asked for more 32 times"),
    ] {
        let message = called(tool).await;
        assert!(message.starts_with(said), "{tool}: {message}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_server_that_asks_its_client_is_answered_at_once() {
    let result = called("calling").await;
    assert!(result.contains("pong nobody"), "{result}");
}
