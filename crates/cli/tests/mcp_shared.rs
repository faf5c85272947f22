//! Servers that several sessions share: those without sessions, which the gateway finds out by itself.

use interlock_testkit::{
    mcp::{http::Client, listening::Listening},
    room::Room,
};
use serde_json::json;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
/// A server that speaks only the protocol version without sessions, and writes to a file when it starts.
const MODERN: &str = r#"
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
appendFileSync("started", "x");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const known = {
    "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, serverInfo: { name: "m", version: "1" } },
    "tools/list": { tools: [{ name: "look", inputSchema: { type: "object" } }], ttlMs: 0, cacheScope: "private" },
    "tools/call": { content: [{ type: "text", text: "seen" }] },
  }[method];
  const answer = known ? { result: { resultType: "complete", ...known } } : { error: { code: -32601, message: "no" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
}
"#;
const SESSIONS: usize = 6;

#[test]
fn one_process_of_a_server_without_sessions_serves_all_that_come_once_that_is_known() {
    let room = Room::new().unwrap();
    room.write("server.mjs", MODERN).unwrap();
    let config = "[mcp.one]\ncommand = \"node\"\nargs = [\"server.mjs\"]\n";
    room.write(".interlock/config.toml", config).unwrap();
    let mut serve = room.command(INTERLOCK);
    serve.args(["serve", "--listen", "127.0.0.1:0"]);
    let serve = Listening::start(serve).unwrap();
    let mut clients = Vec::new();
    for _ in 0..SESSIONS {
        let mut client = Client::new(serve.url()).unwrap();
        client.open("2025-11-25", &json!({})).unwrap();
        let answer = client.call("look", &json!({})).unwrap();
        assert!(answer["result"]["content"].is_array(), "{answer}");
        clients.push(client);
    }
    // The first session detected it, and has a process of its own.
    assert_eq!(room.read("started").as_deref(), Some("xx"));
    // A session that ends leaves the server to the others.
    let (first, rest) = clients.split_first_mut().unwrap();
    first.delete().unwrap();
    rest[0].delete().unwrap();
    for client in rest.iter_mut().skip(1) {
        let answer = client.call("look", &json!({})).unwrap();
        assert!(answer["result"]["content"].is_array(), "{answer}");
    }
    assert_eq!(room.read("started").as_deref(), Some("xx"));
}
