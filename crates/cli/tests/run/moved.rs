//! A run whose project, home and state directory have moved continues in the new places.

use std::{fs, path::PathBuf, process::Stdio};

use super::place::Place;

const FLOW: &str = "start-at: a
variables: {said: '', there: ''}
states:
  a:
    tool: bash
    arguments:
      command: 'echo of the project > {{ quote(there) }}/a; pwd > where; echo \"@project $INTERLOCK_PROJECT $INTERLOCK_RUN_DIR $HOME\"'
    output: var(said)
    next: p
  p: {tool: pause, arguments: {reason: 'has it moved?'}, next: b}
  b:
    tool: bash
    arguments:
      command: 'cat $INTERLOCK_RUN_DIR/where {{ quote(there) }}/a; echo \"{{ said }}\"; pwd; echo $INTERLOCK_PROJECT $INTERLOCK_RUN_DIR'
      cwd: '@/'
";

/// The same program and person, with all of their folders below another folder.
struct Elsewhere {
    root: PathBuf,
}

impl Elsewhere {
    fn call(&self, place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = place.persons(arguments);
        command
            .current_dir(self.root.join("shop"))
            .stdin(Stdio::null());
        for (name, folder) in [("HOME", "person"), ("XDG_STATE_HOME", "kept")] {
            command.env(name, self.root.join(folder));
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}

fn moved(place: &Place) -> Elsewhere {
    let root = place.room.path("elsewhere");
    fs::create_dir(&root).unwrap();
    for (from, to) in [
        (place.room.project(), "shop"),
        (place.room.home(), "person"),
        (place.room.state(), "kept"),
    ] {
        fs::rename(from, root.join(to)).unwrap();
    }
    Elsewhere { root }
}

#[test]
fn a_run_goes_on_where_its_project_home_and_state_directory_are_now() {
    let place = Place::with("moving", FLOW);
    let project = place.room.project();
    let there = format!("there={}", project.display());
    place
        .call(&["run", "moving", "-n", "m", "--var", &there])
        .ended(75);
    let run = place.status("m")["run"].as_str().unwrap().to_owned();
    let events = place.events("m").len();
    let old = [project, place.room.home(), place.room.state()];
    let new = moved(&place);
    let verified = new.call(&place, &["log", &run, "--verify"]);
    assert_eq!(verified.0, Some(0), "{verified:?}");

    let (code, out, err) = new.call(&place, &["resume", &run, "--here"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let at = |folder: &str| new.root.join(folder).canonicalize().unwrap();
    let (shop, person) = (at("shop"), at("person"));
    let files = at("kept").join("interlock/work").join(&run).join("files");
    let (shop, person, files) = (shop.display(), person.display(), files.display());
    // The first step's file keeps its text; the paths in the log point to the new place.
    let first = &old[2].join("interlock/work").join(&run).join("files");
    let wanted = format!(
        "{}\nof the project\n@project {shop} {files} {person}\n{shop}\n{shop} {files}\n",
        first.display()
    );
    assert!(out.ends_with(&wanted), "{out}\nis not\n{wanted}");
    for gone in &old {
        assert!(!gone.exists(), "{} was made again", gone.display());
    }
    let verified = new.call(&place, &["log", "moving/m", "--verify"]);
    assert_eq!(verified.0, Some(0), "{verified:?}");
    // No path that was recorded before points to the old places.
    let (_, log, _) = new.call(&place, &["log", &run, "--json"]);
    for line in log.lines().take(events) {
        let leads = |path: &PathBuf| line.contains(path.to_str().unwrap());
        assert!(!old.iter().any(leads), "{line}");
    }
    assert!(log.contains("@project "), "{log}");
}

#[test]
fn a_run_that_nobody_said_has_moved_stays_in_its_project() {
    let place = Place::with("moving", FLOW);
    let project = place.room.project();
    let there = format!("there={}", project.display());
    place
        .call(&["run", "moving", "-n", "m", "--var", &there])
        .ended(75);
    let run = place.status("m")["run"].as_str().unwrap().to_owned();
    let other = place.room.path("other");
    fs::create_dir(&other).unwrap();
    let mut command = place.persons(&["resume", &run]);
    let output = command.current_dir(&other).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{out}");
    let in_project = format!("\n{}\n", project.display());
    assert!(out.contains(&in_project), "{out}");
}
