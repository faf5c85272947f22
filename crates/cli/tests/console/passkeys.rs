//! Passkeys over HTTP: who can enrol one, and which assertions are accepted.

use std::process::{Output, Stdio};

use interlock_core::{
    command::{Answer as Yes, Command, CommandKind},
    machine::Object,
    names::RunId,
    passkey::{PasskeyAssertion, Statement, base64url, unhex},
    pending::pending,
};
use interlock_store::{EventLog as _, Home, submit};
use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
    terminal::{self, Terminal},
};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::console::{INTERLOCK, SESSION, World, page::Console};

const FLOW: &str = "id: shop
initial: draft
context: {version: '1.3'}
states:
  draft:
    on:
      SHIP: {target: shipped, approval: passkey, approval_message: Ship the release?}
  shipped: {on: {DONE: done}}
  done: {type: final}
";

/// An authenticator with one passkey.
struct Authenticator {
    key: Ed25519KeyPair,
    id: [u8; 4],
    counter: u32,
    flags: u8,
}

impl Authenticator {
    fn new(seed: u8) -> Self {
        Self {
            key: Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap(),
            id: [seed; 4],
            counter: 1,
            flags: 0x05,
        }
    }

    fn data(&self, flags: u8) -> Vec<u8> {
        let site = Sha256::digest(b"localhost");
        [&site[..], &[flags], &self.counter.to_be_bytes()].concat()
    }

    /// Returns its new passkey for a page with these parameters.
    fn made(&self, told: &Value, port: u16) -> Value {
        let head = [0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32];
        let key = [&head, self.key.public_key().as_ref()].concat();
        let data = [
            self.data(self.flags | 0x40),
            vec![0; 16],
            vec![0, 4],
            self.id.to_vec(),
            key,
        ];
        json!({
            "nonce": told["nonce"],
            "client_data": client_data("webauthn.create", told, port),
            "authenticator_data": base64url(&data.concat()),
        })
    }

    /// Signs the challenge that a page received.
    fn signs(&mut self, told: &Value, port: u16) -> Value {
        self.counter += 1;
        let (data, said) = (
            self.data(self.flags),
            client_data("webauthn.get", told, port),
        );
        let signed = [data.clone(), Sha256::digest(&said).to_vec()].concat();
        json!({
            "nonce": told["nonce"],
            "credential": base64url(&self.id),
            "client_data": said,
            "authenticator_data": base64url(&data),
            "signature": base64url(self.key.sign(&signed).as_ref()),
        })
    }
}

fn client_data(kind: &str, told: &Value, port: u16) -> String {
    let origin = format!("http://localhost:{port}");
    json!({ "type": kind, "challenge": told["challenge"], "origin": origin, "crossOrigin": false })
        .to_string()
}

/// Returns the output of a command, including errors.
fn printed(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&all).into_owned()
}

/// Returns a console that waits for a passkey to be created.
fn enrolling(room: &Room, name: &str) -> (Console, String) {
    let mut command = room.command(INTERLOCK);
    command.args(["passkey", "add", name, "--no-open"]);
    let mut console = Console::start(&mut command);
    let bearer = console.pair();
    (console, bearer)
}

/// Enrols an authenticator's passkey.
fn enrol(room: &Room, name: &str, authenticator: &Authenticator) {
    let (mut console, bearer) = enrolling(room, name);
    let told = console.post("passkeys/begin", Some(&bearer), &json!({}));
    assert_eq!(told.status, 200, "{told:?}");
    let made = authenticator.made(&told.json(), console.port);
    let done = console.post("passkeys/finish", Some(&bearer), &made);
    assert_eq!(done.status, 200, "{done:?}");
    assert!(console.terminal.end().unwrap().success());
}

/// A run that waits for an approval with a passkey, and a paired page.
struct Waiting {
    world: World,
    console: Console,
    bearer: String,
    ask: Value,
}

