//! A real Restate for one test, with its data in a temporary folder: `tests/restate`.

use std::{
    env,
    fs::{self, File},
    net::TcpListener,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    api::{Reply, send_to},
    cluster::until,
};

pub(crate) struct Restate {
    process: Child,
    ingress: u16,
    admin: u16,
    node: u16,
    base: TempDir,
    key: Option<PathBuf>,
}

/// Returns a port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn program() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/restate/node_modules");
    let packages = fs::read_dir(folder.join("@restatedev")).ok()?.flatten();
    // The program for this machine is in a package of its own.
    let mut programs = packages.map(|package| package.path().join("bin/restate-server"));
    programs.find(|program| {
        let head = fs::read(program).unwrap_or_default();
        head.starts_with(b"\x7fELF") || head.starts_with(b"\xcf\xfa\xed\xfe")
    })
}

impl Restate {
    /// Starts one; `None` if it is not installed here, which is reported.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(None)
    }

    /// Starts one that signs its requests with the private key in a file.
    pub(crate) fn start_with(key: Option<&Path>) -> Option<Self> {
        if program().is_none() {
            let what = "Restate is not installed here: `cargo xtask setup` installs it";
            assert!(env::var_os("CI").is_none(), "{what}");
            println!("left out: {what}");
            return None;
        }
        let (ingress, admin, node) = (free_port(), free_port(), free_port());
        let base = TempDir::new().unwrap();
        let key = key.map(Path::to_owned);
        let process = run(base.path(), (ingress, admin, node), key.as_deref());
        let restate = Self {
            process,
            ingress,
            admin,
            node,
            base,
            key,
        };
        restate.wait();
        Some(restate)
    }

    fn wait(&self) {
        until("Restate answers", || {
            let is_ok = |port, path| {
                let request =
                    format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
                let reply = send_to(&format!("127.0.0.1:{port}"), &request);
                reply.is_some_and(|reply| reply.status == 200)
            };
            is_ok(self.admin, "/health") && is_ok(self.ingress, "/restate/health")
        });
    }

    /// Kills it at once.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it again with its data.
    pub(crate) fn start_again(&mut self) {
        let ports = (self.ingress, self.admin, self.node);
        self.process = run(self.base.path(), ports, self.key.as_deref());
        self.wait();
    }

    pub(crate) fn ingress(&self) -> String {
        format!("http://127.0.0.1:{}", self.ingress)
    }

    pub(crate) fn admin(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin)
    }

    /// Returns the public key of the private one that it signs with.
    pub(crate) fn public_key(&self) -> String {
        let log = fs::read_to_string(self.base.path().join("log")).unwrap();
        let at = log.find("publickeyv1_").unwrap_or_else(|| panic!("{log}"));
        let rest = log[at..].split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        rest.into_iter().next().unwrap().to_owned()
    }

    /// Calls a handler of a run's object and returns the reply.
    pub(crate) fn call(&self, run: &str, handler: &str, body: &Value) -> Reply {
        self.call_key(&format!("acme%2F{run}"), handler, body)
    }

    /// Calls a handler of an object, named as in an address, and returns the reply.
    pub(crate) fn call_key(&self, key: &str, handler: &str, body: &Value) -> Reply {
        // A handler without input takes no body.
        let (kind, body) = match body {
            Value::Null => ("", String::new()),
            body => ("Content-Type: application/json\r\n", body.to_string()),
        };
        let request = format!(
            "POST /Run/{key}/{handler} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{kind}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        send_to(&format!("127.0.0.1:{}", self.ingress), &request).unwrap()
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        self.kill();
    }
}

fn run(base: &Path, (ingress, admin, node): (u16, u16, u16), key: Option<&Path>) -> Child {
    let mut command = Command::new(program().unwrap());
    command
        .args(["--no-logo", "--node-name", "test", "--listen-mode", "tcp"])
        .arg("--base-dir")
        .arg(base)
        .env_clear()
        .env("DO_NOT_TRACK", "1")
        .env("RESTATE_BIND_ADDRESS", format!("127.0.0.1:{node}"))
        .env(
            "RESTATE_ADVERTISED_ADDRESS",
            format!("http://127.0.0.1:{node}"),
        )
        .env(
            "RESTATE_INGRESS__BIND_ADDRESS",
            format!("127.0.0.1:{ingress}"),
        )
        .env("RESTATE_ADMIN__BIND_ADDRESS", format!("127.0.0.1:{admin}"))
        .env("RESTATE_DEFAULT_NUM_PARTITIONS", "2")
        .env("RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE", "64 MB");
    if let Some(key) = key {
        command.env("RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE", key);
    }
    let log = File::create(base.join("log")).unwrap();
    command
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(Stdio::null());
    command.process_group(0).spawn().unwrap()
}
