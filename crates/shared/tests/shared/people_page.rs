//! The page about people: its files and commands as printed, with a real provider in place of `login.example.com`.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use interlock_shared::Role;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    api::{Fleet, Served, command, done},
    provider::{Provider, browse},
    server::ROLE,
};

const PAGE: &str = include_str!("../../../../docs/src/shared-people.md");
const JSON: &str = include_str!("../../../../docs/src/json.md");

/// The blocks of the page, each with its language.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let fenced = PAGE.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n')).collect()
}

/// Runs one command, and answers what it asks of a person; returns its output.
fn called(fleet: &Fleet<'_>, state: &TempDir, line: &str, account: &str) -> String {
    let words = fleet.server.words(&fleet.name, ROLE);
    let arguments = line.strip_prefix("interlock shared ").unwrap().split(' ');
    let mut child = command(&words, state)
        .args(arguments)
        .env("INTERLOCK_TENANT", "acme")
        .current_dir(state.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    for told in errors.lines() {
        let told = told.unwrap();
        if told.starts_with("http") {
            browse(&told, account, "");
        } else if let Some((address, code)) =
            told.split_once(" in any browser, and enter the code ")
        {
            let address = address.strip_prefix("Open ").unwrap();
            browse(address, account, code.trim_end_matches('.'));
        }
        said.push_str(&told);
    }
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{line}: {said}");
    String::from_utf8(done.stdout).unwrap()
}

fn curl(state: &Path, line: &str) -> Value {
    let said = Command::new("sh")
        .args(["-c", line])
        .current_dir(state)
        .output()
        .unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{line}\n{text}"))
}

#[test]
fn the_page_of_people_is_true() {
    let Some(fleet) = Fleet::new() else { return };
    let Some(provider) = Provider::start() else {
        return;
    };
    let state = TempDir::new().unwrap();
    let put = |name: &str, text: &str| std::fs::write(state.path().join(name), text).unwrap();
    // Tokens that the page does not make itself.
    let cy = fleet.token(Role::Person, "cy@example.org");
    put("cy.token", &cy);
    let job = json!({
        "aud": "interlock-ci", "sub": "s", "actor": "ben@example.org", "repository": "acme/shop",
        "ref": "refs/heads/main", "iat": 1_700_000_000, "exp": 4_000_000_000_u64,
    });
    put("id.jwt", &provider.mint("ES256", &json!({}), &job));
    // The page signs in after it has shown how people approve; here, that comes first.
    let mut order = blocks();
    let (first, last): (Vec<_>, Vec<_>) = order
        .drain(..)
        .partition(|(_, text)| !text.starts_with("curl "));
    let mut served: Option<Served> = None;
    let mut ran = 0;
    for (language, text) in first {
        let text = text.replace("https://login.example.com", &provider.issuer);
        if language == "toml" {
            let name = text.lines().next().unwrap().strip_prefix("# ").unwrap();
            put(name, &text);
        }
        for line in text
            .lines()
            .filter(|line| line.starts_with("interlock shared "))
        {
            ran += 1;
            if line.contains(" serve ") {
                let more = [
                    "--sign-in",
                    state.path().join("sign-in.toml").to_str().unwrap(),
                ]
                .map(str::to_owned);
                assert!(line.ends_with("--sign-in sign-in.toml"));
                let more: Vec<&str> = more.iter().map(String::as_str).collect();
                served = Some(Served::start_with(
                    &fleet.server.words(&fleet.name, ROLE),
                    &more,
                ));
                continue;
            }
            let at = served.as_ref().map_or("", Served::address);
            let line = line.replace("127.0.0.1:4680", at);
            let account = line
                .rsplit(' ')
                .next()
                .unwrap()
                .trim_end_matches(".token")
                .to_owned();
            called(&fleet, &state, &line, &account);
        }
    }
    assert_eq!(ran, 6);
    let served = served.unwrap();
    let run = served.run(&fleet.token(Role::Person, "ana@example.org"));
    let agent = fleet.token(Role::Agent, "ana@example.org");
    let asked = served.decide(&agent, &run, "d", done());
    assert_eq!(asked["request"], json!("a1"));
    assert_eq!(last.len(), 1);
    let text = last[0]
        .1
        .replace("\\\n", "")
        .replace("127.0.0.1:4680", served.address())
        .replace("01k9", &run);
    let replies: Vec<Value> = text.lines().map(|line| curl(state.path(), line)).collect();
    assert_eq!(replies.len(), 3);
    assert_eq!(replies[0]["verdict"], json!("pending"), "{replies:?}");
    assert!(
        PAGE.contains(&format!(
            "```text\n{}\n```",
            replies[0]["message"].as_str().unwrap()
        )),
        "{replies:?}"
    );
    assert_eq!(
        replies[1]["approvals"][0]["votes"][0]["by"],
        json!("cy@@example.org")
    );
    assert_eq!(replies[2]["verdict"], json!("accepted"), "{replies:?}");

    // The keys of `--json`, as the page of JSON output lists them.
    let section = JSON.split("\n## shared\n").nth(1).unwrap();
    let is_listed = |command: &str, out: &str| {
        let row = section
            .lines()
            .find(|line| line.starts_with("| ") && line.contains(command))
            .unwrap();
        let listed = row.split(" | ").nth(1).unwrap();
        let value: Value = serde_json::from_str(out).unwrap();
        let keys = value.as_object().unwrap().keys();
        let words: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
        keys.for_each(|key| assert!(words.contains(&key.as_str()), "{command}: {key}"));
        let all = words.iter().filter(|word| **word != "--output");
        all.for_each(|word| assert!(value.get(word).is_some(), "{command}: {word}"));
    };
    put("id.jwt", &provider.mint("RS256", &json!({}), &job));
    let commands = [
        "interlock shared people load people.toml --json",
        "interlock shared people show --json",
        "interlock shared login --server http://127.0.0.1:4680 --json",
        "interlock shared exchange --server http://127.0.0.1:4680 --id-token-file id.jwt --json",
    ];
    for line in commands {
        let out = called(
            &fleet,
            &state,
            &line.replace("127.0.0.1:4680", served.address()),
            "eli",
        );
        let words: Vec<&str> = line.split(' ').skip(2).take(2).collect();
        let command = if words[0] == "people" {
            words.join(" ")
        } else {
            words[0].to_owned()
        };
        is_listed(&format!("`{command}`"), &out);
    }
}