impl Waiting {
    fn new(authenticator: &Authenticator) -> Self {
        let room = Room::new().unwrap();
        enrol(&room, "laptop", authenticator);
        room.write("flow.yaml", FLOW).unwrap();
        let interlock = Interlock::new(INTERLOCK, &room);
        let run = interlock.start_for_session("flow.yaml", SESSION).unwrap();
        let world = World { room, run };
        world.asks();
        let mut console = Console::open(&world.room);
        let bearer = console.pair();
        let mut waiting = Self {
            world,
            console,
            bearer,
            ask: Value::Null,
        };
        waiting.looks();
        waiting
    }

    /// Reads the pending request.
    fn looks(&mut self) {
        let inbox = self.console.get("inbox", &self.bearer).json();
        self.ask = inbox["requests"][0].clone();
    }

    fn body(&self) -> Value {
        json!({
            "request": self.ask["id"], "decision": "yes", "digest": self.ask["digest"],
            "seen_seq": self.ask["seen_seq"],
        })
    }

    fn path(&self, rest: &str) -> String {
        format!("runs/{}/{rest}", self.world.run)
    }

    /// Returns the challenge for an answer.
    fn told(&self, body: &Value) -> Value {
        let told = self
            .console
            .post(&self.path("challenge"), Some(&self.bearer), body);
        assert_eq!(told.status, 200, "{told:?}");
        told.json()
    }

    /// Sends an answer, and returns the code of the refusal, or an empty text.
    fn answers(&self, mut body: Value, signed: Value) -> String {
        body["passkey"] = signed;
        let path = self.path("answers");
        let answer = self.console.post(&path, Some(&self.bearer), &body);
        if answer.status == 200 {
            return String::new();
        }
        assert!(self.world.events("ApprovalGranted").is_empty());
        answer.code()
    }

    fn log(&self, arguments: &[&str]) -> (bool, String) {
        let all = [&["log", &self.world.run][..], arguments].concat();
        let output = self.world.interlock().run(&all).unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }
}

#[test]
fn a_yes_that_a_passkey_signed_is_taken_and_checked_again() {
    let mut authenticator = Authenticator::new(1);
    let mut waiting = Waiting::new(&authenticator);
    assert_eq!(waiting.ask["passkey"], true, "{:#}", waiting.ask);
    let mut body = waiting.body();
    body["data"] = json!({ "version": "1.4" });
    let told = waiting.told(&body);
    let signed = authenticator.signs(&told, waiting.console.port);
    assert_eq!(waiting.answers(body, signed), "");
    assert_eq!(waiting.world.events("ApprovalGranted").len(), 1);
    let status = waiting.world.interlock().status(&waiting.world.run);
    assert_eq!(status.unwrap()["context"]["version"], "1.4");
    let (ok, said) = waiting.log(&["--verify"]);
    assert!(
        ok && said.contains("is signed by the passkey `laptop`\n"),
        "{said}"
    );
    let verified = waiting
        .console
        .get(&waiting.path("verify"), &waiting.bearer);
    assert_eq!(verified.json()["signed"], 1, "{verified:?}");
    let all = waiting.console.get("passkeys", &waiting.bearer).json();
    assert_eq!(all["passkeys"][0]["name"], "laptop", "{all}");
    assert!(all["passkeys"][0]["used_ms"].is_u64(), "{all}");
    // A run guards an agent, so passkeys cannot be changed; afterwards, a removed one invalidates no log.
    let remove = |word: &str| {
        let mut command = waiting.world.room.command(INTERLOCK);
        let output = terminal::output(command.args(["passkey", "remove", word])).unwrap();
        (output.status.success(), printed(&output))
    };
    let (ok, said) = remove("laptop");
    assert!(!ok && said.contains("guards an agent"), "{said}");
    waiting
        .world
        .interlock()
        .by_a_person(&["cancel", &waiting.world.run])
        .unwrap();
    assert!(!remove("phone").0, "there is none");
    assert!(remove("laptop").0);
    let (ok, said) = waiting.log(&["--verify"]);
    assert!(
        ok && said.contains("which is not enrolled here (any more)"),
        "{said}"
    );
    waiting.looks();
}

