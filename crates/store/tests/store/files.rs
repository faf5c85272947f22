//! The SQLite files of a world's runs, and processes that write to them.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use interlock_core::names::RunId;
use rusqlite::Connection;

use crate::world::World;

impl World {
    pub(crate) fn database(&self, run: &RunId) -> PathBuf {
        self.directory(run).join("run.db")
    }

    pub(crate) fn directory(&self, run: &RunId) -> PathBuf {
        self.home.path().join("runs").join(run.as_str())
    }

    /// Opens a run's database directly, with everything in one file.
    pub(crate) fn raw(&self, run: &RunId) -> Connection {
        let connection = Connection::open(self.database(run)).unwrap();
        let mode: String = connection
            .query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "delete");
        connection
    }

    /// Starts a process that plays `role` of [`crate::writers::child`].
    pub(crate) fn process(&self, role: &str, run: &RunId) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writers::child", "--nocapture"])
            .env("STORE_TEST_ROLE", role)
            .env("STORE_TEST_HOME", self.home.path())
            .env("STORE_TEST_RUN", run.as_str())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    }
}
