//! Many proposals at once, answered from everywhere while the run is killed and resumed.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Stdio,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use interlock_testkit::{
    provider::{Reply, Script, call},
    sample,
    terminal::Terminal,
};
use serde_json::{Value, json};

use crate::stages::place::Place;

/// Number of siblings where the whole is played, and of proposals in the one message of each.
const SIBLINGS: usize = 20;
const PROPOSALS: usize = 10;
/// Number of siblings in the sample of each day.
const SAMPLED: usize = 8;
/// Number of people who answer with a command.
const ANSWERERS: usize = 4;
/// Number of requests that each of them answers before they look again.
const AT_A_LOOK: usize = 5;
const KILLS: usize = 3;
/// Time limit for the answers, after which the test fails.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time between two looks at whether the program still runs.
const LOOK: Duration = Duration::from_secs(1);
/// The exit code of `resume` where it is unknown whether a write was done.
const CUT_OFF: i32 = 75;
const PROMPT: &str = "[y]es, [n]o, [d]efer > ";

/// Returns a pipeline whose siblings may only read.
fn siblings() -> usize {
    if sample::is_whole() {
        SIBLINGS
    } else {
        SAMPLED
    }
}

fn flow() -> String {
    let names: Vec<String> = (0..siblings()).map(|n| format!("S{n:02}")).collect();
    let stage = |name: &str, next: &str| {
        format!(
            "  {name}:\n    body: stage {name}\n    allowedTools: [Read]\n    completionTool: submit\n    \
             completionSchema: {{}}\n    turnCap: 4\n    next: {next}\n"
        )
    };
    let mut flow = format!(
        "id: flow\nsettings: {{ parallelStageCap: {} }}\nstages:\n{}",
        siblings(),
        stage("Begin", &format!("{{ parallel: [{}] }}", names.join(", ")))
    );
    for name in &names {
        flow.push_str(&stage(name, "end"));
    }
    flow
}

/// Returns a script in which each sibling proposes its files in one message.
fn script() -> Script {
    Script::new(|asked| {
        let body = String::from_utf8_lossy(&asked.bytes).into_owned();
        let sibling = (0..siblings()).find(|n| body.contains(&format!("stage S{n:02}")));
        Reply::say(match (sibling, asked.turn) {
            (Some(sibling), 0) => (0..PROPOSALS).map(|n| write(sibling, n)).collect(),
            _ => vec![call("submit", json!({}))],
        })
    })
}

fn write(sibling: usize, n: usize) -> interlock_testkit::provider::Say {
    let input = json!({"file_path": file(sibling, n), "content": format!("{sibling} {n}")});
    call("Write", &input)
}

fn file(sibling: usize, n: usize) -> String {
    format!("out/{sibling}-{n}")
}

/// Answers of people that counted: the id of the request, and whether it was a yes.
#[derive(Default)]
struct Answers {
    counted: Mutex<Vec<(String, bool)>>,
    more: Condvar,
    over: AtomicBool,
}

/// Stops the people who answer, also if the test has failed.
struct Over<'a>(&'a Answers);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

/// Answers any pending requests, as one of several people who do not know of each other.
fn answer(place: &Place, who: usize, answers: &Answers) {
    let mut round = who;
    while !answers.over.load(Ordering::SeqCst) {
        let said = place.by_person(&["status", "one", "--json"]);
        let status: Value = serde_json::from_str(&said.out).unwrap_or_default();
        let ids: Vec<&str> = status["pending"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|pending| pending["id"].as_str())
            .collect();
        if ids.is_empty() {
            thread::yield_now();
        }
        for _ in 0..ids.len().min(AT_A_LOOK) {
            round += 1;
            let id = ids[round * 7 % ids.len()];
            let yes = !round.is_multiple_of(3);
            let word = if yes { "approve" } else { "reject" };
            if place.by_person(&[word, "one", id]).code == Some(0) {
                let mut counted = answers.counted.lock().unwrap();
                counted.push((id.to_owned(), yes));
                answers.more.notify_all();
            }
        }
    }
}

