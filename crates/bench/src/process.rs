//! Compares a whole hook process with the smallest program and with Node.

use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_testkit::{
    interlock::{Interlock, before_tool},
    room::Room,
};
use serde_json::{Value, json};

use crate::{
    arguments::Arguments,
    sample::median,
    table::{Table, ratio, shown},
    workflow,
};

const ROUNDS: usize = 301;
/// Node is slow, so it runs only once in this many rounds.
const ROUNDS_A_NODE: usize = 10;
const OF_HELLO_MOST: f64 = 4.0;
const OF_NODE_MOST: f64 = 0.1;
/// A session guarded by a run, and one without a run.
pub(crate) const GUARDED: &str = "5f1c3a52-6a0e-4a4e-9d37-0c5a4c1b7e21";
const FREE: &str = "7d0f4a17-2c5d-4a55-8d4e-2b6b8f0c9a10";

/// Measures the programs in alternation.
pub(crate) fn hook(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let room = guarded_room(arguments)?;
    let interlock = Interlock::new(&arguments.interlock, &room);
    // A run also guards other sessions of its client's process, so the free session needs another project.
    let elsewhere = room_with_a_run(arguments)?;
    let unheld = Interlock::new(&arguments.interlock, &elsewhere);
    let mut times = Times::default();
    for round in 0..ROUNDS {
        let id = format!("toolu_{round}");
        let before = before(&room, GUARDED, &id);
        let after = after(&before);
        let free = self::before(&elsewhere, FREE, &id);
        times
            .hello
            .push(ended(|| plain(&room, &arguments.hello, &[]))?);
        times.before.push(ended(|| Ok(interlock.hook(&before)?))?);
        times.after.push(ended(|| Ok(interlock.hook(&after)?))?);
        times.free.push(ended(|| Ok(unheld.hook(&free)?))?);
        if round % ROUNDS_A_NODE == 0 {
            times
                .node
                .push(ended(|| plain(&room, "node", &["-e", "0"]))?);
        }
    }
    times.report(table);
    Ok(())
}

/// Maximum time that `interlock exec` may add to a line.
const EXEC_ADDS_MOST: Duration = Duration::from_millis(3);

/// Measures the time that `interlock exec` adds to the shortest line.
pub(crate) fn exec(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let room = Room::new()?;
    room.write("src/main.rs", "fn main() {}\n")?;
    let (mut alone, mut no_write, mut writing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(ended(|| plain(&room, "bash", &["-c", "true"]))?);
        for (stance, times) in [("no-write", &mut no_write), ("writing", &mut writing)] {
            let words = ["exec", "--as", stance, "--", "true"];
            times.push(ended(|| plain(&room, &arguments.interlock, &words))?);
        }
    }
    let alone = median(alone);
    for (stance, times) in [
        ("that may not write", no_write),
        ("that may write", writing),
    ] {
        let adds = median(times).saturating_sub(alone);
        let what = format!("exec: added to `bash -c true` ({}), {stance}", shown(alone));
        table.time(what, adds, EXEC_ADDS_MOST);
    }
    Ok(())
}

/// Creates a project with a run for the session [`GUARDED`], which has made no call yet.
fn room_with_a_run(arguments: &Arguments) -> Result<Room> {
    let room = Room::new()?;
    room.write("workflow.json", &workflow::ring(20))?;
    room.write("src/main.rs", "fn main() {}\n")?;
    Interlock::new(&arguments.interlock, &room).start_for_session("workflow.json", GUARDED)?;
    Ok(room)
}

/// Creates a project whose session [`GUARDED`] is bound to a run.
pub(crate) fn guarded_room(arguments: &Arguments) -> Result<Room> {
    let room = room_with_a_run(arguments)?;
    let interlock = Interlock::new(&arguments.interlock, &room);
    let child = interlock.hook(&before(&room, GUARDED, "toolu_first"))?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(!said.contains("deny"), "the call is denied: {said}");
    Ok(room)
}

/// Returns the hook input before a file is read.
pub(crate) fn before(room: &Room, session: &str, id: &str) -> Value {
    let input = json!({"file_path": room.file("src/main.rs")});
    before_tool(room, session, id, "Read", &input)
}

/// Returns the hook input after the file was read.
fn after(before: &Value) -> Value {
    let mut after = before.clone();
    if let Some(fields) = after.as_object_mut() {
        fields.insert("hook_event_name".to_owned(), json!("PostToolUse"));
        let file = json!({"filePath": "src/main.rs", "content": "fn main() {}\n"});
        fields.insert(
            "tool_response".to_owned(),
            json!({"type": "text", "file": file}),
        );
    }
    after
}

/// Starts a program for comparison, with pipes like those of a hook.
fn plain(room: &Room, program: &str, arguments: &[&str]) -> Result<Child> {
    let mut command: Command = room.command(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("`{program}` cannot be started"))?;
    drop(child.stdin.take());
    Ok(child)
}

/// Returns the time from the start of a program to its end; the program must succeed.
fn ended(start: impl FnOnce() -> Result<Child>) -> Result<Duration> {
    let begun = Instant::now();
    let output = start()?.wait_with_output()?;
    let took = begun.elapsed();
    ensure!(output.status.success(), "{output:?}");
    Ok(took)
}

#[derive(Debug, Default)]
struct Times {
    hello: Vec<Duration>,
    before: Vec<Duration>,
    after: Vec<Duration>,
    free: Vec<Duration>,
    node: Vec<Duration>,
}

impl Times {
    fn report(self, table: &mut Table) {
        let (hello, node) = (median(self.hello), median(self.node));
        let before = median(self.before);
        let hello = ("hello", hello);
        table.times(
            "hook: a call of a guarded session",
            before,
            hello,
            OF_HELLO_MOST,
        );
        table.times(
            "hook: the same beside `node -e 0`",
            before,
            ("node", node),
            OF_NODE_MOST,
        );
        table.times("hook: its result", median(self.after), hello, OF_HELLO_MOST);
        let free = median(self.free);
        let beside = format!("hello: {}", shown(hello.1));
        let times = ratio(free, hello.1);
        table.seen(
            "hook: a call of a session without a run",
            shown(free),
            beside,
            times,
        );
    }
}
