//! The built program, as a person runs it.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Command, Output},
};

use interlock_store::RunLog;
use serde_json::Value;

use crate::{
    api::Served,
    server::{ROLE, Server, server},
    world::World,
};

pub(crate) struct Place<'a> {
    pub(crate) server: &'a Server,
    pub(crate) database: String,
    world: World,
}

impl Place<'_> {
    pub(crate) fn new() -> Option<Self> {
        let server = server()?;
        let database = server.new_database();
        let world = World::at(tempfile::tempdir().unwrap(), "state/interlock");
        Some(Self {
            server,
            database,
            world,
        })
    }

    /// Returns the folder in which commands are run.
    pub(crate) fn state(&self) -> PathBuf {
        self.world.home.path().parent().unwrap().to_owned()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlock-shared"));
        let state = self.world.home.path().parent().unwrap();
        command
            .args(arguments)
            .env_clear()
            .env("XDG_STATE_HOME", state)
            .env("HOME", state)
            .current_dir(state)
            .env(
                "INTERLOCK_DATABASE",
                self.server.words(&self.database, ROLE),
            )
            .env("INTERLOCK_TENANT", "acme");
        command
    }

    #[track_caller]
    pub(crate) fn call(&self, arguments: &[&str], code: i32) -> (String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(arguments).output().unwrap();
        let (out, err) = (
            String::from_utf8(stdout).unwrap(),
            String::from_utf8(stderr).unwrap(),
        );
        assert_eq!(status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
        assert!(!format!("{out}{err}").contains(&format!("password={ROLE}")));
        (out, err)
    }

    #[track_caller]
    fn json(&self, arguments: &[&str], code: i32) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        serde_json::from_str(&self.call(&arguments, code).0).unwrap()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.server.drop_database(&self.database);
    }
}

