//! Resumed conversations, second sessions and early ends, with the real clients other than Claude Code.
//!
//! In each, the forbidden edit is refused, or the session was told that it is not guarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::e2e_clients::guarded::{Guarded, ended_well};
use interlock_testkit::client::{Client, Outcome, Session, Tools};
use interlock_testkit::proposal::{Proposal, Script};
use interlock_testkit::terminal::Terminal;
use serde_json::{Value, json};

const CODEX: Client = Client::Codex(Tools::Code);

fn workflow() -> Value {
    json!({"id": "look", "initial": "looking", "states": {
        "looking": {"allowed_tools": ["Read"], "on": {"DONE": "over"}},
        "over": {"type": "final"},
    }})
}

/// Returns a model that proposes one write, whatever was said before.
fn writes() -> Script {
    let asked = Arc::new(AtomicBool::new(false));
    Script::new(move |_| {
        let first = !asked.swap(true, Ordering::SeqCst);
        first.then(|| Proposal::write("written.txt", "x\n"))
    })
}

fn session(guarded: &Guarded, words: &[&str]) -> Outcome {
    ended_well(Session::new(guarded.client, &guarded.room, writes()).resuming(words))
}

fn denials(guarded: &Guarded, run: &str) -> usize {
    let verdicts = guarded.verdicts(run);
    let denied = verdicts.iter().filter(|code| *code == "tool_not_allowed");
    denied.count()
}

/// Resumes a guarded conversation in each way: the edit is refused in all.
fn stays_held(client: Client, ways: &[&[&str]]) {
    let guarded = Guarded::new(client, &[("a.txt", "one\n")]);
    let run = guarded.start(&workflow());
    session(&guarded, &[]);
    for (before, way) in ways.iter().enumerate() {
        let outcome = session(&guarded, way);
        assert_eq!(
            guarded.room.read("written.txt"),
            None,
            "{way:?}: {outcome:#?}"
        );
        assert_eq!(denials(&guarded, &run), before + 2, "{way:?}: {outcome:#?}");
    }
}

#[test]
fn a_conversation_of_codex_taken_up_again_stays_held() {
    stays_held(CODEX, &[&["resume", "--last"]]);
}

#[test]
fn a_conversation_of_gemini_taken_up_again_stays_held() {
    stays_held(Client::Gemini, &[&["--resume", "latest"]]);
}

#[test]
fn a_conversation_of_copilot_taken_up_again_stays_held() {
    stays_held(Client::Copilot, &[&["--continue"]]);
}

#[test]
fn a_conversation_of_opencode_taken_up_again_stays_held() {
    stays_held(
        Client::Opencode,
        &[&["--continue"], &["--continue", "--fork"]],
    );
}

/// The texts in a client's window, and the keys for a new conversation.
struct Window {
    /// Shown when input is accepted.
    prompt: &'static str,
    /// Shown once a turn has ended; during a turn, no new conversation can begin.
    ended: &'static str,
    /// The keys, and the text shown before Enter is pressed.
    new: &'static [(&'static str, &'static str)],
    /// Returns by the screen whether the new conversation has begun and accepts Enter.
    begun: fn(&str) -> bool,
}

/// A person begins a new conversation in the same window: it stays guarded.
fn a_new_conversation_stays_held(client: Client, window: &Window) {
    let guarded = Guarded::new(client, &[("a.txt", "one\n")]);
    let run = guarded.start(&workflow());
    let script = Script::new(|turn| (turn == 0).then(|| Proposal::write("written.txt", "x\n")));
    let session = Session::new(client, &guarded.room, script);
    let seen = |terminal: &mut Terminal, words: &str| {
        terminal.wait_for(words, |screen| screen.contains(words))
    };
    let ended = session.in_terminal(|terminal| {
        for attempt in 1..=2 {
            seen(terminal, window.prompt)?;
            let words = format!("Attempt {attempt}");
            terminal.press(&words)?;
            seen(terminal, &words)?;
            terminal.press("\r")?;
            terminal.wait_for("the refusal", |_| denials(&guarded, &run) == attempt)?;
            seen(terminal, window.ended)?;
            if attempt == 1 {
                for (typed, shown) in window.new {
                    terminal.press(typed)?;
                    seen(terminal, shown)?;
                    terminal.press("\r")?;
                }
                terminal.wait_for("a new conversation", window.begun)?;
            }
        }
        Ok(())
    });
    ended.unwrap();
    assert_eq!(guarded.room.read("written.txt"), None);
}

#[test]
fn a_new_conversation_of_codex_stays_held() {
    let window = Window {
        prompt: "Ask Codex to do",
        ended: "Worked for",
        new: &[
            ("/new", "start a new chat"),
            ("", "Where should the new conversation run?"),
        ],
        // Its header shows its permissions once it is ready.
        begun: |screen| screen.contains("permissions:") && !screen.contains("Where should the new"),
    };
    a_new_conversation_stays_held(CODEX, &window);
}

#[test]
fn a_new_conversation_of_copilot_stays_held() {
    let window = Window {
        prompt: "/ commands",
        ended: "● done",
        new: &[("/clear", "Abandon this session")],
        begun: |screen| screen.contains("MCP Servers reloaded"),
    };
    a_new_conversation_stays_held(Client::Copilot, &window);
}

#[test]
fn a_new_conversation_of_opencode_stays_held() {
    let window = Window {
        prompt: "Ask anything",
        ended: "scripted · ",
        new: &[("/new", "New session")],
        begun: |screen| screen.contains("Ask anything"),
    };
    a_new_conversation_stays_held(Client::Opencode, &window);
}

