//! A whole story in the browser by keyboard: an agent asks, a person says no with a note, then yes, and looks back.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use interlock_testkit::{
    claude::{Session, Version},
    interlock::Interlock,
    provider::{Say, Script, call, text},
    room::Room,
};
use serde_json::json;

use crate::e2e_console::{INTERLOCK, browser::Browser, page::Console};

const WORKFLOW: &str = "id: release-notes
initial: planning
states:
  planning:
    allowed_tools: [Read]
    instructions: Read what there is. Nothing is written yet.
    on: {READY: writing}
  writing:
    allowed_tools: [Read, Write]
    max_iterations: 10
    on:
      SHIP: {target: shipped, requires_approval: true, approval_message: Is the text ready to ship?}
      BACK: planning
  shipped: {type: final}
";

/// The note of the person's no.
const NOTE: &str = "Say what changed for whoever upgrades.";

/// Returns the folder of the docs' pictures, if they are to be taken again.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("INTERLOCK_BLESS")?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/images");
    fs::create_dir_all(&folder).unwrap();
    Some(folder.canonicalize().unwrap())
}

/// Takes a picture for the docs, in both color schemes.
pub(crate) fn picture(browser: &Browser, name: &str) {
    picture_of(browser, name, 960);
}

/// Takes a picture of the page up to a height.
fn picture_of(browser: &Browser, name: &str, height: u32) {
    if let Some(folder) = pictures() {
        for (scheme, ending) in [("light", ""), ("dark", "-dark")] {
            let path = folder.join(format!("{name}{ending}.png"));
            browser.tell(
                "shot",
                json!({ "path": path, "scheme": scheme, "height": height }),
            );
        }
    }
}

/// The person: a browser with a paired page.
struct Person {
    browser: Browser,
    // It serves until it is dropped.
    _console: Console,
}

impl Person {
    /// Starts a console and pairs a page.
    fn sits_down(room: &Room) -> Self {
        let mut console = Console::open(room);
        let browser = Browser::start();
        let url = format!("http://localhost:{}/", console.port);
        let shown = browser.tell("open", json!({ "url": url }));
        console.types(shown["number"].as_str().unwrap(), "y\n");
        let inside = browser.tell("inside", json!({}));
        assert_eq!(inside["storage"], 0, "{inside}");
        assert_eq!(inside["cookies"], "", "{inside}");
        Self {
            browser,
            _console: console,
        }
    }

    /// Looks at the run while the agent works: it was just denied a call.
    fn sees_the_denial(&self, run: &str) {
        let shown = self.browser.tell("run", json!({ "id": run }));
        assert!(
            shown["text"].as_str().unwrap().contains("Running"),
            "{shown}"
        );
        let denied = json!({ "event": "CallDenied" });
        let seen = self.browser.tell("line", denied);
        let why = seen["text"].as_str().unwrap();
        for wanted in ["Denied", "tool_not_allowed", "planning"] {
            assert!(why.contains(wanted), "{wanted}:\n{why}");
        }
        // With the reason, which is below the graph.
        picture_of(&self.browser, "console-run", 1800);
    }

    /// Sees the first text and its diff, and says no.
    fn says_no(&self) {
        let seen = self.browser.tell("inbox", json!({}));
        let text = seen["text"].as_str().unwrap();
        for wanted in [
            "SHIP: writing -> shipped",
            "Is the text ready to ship?",
            "+It is faster.",
        ] {
            assert!(text.contains(wanted), "{wanted}:\n{text}");
        }
        // Long enough that nobody presses a button that has just appeared under the pointer.
        let locked_ms = seen["lockedMs"].as_f64().unwrap();
        assert!(locked_ms > 500.0, "a button was open after {locked_ms} ms");
        assert_eq!(seen["title"], "(1) Interlock");
        picture(&self.browser, "console-inbox");
        self.browser.tell("reject", json!({ "note": NOTE }));
    }

    /// Sees the better text, and says yes.
    fn says_yes(&self) {
        let seen = self.browser.tell("inbox", json!({}));
        let text = seen["text"].as_str().unwrap();
        assert!(text.contains("+Old settings are read as before."), "{text}");
        self.browser.tell("approve", json!({}));
    }
}

