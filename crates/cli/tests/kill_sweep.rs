//! A run of twelve mixed steps reaches the same end wherever it was killed.
//!
//! A sample runs with every test; `cargo xtask load` plays five hundred kill points. The programs' effects are counted
//! from outside: a program whose end is in the log ran once; only one that the kill cut off may have run twice.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "the seed is to be seen")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use interlock_testkit::{dice::Dice, interlock::Interlock, room::Room, sample, terminal};
use serde_json::Value;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const WORKFLOWS: [&str; 2] = ["sweep.yaml", "sweep-part.yaml"];
/// Number of kill points with every test, and in the whole sweep.
const POINTS: (usize, usize) = (24, 500);
const WORKERS: usize = 4;
/// Maximum number of times that a run is resumed before the test fails.
const TURNS_MAX: usize = 12;
/// Exit code of a run that waits for a person.
const WAITING: Option<i32> = Some(75);

/// State in which a run ended.
#[derive(Debug, PartialEq, Eq)]
struct End {
    status: Value,
    variables: Value,
    files: BTreeMap<String, Vec<u8>>,
}

#[test]
fn a_run_killed_anywhere_goes_on_to_the_same_end() {
    let seed = seed();
    eprintln!("to play the same again: INTERLOCK_SEED={seed}");
    let points = if sample::is_whole() {
        POINTS.1
    } else {
        POINTS.0
    };
    let undisturbed = Sweep::new();
    let begun = Instant::now();
    undisturbed.go_on(None);
    let took = begun.elapsed();
    let (end, effects) = (undisturbed.end(), undisturbed.effects());
    let next = AtomicUsize::new(0);
    let (cut, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= points {
                        break;
                    }
                    let cuts = play(
                        &format!("point {at}"),
                        delays(seed, at, took),
                        &end,
                        &effects,
                    );
                    cut.fetch_add(cuts, Ordering::Relaxed);
                    all.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(all.into_inner(), points, "a worker gave up");
    let cut = cut.into_inner();
    eprintln!("{points} points, {cut} programs cut off");
    // Otherwise every kill came before the run had begun or after it was over.
    assert!(cut > 0, "no kill cut anything off");
}

/// Kills the run after each of `delays`, resumes it until its end, and returns how many programs were cut off.
fn play(what: &str, delays: [Duration; 2], end: &End, effects: &BTreeMap<String, usize>) -> usize {
    let sweep = Sweep::new();
    let mut cut = BTreeMap::new();
    for delay in delays {
        sweep.killed_after(delay);
        for path in sweep.under_way() {
            *cut.entry(path).or_insert(0) += 1;
        }
    }
    sweep.go_on(Some(what));
    assert_eq!(sweep.end(), *end, "{what}, {delays:?}");
    let found = sweep.effects();
    let paths: BTreeSet<&String> = effects.keys().chain(found.keys()).collect();
    for path in paths {
        let wanted = effects.get(path).copied().unwrap_or(0);
        let found = found.get(path).copied().unwrap_or(0);
        let more = cut.get(path).copied().unwrap_or(0);
        assert!(
            (wanted..=wanted + more).contains(&found),
            "{what}, {delays:?}: `{path}` ran {found} times, not {wanted}; {more} were cut off"
        );
    }
    sweep.interlock().verify("n").unwrap();
    cut.values().sum()
}

fn seed() -> u64 {
    match std::env::var("INTERLOCK_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            u64::from(since.subsec_nanos()) + since.as_secs()
        }
    }
}

/// Chooses the delays after which point `at` is killed, and killed again once it is resumed.
fn delays(seed: u64, at: usize, took: Duration) -> [Duration; 2] {
    let mut dice = Dice::of("kill", seed ^ at as u64);
    [(); 2].map(|()| took.mul_f64(dice.part()))
}

/// A run in a room of its own.
struct Sweep {
    room: Room,
}

impl Sweep {
    fn new() -> Self {
        let room = Room::new().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/durable");
        for name in WORKFLOWS {
            fs::copy(from.join(name), room.project().join(name)).unwrap();
        }
        Self { room }
    }

    fn interlock(&self) -> Interlock<'_> {
        Interlock::new(INTERLOCK, &self.room)
    }

    fn begun(&self) -> bool {
        self.interlock()
            .run(&["status", "n"])
            .unwrap()
            .status
            .success()
    }

    /// Returns the command that begins or resumes the run.
    fn command(&self) -> Command {
        let mut command = self.room.command(INTERLOCK);
        if self.begun() {
            command.args(["resume", "n"]);
        } else {
            command.args(["run", "sweep.yaml", "--name", "n"]);
        }
        command
    }

    fn killed_after(&self, delay: Duration) {
        let mut command = self.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (_terminal, mut child) = terminal::started(&mut command).unwrap();
        let until = Instant::now() + delay;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            thread::park_timeout(left);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Resumes the run until it is over.
    fn go_on(&self, what: Option<&str>) {
        let what = what.unwrap_or("the undisturbed run");
        for _ in 0..TURNS_MAX {
            if self.begun() && self.status()["status"] == "completed" {
                return;
            }
            let output = terminal::output(&mut self.command()).unwrap();
            let ended = output.status.code();
            assert!(ended == Some(0) || ended == WAITING, "{what}: {output:?}");
        }
        panic!("{what}: the run does not end");
    }

    fn status(&self) -> Value {
        self.interlock().status("n").unwrap()
    }

    /// Returns the paths of the states whose programs have begun but not ended, according to the log.
    fn under_way(&self) -> Vec<String> {
        if !self.begun() {
            return Vec::new();
        }
        let status = self.status();
        let effects = status["effects"].as_array().unwrap();
        let paths = effects
            .iter()
            .map(|effect| effect["path"].as_str().unwrap());
        paths.map(str::to_owned).collect()
    }

    /// Returns how often each state's program ran.
    fn effects(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for line in self.room.read("effects").unwrap_or_default().lines() {
            *counts.entry(line.to_owned()).or_insert(0) += 1;
        }
        counts
    }

    fn end(&self) -> End {
        let mut status = self.status();
        let run = status["run"].as_str().unwrap().to_owned();
        let directory = self
            .room
            .state()
            .join("interlock/work")
            .join(run)
            .join("files");
        End {
            variables: status["context"].take(),
            status: status["status"].take(),
            files: files(&directory, &directory),
        }
    }
}

/// Returns the files below `folder`, keyed by their path from `root`.
fn files(root: &Path, folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut files(root, &path));
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .into_owned();
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}