/// Another session of the project is told in its conversation that a run is open and does not guard it.
fn a_second_session_is_told(client: Client) {
    let guarded = Guarded::new(client, &[("a.txt", "one\n")]);
    let run = guarded.start(&workflow());
    session(&guarded, &[]);
    assert_eq!(guarded.room.read("written.txt"), None);
    let outcome = session(&guarded, &[]);
    let told = format!("run {run} is open in this project");
    let is_told = |request: &Value| request.to_string().contains(&told);
    assert!(outcome.requests.iter().any(is_told), "{outcome:#?}");
    assert!(guarded.room.read("written.txt").is_some());
}

#[test]
fn a_second_session_of_codex_is_told_that_no_run_guards_it() {
    a_second_session_is_told(CODEX);
}

#[test]
fn a_second_session_of_gemini_is_told_that_no_run_guards_it() {
    a_second_session_is_told(Client::Gemini);
}

#[test]
fn a_second_session_of_copilot_is_told_that_no_run_guards_it() {
    a_second_session_is_told(Client::Copilot);
}

#[test]
fn a_second_session_of_opencode_is_told_that_no_run_guards_it() {
    a_second_session_is_told(Client::Opencode);
}

/// An agent that ends its turn early is told to continue, three times, and then ends.
fn an_early_end_is_refused(client: Client) {
    let guarded = Guarded::new(client, &[("a.txt", "one\n")]);
    let mut workflow = workflow();
    workflow["finish"] = json!("required");
    let run = guarded.start(&workflow);
    let outcome = ended_well(Session::new(
        client,
        &guarded.room,
        Script::calls(Vec::new()),
    ));
    let events = guarded.interlock().events(&run).unwrap();
    let refused = events
        .iter()
        .filter(|event| event["event"] == "FinishRefused");
    assert_eq!(refused.count(), 3, "{events:#?} {outcome:#?}");
    // The model is told each time what is missing, and the session still ends.
    assert_eq!(outcome.requests.len(), 4, "{outcome:#?}");
    let last = outcome.requests.last().unwrap().to_string();
    assert!(last.contains("finish_required"), "{last}");
}

#[test]
fn codex_goes_on_where_it_would_end_early() {
    an_early_end_is_refused(CODEX);
}

#[test]
fn gemini_goes_on_where_it_would_end_early() {
    an_early_end_is_refused(Client::Gemini);
}

#[test]
fn copilot_goes_on_where_it_would_end_early() {
    an_early_end_is_refused(Client::Copilot);
}

/// A sub-agent proposes a write: it is guarded by the run of the agent that started it.
fn a_sub_agent_is_held(client: Client) {
    let guarded = Guarded::new(client, &[("a.txt", "one\n")]);
    let mut workflow = workflow();
    workflow["states"]["looking"]["allowed_tools"] = json!(["Read", "Bash", "Task"]);
    let run = guarded.start(&workflow);
    let (requests, after) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let asked = AtomicBool::new(false);
    let script = Script::new(move |turn| {
        if requests.fetch_add(1, Ordering::SeqCst) == 0 {
            return Some(Proposal::delegate("Write the file."));
        }
        // It has its own conversation, without the results of the other.
        if turn == 0 && !asked.swap(true, Ordering::SeqCst) {
            return Some(Proposal::write("written.txt", "x\n"));
        }
        // If both run concurrently, neither ends before the other got its answer.
        let over = asked.load(Ordering::SeqCst) && after.fetch_add(1, Ordering::SeqCst) > 8;
        (!over && turn < 40).then(|| Proposal::read("a.txt"))
    });
    let outcome = ended_well(Session::new(client, &guarded.room, script));
    assert_eq!(guarded.room.read("written.txt"), None, "{outcome:#?}");
    let verdicts = guarded.verdicts(&run);
    assert_eq!(denials(&guarded, &run), 1, "{verdicts:?} {outcome:#?}");
    assert_eq!(verdicts[0], "allowed", "{verdicts:?}");
}

#[test]
fn a_sub_agent_of_codex_is_held() {
    a_sub_agent_is_held(CODEX);
}

#[test]
fn a_sub_agent_of_gemini_is_held() {
    a_sub_agent_is_held(Client::Gemini);
}

#[test]
fn a_sub_agent_of_copilot_is_held() {
    a_sub_agent_is_held(Client::Copilot);
}

#[test]
fn a_sub_agent_of_opencode_is_held() {
    a_sub_agent_is_held(Client::Opencode);
}

/// A worktree is a separate project, so a session there is told.
#[test]
fn a_session_of_gemini_in_a_worktree_is_told_that_no_run_guards_it() {
    let guarded = Guarded::new(Client::Gemini, &[("a.txt", "one\n")]);
    let settings = guarded.room.home().join(".gemini/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["experimental"] = json!({"worktrees": true});
    std::fs::write(&settings, value.to_string()).unwrap();
    let run = guarded.start(&workflow());
    for words in [&["add", "-A"][..], &["commit", "-qm", "all"]] {
        let mut git = guarded.room.command("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
        assert!(git.args(words).status().unwrap().success());
    }
    let outcome = session(&guarded, &["--worktree", "apart"]);
    let told = format!("run {run} is open in");
    let is_told = |request: &Value| request.to_string().contains(&told);
    assert!(outcome.requests.iter().any(is_told), "{outcome:#?}");
    // It guarded nobody else: it waits for a session of the project itself.
    assert_eq!(guarded.verdicts(&run), Vec::<String>::new());
}
