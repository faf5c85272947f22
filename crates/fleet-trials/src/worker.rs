//! Workers of a trial, all in one project.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;

use crate::{
    cluster::until,
    processes::Process,
    proxy::Proxy,
    restate::Restate,
    site::{Site, new_name},
};

/// A worker.
pub(crate) struct Worker {
    pub(crate) process: Process,
    pub(crate) port: u16,
    said: Arc<Mutex<Vec<Value>>>,
}

/// What all workers of a trial are started with.
pub(crate) struct Crew<'a> {
    pub(crate) site: &'a Site,
    pub(crate) restate: (String, String),
    pub(crate) proxy: &'a Proxy,
    pub(crate) project: &'a Path,
    pub(crate) lease: u64,
}

impl<'a> Crew<'a> {
    pub(crate) fn new(
        site: &'a Site,
        restate: &Restate,
        proxy: &'a Proxy,
        project: &'a Path,
    ) -> Self {
        Self {
            site,
            restate: (restate.ingress(), restate.admin()),
            proxy,
            project,
            lease: 30,
        }
    }

    /// Starts a worker with the database at `words`, and waits until it is ready.
    pub(crate) fn worker(&self, words: &str) -> Worker {
        let mut worker = self.starting(words);
        until("the worker is ready", || {
            assert!(!worker.process.has_ended(), "a worker has ended");
            worker.has_said("ready", |_| true)
        });
        worker
    }

    /// Starts a worker.
    pub(crate) fn starting(&self, words: &str) -> Worker {
        let home = self.site.folder(&new_name("worker"));
        let port = self.proxy.add();
        let mut command = Command::new(self.site.programs.worker());
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("INTERLOCK_DATABASE", words)
            .env("INTERLOCK_TENANT", "acme")
            .args([
                "--restate",
                &self.restate.0,
                "--restate-admin",
                &self.restate.1,
            ])
            .args(["--advertise", &self.proxy.url()])
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(["--lease", &self.lease.to_string(), "--json", "--project"])
            .arg(self.project)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(home.join("errors")).unwrap());
        let mut child = command.spawn().unwrap();
        let said: Arc<Mutex<Vec<Value>>> = Arc::default();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let heard = Arc::clone(&said);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let note = serde_json::from_str(&line).unwrap_or_default();
                heard.lock().unwrap().push(note);
            }
        });
        Worker {
            process: Process::new(child),
            port,
            said,
        }
    }
}

impl Worker {
    /// Returns whether it has said something.
    pub(crate) fn has_said(&self, event: &str, is_so: impl Fn(&Value) -> bool) -> bool {
        let said = self.said.lock().unwrap();
        said.iter()
            .any(|note| note["event"] == event && is_so(note))
    }
}
