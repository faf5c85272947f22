//! A PostgreSQL of a trial, with a tenant in it, and servers of its log.

use std::{
    collections::hash_map::RandomState,
    fs::{self, File},
    hash::BuildHasher as _,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    cluster::{answer, answers, made_cluster, psql, start, until, wait_for},
    http::Client,
    processes::{Process, children},
    programs::Programs,
};

/// Owns the tables; not a superuser, so that row-level security applies.
pub(crate) const ROLE: &str = "interlock_trial";
/// Owns the runs.
pub(crate) const TENANT: &str = "acme";
/// How long a client waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How often a log is checked before it counts as wrong.
const TRIES: u32 = 5;

/// What every server of a trial is started with.
const SETTINGS: &[&str] = &[
    "-c",
    "fsync=on",
    "-c",
    "synchronous_commit=on",
    "-c",
    "shared_buffers=128MB",
    "-c",
    "max_connections=250",
];

/// The size of a small file system.
const DISK: &str = "size=1g";

/// A workflow in which an agent reads, and a person approves its end.
pub(crate) const GUARDED: &str = "id: trial
initial: working
states:
  working:
    allowed_tools: [Read]
    max_iterations: 1000000
    on:
      DONE: {target: done, requires_approval: true}
  done: {type: final}
";

/// The database of a trial.
pub(crate) struct Site {
    pub(crate) programs: Programs,
    place: PathBuf,
    settings: Vec<String>,
    process: Mutex<Process>,
    // Before the folder that it is in.
    _disk: Option<SmallDisk>,
    room: TempDir,
}

/// Returns a name that no other part of the trial uses.
pub(crate) fn new_name(first: &str) -> String {
    format!(
        "{first}{:016x}",
        RandomState::new().hash_one(std::process::id())
    )
}

impl Site {
    /// Starts PostgreSQL with more settings, and makes the log.
    pub(crate) fn start(programs: &Programs, more: &[&str]) -> Self {
        Self::start_on(programs, more, false)
    }

    /// Starts PostgreSQL, on a small file system of its own if `small_disk`, which only root can make.
    pub(crate) fn start_on(programs: &Programs, more: &[&str], small_disk: bool) -> Self {
        let room = TempDir::new().unwrap();
        // PostgreSQL may run as another user, who has to reach its folder.
        open_to_all(room.path());
        let place = room.path().join("postgres");
        let disk = small_disk.then(|| SmallDisk::at(&place));
        let made = made_cluster(&place);
        made.expect("PostgreSQL is installed: `cargo xtask setup` installs it");
        let settings: Vec<String> = SETTINGS
            .iter()
            .chain(more)
            .map(ToString::to_string)
            .collect();
        let process = Mutex::new(run(&place, &settings));
        wait_for(&place);
        let admin =
            |sql: &str| answer(psql(&words_of(&place, "postgres", "postgres"), sql)).unwrap();
        admin(&format!("CREATE ROLE {ROLE} LOGIN PASSWORD '{ROLE}'"));
        admin(&format!("CREATE DATABASE {ROLE} OWNER {ROLE}"));
        let site = Self {
            programs: programs.clone(),
            place,
            settings,
            process,
            _disk: disk,
            room,
        };
        site.shared(&["init"])
            .unwrap_or_else(|wrong| panic!("init: {wrong}"));
        site
    }

    /// Returns a folder of the trial.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.room.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Returns the folder of PostgreSQL, with its socket.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Returns the parameters with which the programs connect.
    pub(crate) fn words(&self) -> String {
        words_of(&self.place, ROLE, ROLE)
    }

    /// Returns the same through a port of this machine.
    pub(crate) fn words_at(&self, port: u16) -> String {
        format!(
            "host=127.0.0.1 port={port} user={ROLE} password={ROLE} dbname={ROLE} sslmode=disable"
        )
    }