#[test]
fn an_assertion_that_is_none_for_this_answer_is_refused() {
    let mut authenticator = Authenticator::new(1);
    let waiting = Waiting::new(&authenticator);
    let (port, body) = (waiting.console.port, waiting.body());
    assert_eq!(
        waiting.answers(body.clone(), Value::Null),
        "passkey_required"
    );
    let invalid = "passkey_invalid";
    // Another key, also under the id of the enrolled one.
    let mut other = Authenticator::new(2);
    let told = waiting.told(&body);
    assert_eq!(
        waiting.answers(body.clone(), other.signs(&told, port)),
        invalid
    );
    other.id = authenticator.id;
    let told = waiting.told(&body);
    assert_eq!(
        waiting.answers(body.clone(), other.signs(&told, port)),
        invalid
    );
    // Nobody was verified; another page; an answer other than the requested one.
    authenticator.flags = 0x01;
    let told = waiting.told(&body);
    let unverified = authenticator.signs(&told, port);
    assert_eq!(waiting.answers(body.clone(), unverified), invalid);
    authenticator.flags = 0x05;
    let told = waiting.told(&body);
    let elsewhere = authenticator.signs(&told, port ^ 1);
    assert_eq!(waiting.answers(body.clone(), elsewhere), invalid);
    let mut corrected = body.clone();
    corrected["data"] = json!({ "version": "6.6.6" });
    let told = waiting.told(&body);
    let signed = authenticator.signs(&told, port);
    assert_eq!(waiting.answers(corrected, signed.clone()), invalid);
    // The nonce was used up, and an invented one is not valid.
    assert_eq!(waiting.answers(body.clone(), signed.clone()), invalid);
    let mut invented = signed;
    invented["nonce"] = json!("00");
    assert_eq!(waiting.answers(body.clone(), invented), invalid);
    // The signed challenge is not the requested one.
    let (first, second) = (waiting.told(&body), waiting.told(&body));
    let mut crossed = authenticator.signs(&first, port);
    crossed["nonce"] = second["nonce"].clone();
    assert_eq!(waiting.answers(body.clone(), crossed), invalid);
    // A counter that does not increase: the key was copied.
    authenticator.counter = 0;
    let told = waiting.told(&body);
    let copied = authenticator.signs(&told, port);
    assert_eq!(waiting.answers(body.clone(), copied), invalid);
    // A request that is no longer pending, and the digest of something else.
    let mut stale = body.clone();
    stale["digest"] = json!("0".repeat(64));
    let path = waiting.path("challenge");
    let answer = waiting.console.post(&path, Some(&waiting.bearer), &stale);
    assert_eq!((answer.status, answer.code().as_str()), (409, "moved"));
    assert!(waiting.world.events("ApprovalGranted").is_empty());
    authenticator.counter = 9;
    let told = waiting.told(&body);
    assert_eq!(waiting.answers(body, authenticator.signs(&told, port)), "");
}

