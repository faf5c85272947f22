//! Files of runs that move between workers with different folders.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    cluster::until,
    crew::{Crew, Worker},
    server::new_name,
};

/// A step that leaves files of many kinds, and one that waits for a file outside of the project.
fn workflow(go: &Path) -> String {
    format!(
        r#"start-at: write
states:
  write:
    tool: bash
    arguments:
      command: |
        mkdir -p bin gone
        echo one > "a name with ö.txt"
        echo first > changed; echo x > gone/file
        printf '#!/bin/sh\necho ran\n' > bin/run; chmod 755 bin/run
        ln -s ../changed bin/link
        printf 'build\n' > .gitignore; mkdir build; echo large > build/out
      cwd: "@/"
    next: change
  change:
    tool: bash
    arguments: {{command: "echo second > changed; rm -r gone", cwd: "@/"}}
    next: wait
  wait:
    tool: bash
    on-crash: retry
    arguments:
      command: "touch half; while ! test -e {go}; do sleep 0.1; done; rm half"
      cwd: "@/"
    next: read
  read:
    tool: bash
    arguments:
      command: "bin/run > said; cat bin/link >> said; cat 'a name with ö.txt' >> said; find . | sort >> said"
      cwd: "@/"
"#,
        go = go.display()
    )
}

struct Pair {
    crew: Crew,
    go: PathBuf,
}

impl Pair {
    fn new() -> Option<Self> {
        let crew = Crew::new()?;
        let go = crew.project().join("go");
        Some(Self { crew, go })
    }

    fn folder(&self, machine: &str) -> PathBuf {
        self.crew.project().join(machine)
    }

    /// Starts a worker with a folder of its own for the projects of runs.
    fn worker(&self, machine: &str, options: &[&str]) -> Worker {
        let folder = self.folder(machine);
        fs::create_dir_all(&folder).unwrap();
        let projects = folder.to_str().unwrap();
        let mut all = vec!["--projects", projects];
        all.extend(options);
        self.crew.worker_of(3, "", &all)
    }

    fn sql(&self, statement: &str) -> String {
        self.crew.fleet.server.sql(&self.crew.fleet.name, statement)
    }

    /// Has a run tried again at once that could not be carried.
    fn again(&self, run: &str) {
        let sent = self
            .crew
            .restate
            .call(run, "wake/send", &json!(new_name("w")));
        assert!((200..300).contains(&sent.status), "{sent:?}");
    }

    fn until_half(&self, machine: &str, run: &str) {
        until("the step runs", || {
            let view = self.crew.view(run);
            assert_ne!(view["report"]["status"], "failed", "{view:#}");
            self.folder(machine).join(run).join("half").exists()
        });
    }
}

/// What the last step of [`workflow`] sees.
const SAID: &str = "ran\nsecond\none\n.\n./.gitignore\n./a name with ö.txt\n./bin\n./bin/link\n./bin/run\n./changed\n./said\n";

