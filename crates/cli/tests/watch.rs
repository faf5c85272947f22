//! `interlock watch` in a real pseudo-terminal, read as a person sees it.

use std::process::{Command, Stdio};

use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
    terminal::{self, Terminal},
};
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const FLOW: &str = "id: shop
initial: draft
states:
  draft:
    allowed_tools: [Read]
    on_denied: ask
    on:
      SHIP: {target: shipped, requires_approval: true, approval_message: Ship the release?}
  shipped: {on: {DONE: done}}
  done: {type: final}
";

fn room() -> Room {
    let room = Room::new().unwrap();
    room.write("flow.yaml", FLOW).unwrap();
    room
}

fn interlock<'a>(room: &'a Room) -> Interlock<'a> {
    Interlock::new(INTERLOCK, room)
}

fn started(room: &Room, session: &str) -> String {
    interlock(room)
        .start_for_session("flow.yaml", session)
        .unwrap()
}

fn watch(room: &Room) -> Command {
    let mut command = room.command(INTERLOCK);
    command.arg("watch").env("TERM", "xterm-256color");
    command
}

fn open(room: &Room, rows: u16, columns: u16) -> Terminal {
    Terminal::start(&watch(room), rows, columns).unwrap()
}

fn ask_to_ship(room: &Room, run: &str) {
    interlock(room)
        .by_a_person(&["send", "SHIP", "--run", run])
        .unwrap();
}

