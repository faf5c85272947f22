//! Every attempt in `cases/attempts.txt`: it succeeds unconfined, and is refused where the table says so.
#![cfg(target_os = "linux")]

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use interlock_sandbox::{Level, Plan};

use crate::support::trial::{Trial, User, users};

/// The targets of attempts.
struct Targets {
    victim: Child,
    tcp: std::net::TcpListener,
    unix: std::path::PathBuf,
    name: String,
    _listeners: [UnixListener; 2],
}

impl Targets {
    fn new(trial: &Trial, user: User) -> Self {
        let mut sleep = Command::new("sleep");
        sleep.arg("600");
        if user == User::Nobody {
            sleep.uid(65_534).gid(65_534);
        }
        let unix = trial.path("outside/socket");
        let name = unix.to_string_lossy().into_owned();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listeners = [
            UnixListener::bind(&unix).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        Self {
            victim: sleep.spawn().unwrap(),
            tcp: std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
            unix,
            name,
            _listeners: listeners,
        }
    }

    fn fill(&self, words: &str) -> String {
        words
            .replace("{victim}", &self.victim.id().to_string())
            .replace("{tcp}", &self.tcp.local_addr().unwrap().port().to_string())
            .replace("{unix}", &self.unix.to_string_lossy())
            .replace("{abstract}", &self.name)
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

struct Row {
    words: String,
    held: String,
    unheld: String,
}

fn rows() -> Vec<Row> {
    include_str!("cases/attempts.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let mut cells = line.split('|').map(|cell| cell.trim().to_owned());
            let mut cell = || cells.next().unwrap();
            Row {
                words: cell(),
                held: cell(),
                unheld: cell(),
            }
        })
        .collect()
}

type Make = fn(&Trial, &str) -> Plan;

/// Runs every row confined under `letter`, and lists those that are not refused.
fn check(letter: char, make: Make, levels: &[Level]) {
    let mut wrong = Vec::new();
    for user in users() {
        for row in rows().iter().filter(|row| row.held.contains(letter)) {
            for level in levels {
                if let Some(text) = refused(row, user, make, *level) {
                    wrong.push(format!("{user:?} {level} `{}`: {text}", row.words));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns what is wrong if an attempt is not refused without effects.
fn refused(row: &Row, user: User, make: Make, level: Level) -> Option<String> {
    let trial = Trial::new(user);
    let targets = Targets::new(&trial, user);
    let line = format!("{{try}} {}", targets.fill(&row.words));
    let plan = make(&trial, &line);
    // Gives the files to the other user before they are compared.
    drop(trial.command(&plan, level));
    let before = trial.stand();
    let outcome = trial.run(&plan, level);
    if outcome.code != Some(1) {
        return Some(format!("{outcome:?}"));
    }
    (before != trial.stand()).then(|| "refused, yet something changed".to_owned())
}

#[test]
fn a_line_that_only_reads_is_held() {
    check('n', Trial::no_write, &[Level::Full, Level::Files]);
}

#[test]
fn a_line_that_writes_is_held() {
    check('w', Trial::writing, &[Level::Full, Level::Files]);
}

#[test]
fn an_old_kernel_holds_what_it_can() {
    check('p', Trial::no_write, &[Level::Partial]);
}

#[test]
fn each_attempt_works_where_nothing_holds_it() {
    let mut wrong = Vec::new();
    for user in users() {
        let is_root = user == User::Own && nix::unistd::geteuid().is_root();
        for row in rows() {
            let can = row.unheld == "any" || row.unheld == "root" && is_root;
            if !can {
                continue;
            }
            let trial = Trial::new(user);
            let targets = Targets::new(&trial, user);
            let mut plan = trial.no_write(&format!("{{try}} {}", targets.fill(&row.words)));
            plan.confinement = None;
            let outcome = trial.run(&plan, Level::Environment);
            if outcome.code != Some(0) {
                wrong.push(format!("{user:?} `{}`: {outcome:?}", row.words));
            }
            for left in ["/dev/shm/interlock-attempt", "/var/tmp/interlock-attempt"] {
                let _ = std::fs::remove_file(left);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
