//! The progress of a run as a person sees it, in a real pseudo-terminal and without one.

use std::{
    fs,
    process::{Command, Stdio},
};

use interlock_testkit::{
    room::Room,
    terminal::{self, Terminal},
};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Returns a room with a workflow, and with pipes that its programs wait for.
fn room(flow: &str, pipes: &[&str]) -> Room {
    let room = Room::new().unwrap();
    room.write("flow.yaml", flow).unwrap();
    for pipe in pipes {
        let made = room.command("mkfifo").arg(pipe).status().unwrap();
        assert!(made.success());
    }
    room
}

/// Lets the program that waits for a pipe go on.
fn go(room: &Room, pipe: &str) {
    fs::write(room.project().join(pipe), "go\n").unwrap();
}

fn run(room: &Room) -> Command {
    let mut command = room.command(INTERLOCK);
    command
        .args(["run", "./flow.yaml", "--name", "n"])
        .env("TERM", "xterm-256color");
    command
}

fn open(room: &Room, rows: u16, columns: u16) -> Terminal {
    Terminal::start(&run(room), rows, columns).unwrap()
}

fn holds<'t>(texts: &'t [&'t str]) -> impl Fn(&str) -> bool + 't {
    move |screen| texts.iter().all(|text| screen.contains(text))
}

const BRANCHES: &str = "start-at: both
cwd: \"@/\"
states:
  both:
    tool: parallel
    arguments:
      tasks:
        - {name: left, tool: bash, arguments: {command: 'echo looking; read x < left-pipe; exit 3'}}
        - {name: right, tool: bash, arguments: {command: 'read x < right-pipe'}}
    on-error: {_: fix}
  fix:
    tool: bash
    arguments: {command: echo fixed}
";

#[test]
fn branches_are_a_tree_until_each_has_ended() {
    let room = room(BRANCHES, &["left-pipe", "right-pipe"]);
    let mut terminal = open(&room, 24, 80);
    let tree = ["\u{25be} both", " left  ", " right  ", "looking"];
    terminal.wait_for("tree", holds(&tree)).unwrap();
    go(&room, "left-pipe");
    let one = ["\u{2717} both/left  failed with code 3", " right  "];
    terminal.wait_for("first end", holds(&one)).unwrap();
    go(&room, "right-pipe");
    assert!(terminal.end().unwrap().success());
    let screen = terminal.screen();
    for line in [
        "\u{2713} both/right",
        "\u{2717} both ",
        "\u{2713} fix",
        "left: looking",
        "fixed",
    ] {
        assert!(screen.contains(line), "no `{line}` on:\n{screen}");
    }
    assert!(
        !screen.contains('\u{25be}'),
        "the tree is still there:\n{screen}"
    );
}

const LOOP: &str = "start-at: each
cwd: \"@/\"
states:
  each:
    tool: for-each
    arguments:
      items-from: printf 'a\\nb\\nc\\n'
      start-at: take
      states:
        take: {tool: bash, arguments: {command: 'read x < pipe-{{ index }}'}}
";

#[test]
fn a_loop_counts_its_items() {
    // A pipe for each item: the writer for the previous item may not have closed its pipe yet.
    let pipes = ["pipe-0", "pipe-1", "pipe-2"];
    let room = room(LOOP, &pipes);
    let mut terminal = open(&room, 24, 80);
    for (done, pipe) in ["each  0/3", "each  1/3", "each  2/3"].iter().zip(pipes) {
        terminal.wait_for("count", holds(&[done])).unwrap();
        go(&room, pipe);
    }
    assert!(terminal.end().unwrap().success());
    let screen = terminal.screen();
    assert!(
        holds(&["\u{2713} each/2/take", "\u{2713} each  3 items"])(&screen),
        "{screen}"
    );
}

const RETRY: &str = "start-at: a
states:
  a:
    tool: bash
    arguments: {command: 'echo no >&2; exit 4', retry: {attempts: 2, wait: 5m}}
";

#[test]
fn a_wait_for_the_next_try_is_shown_and_can_be_interrupted() {
    let room = room(RETRY, &[]);
    let mut terminal = open(&room, 24, 80);
    let wanted = ["\u{2717} a  failed with code 4", "\u{25cc} a  try 2 in 4m"];
    terminal.wait_for("wait", holds(&wanted)).unwrap();
    terminal.press("\u{3}").unwrap();
    assert_eq!(terminal.end().unwrap().code(), Some(130));
    let screen = terminal.screen();
    assert!(screen.contains("n was cancelled"), "{screen}");
    assert!(!screen.contains('\u{25cc}'), "{screen}");
}

#[test]
fn a_terminal_is_whole_after_an_interruption() {
    let flow = "start-at: a\nstates:\n  a: {tool: bash, arguments: {command: 'echo ready; stty -echo raw; sleep 600'}}\n";
    let room = room(flow, &[]);
    let mut shell = room.command("bash");
    let line = format!("'{INTERLOCK}' run ./flow.yaml; echo code $?; stty -a");
    shell.args(["-c", &line]).env("TERM", "xterm");
    let mut terminal = Terminal::start(&shell, 24, 80).unwrap();
    terminal.wait_for("program", holds(&["ready"])).unwrap();
    // The terminal makes no signal of Ctrl-C any more: the runner gets it directly.
    let found = room
        .command("pgrep")
        .args(["-f", "run ./flow.yaml$"])
        .output()
        .unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    let own = format!("{}", room.project().display());
    let is_ours = |id: &&str| {
        fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(&own))
            && fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe.ends_with("interlock"))
    };
    let ours: Vec<&str> = found.split_whitespace().filter(is_ours).collect();
    // A process that it is about to start has the same words for a moment.
    let ours = ours.iter().find(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let above = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.split(' ').nth(1));
        above.is_some_and(|above| !ours.contains(&above))
    });
    let ended = Command::new("kill")
        .args(["-INT", ours.unwrap()])
        .status()
        .unwrap();
    assert!(ended.success());
    assert!(terminal.end().unwrap().success());
    let screen = terminal.screen();
    assert!(
        holds(&["code 130", " icanon", " echo "])(&screen),
        "{screen}"
    );
    assert!(!terminal.is_taken_over());
}