#[test]
fn an_assertion_of_another_run_or_request_is_refused() {
    let mut authenticator = Authenticator::new(1);
    let mut waiting = Waiting::new(&authenticator);
    let port = waiting.console.port;
    let first = waiting.body();
    let told = waiting.told(&first);
    let signed = authenticator.signs(&told, port);
    // The same question is asked again.
    let (run, interlock) = (waiting.world.run.clone(), waiting.world.interlock());
    interlock.by_a_person(&["reject", &run]).unwrap();
    waiting.world.asks();
    waiting.looks();
    let body = waiting.body();
    assert_ne!(first["request"], body["request"]);
    assert_eq!(waiting.answers(body, signed), "passkey_invalid");
    // The same question in another run.
    let told = waiting.told(&waiting.body());
    let signed = authenticator.signs(&told, port);
    let other = waiting.world.interlock().start("flow.yaml").unwrap();
    let mine = std::mem::replace(&mut waiting.world.run, other);
    waiting.world.asks();
    // The list of runs is read again a moment later at the latest.
    let found = (0..10_000).find_map(|_| {
        let inbox = waiting.console.get("inbox", &waiting.bearer).json();
        let mut all = inbox["requests"].as_array().unwrap().iter();
        all.find(|ask| ask["run"] != mine.as_str()).cloned()
    });
    waiting.ask = found.unwrap();
    let body = waiting.body();
    assert_eq!(waiting.answers(body, signed), "passkey_invalid");
}

#[test]
fn a_terminal_a_token_and_watch_say_no_alone() {
    let authenticator = Authenticator::new(1);
    let waiting = Waiting::new(&authenticator);
    let (room, run) = (&waiting.world.room, waiting.world.run.as_str());
    let mut command = room.command(INTERLOCK);
    let output = terminal::output(command.args(["approve", run])).unwrap();
    let said = printed(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("refused (passkey_required)"), "{said}");
    assert!(said.contains("`interlock console` opens"), "{said}");
    assert!(!said.contains("[y/N"), "it asks for nothing: {said}");
    let token = waiting.world.interlock().token().unwrap();
    let mut command = room.command(INTERLOCK);
    command.args(["approve", run, "--yes", "--json"]);
    let output = command.env("INTERLOCK_TOKEN", token).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["code"], "passkey_required", "{said}");
    let mut watch = room.command(INTERLOCK);
    watch.arg("watch").env("TERM", "xterm-256color");
    let mut watch = Terminal::start(&watch, 40, 120).unwrap();
    watch
        .wait_for("the request", |screen| screen.contains("SHIP"))
        .unwrap();
    watch.press("a").unwrap();
    watch
        .wait_for("what a yes means", |screen| screen.contains("a passkey"))
        .unwrap();
    watch.press("y").unwrap();
    watch
        .wait_for("the refusal", |screen| screen.contains("passkey_required"))
        .unwrap();
    assert!(waiting.world.events("ApprovalGranted").is_empty());
    let shown = waiting.world.interlock().run(&["status", run]).unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("a passkey on the page of"), "{shown}");
    waiting
        .world
        .interlock()
        .by_a_person(&["reject", run, "--note", "not yet"])
        .unwrap();
    assert_eq!(waiting.world.events("ApprovalRejected").len(), 1);
}

#[test]
fn a_verification_finds_a_yes_that_no_key_has_signed() {
    let authenticator = Authenticator::new(1);
    let waiting = Waiting::new(&authenticator);
    // An attacker who writes the log with the engine alone, with all its hashes valid.
    let home = Home::at(waiting.world.room.state().join("interlock"));
    let id = RunId::new(waiting.world.run.clone());
    let mut log = home.open_run(&id).unwrap();
    let (machine, mut run) = (log.machine().unwrap(), log.load().unwrap());
    let one = pending(&machine, &run).remove(0);
    let said = Statement {
        run: &id,
        request: &one.id(),
        question: one.digest(),
        note: None,
    };
    let forged = PasskeyAssertion::unsigned(said, run.seq, Object::new());
    let command = Command {
        at_ms: 1,
        kind: CommandKind::Approve(Yes {
            by: "ana".to_owned(),
            passkey: Some(Box::new(forged)),
            ..Yes::default()
        }),
    };
    submit(&mut log, &machine, &mut run, &command).unwrap();
    let (ok, said) = waiting.log(&["--verify"]);
    assert!(
        !ok && said.contains("has an invalid assertion of a passkey"),
        "{said}"
    );
    let verified = waiting
        .console
        .get(&waiting.path("verify"), &waiting.bearer);
    assert_eq!(verified.json()["ok"], false, "{verified:?}");
}

