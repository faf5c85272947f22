use std::{fs, os::unix::fs::symlink};

use interlock_project::RequiredLevel;
use tempfile::TempDir;

use super::*;

/// A project with this configuration.
fn project(text: &str) -> (TempDir, Config) {
    let room = tempfile::tempdir().unwrap();
    fs::create_dir_all(room.path().join(".interlock")).unwrap();
    fs::create_dir_all(room.path().join("inside")).unwrap();
    symlink("/", room.path().join("leads-out")).unwrap();
    fs::write(room.path().join(".interlock/config.toml"), text).unwrap();
    let config = Config::of_project(room.path()).unwrap_or_else(|error| {
        unreachable!("{error}: {text}");
    });
    (room, config)
}

fn widens(text: &str) -> Value {
    let (room, config) = project(text);
    widening(&config, room.path())
}

#[test]
fn whatever_may_widen_what_an_agent_may_do_is_named_and_changes_with_what_it_says() {
    // What is written, the same changed, and the key under which a person is asked about it.
    let rows = [
        (
            "[stages]\nmode = \"yolo\"",
            "[stages]\nmode = \"ask\"",
            "mode",
        ),
        (
            "[stages]\nallowlist = [\"Read\"]",
            "[stages]\nallowlist = [\"Read\", \"Bash:git *\"]",
            "allowlist",
        ),
        (
            "[mcp.fs]\ncommand = \"files\"",
            "[mcp.fs]\ncommand = \"files\"\nargs = [\"/\"]",
            "mcp.fs",
        ),
        (
            "default_model = \"anthropic/a\"",
            "default_model = \"openai/a\"",
            "default_model",
        ),
        (
            "[models]\nfast = \"anthropic/a\"",
            "[models]\nfast = \"openai/a\"",
            "models.fast",
        ),
        (
            "[prices.\"anthropic/a\"]\ninput = 3\noutput = 15",
            "[prices.\"anthropic/a\"]\ninput = 0\noutput = 0",
            "prices.anthropic/a",
        ),
        (
            "[mcp_servers.web]\nurl = \"https://a.example\"",
            "[mcp_servers.web]\nurl = \"https://b.example\"",
            "mcp_servers.web",
        ),
        (
            "[integrations.jira]\nenv = [\"JIRA_TOKEN\"]",
            "[integrations.jira]\nenv = [\"JIRA_TOKEN\", \"HOME\"]",
            "integrations.jira",
        ),
        (
            "[datasources.all]\npath = \"/\"",
            "[datasources.all]\npath = \"..\"",
            "datasources.all",
        ),
        (
            "[datasources.all]\npath = \"leads-out\"",
            "[datasources.all]\npath = \"leads-out/etc\"",
            "datasources.all",
        ),
        (
            "[skills.all]\npath = \"/\"",
            "[skills.all]\npath = \"..\"",
            "skills.all",
        ),
    ];
    for (written, changed, key) in rows {
        let (one, other) = (widens(written), widens(changed));
        for widens in [&one, &other] {
            let keys: Vec<&String> = widens.as_object().unwrap().keys().collect();
            assert_eq!(keys, [key], "{written}");
        }
        assert_ne!(one, other, "{changed}");
        assert_eq!(one, widens(written), "the same says the same");
    }
}

#[test]
fn what_a_server_is_started_with_is_not_shown() {
    let told = widens("[mcp.fs]\ncommand = \"files\"\nenv = {KEY = \"sesame\"}");
    assert!(!told.to_string().contains("sesame"), "{told}");
    assert!(!told.to_string().contains("files"), "{told}");
}

#[test]
fn what_only_narrows_or_stays_within_the_project_is_not_asked_about() {
    for text in [
        "",
        "workflow = \"bugfix\"\nhold = \"project\"",
        "[sandbox]\nrequire = \"full\"",
        "[mcp_servers.web]\nurl = \"https://a.example\"\nenabled = false",
        "[integrations.jira]\nenv = {JIRA_URL = \"https://a.example\"}",
        "[datasources.own]\npath = \"inside\"",
        "[skills.own]\npath = \"inside\"",
    ] {
        assert_eq!(widens(text), json!({}), "{text}");
    }
}

#[test]
fn of_a_project_that_is_not_trusted_what_narrows_counts_and_nothing_else() {
    let (_room, config) = project(
        "workflow = \"bugfix\"\ndefault_model = \"anthropic/a\"\n\
         [sandbox]\nrequire = \"full\"\n[stages]\nmode = \"yolo\"\nallowlist = [\"Bash\"]\n\
         [mcp.fs]\ncommand = \"files\"\n[models]\nfast = \"anthropic/a\"\n",
    );
    let mut wanted = Config {
        workflow: Some("bugfix".to_owned()),
        ..Config::default()
    };
    wanted.sandbox.require = Some(RequiredLevel::Full);
    assert_eq!(config.narrowed(), wanted);
}