#[test]
fn a_run_goes_from_this_machine_to_the_log_and_back() {
    let Some(place) = Place::new() else { return };
    let state = place.world.home.path().parent().unwrap().to_owned();
    std::fs::create_dir_all(&state).unwrap();
    let log: RunLog = place.world.start_with_events(5);
    let run = log.run().as_str().to_owned();

    let (_, err) = place.call(&["runs"], 1);
    assert!(err.contains("interlock shared init"), "{err}");
    let made = place.json(&["init"], 0);
    assert_eq!(made["made_tables"], Value::Bool(true));
    let (out, _) = place.call(&["init"], 0);
    assert!(out.contains("there already"), "{out}");
    assert_eq!(place.json(&["migrate"], 0)["from"], made["format"]);

    let checks = place.json(
        &["doctor"],
        if std::env::var_os("DATABASE_URL").is_some() {
            0
        } else {
            1
        },
    );
    let failed = |check: &&Value| check["ok"] == Value::Bool(false);
    for check in checks.as_array().unwrap().iter().filter(failed) {
        // The tests' server is configured to be faster than is safe.
        assert_eq!(check["check"], "durable", "{check}");
    }

    // An existing file in place of the unfinished one is not written to, because others might read it.
    std::fs::write(state.join("run.jsonl.new"), "").unwrap();
    std::fs::set_permissions(
        state.join("run.jsonl.new"),
        std::fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    place.call(&["export", "--local", &run, "-o", "run.jsonl"], 0);
    let mode = std::fs::metadata(state.join("run.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let imported = place.json(&["import", "run.jsonl"], 0);
    assert_eq!(imported["imported"], Value::Bool(true));
    assert_eq!(
        place.json(&["import", "run.jsonl"], 0)["imported"],
        Value::Bool(false)
    );
    let verified = place.json(&["verify", &run[..12]], 0);
    assert_eq!(
        (&verified["events"], &verified["hash"]),
        (&Value::from(5), &imported["hash"])
    );
    assert_eq!(place.json(&["runs"], 0)["run"], Value::from(run.as_str()));
    let (piped, _) = place.call(&["export", &run], 0);
    assert_eq!(
        piped,
        std::fs::read_to_string(state.join("run.jsonl")).unwrap()
    );

    std::fs::write(
        state.join("changed.jsonl"),
        piped.replacen("\"seq\":3", "\"seq\":4", 1),
    )
    .unwrap();
    let (_, err) = place.call(&["import", "changed.jsonl", "--tenant", "acme"], 1);
    assert!(
        err.contains("`changed.jsonl`, line 5: event 3 is missing"),
        "{err}"
    );
    for (arguments, word) in [
        (
            &["verify", "zzzz"][..],
            "no run of tenant `acme` is called `zzzz`",
        ),
        (&["runs", "--tenant", "nobody"], "init --tenant nobody"),
        (&["runs", "--tenant", "Not one"], "cannot name a tenant"),
        (&["import", "nosuch.jsonl"], "cannot read `nosuch.jsonl`"),
        (
            &["runs", "--database", "postgres://u:s3cret@h:p/x"],
            "the address of the database",
        ),
    ] {
        let (_, err) = place.call(arguments, 1);
        assert!(err.contains(word), "{arguments:?}: {err}");
        assert!(!err.contains("s3cret"), "{err}");
    }
}

/// Returns the commands on a page, with their continuation lines.
pub(crate) fn commands(page: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut continues = false;
    for line in page.lines() {
        let is_command = line.starts_with("interlock shared ") || line.starts_with("curl ");
        if continues {
            let last = commands.last_mut().unwrap();
            last.truncate(last.len() - 1);
            last.push_str(line);
        } else if is_command {
            commands.push(line.to_owned());
        }
        continues = (is_command || continues) && line.ends_with('\\');
    }
    commands
}

/// Runs every command on the book's page that can be run here, as printed.
#[test]
fn the_page_of_the_book_is_true() {
    let Some(place) = Place::new() else { return };
    let page = include_str!("../../../../docs/src/shared.md");
    let state = place.world.home.path().parent().unwrap().to_owned();
    let mut run = place.world.start_with_events(3).run().as_str().to_owned();
    let mut served: Option<Served> = None;
    let mut called = [0, 0];
    for line in commands(page) {
        let line = line
            .replace("01k9", &run)
            .replace("~/shop", state.to_str().unwrap());
        let line = match &served {
            Some(served) => line.replace("127.0.0.1:4680", served.address()),
            None => line,
        };
        let Some(words) = line.strip_prefix("interlock shared ") else {
            let said = Command::new("sh")
                .args(["-c", &line])
                .current_dir(&state)
                .output()
                .unwrap();
            let text = String::from_utf8(said.stdout).unwrap();
            let value: Value =
                serde_json::from_str(&text).unwrap_or_else(|_| panic!("{line}\n{text}"));
            assert!(value.get("error").is_none(), "{line}\n{text}");
            assert_ne!(value["verdict"], "refused", "{line}\n{text}");
            if line.contains("\"text\"") {
                run = value["run"].as_str().unwrap().to_owned();
            }
            called[1] += 1;
            continue;
        };
        let words: Vec<&str> = words.split(' ').collect();
        called[0] += 1;
        if words[0] == "serve" {
            served = Some(Served::start(&place.server.words(&place.database, ROLE)));
            continue;
        }
        let said = place.command(&words).output().unwrap();
        let text = String::from_utf8(said.stdout).unwrap();
        // The tests' server is configured to be faster than is safe, which `doctor` reports.
        let is_well =
            said.status.success() || words[0] == "doctor" && text.contains("FAIL durable");
        assert!(
            is_well,
            "{line}\n{text}\n{}",
            String::from_utf8_lossy(&said.stderr)
        );
    }
    assert!(
        called[0] > 11 && called[1] == 5,
        "only {called:?} commands were found"
    );
    let (first, second) = (state.join("run.jsonl"), state.join("again.jsonl"));
    assert_eq!(
        std::fs::read(first).unwrap(),
        std::fs::read(second).unwrap()
    );
    drop(served);
}

/// Tokens are shown once, and written only to a new file that others cannot read.
#[test]
fn a_token_is_shown_once() {
    let Some(place) = Place::new() else { return };
    let state = place.world.home.path().parent().unwrap().to_owned();
    std::fs::create_dir_all(&state).unwrap();
    let create = ["token", "create", "--role", "agent", "--for", "ana"];
    let (_, err) = place.call(&create, 1);
    assert!(err.contains("interlock shared init"), "{err}");
    place.call(&["init"], 0);
    let made = place.json(&create, 0);
    let token = made["token"].as_str().unwrap();
    assert!(token.starts_with("ils_acme."), "{token}");
    let (out, _) = place.call(&[&create[..], &["-o", "t"]].concat(), 0);
    assert!(!out.contains("ils_"), "{out}");
    let file = state.join("t");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read_to_string(&file).unwrap();
    let (_, err) = place.call(&[&create[..], &["-o", "t"]].concat(), 1);
    assert!(err.contains("cannot write `t`"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), kept);
    let (listed, _) = place.call(&["token", "list"], 0);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    for secret in [token, kept.trim()] {
        let secret = secret.rsplit('.').next().unwrap();
        assert!(secret.len() == 64 && !listed.contains(secret));
    }
    let id = made["id"].as_str().unwrap();
    place.call(&["token", "revoke", id], 0);
    let (listed, _) = place.call(&["token", "list"], 0);
    assert!(
        listed.contains(&format!("{id} agent ana revoked")),
        "{listed}"
    );
    let (_, err) = place.call(&["token", "revoke", "0"], 1);
    assert!(err.contains("token list"), "{err}");
    for wrong in ["a b", "", "a\u{7}b", "Ana", "\u{430}na", "agent", "a:b"] {
        let (_, err) = place.call(&["token", "create", "--role", "agent", "--for", wrong], 1);
        assert!(err.contains("a subject is a name"), "{wrong:?}: {err}");
    }
    // A tenant that does not exist has none.
    let (_, err) = place.call(&["token", "list", "--tenant", "nobody"], 1);
    assert!(err.contains("init --tenant nobody"), "{err}");
}

#[test]
fn every_command_has_help_with_examples() {
    let commands = [
        "init",
        "migrate",
        "doctor",
        "runs",
        "verify",
        "export",
        "import",
        "serve",
        "join",
        "start",
        "audit export",
        "audit verify",
        "bundle create",
        "bundle verify",
        "bundle publish",
        "bundle list",
        "token create",
        "token list",
        "token revoke",
        "people load",
        "people show",
        "login",
        "exchange",
    ];
    for command in commands {
        let help = Command::new(env!("CARGO_BIN_EXE_interlock-shared"))
            .args(command.split(' ').chain(["--help"]))
            .output()
            .unwrap();
        let text = String::from_utf8(help.stdout).unwrap();
        assert!(
            help.status.success() && text.contains("Examples:"),
            "{command}: {text}"
        );
        assert!(
            text.contains(&format!("Usage: interlock shared {command}")),
            "{text}"
        );
    }
}