#[test]
fn a_person_says_no_then_yes_and_looks_back_by_keyboard_alone() {
    let room = Arc::new(Room::new().unwrap());
    let version = Version::V2_1_332;
    room.install("claude", &version.program().unwrap()).unwrap();
    let interlock = Interlock::new(INTERLOCK, &room);
    interlock.init().unwrap();
    room.write("workflow.yaml", WORKFLOW).unwrap();
    room.write("notes.md", "# 1.4\n").unwrap();
    commit(&room);
    let run = interlock.start("workflow.yaml").unwrap();

    let person: Arc<OnceLock<Person>> = Arc::default();
    let transition = |event: &str| {
        call(
            "mcp__interlock__interlock_transition",
            json!({ "event": event }),
        )
    };
    let at_run = run.clone();
    let (at_work, seen) = (Arc::clone(&room), Arc::clone(&person));
    let told = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&told);
    let script = Script::new(move |request| {
        if format!("{request:?}").contains(NOTE) {
            hears.store(true, Ordering::Relaxed);
        }
        let write = |text: &str| -> Say {
            let path = at_work.file("notes.md");
            call("Write", json!({ "file_path": path, "content": text }))
        };
        let file = at_work.file("notes.md");
        let first = "# 1.4\n\nIt is faster.\n";
        vec![match request.rounds() {
            // Too early: writing is not permitted while planning.
            0 => write(first),
            1 => {
                seen.get().unwrap().sees_the_denial(&at_run);
                call("Read", json!({ "file_path": file }))
            }
            2 => transition("READY"),
            3 => write(first),
            4 => transition("SHIP"),
            5 => {
                seen.get().unwrap().says_no();
                call("mcp__interlock__interlock_get_state", json!({}))
            }
            6 => write("# 1.4\n\nIt is faster.\nOld settings are read as before.\n"),
            7 => transition("SHIP"),
            8 => {
                seen.get().unwrap().says_yes();
                // The console ends with the session's network.
                look_back(
                    seen.get().unwrap(),
                    &Interlock::new(INTERLOCK, &at_work),
                    &at_run,
                );
                text("shipped")
            }
            _ => text("done"),
        }]
    });
    // A browser on a busy machine is slow.
    let session = Session::new(version, &room, script).deadline(Duration::from_secs(300));
    let (sits, at) = (Arc::clone(&person), Arc::clone(&room));
    let begin = move || {
        assert!(sits.set(Person::sits_down(&at)).is_ok());
    };
    let outcome = session.run_beside(begin).unwrap();
    assert_eq!(outcome.exit, Some(0), "{}", outcome.stderr);
    let events = interlock.events(&run).unwrap();
    let rejected = events
        .iter()
        .find(|event| event["event"] == "ApprovalRejected");
    assert_eq!(rejected.unwrap()["note"], NOTE);
    assert!(told.load(Ordering::Relaxed), "{:#?}", outcome.calls());
    let status = interlock.status(&run).unwrap();
    assert_eq!(status["status"], "completed", "{status}");
    interlock.verify(&run).unwrap();
}

/// Opens the ended run, and goes back to the denial.
fn look_back(person: &Person, interlock: &Interlock<'_>, run: &str) {
    let Person { browser, .. } = person;
    let now = browser.tell("run", json!({ "id": run }));
    let text = now["text"].as_str().unwrap();
    assert!(
        text.contains("release-notes") && text.contains("Completed"),
        "{text}"
    );
    let past = browser.tell("past", json!({ "event": "CallDenied" }));
    let why = past["why"].as_str().unwrap();
    for wanted in [
        "Denied",
        "tool_not_allowed",
        "notes.md",
        "planning",
        "READY",
    ] {
        assert!(why.contains(wanted), "{wanted}:\n{why}");
    }
    let banner = past["banner"].as_str().unwrap();
    // Events have the same numbers as in the log.
    let events = interlock.events(run).unwrap();
    let denied = events.iter().find(|event| event["event"] == "CallDenied");
    let (seq, last) = (&denied.unwrap()["seq"], events.len() - 1);
    let wanted = format!("You look at the past: after event {seq} of {last},");
    assert!(banner.contains(&wanted), "{wanted}\n{banner}");
    let inspector = past["inspector"].as_str().unwrap();
    assert!(inspector.contains("planning"), "{inspector}");
    let here = past["here"].to_string();
    assert!(here.contains("planning"), "{here}");
    // No action on the run is available here.
    for button in past["buttons"].as_array().unwrap() {
        let name = button.as_str().unwrap();
        for action in ["Approve", "Reject", "Pause", "Resume", "Cancel"] {
            assert!(!name.starts_with(action), "{name}");
        }
    }
    picture(browser, "console-past");
    for hash in ["", "#/inbox", "#/runs", "#/about"] {
        let found = browser.tell("examine", json!({ "hash": hash }));
        assert_eq!(found["found"], json!([]), "{hash}");
    }
    let problems = browser.tell("problems", json!({}));
    assert_eq!(problems["problems"], json!([]));
}

/// Commits the present state, so that a diff begins from it.
fn commit(room: &Room) {
    for words in [
        &["add", "-A"][..],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-qm",
            "begin",
        ],
    ] {
        let output = room.command("git").args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
