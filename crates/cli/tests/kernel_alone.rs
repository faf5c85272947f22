//! Confinement by the kernel alone, without judging the line: `interlock exec` as in a state that may not write.
//!
//! Every trick in `tests/shell` and every line in `kernel/lines.txt` is run in a prepared folder without a judge.
//! Afterwards nothing has changed: no file, mode or time in the folder, the home or the temporary directory, and no
//! file with the test's name in world-writable places.
#![cfg(target_os = "linux")]

mod builds;
mod folder;

use std::net::TcpListener;
use std::sync::Mutex;
use std::thread;

use folder::{Folder, Level};
use interlock_testkit::sample;

const SHELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/shell");
/// Refused before anything was started.
const REFUSED: i32 = 126;

/// Returns the lines in the table of tricks, and our own, without their effects.
fn lines() -> Vec<String> {
    let tricks = std::fs::read_to_string(format!("{SHELL}/tricks.txt")).unwrap();
    let own = include_str!("kernel_alone/lines.txt");
    let line = |row: &str| {
        let line = row.split(" ⇒").next().unwrap_or(row);
        line.replace('⏎', "\n").replace('␉', "\t")
    };
    let rows = tricks.lines().chain(own.lines());
    rows.filter(|row| !row.is_empty() && !row.starts_with('#'))
        .map(line)
        .collect()
}

/// Runs the lines on a few threads, each in a folder that is recreated once something in it has changed.
fn changed_by(lines: &[String], level: Level) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let rest = Mutex::new(lines.iter());
    let found = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().map_or(2, |count| count.get());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut folder = Folder::prepared();
                loop {
                    let Some(line) = rest.lock().unwrap().next() else {
                        break;
                    };
                    folder.exec(
                        level,
                        &line.replace("PORT", &port).replace("NAME", folder.name()),
                    );
                    let changes = folder.changes(level);
                    if !changes.is_empty() {
                        found.lock().unwrap().push(format!("`{line}`: {changes:?}"));
                        folder = Folder::prepared();
                    }
                }
            });
        }
    });
    listener.set_nonblocking(true).unwrap();
    let mut found = found.into_inner().unwrap();
    if level != Level::Partial && listener.accept().is_ok() {
        found.push("a line reached the network".to_owned());
    }
    found
}

#[track_caller]
fn nothing(found: &[String]) {
    assert!(
        found.is_empty(),
        "{} lines got out:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Returns today's lines, one in six, or all of them for `cargo xtask soak`.
fn sampled() -> Vec<String> {
    let lines = lines().into_iter().enumerate();
    let todays = lines.filter(|(index, _)| sample::has(*index, 6));
    todays.map(|(_, line)| line).collect()
}

#[test]
fn no_trick_changes_anything_where_the_kernel_holds_all() {
    nothing(&changed_by(&lines(), Level::Full));
}

#[test]
fn no_trick_changes_anything_without_namespaces() {
    nothing(&changed_by(&sampled(), Level::Files));
}

/// An old kernel does not protect modes, times and truncation by path, so they are not checked.
#[test]
fn no_trick_changes_a_file_on_an_old_kernel() {
    let mut sampled = sampled();
    sampled.retain(|line| !line.contains("os.truncate("));
    nothing(&changed_by(&sampled, Level::Partial));
}

/// Without the kernel, the same lines have their effects; otherwise the test would prove nothing.
#[test]
fn the_same_lines_change_files_without_the_kernel() {
    // A background process of a line writes at any time, here perhaps too late to be observed.
    let own: Vec<String> = lines()
        .into_iter()
        .filter(|line| line.contains("open('NAME'") && !line.contains("fork()"))
        .collect();
    assert!(own.len() >= 2);
    assert_eq!(changed_by(&own, Level::Environment).len(), own.len());
}

#[test]
fn a_level_that_is_not_reached_starts_nothing() {
    let folder = Folder::prepared();
    for (most, least) in [
        ("environment", "files"),
        ("partial", "files"),
        ("environment", "partial"),
    ] {
        let arguments = [
            "--as",
            "no-write",
            "--at-most",
            most,
            "--require",
            least,
            "--",
            "echo started",
        ];
        let output = folder.interlock(&arguments);
        assert_eq!(output.status.code(), Some(REFUSED), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(least) && said.contains(most), "{said}");
    }
    assert_eq!(folder.changes(Level::Full), Vec::<String>::new());
}
