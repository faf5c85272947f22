//! All tools that each real client offers its model, compared with the tables by which its calls are judged.
//!
//! The results are in `docs/src/real-clients.md`.

use std::collections::BTreeSet;
use std::thread;

use interlock_clients::{ClientId, tools};
use interlock_testkit::claude::Version;
use interlock_testkit::client::{Client, Tools};
use interlock_testkit::proposal::Script;

use crate::e2e_clients::guarded::Guarded;
use crate::e2e_clients::page;

const CLIENTS: [Client; 7] = [
    Client::ClaudeCode(Version::V2_1_332),
    Client::ClaudeCode(Version::V2_1_197),
    Client::Codex(Tools::Functions),
    Client::Codex(Tools::Code),
    Client::Gemini,
    Client::Copilot,
    Client::Opencode,
];
/// The servers configured by the test.
const SERVERS: [&str; 2] = ["interlock", "stub"];

/// Returns the client's own tools, without those of servers.
fn offered(client: Client) -> BTreeSet<String> {
    let guarded = Guarded::new(client, &[]);
    let mut names = guarded.session(Script::calls(Vec::new())).tools();
    names.retain(|name| !is_of_server(name));
    names
}

fn is_of_server(name: &str) -> bool {
    let plain = name
        .strip_prefix("mcp__")
        .or_else(|| name.strip_prefix("mcp_"))
        .unwrap_or(name);
    SERVERS.iter().any(|server| {
        plain
            .strip_prefix(server)
            .is_some_and(|rest| rest.starts_with(['_', '-']))
    })
}

fn id(client: Client) -> ClientId {
    ClientId::named(client.id()).unwrap()
}

#[test]
fn every_tool_that_a_client_offers_stands_in_its_table() {
    let seen: Vec<(Client, BTreeSet<String>)> = thread::scope(|scope| {
        let playing = CLIENTS.map(|client| (client, scope.spawn(move || offered(client))));
        playing
            .into_iter()
            .map(|(client, played)| (client, played.join().unwrap()))
            .collect()
    });
    for (client, names) in &seen {
        assert!(names.len() > 5, "{}: {names:?}", client.label());
        let unknown: Vec<&String> = names
            .iter()
            .filter(|name| !tools::knows(id(*client), name))
            .collect();
        assert!(
            unknown.is_empty(),
            "{} offers tools that no table says anything of: {unknown:?}",
            client.label()
        );
    }
    // A tool listed as offered was offered in some version or mode.
    for (_, known) in ClientId::ALL {
        let all: BTreeSet<&str> = seen
            .iter()
            .filter(|(client, _)| id(*client) == known)
            .flat_map(|(_, names)| names.iter().map(String::as_str))
            .collect();
        let said: BTreeSet<&str> = tools::offered(known).into_iter().collect();
        if !all.is_empty() {
            assert_eq!(said, all, "{}", known.word());
        }
    }
    page::assert_holds("real-clients.md", "tools", &rows(&seen));
}

fn rows(seen: &[(Client, BTreeSet<String>)]) -> String {
    let head = ["client", "only manage the conversation", "everything else"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (client, names) in seen {
        let conversation = tools::conversation(id(*client));
        let (free, judged): (Vec<&String>, Vec<&String>) = names
            .iter()
            .partition(|name| conversation.contains(&name.as_str()));
        let listed = |names: Vec<&String>| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(" ")
        };
        rows.push(vec![client.label(), listed(free), listed(judged)]);
    }
    page::table(&rows)
}
