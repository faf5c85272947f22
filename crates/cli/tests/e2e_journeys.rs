//! The shipped workflows, each finished by real clients from `interlock init` to the final state.
//!
//! The model proposes only tools that its client offers, and a person answers at a terminal. `cargo xtask journeys`
//! plays all of them and writes the table in `docs/src/real-clients.md`; without it, two per client are played.

mod journey;
mod journeys;
mod play;
mod shop;

use std::thread;

use interlock_testkit::claude::Version;
use interlock_testkit::client::{Client, Tools};

use crate::e2e_journeys::journey::Journey;

use crate::e2e_clients::page;

const CLIENTS: [Client; 5] = [
    Client::ClaudeCode(Version::V2_1_332),
    Client::Codex(Tools::Code),
    Client::Gemini,
    Client::Copilot,
    Client::Opencode,
];

/// The default journeys of each client.
const SAMPLE: [[&str; 2]; 5] = [
    ["bugfix", "refactor"],
    ["bugfix", "review"],
    ["release", "research"],
    ["bugfix", "review"],
    ["migration", "refactor"],
];

/// The environment variable that selects journeys: `all`, or `CLIENT/WORKFLOW`; without it, a sample.
const CHOICE: &str = "INTERLOCK_JOURNEYS";

/// The result of one journey of one client.
struct Played {
    workflow: &'static str,
    client: Client,
    states: Result<Vec<String>, String>,
}

#[test]
fn every_client_finishes_the_shipped_workflows() {
    let choice = std::env::var(CHOICE).ok();
    let played: Vec<Played> = thread::scope(|scope| {
        let playing: Vec<_> = CLIENTS
            .iter()
            .enumerate()
            .map(|(index, client)| {
                let chosen = chosen(index, *client, choice.as_deref());
                scope.spawn(move || played(*client, chosen))
            })
            .collect();
        playing
            .into_iter()
            .flat_map(|played| played.join().unwrap())
            .collect()
    });
    let failed: Vec<String> = played.iter().filter_map(fault).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    if choice.as_deref() == Some("all") {
        page::assert_holds("real-clients.md", "journeys", &page::table(&rows(&played)));
    }
}

/// Returns the selected journeys of one client.
fn chosen(index: usize, client: Client, choice: Option<&str>) -> Vec<Journey> {
    let is_chosen = |journey: &Journey| match choice {
        None => SAMPLE[index].contains(&journey.workflow),
        Some("all") => true,
        Some(words) => words
            .split(',')
            .any(|word| word == format!("{}/{}", client.id(), journey.workflow)),
    };
    journeys::all().into_iter().filter(is_chosen).collect()
}

fn played(client: Client, journeys: Vec<Journey>) -> Vec<Played> {
    let played = journeys.iter().map(|journey| Played {
        workflow: journey.workflow,
        client,
        states: play::play(client, journey),
    });
    played.collect()
}

fn fault(played: &Played) -> Option<String> {
    let fault = played.states.as_ref().err()?;
    let (client, workflow) = (played.client.label(), played.workflow);
    Some(format!("{client}, `{workflow}`: {fault}"))
}

/// Returns one row per workflow, one column per client.
fn rows(played: &[Played]) -> Vec<Vec<String>> {
    let mut head = vec!["workflow".to_owned()];
    head.extend(CLIENTS.iter().map(|client| client.label()));
    let mut rows = vec![head];
    for journey in journeys::all() {
        let mut row = vec![format!("`{}`", journey.workflow)];
        for client in CLIENTS {
            let mine = played
                .iter()
                .find(|one| one.client == client && one.workflow == journey.workflow);
            row.push(mine.map_or_else(String::new, cell));
        }
        rows.push(row);
    }
    rows
}

/// Returns the outcome of the run, and the number of states it passed.
fn cell(played: &Played) -> String {
    let states = played.states.as_deref().unwrap_or_default();
    let last = states.last().map_or("", String::as_str);
    format!(
        "`{last}` after {} transitions",
        states.len().saturating_sub(1)
    )
}