#[test]
fn nothing_a_program_prints_steers_the_terminal() {
    let command = "printf 'first\\n\\033[2J\\033[H\\033]0;title\\007second\\n'; \
                   printf '\\033[31mred\\033[0m \\344\\275\\240\\345\\245\\275 \\342\\200\\256x\\n' >&2";
    let flow = format!(
        "start-at: a\nstates:\n  a:\n    tool: bash\n    arguments:\n      command: |-\n        {command}\n"
    );
    let room = room(&flow, &[]);
    let mut terminal = open(&room, 24, 80);
    assert!(terminal.end().unwrap().success());
    let screen = terminal.screen();
    assert!(
        holds(&[
            "run n",
            "first",
            "second",
            "red \u{4f60}\u{597d} \\u{202e}x",
            "\u{2713} a"
        ])(&screen),
        "{screen}"
    );
    assert!(terminal.is_coloured());
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let room = room(BRANCHES, &["left-pipe", "right-pipe"]);
    let mut command = run(&room);
    command.env("NO_COLOR", "1").env("LANG", "C");
    let mut terminal = Terminal::start(&command, 24, 80).unwrap();
    terminal
        .wait_for("tree", holds(&["+ both", " left  "]))
        .unwrap();
    assert!(!terminal.is_coloured());
    go(&room, "left-pipe");
    go(&room, "right-pipe");
    assert!(terminal.end().unwrap().success());
    assert!(!terminal.is_coloured());
    let screen = terminal.screen();
    assert!(
        screen.contains("x both/left  failed with code 3"),
        "{screen}"
    );
    assert!(screen.contains("ok fix"), "{screen}");
    assert!(!screen.contains('\u{2713}'), "{screen}");
}

#[test]
fn a_terminal_may_be_as_small_as_one_line() {
    for (rows, columns) in [(1, 20), (2, 5), (4, 1)] {
        let room = room(BRANCHES, &["left-pipe", "right-pipe"]);
        let mut terminal = open(&room, rows, columns);
        go(&room, "left-pipe");
        go(&room, "right-pipe");
        assert!(terminal.end().unwrap().success(), "{rows} x {columns}");
    }
}

#[test]
fn a_terminal_may_change_its_size() {
    let room = room(BRANCHES, &["left-pipe", "right-pipe"]);
    let mut terminal = open(&room, 24, 80);
    terminal
        .wait_for("tree", holds(&[" left  ", " right  "]))
        .unwrap();
    terminal.resize(6, 30).unwrap();
    go(&room, "left-pipe");
    terminal
        .wait_for("end of the first", holds(&["both/left"]))
        .unwrap();
    terminal.resize(30, 100).unwrap();
    go(&room, "right-pipe");
    assert!(terminal.end().unwrap().success());
    let screen = terminal.screen();
    assert!(screen.contains("\u{2713} fix"), "{screen}");
}