/// Runs the pipeline until `count` answers have counted, and kills it.
///
/// Writes that the kill before has cut off run again, as if a person had looked.
fn killed_at(place: &Place, arguments: &[&str], answers: &Answers, count: usize) {
    let start = |arguments: &[&str]| {
        let mut command = place.persons(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut child = start(arguments);
    let until = Instant::now() + PATIENCE;
    loop {
        let counted = answers.counted.lock().unwrap();
        let is_less = |counted: &mut Vec<_>| counted.len() < count;
        let waited = answers.more.wait_timeout_while(counted, LOOK, is_less);
        let counted = waited.unwrap().0.len();
        if counted >= count {
            break;
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(CUT_OFF), "{counted} answers");
            child = start(&["resume", "one", "--again", "--ask", "remote"]);
        }
        assert!(Instant::now() < until, "{counted} answers");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Runs the pipeline at a terminal, where a person answers as well.
fn at_a_terminal(place: &Place, arguments: &[&str]) -> Option<i32> {
    let mut terminal = Terminal::start(&place.persons(arguments), 50, 160).unwrap();
    for yes in [true, false].into_iter().cycle() {
        let asked = terminal.wait_for("a question", |screen| {
            screen.trim_end().ends_with(PROMPT.trim_end())
        });
        let Ok(asked) = asked else { break };
        let typed = if yes { "y\n" } else { "n\n" };
        // The run may have ended meanwhile.
        if terminal.press(typed).is_err() {
            break;
        }
        let taken = terminal.wait_for("an answer", |screen| screen != asked);
        if taken.is_err() {
            break;
        }
    }
    terminal.end().unwrap().code()
}

#[test]
fn each_yes_is_used_once_and_for_its_proposal_whoever_answers_and_whatever_is_killed() {
    let place = Place::new("anthropic", &flow(), script());
    let answers = Answers::default();
    // The program is killed after as many answers each time, before the last of them.
    let between = siblings() * PROPOSALS / (KILLS + 1);
    thread::scope(|scope| {
        for who in 0..ANSWERERS {
            let (place, answers) = (&place, &answers);
            scope.spawn(move || answer(place, who, answers));
        }
        let _over = Over(&answers);
        for kill in 1..=KILLS {
            let begin = ["run", "flow", "it", "-n", "one", "--ask", "remote"];
            let go_on = ["resume", "one", "--ask", "remote"];
            let arguments: &[&str] = if kill == 1 { &begin } else { &go_on };
            killed_at(&place, arguments, &answers, kill * between);
        }
        let mut code = at_a_terminal(&place, &["resume", "one"]);
        for _ in 0..KILLS {
            // Writes that were cut off run again, as if a person had looked.
            if code == Some(CUT_OFF) {
                code = at_a_terminal(&place, &["resume", "one", "--again"]);
            }
        }
        assert_eq!(code, Some(0), "{:?}", place.call(&["status", "one"]));
    });
    check(&place, &answers);
}

/// Compares the log and the files with the answers of the people.
fn check(place: &Place, answers: &Answers) {
    let events = place.events();
    let named = |name: &str| -> Vec<&Value> {
        let all = events.iter();
        all.filter(|event| event["event"] == name).collect()
    };
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let ids = |name: &str| -> Vec<String> {
        let all = named(name).into_iter();
        all.map(|event| text(event, "id")).collect()
    };
    let (issued, denied, consumed) = (ids("GrantIssued"), ids("GrantDenied"), ids("GrantConsumed"));
    assert_eq!(named("GrantRequested").len(), siblings() * PROPOSALS);
    assert_eq!(issued.len() + denied.len(), siblings() * PROPOSALS);
    assert_eq!(issued, consumed, "each yes is used up where it is given");
    let all: BTreeSet<&String> = issued.iter().chain(&denied).collect();
    assert_eq!(all.len(), siblings() * PROPOSALS, "one answer a request");
    // Each answer that was reported as counted is in the log.
    for (id, yes) in answers.counted.lock().unwrap().iter() {
        let wanted = if *yes { &issued } else { &denied };
        assert!(wanted.contains(id), "{id}: {yes}");
    }
    let mut counted = answers.counted.lock().unwrap().clone();
    let before = counted.len();
    counted.sort();
    counted.dedup_by(|one, other| one.0 == other.0);
    assert_eq!(counted.len(), before, "two answers counted for one request");
    // The allowed calls are exactly those with a yes.
    let digests = |name: &str, of_call: bool| -> BTreeMap<String, usize> {
        let mut all = BTreeMap::new();
        for event in named(name) {
            let digest = match of_call {
                true => text(&event["call"], "digest"),
                false => text(event, "digest"),
            };
            *all.entry(digest).or_default() += 1;
        }
        all
    };
    assert_eq!(digests("GrantIssued", false), digests("ToolAllowed", true));
    assert_eq!(digests("GrantDenied", false), digests("ToolDenied", true));
    let allowed = digests("ToolAllowed", true);
    for event in named("GrantRequested") {
        let (path, digest) = (
            text(&event["call"], "summary"),
            text(&event["call"], "digest"),
        );
        // The lines below the path describe the change.
        let path = path.lines().next().unwrap();
        let content = path.trim_start_matches("out/").replace('-', " ");
        let wanted = allowed.contains_key(&digest).then_some(content);
        assert_eq!(place.room.read(path), wanted, "{path}");
    }
}
