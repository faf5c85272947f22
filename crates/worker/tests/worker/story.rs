//! The story of the book: two people, a CI job and two workers, each on a machine of its own, as printed.

use std::{
    cell::RefCell,
    fs::{self, File},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Child, Output, Stdio},
};

use interlock_testkit::{
    claude::{Session, Version},
    interlock::Interlock,
    provider::{Say, Script, call},
    room::Room,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    api::{Served, command},
    cluster::until,
    programs,
    provider::Provider,
    proxy::Proxy,
    restate::Restate,
    server::{ROLE, Server, server},
};

const PAGE: &str = include_str!("../../../../docs/src/shared-story.md");
/// Stands for anything in a printed line.
const REST: char = '…';

/// A block of the page.
struct Block {
    language: &'static str,
    text: &'static str,
}

fn blocks() -> Vec<Block> {
    let parts = PAGE.split("```").skip(1).step_by(2);
    let block = |block: &'static str| {
        let (language, text) = block.split_once('\n').unwrap();
        Block { language, text }
    };
    parts.map(block).collect()
}

/// A command of a block, continued lines included, and the lines printed below it.
struct Typed {
    line: String,
    printed: Vec<&'static str>,
}

fn typed(block: &Block) -> Vec<Typed> {
    let mut found: Vec<Typed> = Vec::new();
    for line in block.text.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(line), _) => found.push(Typed {
                line: line.to_owned(),
                printed: Vec::new(),
            }),
            (None, Some(last)) if line.starts_with("    ") => {
                last.line.push('\n');
                last.line.push_str(line);
            }
            (None, Some(last)) => last.printed.push(line),
            (None, None) => panic!("a block begins with a command: `{line}`"),
        }
    }
    found
}