#[test]
fn the_files_of_a_killed_workers_run_are_where_it_goes_on() {
    let Some(pair) = Pair::new() else { return };
    let mut first = pair.worker("first", &[]);
    let run = pair.crew.start("move.yaml", &workflow(&pair.go));
    pair.until_half("first", &run);
    let second = pair.worker("second", &[]);
    first.kill();
    pair.until_half("second", &run);
    assert!(second.has_said("restored", |note| note["aside"] == Value::Null));
    fs::write(&pair.go, "").unwrap();
    pair.crew.until_status(&run, "completed");
    let project = pair.folder("second").join(&run);
    // The step that was interrupted had left a file, which did not move.
    assert_eq!(fs::read_to_string(project.join("said")).unwrap(), SAID);
    let mode = fs::metadata(project.join("bin/run")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
    pair.crew.fleet.verified(&run);
    // Only the newest files are kept.
    assert_eq!(pair.sql("SELECT count(*) FROM interlock.workspaces"), "1");
}

#[test]
fn a_run_that_comes_back_finds_the_newest_files_and_what_was_there_is_set_aside() {
    let Some(pair) = Pair::new() else { return };
    let mut first = pair.worker("first", &[]);
    let run = pair.crew.start("move.yaml", &workflow(&pair.go));
    pair.until_half("first", &run);
    let second = pair.worker("second", &[]);
    first.kill();
    pair.until_half("second", &run);
    let back = pair.folder("first");
    // A protected file of this machine is not replaced.
    let settings = back.join(&run).join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{}").unwrap();
    let third = pair.worker("first", &[]);
    drop(second);
    until("it is refused", || {
        third.has_said("ended", |note| {
            note["next"] == "later"
                && note["why"]
                    .to_string()
                    .contains("protected files are not replaced")
        })
    });
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{}");
    fs::remove_dir_all(settings.parent().unwrap()).unwrap();
    pair.again(&run);
    until("it is restored", || third.has_said("restored", |_| true));
    let restored = third.said();
    let note = restored
        .iter()
        .find(|note| note["event"] == "restored")
        .unwrap();
    let aside = Path::new(note["aside"].as_str().unwrap());
    assert!(aside.join("build/out").exists() && aside.join("half").exists());
    fs::write(&pair.go, "").unwrap();
    pair.crew.until_status(&run, "completed");
    let said = fs::read_to_string(back.join(&run).join("said")).unwrap();
    assert_eq!(said, SAID);
}

#[test]
fn a_worker_that_still_has_the_files_goes_on_with_them() {
    let Some(pair) = Pair::new() else { return };
    let mut first = pair.worker("first", &[]);
    let run = pair.crew.start("move.yaml", &workflow(&pair.go));
    pair.until_half("first", &run);
    // Its state is that of the machine; only the process is another one.
    first.kill();
    let again = first.again();
    until("it goes on", || {
        again.has_said("taken", |note| note["epoch"] == 2)
    });
    fs::write(&pair.go, "").unwrap();
    pair.crew.until_status(&run, "completed");
    let folder = pair.folder("first").join(&run);
    assert!(folder.join("build/out").exists());
    assert!(!again.has_said("restored", |_| true));
}

#[test]
fn without_the_files_a_person_is_asked() {
    let Some(pair) = Pair::new() else { return };
    let mut first = pair.worker("first", &["--workspace-limit", "1"]);
    let text = workflow(&pair.go).replace(
        "mkdir -p bin gone",
        "mkdir -p bin gone; head -c 2000000 /dev/zero > large",
    );
    let run = pair.crew.start("move.yaml", &text);
    pair.until_half("first", &run);
    let second = pair.worker("second", &[]);
    first.kill();
    pair.crew.until_status(&run, "paused");
    let view = pair.crew.view(&run).to_string();
    assert!(
        view.contains("they are larger than 1048576 bytes (`--workspace-limit`)"),
        "{view}"
    );
    until("it is given back", || {
        second.has_said("ended", |note| note["next"] == "person")
    });
    assert!(!pair.folder("second").join(&run).join("half").exists());
    // A person goes on without them.
    let resume = json!({ "resume": {} });
    let crew = &pair.crew;
    let decided = crew
        .fleet
        .served
        .decide(&crew.ana, &run, &new_name("r"), resume);
    assert_eq!(decided["verdict"], "accepted", "{decided}");
    pair.until_half("second", &run);
    fs::write(&pair.go, "").unwrap();
    crew.until_status(&run, "completed");
    let said = pair.folder("second").join(&run).join("said");
    assert_eq!(fs::read_to_string(said).unwrap(), ".\n./said\n");
    crew.fleet.verified(&run);
}

#[test]
fn files_that_were_changed_in_the_database_are_not_restored() {
    let Some(pair) = Pair::new() else { return };
    let mut first = pair.worker("first", &[]);
    let run = pair.crew.start("move.yaml", &workflow(&pair.go));
    pair.until_half("first", &run);
    first.kill();
    pair.sql("UPDATE interlock.workspaces SET body = body || '\\x00'");
    let second = pair.worker("second", &[]);
    until("it is refused", || {
        second.has_said("ended", |note| {
            note["next"] == "later"
                && note["why"]
                    .to_string()
                    .contains("than those that were recorded")
        })
    });
    // A correct digest does not help a tar that no worker writes.
    pair.sql("UPDATE interlock.workspaces SET digest = sha256(body)");
    pair.again(&run);
    until("it is refused", || {
        second.has_said("ended", |note| {
            note["why"].to_string().contains("goes on after its end")
        })
    });
    assert!(!pair.folder("second").join(&run).exists());
}

#[test]
fn a_worker_with_one_project_does_not_take_a_run_whose_files_move() {
    let Some(pair) = Pair::new() else { return };
    let mut first = pair.worker("first", &[]);
    let run = pair.crew.start("move.yaml", &workflow(&pair.go));
    pair.until_half("first", &run);
    first.kill();
    let other = pair.crew.worker(3);
    until("it is refused", || {
        other.has_said("ended", |note| {
            note["next"] == "later"
                && note["why"]
                    .to_string()
                    .contains("start this one with `--projects`")
        })
    });
}
