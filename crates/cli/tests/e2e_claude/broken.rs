//! A killed hook, a damaged run, a full disk: whatever is broken, no call runs without a verdict.

use std::fs;
use std::path::PathBuf;

use interlock_testkit::claude::Version;
use interlock_testkit::interlock::{Interlock, damage, databases, pinned};
use interlock_testkit::provider::{Call, Script, text};
use serde_json::{Value, json};

use crate::e2e_claude::guarded::{
    Guarded, INTERLOCK, MARK, WORKFLOW, bash, plan_then_build, ran, refused, transition,
};

/// The results of two permitted calls, with a fault between them.
struct Broken {
    guarded: Guarded,
    calls: Vec<Call>,
}

impl Broken {
    /// Runs `touch before.txt`, applies `damage`, and lets the model propose `touch after.txt`.
    fn between_two_calls(
        version: Version,
        wrapper: Option<&str>,
        damage: impl FnOnce(&Guarded) -> Box<dyn Fn() + Send + Sync>,
    ) -> Broken {
        let guarded = Guarded::with_hook_wrapped(version, &writing(), wrapper);
        let damage = damage(&guarded);
        let script = Script::new(move |request| match request.rounds() {
            0 => vec![bash("touch before.txt")],
            1 => {
                damage();
                vec![bash("touch after.txt")]
            }
            _ => vec![text("done")],
        });
        let calls = guarded.session(script).calls();
        assert!(
            guarded.room.read("before.txt").is_some(),
            "nothing was broken yet: {calls:#?}"
        );
        Broken { guarded, calls }
    }

    fn ran(&self) -> bool {
        self.guarded.room.read("after.txt").is_some()
    }

    /// Checks that the second call was refused, and that the model was told so.
    #[track_caller]
    fn assert_refused(&self) {
        assert!(!self.ran(), "the call ran: {:#?}", self.calls);
        assert!(
            matches!(&self.calls[..], [_, after] if after.failed),
            "{:#?}",
            self.calls
        );
    }
}

fn writing() -> Value {
    json!({
        "id": "writing", "initial": "building",
        "states": {
            "building": {
                "allowed_tools": ["Read", "Write", "Bash"], "instructions": MARK,
                "on": {"DONE": "complete"},
            },
            "complete": {"type": "final"},
        },
    })
}

/// Returns a function that creates the file that a hook's wrapper waits for.
fn raise_flag(guarded: &Guarded) -> Box<dyn Fn() + Send + Sync> {
    let flag = guarded.room.state().join("flag");
    Box::new(move || fs::write(&flag, "").unwrap())
}

fn damage_all(files: std::io::Result<Vec<PathBuf>>) {
    for file in files.unwrap() {
        damage(&file).unwrap();
    }
}

/// The older version ignores `onFailure`: there, a killed hook lets the call run, and `doctor` must report it.
fn a_killed_hook_blocks_where_the_client_can(version: Version) {
    let wrapper = r#"[ -e "$XDG_STATE_HOME/flag" ] && kill -9 $$; exec "$@""#;
    let broken = Broken::between_two_calls(version, Some(wrapper), raise_flag);
    let doctor = Interlock::new(INTERLOCK, &broken.guarded.room)
        .run(&["doctor"])
        .unwrap();
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains(version.number()), "{doctor}");
    match version {
        Version::V2_1_197 => {
            assert!(
                broken.ran(),
                "this version honours `onFailure` now: {:#?}",
                broken.calls
            );
            assert!(doctor.contains("onFailure"), "{doctor}");
        }
        Version::V2_1_332 => {
            broken.assert_refused();
            assert!(!doctor.contains("onFailure"), "{doctor}");
        }
    }
}

fn a_damaged_run_denies(version: Version) {
    Broken::between_two_calls(version, None, |guarded| {
        let (state, run) = (guarded.room.state(), guarded.run.clone());
        Box::new(move || damage_all(databases(&state, &run)))
    })
    .assert_refused();
}

fn a_full_disk_denies(version: Version) {
    let wrapper = r#"[ -e "$XDG_STATE_HOME/flag" ] && ulimit -f 0; exec "$@""#;
    Broken::between_two_calls(version, Some(wrapper), raise_flag).assert_refused();
}

fn a_damaged_pinned_workflow_denies(version: Version) {
    Broken::between_two_calls(version, None, |guarded| {
        let state = guarded.room.state();
        Box::new(move || damage_all(pinned(&state, MARK)))
    })
    .assert_refused();
}

fn a_deleted_workflow_file_changes_nothing(version: Version) {
    let guarded = Guarded::new(version, &plan_then_build());
    let file = guarded.room.project().join(WORKFLOW);
    let script = Script::new(move |request| match request.rounds() {
        0 => vec![bash("cat a.txt")],
        1 => {
            // A repeated request finds the file already removed.
            drop(fs::remove_file(&file));
            vec![bash("touch early.txt")]
        }
        2 => vec![transition("READY")],
        3 => vec![bash("echo late > late.txt")],
        _ => vec![text("done")],
    });
    let calls = guarded.session(script).calls();
    let [cat, early, ready, late] = &calls[..] else {
        panic!("{calls:#?}")
    };
    assert_eq!(guarded.room.read(WORKFLOW), None);
    refused(early, "shell_write", &["READY"]);
    [cat, ready, late].into_iter().for_each(ran);
    assert_eq!(guarded.room.read("early.txt"), None);
    assert!(guarded.room.read("late.txt").is_some());
}

interlock_testkit::with_both_versions! {
    a_killed_hook_blocks_where_the_client_can
    a_damaged_run_denies
    a_full_disk_denies
    a_damaged_pinned_workflow_denies
    a_deleted_workflow_file_changes_nothing
}
