//! Whose assistant, server, folder or text an id means.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{fs, path::Path};

use interlock_core::machine::ServerStart;
use interlock_formats::Workflows as _;
use tempfile::TempDir;

use super::Assets;
use crate::{config::Config, library::Library};

/// A project and a person's directory with these configurations.
fn room(person: &str, project: &str) -> TempDir {
    let room = TempDir::new().unwrap();
    write(room.path(), "person/config.toml", person);
    write(room.path(), "project/.interlock/config.toml", project);
    room
}

fn write(room: &Path, name: &str, text: &str) {
    let path = room.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn assets(room: &TempDir) -> Assets {
    let (root, directory) = (room.path().join("project"), room.path().join("person"));
    let person = Config::of_person(Some(&directory)).unwrap();
    let project = Config::of_project(&root).unwrap();
    Assets::of(&person, Some(&directory), &project, &root)
}

#[test]
fn what_a_person_defines_wins() {
    let room = room(
        "[assistants.a]\nsystem_prompt = 'mine'\n[datasources.d]\npath = 'notes'\n[mcp_servers.s]\ncommand = 'mine'\n",
        "[assistants.a]\nsystem_prompt = 'theirs'\n[assistants.b]\nsystem_prompt = 'b'\nmax_turns = 3\n\
         [datasources.d]\npath = 'docs'\n[datasources.e]\npath = 'docs'\n\
         [mcp_servers.s]\nurl = 'http://127.0.0.1:1/'\n[mcp_servers.t]\nurl = 'http://127.0.0.1:1/'\ntype = 'streamable-http'\n\
         [mcp.old]\ncommand = 'x'\n",
    );
    write(
        room.path(),
        "project/.interlock/assistants/c.yaml",
        "system_prompt: c\n",
    );
    write(
        room.path(),
        "project/.interlock/assistants/a.yaml",
        "system_prompt: file\n",
    );
    write(
        room.path(),
        "person/assistants/b.json",
        "{\"system_prompt\": \"mine too\"}",
    );
    let assets = assets(&room);
    let text = |id: &str| assets.text("assistants", id).unwrap().unwrap().text;
    assert!(text("a").contains("mine"));
    assert!(text("b").contains("mine too"));
    assert_eq!(text("c"), "system_prompt: c\n");
    let places: Vec<_> = assets.datasources().collect();
    let (mine, theirs) = (
        room.path().join("person/notes"),
        room.path().join("project/docs"),
    );
    assert_eq!(places, [("d", mine.as_path()), ("e", theirs.as_path())]);
    assert_eq!(assets.ids("mcp_servers").unwrap(), ["s", "t", "old"]);
    assert!(matches!(
        assets.server("s").unwrap().start,
        ServerStart::Program { .. }
    ));
    let ServerStart::Address { streams, .. } = assets.server("t").unwrap().start else {
        unreachable!("it has an address");
    };
    assert!(streams);
    assert_eq!(assets.ids("tables"), None);
}

#[test]
fn the_library_answers_for_the_configuration() {
    let room = room(
        "",
        "[skills.tone]\npath = 'tone.md'\n[skills.gone]\npath = 'gone.md'\n",
    );
    write(room.path(), "project/tone.md", "Be kind.");
    let library = Library::new(&room.path().join("project"), None);
    assert_eq!(library.entries("skills").unwrap(), ["tone", "gone"]);
    assert_eq!(library.entries("assistants").unwrap(), Vec::<String>::new());
    let found = library.configured("skills", "tone").unwrap().unwrap();
    assert_eq!(found.text, "Be kind.");
    let why = library.configured("skills", "gone").unwrap().unwrap_err();
    assert!(why.contains("gone.md` cannot be read"), "{why}");
    assert!(library.configured("skills", "other").is_none());
}

#[test]
fn a_configuration_that_cannot_be_read_is_said_where_it_is_wanted() {
    let room = room("", "[skills.tone]\n");
    let library = Library::new(&room.path().join("project"), None);
    assert_eq!(library.entries("skills"), None);
    let why = library.configured("skills", "tone").unwrap().unwrap_err();
    assert!(why.contains("path"), "{why}");
}

#[test]
fn an_integration_has_values_or_names_and_shows_neither() {
    let room = room(
        "[integrations.db]\nenv = { USER = 'ana', PASSWORD = '${DB_PASSWORD}' }\n\
         [integrations.git]\nenv = ['GIT_TOKEN']\n[integrations.plain]\nenv = { A = 'hidden' }\n",
        "",
    );
    let assets = assets(&room);
    let variable = |name: &str| (name == "DB_PASSWORD").then(|| "pw".to_owned());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let db = assets.integration("db").unwrap();
    assert_eq!(
        db.environment(variable).unwrap(),
        [pair("USER", "ana"), pair("PASSWORD", "pw")]
    );
    let git = assets.integration("git").unwrap();
    let why = git.environment(variable).unwrap_err();
    assert!(why.contains("`GIT_TOKEN` is not set"), "{why}");
    let plain = assets.integration("plain").unwrap();
    assert!(db.takes_environment() && git.takes_environment() && !plain.takes_environment());
    let shown = format!("{assets:?}");
    assert!(shown.contains("PASSWORD") && !shown.contains("hidden") && !shown.contains("ana\""));
}

#[test]
fn tables_that_cannot_be_used_are_refused() {
    for (text, part) in [
        ("[mcp_servers.s]\n", "neither `command` nor `url`"),
        (
            "[mcp_servers.s]\ncommand = 'a'\nurl = 'b'\n",
            "both `command` and `url`",
        ),
        (
            "[mcp_servers.s]\ncommand = 'a'\nconfig = { command = 'b' }\n",
            "is also written next to it",
        ),
        ("[mcp_servers.s]\ncomand = 'a'\n", "did you mean `command`?"),
        (
            "[mcp_servers.s]\nurl = 'a'\ntype = 'sse'\n",
            "streamable-http",
        ),
        ("[integrations.i]\nenv = ['A B']\n", "name of a variable"),
        (
            "[integrations.i]\nenv = 'A'\n",
            "a table of values, or a list of names",
        ),
        ("[datasources.d]\npath = ''\n", "is empty"),
        ("[skills.s]\nfile = 'a'\n", "unknown field"),
    ] {
        let why = Config::parse(text).unwrap_err();
        assert!(why.contains(part), "{text}: {why}");
    }
    Config::parse("[mcp_servers.s]\nenabled = false\n").unwrap();
}
