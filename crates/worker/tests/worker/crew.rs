//! A server of a log, Restate, and workers for it: each with its own home, all in one project.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    mem,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use interlock_shared::Role;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    api::Fleet,
    cluster::until,
    programs,
    proxy::Proxy,
    restate::Restate,
    server::{ROLE, new_name},
};

pub(crate) struct Crew {
    // First, so that nothing is left that still uses the database.
    pub(crate) restate: Restate,
    pub(crate) fleet: Fleet<'static>,
    pub(crate) proxy: Proxy,
    pub(crate) ana: String,
    room: TempDir,
}

impl Crew {
    /// Starts all but the workers; `None` if something is not installed here, which is reported.
    pub(crate) fn new() -> Option<Self> {
        if !programs::are_built() {
            return None;
        }
        Self::with(Restate::start()?)
    }

    /// Starts the rest.
    pub(crate) fn with(restate: Restate) -> Option<Self> {
        let fleet = Fleet::new()?;
        let room = TempDir::new().unwrap();
        fs::create_dir(room.path().join("project")).unwrap();
        Some(Self {
            ana: fleet.token(Role::Person, "ana"),
            proxy: Proxy::start(),
            restate,
            fleet,
            room,
        })
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.room.path().join("project")
    }

    /// Returns the lines that the programs of runs have appended to a file of the project.
    pub(crate) fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.project().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Starts a worker with a lease of so many seconds, behind the common address.
    pub(crate) fn worker(&self, lease: u64) -> Worker {
        self.worker_of(lease, "", &[])
    }

    /// Starts a worker whose person has this configuration, with more options.
    pub(crate) fn worker_of(&self, lease: u64, config: &str, options: &[&str]) -> Worker {
        let port = self.proxy.add();
        let (mut command, home) = self.command(port);
        let folder = home.join("config/interlock");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), config).unwrap();
        command.args(["--lease", &lease.to_string()]).args(options);
        if !options.contains(&"--projects") {
            command.arg("--project").arg(self.project());
        }
        Worker::start(command, &home, port)
    }

    /// Starts a worker that must end by itself; returns its exit code and what it has written to standard error.
    pub(crate) fn refused_worker(&self, options: &[&str]) -> (Option<i32>, String) {
        let (mut command, _) = self.command(self.proxy.add());
        refused(command.arg("--project").arg(self.project()).args(options))
    }

    fn command(&self, port: u16) -> (Command, PathBuf) {
        let home = self.room.path().join(new_name("home"));
        let words = self.fleet.server.words(&self.fleet.name, ROLE);
        let mut command = program(&home, &words);
        command
            .args(["--restate", &self.restate.ingress()])
            .args(["--restate-admin", &self.restate.admin()])
            .args(["--advertise", &self.proxy.url()])
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .arg("--json");
        (command, home)
    }

    /// Returns the id of a program that a run has started, which it has written to `pids`.
    fn program(&self, at: usize) -> String {
        self.lines("pids")[at].clone()
    }

    /// Returns whether that program runs.
    pub(crate) fn is_alive(&self, at: usize) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.program(at)));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// Starts a run of a workflow and returns its id.
    pub(crate) fn start(&self, name: &str, text: &str) -> String {
        let body = json!({ "workflow": { "name": name, "text": text } });
        let posted = self
            .fleet
            .served
            .post(&self.ana, "/v1/runs", &new_name("k"), &body);
        assert_eq!(posted.status, 200, "{posted:?}");
        posted.json()["run"].as_str().unwrap().to_owned()
    }

    /// Returns where a run stands.
    pub(crate) fn view(&self, run: &str) -> Value {
        let reply = self.fleet.served.get(&self.ana, &format!("/v1/runs/{run}"));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// Returns the events of a run.
    pub(crate) fn events(&self, run: &str) -> Vec<Value> {
        let path = format!("/v1/runs/{run}/events?from=0");
        let reply = self.fleet.served.get(&self.ana, &path);
        reply.json()["events"].as_array().unwrap().clone()
    }

    /// Waits until the status of a run is this one.
    #[track_caller]
    pub(crate) fn until_status(&self, run: &str, status: &str) {
        let mut last = Value::Null;
        until(&format!("{run} is {status}"), || {
            last = self.view(run);
            last["report"]["status"] == status
        });
    }

    /// Returns whether Restate has no invocation under way any more, and nothing stands in the outbox.
    pub(crate) fn outbox(&self) -> String {
        let sql = "SELECT count(*) FROM interlock.outbox";
        self.fleet.server.sql(&self.fleet.name, sql)
    }
}