#[test]
fn passkeys_are_enrolled_from_a_terminal_while_no_agent_is_guarded() {
    let room = Room::new().unwrap();
    let output = room
        .command(INTERLOCK)
        .args(["passkey", "add", "laptop"])
        .output()
        .unwrap();
    assert!(!output.status.success(), "there is no terminal");
    // A console that was opened for another purpose enrols none.
    let mut plain = Console::open(&room);
    let bearer = plain.pair();
    let refused = plain.post("passkeys/begin", Some(&bearer), &json!({}));
    assert_eq!(refused.code(), "terminal");
    let (console, bearer) = enrolling(&room, "laptop");
    let begin = || console.post("passkeys/begin", Some(&bearer), &json!({}));
    let finish = |made: &Value| console.post("passkeys/finish", Some(&bearer), made);
    let authenticator = Authenticator::new(1);
    let (told, port) = (begin().json(), console.port);
    // Made at another origin, without verification of the person, or for another nonce.
    let elsewhere = authenticator.made(&told, port ^ 1);
    assert_eq!(finish(&elsewhere).code(), "passkey_invalid");
    assert_eq!(
        finish(&authenticator.made(&told, port)).code(),
        "passkey_invalid"
    );
    let unverified = Authenticator {
        flags: 0x01,
        ..Authenticator::new(1)
    };
    let told = begin().json();
    assert_eq!(
        finish(&unverified.made(&told, port)).code(),
        "passkey_invalid"
    );
    // An agent is guarded from now on.
    let told = begin().json();
    room.write("flow.yaml", FLOW).unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    let run = interlock.start_for_session("flow.yaml", SESSION).unwrap();
    assert_eq!(begin().code(), "guarded");
    assert_eq!(finish(&authenticator.made(&told, port)).code(), "guarded");
    let mut command = room.command(INTERLOCK);
    let output = terminal::output(command.args(["passkey", "add", "phone"])).unwrap();
    let said = printed(&output);
    assert!(!output.status.success() && said.contains(&run), "{said}");
    interlock.by_a_person(&["cancel", &run]).unwrap();
    assert_eq!(finish(&authenticator.made(&told, port)).status, 200);
    let listed = interlock.run(&["passkey", "list", "--json"]).unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let id = unhex(listed["id"].as_str().unwrap());
    assert_eq!(
        (listed["name"].as_str(), id),
        (Some("laptop"), Some(vec![1; 4]))
    );
}

#[test]
fn a_client_is_told_no_and_does_not_ask_in_its_own_prompt() {
    let world = World::of(
        "id: shop
initial: draft
states:
  draft:
    allowed_tools: [Read]
    on_denied: ask
    approval: passkey
    on: {DONE: done}
  done: {type: final}
",
    );
    let input = json!({ "file_path": "a.txt", "content": "x" });
    let mut told = before_tool(&world.room, SESSION, "1", "Write", &input);
    told["permission_mode"] = json!("default");
    let told = world.room.write("told.json", &told.to_string()).unwrap();
    let line = format!("'{INTERLOCK}' hook claude-code < {}; true", told.display());
    // The client; neither a shell nor this test counts as one.
    let mut client = world.room.command("find");
    client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &line, ";"]);
    let ended = client.stdin(Stdio::null()).output().unwrap();
    let said: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let said = &said["hookSpecificOutput"];
    assert_eq!(said["permissionDecision"], "deny", "{said}");
    let reason = said["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("with a passkey"), "{reason}");
    let asked = world.events("GrantRequested");
    assert_eq!(asked.len(), 1, "{:?}", world.interlock().events(&world.run));
    assert!(asked[0]["prompt"].is_null(), "{asked:?}");
    let refused = world.interlock().by_a_person(&["approve", &world.run]);
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("passkey_required"), "{why}");
}
