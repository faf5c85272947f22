//! The connection that the gateway of a session keeps for the hooks of its machine.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    process::{Child, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use interlock_shared::Role;
use serde_json::{Value, json};

use crate::{
    api::Fleet,
    cluster::until,
    joined::{Answer, Machine, interlock},
};

/// A plain way to a server that counts the connections made.
struct Way {
    url: String,
    made: Arc<AtomicUsize>,
}

impl Way {
    fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let made = Arc::new(AtomicUsize::new(0));
        let (count, server) = (Arc::clone(&made), server.to_owned());
        thread::spawn(move || {
            for from in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let Ok(to) = TcpStream::connect(&server) else {
                    continue;
                };
                for (mut from, mut to) in [
                    (from.try_clone().unwrap(), to.try_clone().unwrap()),
                    (to, from),
                ] {
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { url, made }
    }

    fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }
}

/// The gateway of a session; killed when dropped.
struct Session(Child);

impl Session {
    fn of(machine: &Machine) -> Self {
        let mut command = machine.command(&machine.program);
        command.arg("gateway");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(command.stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run that a machine has joined.
struct Scene {
    fleet: Fleet<'static>,
    machine: Machine,
    way: Way,
    run: String,
    token: String,
}

impl Scene {
    fn new() -> Option<Self> {
        let (fleet, program) = (Fleet::new()?, interlock()?);
        let way = Way::to(fleet.served.address());
        let ana = fleet.token(Role::Person, "ana");
        let token = fleet.token(Role::Agent, "ana");
        let text = "id: a\ninitial: look\nstates:\n  look: {allowed_tools: [Read], on: {DONE: done}}\n  done: {type: final}\n";
        let body = json!({ "workflow": { "name": "a.yaml", "text": text } });
        let started = fleet.served.post(&ana, "/v1/runs", "s", &body).json();
        let run = started["run"].as_str().unwrap().to_owned();
        let machine = Machine::new(&program);
        machine.join(&run, &way.url, &token).unwrap();
        let said = machine.hook(&machine.event("SessionStart", json!({ "source": "startup" })));
        assert!(said.contains("look"), "{said}");
        Some(Self {
            fleet,
            machine,
            way,
            run,
            token,
        })
    }

    fn folder(&self) -> PathBuf {
        let state = self.machine.room.path().join("home/state/interlock");
        state.join("runs").join(&self.run)
    }

    fn socket(&self) -> PathBuf {
        self.folder().join("server.sock")
    }

    /// Starts a gateway, and waits until it answers.
    fn session(&self) -> Session {
        let session = Session::of(&self.machine);
        until("the gateway listens", || {
            UnixStream::connect(self.socket()).is_ok()
        });
        session
    }

    /// Asks the gateway to forward a request, and returns the status of the answer.
    fn forwarded(&self, token: &str, path: &str) -> Value {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        let head = json!({ "token": token, "path": path, "key": null }).to_string();
        let mut bytes = u32::try_from(head.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(head.as_bytes());
        bytes.extend([0; 4]);
        stream.write_all(&bytes).unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut head = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut head).unwrap();
        let head: Value = serde_json::from_slice(&head).unwrap();
        head["status"].clone()
    }
}

#[test]
fn hooks_of_a_session_share_one_connection() {
    let Some(scene) = Scene::new() else { return };
    let alone = scene.way.made();
    assert_eq!(scene.machine.read("r1"), Answer::Allowed);
    assert_eq!(scene.machine.read("r2"), Answer::Allowed);
    assert!(scene.way.made() >= alone + 2);

    let session = scene.session();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(scene.socket()), 0o600);
    assert_eq!(mode(scene.folder()), 0o700);
    let before = scene.way.made();
    for call in 0..5 {
        assert_eq!(scene.machine.read(&format!("s{call}")), Answer::Allowed);
    }
    assert_eq!(scene.way.made(), before + 1);
    let said = scene.machine.judge(
        "e1",
        "Edit",
        &json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" }),
    );
    assert!(
        matches!(&said, Answer::Denied(why) if why.contains("tool_not_allowed")),
        "{said:?}"
    );

    // The next session takes over as soon as the first has ended.
    let next = Session::of(&scene.machine);
    drop(session);
    until("the next gateway listens", || {
        UnixStream::connect(scene.socket()).is_ok()
    });
    let before = scene.way.made();
    for call in 0..3 {
        assert_eq!(scene.machine.read(&format!("n{call}")), Answer::Allowed);
    }
    assert_eq!(scene.way.made(), before + 1);
    // Without any, each hook connects by itself.
    drop(next);
    let before = scene.way.made();
    assert_eq!(scene.machine.read("o1"), Answer::Allowed);
    assert!(scene.way.made() > before);
}

#[test]
fn only_requests_with_the_token_of_the_run_are_forwarded() {
    let Some(scene) = Scene::new() else { return };
    let _session = scene.session();
    let own = format!("v1/runs/{}/snapshot", scene.run);
    assert_eq!(scene.forwarded(&scene.token, &own), json!(200));
    let other = scene.fleet.token(Role::Person, "ben");
    for token in ["", "ils_x", &other] {
        assert_eq!(scene.forwarded(token, &own), Value::Null, "{token}");
    }
    let ana = scene.fleet.token(Role::Person, "ana");
    let foreign = scene.fleet.served.run(&ana);
    for path in [
        "v1/me".to_owned(),
        format!("v1/runs/{foreign}/snapshot"),
        format!("v1/runs/{}x/snapshot", scene.run),
        format!("v1/runs/{}", scene.run),
        format!("v1/runs/{}/../{foreign}/snapshot", scene.run),
        format!("v1/runs/{}/%2e%2e/{foreign}/snapshot", scene.run),
        format!("v1/runs/{}/..\\{foreign}/snapshot", scene.run),
        "http://127.0.0.1:1/v1/runs".to_owned(),
    ] {
        assert_eq!(scene.forwarded(&scene.token, &path), Value::Null, "{path}");
    }
    // Joined again with another token: the old one is not forwarded any more.
    let again = scene.fleet.token(Role::Agent, "cy");
    scene
        .machine
        .join(&scene.run, &scene.way.url, &again)
        .unwrap();
    assert_eq!(scene.forwarded(&scene.token, &own), Value::Null);
    assert_eq!(scene.forwarded(&again, &own), json!(200));
}

#[test]
fn a_gateway_that_does_not_answer_delays_a_hook_and_a_dead_server_denies() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    // Somebody listens and never answers.
    let deaf = UnixListener::bind(scene.socket()).unwrap();
    assert_eq!(scene.machine.read("d1"), Answer::Allowed);
    drop(deaf);
    fs::remove_file(scene.socket()).unwrap();
    // Somebody answers what nobody can read.
    let babbling = UnixListener::bind(scene.socket()).unwrap();
    let babbler = thread::spawn(move || {
        let (mut stream, _) = babbling.accept().unwrap();
        stream.write_all(&[0xff; 64]).unwrap();
    });
    assert_eq!(scene.machine.read("d2"), Answer::Allowed);
    babbler.join().unwrap();
    fs::remove_file(scene.socket()).unwrap();

    let _session = scene.session();
    assert_eq!(scene.machine.read("d3"), Answer::Allowed);
    scene.fleet.served.kill();
    let said = scene.machine.read("d4");
    assert!(
        matches!(&said, Answer::Denied(why) if why.contains("store_unreachable")),
        "{said:?}"
    );
}