/// Returns the program with the home of a machine.
pub(crate) fn program(home: &Path, words: &str) -> Command {
    fs::create_dir_all(home).unwrap();
    let mut command = Command::new(programs::worker());
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("INTERLOCK_DATABASE", words)
        .env("INTERLOCK_TENANT", "acme");
    command
}

/// Starts a program that must end by itself; returns its exit code and what it has written to standard error.
pub(crate) fn refused(command: &mut Command) -> (Option<i32>, String) {
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = Ending(command.spawn().unwrap());
    let mut ended = None;
    until("the worker ends", || {
        ended = process.0.try_wait().unwrap();
        ended.is_some()
    });
    let mut said = String::new();
    let mut errors = process.0.stderr.take().unwrap();
    errors.read_to_string(&mut said).unwrap();
    (ended.unwrap().code(), said)
}

/// A process that is killed when dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A worker; killed when dropped.
pub(crate) struct Worker {
    process: Child,
    command: Command,
    pub(crate) port: u16,
    home: PathBuf,
    said: Arc<Mutex<Vec<Value>>>,
}

impl Worker {
    pub(crate) fn start(mut command: Command, home: &Path, port: u16) -> Self {
        let errors = home.join("errors");
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let said: Arc<Mutex<Vec<Value>>> = Arc::default();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let heard = Arc::clone(&said);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let note = serde_json::from_str(&line).unwrap();
                heard.lock().unwrap().push(note);
            }
        });
        let mut worker = Self {
            process,
            command,
            port,
            home: home.to_owned(),
            said,
        };
        until("the worker is ready", || {
            let ended = worker.process.try_wait().unwrap();
            assert_eq!(ended, None, "{}", worker.errors());
            worker.has_said("ready", |_| true)
        });
        worker
    }

    /// Starts it again as it was started, after it has ended.
    pub(crate) fn again(&mut self) -> Self {
        self.kill();
        let command = mem::replace(&mut self.command, Command::new("true"));
        Self::start(command, &self.home, self.port)
    }

    pub(crate) fn errors(&self) -> String {
        fs::read_to_string(self.home.join("errors")).unwrap_or_default()
    }

    /// Returns what it has said.
    pub(crate) fn said(&self) -> Vec<Value> {
        self.said.lock().unwrap().clone()
    }

    /// Returns whether it has said something.
    pub(crate) fn has_said(&self, event: &str, is_so: impl Fn(&Value) -> bool) -> bool {
        let said = self.said();
        said.iter()
            .any(|note| note["event"] == event && is_so(note))
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Kills its companion, which is its only child that has this option.
    pub(crate) fn kill_companion(&self) {
        let of = self.process.id().to_string();
        let is_companion = |id: &str| {
            let read =
                |file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
            let stat = read("stat");
            let parent = stat.rsplit(") ").next().unwrap().split(' ').nth(1);
            parent == Some(&of) && read("cmdline").contains("--companion-of")
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        let mut ids = all.filter_map(|entry| entry.file_name().into_string().ok());
        let id = ids.find(|id| is_companion(id)).unwrap();
        let killed = Command::new("kill").args(["-KILL", &id]).status();
        assert!(killed.unwrap().success());
    }

    /// Kills it at once.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut ended = None;
        until("the worker ends", || {
            ended = self.process.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            println!(
                "worker {}: {:#?}\n{}",
                self.port,
                self.said(),
                self.errors()
            );
        }
    }
}