#[test]
fn a_question_has_the_terminal_for_itself() {
    let flow = "start-at: ask
states:
  ask: {tool: ask-user, arguments: {question: Where to?}, output: var(place), next: go}
  go: {tool: bash, arguments: {command: \"echo going to '{{ place }}'\"}}
";
    let room = room(flow, &[]);
    let mut terminal = open(&room, 24, 80);
    terminal
        .wait_for("question", holds(&["Where to?\n> "]))
        .unwrap();
    terminal.press("dev\n").unwrap();
    assert!(terminal.end().unwrap().success());
    let screen = terminal.screen();
    assert!(
        holds(&["> dev\n", "\u{2713} ask", "going to dev", "\u{2713} go"])(&screen),
        "{screen}"
    );
}

#[test]
fn a_program_may_ask_for_a_password() {
    // With `read -s` the question would come before the terminal stops showing what is typed.
    let flow = "start-at: a
states:
  a: {tool: bash, arguments: {command: 'exec < /dev/tty 2> /dev/tty; stty -echo; printf \"password: \" >&2; read -r p; stty echo; echo; test \"$p\" = open'}}
";
    let room = room(flow, &[]);
    let mut terminal = open(&room, 24, 80);
    terminal.wait_for("prompt", holds(&["password: "])).unwrap();
    terminal.press("open\n").unwrap();
    assert!(terminal.end().unwrap().success());
    // The question was on the screen; the progress may take its line once it is answered.
    let screen = terminal.screen();
    assert!(!screen.contains("open"), "{screen}");
}

#[test]
fn a_terminal_that_is_gone_ends_no_run() {
    let flow = "start-at: a
cwd: \"@/\"
states:
  a: {tool: bash, arguments: {command: 'echo out; echo err >&2'}, next: b}
  b: {tool: bash, arguments: {command: 'echo b > b.txt'}}
";
    let room = room(flow, &[]);
    let output = terminal::lost(&mut run(&room)).unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"out\n");
    assert_eq!(room.read("b.txt").as_deref(), Some("b\n"));
}

#[test]
fn without_a_terminal_there_are_lines_and_every_byte() {
    let flow = "start-at: a
states:
  a: {tool: bash, arguments: {command: 'printf \"\\033[2Jx\\377\"; echo err >&2; exit 3'}, on-error: {3: b}}
  b: {tool: bash, arguments: {command: echo b}}
";
    let room = room(flow, &[]);
    let output = run(&room).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"\x1b[2Jx\xffb\n");
    let lines = String::from_utf8(output.stderr).unwrap();
    for line in [
        "[a] started\n",
        "\nerr\n",
        "\n[a] failed with code 3 (",
        "\n[b] started\n",
        "\n[b] done (",
    ] {
        assert!(lines.contains(line), "no `{line}` in:\n{lines}");
    }
    assert!(!lines.contains('\u{1b}'));
}

#[test]
fn a_terminal_that_can_do_nothing_gets_lines() {
    let room = room(
        "start-at: a\nstates:\n  a: {tool: bash, arguments: {command: echo out}}\n",
        &[],
    );
    let mut command = run(&room);
    command.env("TERM", "dumb");
    let mut terminal = Terminal::start(&command, 24, 80).unwrap();
    assert!(terminal.end().unwrap().success());
    let screen = terminal.screen();
    assert!(
        holds(&["[a] started", "out", "[a] done ("])(&screen),
        "{screen}"
    );
}

#[test]
fn an_interactive_agent_has_the_terminal_for_itself() {
    let flow = "start-at: talk
states:
  talk: {tool: claude-code, arguments: {prompt: hello}, next: after}
  after: {tool: bash, arguments: {command: echo after}}
";
    let room = room(flow, &["pipe"]);
    let script = "printf 'agent> '; read -r said; echo \"heard $said\"";
    room.script("bin/claude", script).unwrap();
    let mut terminal = open(&room, 24, 80);
    let screen = terminal.wait_for("agent", holds(&["agent> "])).unwrap();
    assert!(screen.ends_with("agent> "), "{screen}");
    terminal.press("you\n").unwrap();
    assert!(terminal.end().unwrap().success());
    let screen = terminal.screen();
    let wanted = [
        "agent> you\n",
        "heard you\n\u{2713} talk",
        "after\n\u{2713} after",
    ];
    assert!(holds(&wanted)(&screen), "{screen}");
}

#[test]
fn what_goes_into_a_file_is_every_byte_while_the_tree_is_on_the_terminal() {
    let flow = "start-at: a
cwd: \"@/\"
states:
  a: {tool: bash, arguments: {command: 'printf \"x\\033[2J\\377\\n\"; read x < pipe'}}
";
    let room = room(flow, &["pipe"]);
    let mut shell = room.command("bash");
    let line = format!("'{INTERLOCK}' run ./flow.yaml > out");
    shell.args(["-c", &line]).env("TERM", "xterm");
    let mut terminal = Terminal::start(&shell, 24, 80).unwrap();
    terminal.wait_for("tree", holds(&[" a  "])).unwrap();
    go(&room, "pipe");
    assert!(terminal.end().unwrap().success());
    assert_eq!(
        fs::read(room.project().join("out")).unwrap(),
        b"x\x1b[2J\xff\n"
    );
}