/// Returns whether a line is the printed one, in which `…` stands for anything.
fn fits(line: &str, printed: &str) -> bool {
    let mut parts = printed.split(REST);
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap()) else {
        return false;
    };
    for part in parts {
        match rest.split_once(part) {
            _ if part.is_empty() => return true,
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

/// A process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Story {
    proxy: Proxy,
    restate: Restate,
    provider: Provider,
    served: Option<Served>,
    server: &'static Server,
    database: String,
    machines: [(&'static str, Room); 6],
    ids: RefCell<[String; 2]>,
    /// What the page puts below `/srv`.
    shared: Room,
    /// The repository that the page names by an address.
    origin: PathBuf,
}

/// The machines, by the end of the sentence above the blocks that are typed there.
const MACHINES: [&str; 6] = [
    "On the server",
    "On Ana's machine",
    "On Ben's machine",
    "In the CI job",
    "On the first worker",
    "On the second worker",
];
const IDS: [&str; 2] = ["01k9", "01kb"];

impl Drop for Story {
    fn drop(&mut self) {
        self.served = None;
        self.server.drop_database(&self.database);
    }
}

impl Story {
    /// Prepares what the page takes for granted; `None` if something is not installed here, which is reported.
    fn new() -> Option<Self> {
        if !programs::are_built() {
            return None;
        }
        if let Err(missing) = Version::V2_1_332.program() {
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            println!("left out: {missing}");
            return None;
        }
        let server = server()?;
        let shared = Room::new().unwrap();
        let story = Self {
            proxy: Proxy::start(),
            restate: Restate::start()?,
            provider: Provider::start()?,
            served: None,
            server,
            database: server.new_database(),
            machines: MACHINES.map(|name| {
                (
                    name,
                    Room::new_in_no_temporary(&std::env::temp_dir()).unwrap(),
                )
            }),
            ids: RefCell::default(),
            origin: shared.path("shop.git"),
            shared,
        };
        for (_, room) in &story.machines {
            room.install("interlock", &interlock()).unwrap();
        }
        story.prepare_project();
        let job = json!({
            "aud": "interlock-ci", "sub": "s", "actor": "ana@example.org", "repository": "acme/shop",
            "ref": "refs/heads/main", "iat": 1_700_000_000, "exp": 4_000_000_000_u64,
        });
        let job = story.provider.mint("ES256", &json!({}), &job);
        story
            .machine("In the CI job")
            .write("id.jwt", &job)
            .unwrap();
        Some(story)
    }

    fn machine(&self, name: &str) -> &Room {
        &self.machines.iter().find(|(of, _)| *of == name).unwrap().1
    }

    /// Makes Ana's project, with hooks and workflow, as it is on the main branch of the repository.
    fn prepare_project(&self) {
        let ana = self.machine("On Ana's machine");
        ana.install("claude", &Version::V2_1_332.program().unwrap())
            .unwrap();
        let identity = "[user]\nname = Ana\nemail = ana@example.org\n";
        fs::write(ana.home().join(".gitconfig"), identity).unwrap();
        let program = interlock();
        let interlock = Interlock::new(program.to_str().unwrap(), ana);
        interlock.init().unwrap();
        let key = self.person(ana, "interlock attest keygen");
        ana.write(".interlock/attest.pub", &text(&key.stdout))
            .unwrap();
        ana.write("greeting.txt", "Hello\n").unwrap();
        let test = ana
            .write("test.sh", "#!/bin/sh\ngrep -qx hello greeting.txt\n")
            .unwrap();
        fs::set_permissions(test, fs::Permissions::from_mode(0o755)).unwrap();
        for block in blocks().iter().filter(|block| block.language == "yaml") {
            let name = block
                .text
                .lines()
                .next()
                .unwrap()
                .strip_prefix("# ")
                .unwrap();
            let room = match name {
                "release.yaml" => self.machine("In the CI job"),
                _ => ana,
            };
            room.write(name, &self.here(block.text)).unwrap();
        }
        let origin = self.origin.display();
        for line in [
            "git checkout -q -B main".to_owned(),
            "git add -A".to_owned(),
            "git commit -q -m first".to_owned(),
            format!("git init -q --bare -b main {origin}"),
            format!("git remote add origin file://{origin}"),
            "git push -q origin main".to_owned(),
            "git checkout -q -b greeting".to_owned(),
        ] {
            self.person(ana, &line);
        }
    }

    /// Returns a text of the page with what is here in place of addresses, ids and `/srv`.
    fn here(&self, text: &str) -> String {
        let mut text = text
            .replace(
                "https://git.example.com/acme/shop",
                &format!("file://{}", self.origin.display()),
            )
            .replace("https://login.example.com", &self.provider.issuer)
            .replace("http://127.0.0.1:9070", &self.restate.admin())
            .replace("/srv/", &format!("{}/", self.shared.path("").display()));
        if let Some(served) = &self.served {
            text = text.replace("127.0.0.1:4680", served.address());
        }
        for (shown, id) in IDS.iter().zip(self.ids.borrow().iter()) {
            if !id.is_empty() {
                text = text.replace(shown, id);
            }
        }
        text
    }

    /// Runs a line as the person of a machine does, who has the token for scripts in place of a terminal.
    #[track_caller]
    fn person(&self, room: &Room, line: &str) -> Output {
        let program = interlock();
        let token = Interlock::new(program.to_str().unwrap(), room)
            .token()
            .unwrap();
        let mut shell = room.command("sh");
        shell
            .args(["-c", line])
            .env("INTERLOCK_TOKEN", token)
            .env("INTERLOCK_DATABASE", self.words())
            .env("INTERLOCK_TENANT", "acme")
            .stdin(Stdio::null());
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        output
    }

    fn words(&self) -> String {
        self.server.words(&self.database, ROLE)
    }

    /// Plays the blocks from the one that contains `first` on, up to the one that contains `last`.
    fn play(&mut self, first: &str, last: &str) {
        let all = blocks();
        let at = |words: &str| {
            all.iter()
                .position(|block| block.text.contains(words))
                .unwrap()
        };
        for block in &all[at(first)..=at(last)] {
            if block.language == "console" {
                self.play_block(block);
            }
        }
    }

    fn play_block(&mut self, block: &Block) {
        let name = machine_above(block);
        for typed in typed(block) {
            if typed.line.starts_with("interlock shared serve ") {
                let options = self.machine(name).file("sign-in.toml");
                self.served = Some(Served::start_with(&self.words(), &["--sign-in", &options]));
                continue;
            }
            let output = self.person(self.machine(name), &self.here(&typed.line));
            let said = text(&output.stdout) + &text(&output.stderr);
            self.compare(&typed, said.lines());
        }
    }

    /// Compares what a command has printed with the page, and takes the ids of runs from it.
    fn compare<'a>(&self, typed: &Typed, said: impl Iterator<Item = &'a str>) {
        let mut said = said.peekable();
        for printed in &typed.printed {
            if *printed == "…" {
                return;
            }
            let line = said.next().unwrap_or_default();
            if let Some(at) = IDS.iter().position(|id| id == printed) {
                assert!(line.len() > 20, "{}: {line}", typed.line);
                line.clone_into(&mut self.ids.borrow_mut()[at]);
                continue;
            }
            let printed = self.here(printed);
            assert!(
                fits(line, &printed),
                "{}\nprinted: {printed}\nsaid: {line}",
                typed.line
            );
        }
        assert_eq!(said.next(), None, "{}", typed.line);
    }

    /// Starts the worker of a machine as printed.
    fn worker(&self, name: &str) -> (Running, PathBuf) {
        let all = blocks();
        let block = all
            .iter()
            .find(|block| block.language == "console" && machine_above(block) == name);
        let line = self.here(&typed(block.unwrap())[0].line);
        let room = self.machine(name);
        fs::create_dir(room.project().join("runs")).unwrap();
        let port = self.proxy.add();
        let out = room.path("out");
        let mut words = line.split(' ').skip(2);
        let mut command = room.command(programs::worker());
        // Other tests use the default addresses, too.
        command
            .args(words.by_ref())
            .args(["--restate", &self.restate.ingress()])
            .args(["--advertise", &self.proxy.url()])
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .env("INTERLOCK_DATABASE", self.words())
            .env("INTERLOCK_TENANT", "acme")
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(room.path("err")).unwrap());
        (Running(command.spawn().unwrap()), out)
    }

    /// Checks that a worker has printed what the page shows.
    fn printed_by(&self, name: &str, out: &PathBuf) {
        let all = blocks();
        let block = all
            .iter()
            .find(|block| block.language == "console" && machine_above(block) == name);
        let typed = typed(block.unwrap()).remove(0);
        let said = || fs::read_to_string(out).unwrap();
        until("the worker has said it", || {
            said().lines().count() >= typed.printed.len()
        });
        self.compare(&typed, said().lines());
    }

    /// Has Ana's Claude Code work, whose model makes these calls.
    fn claude(&self, prompt: &str) {
        let ana = self.machine("On Ana's machine");
        let address = self.served.as_ref().unwrap().address().to_owned();
        let words = self.words();
        let file = json!(ana.file("greeting.txt"));
        let calls: Vec<Say> = vec![
            call("Read", json!({ "file_path": file })),
            call(
                "Edit",
                json!({ "file_path": file, "old_string": "Hello", "new_string": "hello" }),
            ),
            transition("CHECK"),
            bash("./test.sh"),
            transition("DONE"),
        ];
        let session = Session::new(Version::V2_1_332, ana, Script::calls(calls)).prompt(prompt);
        let ended = session
            // Claude Code has a network of its own, in which another server of the same log has the same address.
            .run_beside(move || {
                let is_there = TcpStream::connect(&address).is_ok();
                (!is_there).then(|| another_server(&words, &address))
            })
            .unwrap();
        assert_eq!(ended.exit, Some(0), "{}", ended.stderr);
        let calls = ended.calls();
        assert_eq!(calls.len(), 5, "{calls:#?}");
        for call in &calls[..4] {
            assert!(!call.failed, "{call:#?}");
        }
        assert!(calls[4].result.contains("approv"), "{:#?}", calls[4]);
    }
}

/// Starts another server of the log at an address of its own network.
fn another_server(words: &str, address: &str) -> (Running, TempDir) {
    let state = TempDir::new().unwrap();
    let mut server = command(words, &state);
    server
        .args(["serve", "--listen", address])
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    let running = Running(server.spawn().unwrap());
    until("the server is there", || {
        TcpStream::connect(address).is_ok()
    });
    (running, state)
}

fn interlock() -> PathBuf {
    programs::worker().with_file_name("interlock")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn bash(line: &str) -> Say {
    call("Bash", json!({ "command": line, "description": "a line" }))
}

fn transition(event: &str) -> Say {
    call(
        "mcp__interlock__interlock_transition",
        json!({ "event": event }),
    )
}

/// Returns the machine that the page names last above a block.
fn machine_above(block: &Block) -> &'static str {
    let before = &PAGE[..block.text.as_ptr() as usize - PAGE.as_ptr() as usize];
    let found = MACHINES
        .iter()
        .filter_map(|name| before.rfind(*name).map(|at| (at, *name)));
    found.max().unwrap().1
}

#[test]
fn the_story_of_two_people_and_three_machines_is_true() {
    let Some(mut story) = Story::new() else {
        return;
    };
    let sign_in = blocks()
        .into_iter()
        .find(|block| block.language == "toml")
        .unwrap();
    let server = story.machine("On the server");
    server
        .write("sign-in.toml", &story.here(sign_in.text))
        .unwrap();
    story.play("interlock shared init\n", "shared serve");
    for (file, machine) in [
        ("ana.token", MACHINES[1]),
        ("agent.token", MACHINES[1]),
        ("ben.token", MACHINES[2]),
    ] {
        let from = story.machine(MACHINES[0]).project().join(file);
        fs::copy(from, story.machine(machine).home().join(file)).unwrap();
    }
    story.play("fix-1", "fix-1");
    let all = blocks();
    let claude = all
        .iter()
        .find(|block| block.text.starts_with("$ claude "))
        .unwrap();
    let prompt = claude.text.split('"').nth(1).unwrap();
    story.claude(prompt);
    story.play("\"seen\": 999", "$(jq .seq");
    let ana = story.machine(MACHINES[1]);
    story.person(ana, "git push -q origin greeting:main");
    let commit = text(&story.person(ana, "git rev-parse HEAD").stdout);

    story.play("shared exchange", "shared exchange");
    let run = story.ids.borrow()[1].clone();
    let (first, out) = story.worker(MACHINES[4]);
    let served = story.served.as_ref().unwrap();
    let ben = fs::read_to_string(story.machine(MACHINES[2]).home().join("ben.token")).unwrap();
    let view = || served.get(ben.trim(), &format!("/v1/runs/{run}")).json();
    until("the release waits", || {
        view()["report"]["state"].to_string().contains("wait")
    });
    story.printed_by(MACHINES[4], &out);
    drop(first);
    let (_second, out) = story.worker(MACHINES[5]);
    until("the release is carried on", || {
        fs::read_to_string(&out).unwrap().contains("were restored")
    });
    fs::write(story.shared.path("open"), "").unwrap();
    until("the release is done", || {
        view()["report"]["status"] == "completed"
    });
    story.printed_by(MACHINES[5], &out);
    let released = fs::read_to_string(story.shared.path("released")).unwrap();
    assert_eq!(released, format!("hello\n{commit}"));

    story.play("shared export", "interlock attest");
    // The figures of the checks are the same.
    let json = |machine: usize, line: &str| -> Value {
        let output = story.person(story.machine(MACHINES[machine]), &story.here(line));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let fix = json(0, "interlock shared verify 01k9 --json");
    let signed = json(
        1,
        "interlock verify ../run.att --commit HEAD --base main --workflow fix --json",
    );
    let log = &signed["statement"]["predicate"]["log"];
    assert_eq!(
        (&log["head"]["sha256"], &log["events"]),
        (&fix["hash"], &fix["events"])
    );
    let release = json(0, "interlock shared verify 01kb --json");
    let archived = json(0, "interlock shared verify 01kb --tenant archive --json");
    assert_eq!(release["hash"], archived["hash"]);
    let exported =
        fs::read_to_string(story.machine(MACHINES[0]).project().join("release.jsonl")).unwrap();
    assert!(
        exported
            .lines()
            .last()
            .unwrap()
            .contains(release["hash"].as_str().unwrap())
    );
}