    /// Executes statements as an administrator of the database.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let words = words_of(&self.place, ROLE, "postgres");
        answer(psql(&words, sql)).unwrap_or_else(|said| panic!("{sql}: {said}"))
    }

    /// Runs `interlock-shared` with the log; returns what it prints, or what is wrong.
    pub(crate) fn shared(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new(self.programs.shared());
        command
            .args(words)
            .env_clear()
            .env("HOME", self.room.path())
            .env("XDG_STATE_HOME", self.room.path())
            .env("INTERLOCK_TENANT", TENANT)
            .env("INTERLOCK_DATABASE", self.words())
            .stdin(Stdio::null());
        answer(command)
    }

    /// Makes a token of a role for a person.
    pub(crate) fn token(&self, role: &str, subject: &str) -> String {
        let file = self.room.path().join(new_name("token"));
        let path = file.display().to_string();
        let words = [
            "token", "create", "--role", role, "--for", subject, "-o", &path,
        ];
        self.shared(&words).unwrap();
        fs::read_to_string(&file).unwrap().trim().to_owned()
    }

    /// Returns the ids of PostgreSQL's processes.
    pub(crate) fn postgres(&self) -> Vec<u32> {
        let main = self.process.lock().unwrap().id();
        let mut ids = children(main);
        ids.push(main);
        ids
    }

    /// Kills PostgreSQL at once, with the processes of its connections, which would answer one more command each.
    pub(crate) fn kill_postgres(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let of_connections = children(process.id());
        process.kill();
        let mut kill = Command::new("kill");
        kill.arg("-KILL");
        kill.args(of_connections.iter().map(u32::to_string));
        // Some have ended by themselves.
        let _ = kill.output();
    }

    /// Starts it again, as soon as the last process of the killed one has exited.
    pub(crate) fn start_postgres(&self) {
        let mut process = self.process.lock().unwrap();
        until("PostgreSQL answers", || {
            if process.has_ended() {
                *process = run(&self.place, &self.settings);
            }
            answers(&self.place)
        });
    }

    /// Checks the whole log of a run.
    pub(crate) fn verified(&self, run: &str) -> Result<(), String> {
        let verify = || self.shared(&["verify", run]).map(drop);
        // On a machine that is busy, a connection may take longer than the program waits for it.
        let mut verified = verify();
        for _ in 1..TRIES {
            if verified.is_ok() {
                break;
            }
            verified = verify();
        }
        verified.map_err(|wrong| format!("run {run}: {wrong}"))
    }

    /// Starts a server of the log with the database at `words`.
    pub(crate) fn server(&self, words: &str) -> Served {
        Served::start(self, words)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.kill_postgres();
    }
}

/// A file system in memory, which is unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn at(place: &Path) -> Self {
        fs::create_dir_all(place).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", DISK, "none"]).arg(place);
        let mounted = mount.status().is_ok_and(|status| status.success());
        assert!(mounted, "only root can make a small file system");
        Self(place.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        // Processes that were killed may not have ended yet.
        let _ = unmount.arg("--lazy").arg(&self.0).status();
    }
}

fn words_of(place: &Path, database: &str, user: &str) -> String {
    let host = place.display();
    format!("host={host} user={user} password={user} dbname={database} sslmode=disable")
}

fn run(place: &Path, settings: &[String]) -> Process {
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    Process::new(start(place, &settings))
}

/// Lets other users look for what is in a folder.
pub(crate) fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A server of the log.
pub(crate) struct Served {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

impl Served {
    fn start(site: &Site, words: &str) -> Self {
        let home = site.folder(&new_name("server"));
        let mut command = Command::new(site.programs.shared());
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--json"])
            .env_clear()
            .env("HOME", &home)
            .env("XDG_STATE_HOME", &home)
            .env("INTERLOCK_DATABASE", words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(home.join("errors")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        let url = said["url"].as_str().unwrap_or_default();
        let address = url.trim_start_matches("http://").parse();
        let errors = || fs::read_to_string(home.join("errors")).unwrap_or_default();
        Self {
            address: address.unwrap_or_else(|_| panic!("no server: {line}{}", errors())),
            process: Process::new(child),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address, PATIENCE)
    }

    /// Starts a run and returns its id.
    pub(crate) fn start_run(&self, token: &str, (name, text): (&str, &str)) -> String {
        let body = start_body(name, text);
        let key = new_name("k");
        let started = self
            .client()
            .post("/v1/runs", (token, &key), &body)
            .unwrap();
        assert_eq!(started.status, 200, "{}", started.json());
        started.json()["run"].as_str().unwrap().to_owned()
    }

    /// Returns the status of a run.
    pub(crate) fn status(&self, token: &str, run: &str) -> String {
        let view = self
            .client()
            .get(&format!("/v1/runs/{run}"), token)
            .unwrap();
        view.json()["report"]["status"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// Returns the body of a request that starts a run of a workflow.
pub(crate) fn start_body(name: &str, text: &str) -> String {
    json!({ "workflow": { "name": name, "text": text } }).to_string()
}

/// Returns the body of a command that has a call judged.
pub(crate) fn proposal(id: &str, epoch: Option<u64>) -> String {
    let facts = json!({
        "protected": null, "malformed": null, "reads": [], "writes": [], "edit_lines": null, "shell": null,
        "outside_directories": [], "strayed": [], "allowed_by_person": [], "environment_held": false,
    });
    let call = json!({
        "id": id, "tool": "Read", "common": null, "kind": "other", "digest": id, "summary": id,
        "agent": null, "branch": null, "facts": facts,
    });
    json!({ "command": { "propose": call }, "epoch": epoch }).to_string()
}