fn holds<'t>(texts: &'t [&'t str]) -> impl Fn(&str) -> bool + 't {
    move |screen| texts.iter().all(|text| screen.contains(text))
}

fn status(room: &Room, run: &str) -> Value {
    interlock(room).status(run).unwrap()
}

#[test]
fn what_happens_is_seen_and_answered_with_a_key() {
    let room = room();
    let run = started(&room, "s1");
    let mut terminal = open(&room, 40, 120);
    terminal
        .wait_for("run", holds(&["shop", "draft", "running", "RunStarted"]))
        .unwrap();
    ask_to_ship(&room, &run);
    terminal
        .wait_for(
            "question",
            holds(&["waiting for you", "Ship the release?", "ApprovalRequested"]),
        )
        .unwrap();
    terminal.press("a").unwrap();
    terminal
        .wait_for("box", holds(&["say yes to this?", "SHIP", "digest"]))
        .unwrap();
    assert_eq!(
        status(&room, &run)["state"],
        "draft",
        "nothing is answered yet"
    );
    terminal.press("y").unwrap();
    terminal
        .wait_for(
            "next state",
            holds(&["approved SHIP: draft -> shipped", "TransitionTaken"]),
        )
        .unwrap();
    assert_eq!(status(&room, &run)["state"], "shipped");
    terminal.press("q").unwrap();
    assert!(terminal.end().unwrap().success());
    assert!(!terminal.is_taken_over(), "the terminal is as it was");
}

#[test]
fn a_no_takes_a_note_along() {
    let room = room();
    let run = started(&room, "s1");
    ask_to_ship(&room, &run);
    let mut terminal = open(&room, 30, 100);
    terminal
        .wait_for("question", holds(&["Ship the release?"]))
        .unwrap();
    terminal.press("r").unwrap();
    terminal.wait_for("box", holds(&["note:"])).unwrap();
    terminal.press("no changelog").unwrap();
    terminal
        .wait_for("note", holds(&["note: no changelog"]))
        .unwrap();
    terminal.press("\r").unwrap();
    terminal
        .wait_for(
            "end",
            holds(&["denied SHIP: draft -> shipped", "ApprovalRejected"]),
        )
        .unwrap();
    let events = interlock(&room).events(&run).unwrap();
    let rejected = events
        .iter()
        .find(|event| event["event"] == "ApprovalRejected")
        .unwrap();
    assert_eq!(rejected["note"], "no changelog");
}

#[test]
fn a_question_answered_elsewhere_leaves_the_screen() {
    let room = room();
    let run = started(&room, "s1");
    ask_to_ship(&room, &run);
    let mut terminal = open(&room, 30, 100);
    terminal
        .wait_for("question", holds(&["Ship the release?"]))
        .unwrap();
    terminal.press("a").unwrap();
    terminal
        .wait_for("box", holds(&["say yes to this?"]))
        .unwrap();
    interlock(&room).by_a_person(&["reject", &run]).unwrap();
    terminal
        .wait_for("word of it", |screen| {
            screen.contains("waits no more") && !screen.contains("say yes to this?")
        })
        .unwrap();
}

/// Calls the hook in a session whose client is this very process, with a call that needs a yes.
fn ask_for_a_page(room: &Room) {
    ask_for(room, "t1", "page");
}

fn ask_for(room: &Room, id: &str, page: &str) {
    let input = json!({ "url": format!("https://example.com/{page}") });
    let call = before_tool(room, "s1", id, "WebFetch", &input);
    let hook = interlock(room).hook(&call).unwrap();
    assert!(hook.wait_with_output().unwrap().status.success());
}

/// Returns the person's token; it is made below this process, before the hook takes it for the client.
fn token(room: &Room) -> String {
    let shown = terminal::output(room.command(INTERLOCK).arg("token")).unwrap();
    let token = String::from_utf8(shown.stdout).unwrap();
    token.lines().last().unwrap().to_owned()
}

fn open_with(token: &str, room: &Room) -> Terminal {
    let mut command = watch(room);
    command.env("INTERLOCK_TOKEN", token);
    Terminal::start(&command, 40, 120).unwrap()
}

/// Lets the call in the box run.
fn grant_what_is_shown(terminal: &mut Terminal) {
    terminal
        .wait_for("box", holds(&["may this one call run?", "WebFetch"]))
        .unwrap();
    terminal.press("y").unwrap();
    terminal
        .wait_for("answer", holds(&["approved ", "GrantIssued"]))
        .unwrap();
}

#[test]
fn of_two_questions_the_one_on_the_screen_is_answered() {
    let room = room();
    let run = started(&room, "s1");
    let token = token(&room);
    ask_for(&room, "t1", "page");
    ask_for(&room, "t2", "other");
    let mut terminal = open_with(&token, &room);
    terminal
        .wait_for("both", holds(&["example.com/page", "example.com/other"]))
        .unwrap();
    terminal.press("a").unwrap();
    terminal
        .wait_for("advice", holds(&["several wait: choose one"]))
        .unwrap();
    terminal.press("ja").unwrap();
    grant_what_is_shown(&mut terminal);
    let pending = status(&room, &run)["pending"].clone();
    assert_eq!(pending.as_array().unwrap().len(), 1, "{pending}");
    assert!(
        pending.to_string().contains("example.com/page"),
        "the second was chosen: {pending}"
    );
}

#[test]
fn a_grant_shows_the_call_it_is_for() {
    let room = room();
    started(&room, "s1");
    let token = token(&room);
    ask_for_a_page(&room);
    let mut terminal = open_with(&token, &room);
    terminal
        .wait_for("call", holds(&["WebFetch", "example.com"]))
        .unwrap();
    terminal.press("a").unwrap();
    grant_what_is_shown(&mut terminal);
}

#[test]
fn below_a_guarded_client_it_only_shows() {
    let room = room();
    let run = started(&room, "s1");
    // The hook takes this process for the client, which the terminal is below.
    ask_for_a_page(&room);
    let mut terminal = open(&room, 30, 160);
    terminal
        .wait_for("call", holds(&["WebFetch", "claude-code"]))
        .unwrap();
    terminal.press("a").unwrap();
    terminal
        .wait_for("box", holds(&["may this one call run?"]))
        .unwrap();
    terminal.press("y").unwrap();
    terminal
        .wait_for("refusal", holds(&["this runs below an agent"]))
        .unwrap();
    assert_eq!(status(&room, &run)["pending"].as_array().unwrap().len(), 1);
}

#[test]
fn small_screens_and_new_sizes_are_drawn() {
    let room = room();
    started(&room, "s1");
    let mut terminal = open(&room, 24, 80);
    terminal
        .wait_for("panes", holds(&["shop", "log of"]))
        .unwrap();
    for (rows, columns) in [(8, 30), (3, 10), (2, 200), (1, 1)] {
        terminal.resize(rows, columns).unwrap();
        terminal.press("?").unwrap();
        terminal.press(" ").unwrap();
    }
    terminal.resize(30, 100).unwrap();
    terminal
        .wait_for("panes again", holds(&["shop", "log of", "?: help"]))
        .unwrap();
    terminal.press("q").unwrap();
    assert!(terminal.end().unwrap().success());
}

/// With edge-triggered events, a library that waits for both the terminal and its size loses one of two that come at
/// once.
#[test]
fn a_key_pressed_while_the_size_changes_is_heeded() {
    let room = room();
    let run = started(&room, "s1");
    ask_to_ship(&room, &run);
    let mut terminal = open(&room, 30, 100);
    terminal
        .wait_for("question", holds(&["Ship the release?"]))
        .unwrap();
    terminal.press("r").unwrap();
    let mut note = String::from("note: ");
    for round in 0..60 {
        // The first resize keeps the program drawing while the second one and the key arrive.
        terminal.resize(60, 200 + round).unwrap();
        terminal.resize(30, 100 + round).unwrap();
        terminal.press("k").unwrap();
        note.push('k');
        terminal.wait_for("note", holds(&[&note])).unwrap();
        if round % 15 == 14 {
            terminal.press(&"\u{7f}".repeat(15)).unwrap();
            note.truncate("note: ".len());
            terminal
                .wait_for("empty note", |screen| !screen.contains("note: k"))
                .unwrap();
        }
    }
}

#[test]
fn many_runs_are_listed_and_reached() {
    let room = room();
    for number in 0..40 {
        started(&room, &format!("s{number}"));
    }
    let mut terminal = open(&room, 30, 100);
    terminal
        .wait_for("count", holds(&["40 runs, 40 open"]))
        .unwrap();
    let first = interlock(&room).run(&["list"]).unwrap().stdout;
    let text = String::from_utf8(first).unwrap();
    let oldest: String = text.lines().last().unwrap().chars().take(12).collect();
    terminal.press("G").unwrap();
    terminal
        .wait_for("oldest run", holds(&[&format!("log of {oldest}")]))
        .unwrap();
}

#[test]
fn an_interrupt_gives_the_terminal_back() {
    let room = room();
    started(&room, "s1");
    let mut terminal = open(&room, 24, 80);
    terminal.wait_for("run", holds(&["shop"])).unwrap();
    assert!(terminal.is_taken_over());
    terminal.press("\u{3}").unwrap();
    assert_eq!(terminal.end().unwrap().code(), Some(130));
    assert!(!terminal.is_taken_over());
}

#[test]
fn no_color_is_kept() {
    let room = room();
    let run = started(&room, "s1");
    ask_to_ship(&room, &run);
    let seen = holds(&["awaiting approval"]);
    let coloured = open(&room, 24, 100);
    coloured.wait_for("status", &seen).unwrap();
    assert!(coloured.is_coloured());
    let mut command = watch(&room);
    command.env("NO_COLOR", "1");
    let plain = Terminal::start(&command, 24, 100).unwrap();
    plain.wait_for("status", &seen).unwrap();
    assert!(!plain.is_coloured());
}

#[test]
fn without_a_terminal_it_says_so() {
    let room = room();
    let output = watch(&room).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("needs a terminal"));
    let half = terminal::output(&mut watch(&room)).unwrap();
    assert_eq!(half.status.code(), Some(2), "its output is not a terminal");
}
