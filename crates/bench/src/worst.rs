//! Measures the worst known inputs: no content of a file or a line may make a command run longer than a second, or use
//! more than 200 MB.

use std::time::Duration;

use anyhow::{Context as _, Result};
use interlock_testkit::room::Room;
use serde_json::{Map, Value, json};

use crate::{
    arguments::Arguments,
    memory::{self, Peak},
    table::Table,
    workflow,
};

const TIME_MAX: Duration = Duration::from_secs(1);
const KILOBYTES_MAX: u32 = 200 * 1024;
/// Number of runs of one command, of which the quickest counts.
const TIMES: usize = 3;

/// A command and its bad input.
struct Bad {
    what: &'static str,
    /// The name of the file and its content.
    file: (&'static str, String),
    arguments: Vec<String>,
}

/// Measures the processor time and the memory of each command.
pub(crate) fn inputs(arguments: &Arguments, table: &mut Table) -> Result<()> {
    for bad in all()? {
        let room = Room::new()?;
        let (name, text) = &bad.file;
        room.write(name, text)?;
        let mut quickest = Duration::MAX;
        let mut most = 0;
        for _ in 0..TIMES {
            let mut call = vec![arguments.interlock.as_str()];
            call.extend(bad.arguments.iter().map(String::as_str));
            let Peak { kilobytes, time } = memory::peak_of(&mut memory::parent_of(&room, &call)?)
                .with_context(|| bad.what.to_owned())?;
            quickest = quickest.min(time);
            most = most.max(kilobytes);
        }
        table.time(format!("worst: {}", bad.what), quickest, TIME_MAX);
        table.kilobytes(format!("worst: memory, {}", bad.what), most, KILOBYTES_MAX);
    }
    Ok(())
}

/// A flow whose variable doubles in length each time, until it exceeds a limit.
const DOUBLED_VARIABLE: &str = r#"start-at: a
tools:
  twice: {command: [cat], stdin: "{{ v }}{{ v }}", arguments: {type: object, properties: {v: {type: string}}}}
states:
  a: {tool: bash, arguments: {command: echo 0123456789}, output: var(v), next: b}
  b: {tool: twice, arguments: {v: "{{ v }}"}, output: var(v), next: b}
"#;

fn all() -> Result<Vec<Bad>> {
    let mut all = Vec::new();
    let mut checked = |what, name: &'static str, text: String| {
        let arguments = vec!["check".to_owned(), name.to_owned()];
        let file = (name, text);
        all.push(Bad {
            what,
            file,
            arguments,
        });
    };
    checked(
        "check: a ring of 10,000 states",
        "w.json",
        workflow::ring(10_000),
    );
    checked(
        "check: guards that name two others each, 64 deep",
        "w.json",
        doubled_guards(64),
    );
    checked(
        "check: one guard of 20,000 others",
        "w.json",
        wide_guard(20_000),
    );
    checked(
        "check: YAML that doubles itself 40 times",
        "w.yaml",
        doubled_yaml(),
    );
    checked(
        "check: brackets 100,000 deep",
        "w.json",
        "[".repeat(100_000),
    );
    checked(
        "check: YAML brackets 100,000 deep",
        "w.yaml",
        "[".repeat(100_000),
    );
    checked(
        "check: a pattern of 300 nested braces",
        "w.json",
        braces(300),
    );
    checked("check: a flow list of 4 MB", "w.yaml", flow_list());
    checked(
        "check: a key 4 MB long",
        "w.yaml",
        format!("id: w\n{}: 1\n", "k".repeat(4 << 20)),
    );
    all.push(Bad {
        what: "run: a variable that doubles itself",
        file: ("flow.yaml", DOUBLED_VARIABLE.to_owned()),
        arguments: ["run", "flow.yaml", "--headless"]
            .map(str::to_owned)
            .to_vec(),
    });
    for (what, line) in lines() {
        let room = json!({"id": "w", "initial": "a", "states": {
            "a": {"allowed_tools": ["Read", "Bash"], "on": {"DONE": "b"}}, "b": {"type": "final"},
        }});
        let words = ["explain", "w.json", "a", &line];
        all.push(Bad {
            what,
            file: ("w.json", room.to_string()),
            arguments: words.map(str::to_owned).to_vec(),
        });
    }
    Ok(all)
}

/// Returns a workflow with these guards, the last of which guards its only transition.
fn guarded(guards: Map<String, Value>) -> String {
    let last = guards.keys().next_back().cloned().unwrap_or_default();
    json!({
        "id": "w", "initial": "a", "guards": guards,
        "states": {"a": {"on": {"DONE": {"target": "b", "guard": last}}}, "b": {"type": "final"}},
    })
    .to_string()
}

fn doubled_guards(depth: usize) -> String {
    let mut guards = Map::new();
    guards.insert("g0".to_owned(), json!({"field": "x", "op": "exists"}));
    for at in 1..depth {
        let below = format!("g{}", at - 1);
        guards.insert(format!("g{at}"), json!({"all": [below, below]}));
    }
    guarded(guards)
}

fn wide_guard(count: usize) -> String {
    let mut guards = Map::new();
    guards.insert("g0".to_owned(), json!({"field": "x", "op": "exists"}));
    guards.insert("all".to_owned(), json!({"any": vec!["g0"; count]}));
    guarded(guards)
}

fn doubled_yaml() -> String {
    let mut text = "a0: &a0 [x, x]\n".to_owned();
    for at in 1..40 {
        text += &format!("a{at}: &a{at} [*a{0}, *a{0}]\n", at - 1);
    }
    text
}

fn braces(depth: usize) -> String {
    let pattern = format!("{}x{}", "{a,".repeat(depth), "}".repeat(depth));
    json!({
        "id": "w", "initial": "a",
        "interrupts": {"i": {"trigger": {"file_pattern": pattern}, "target": "a"}},
        "states": {"a": {"on": {"DONE": "b"}}, "b": {"type": "final"}},
    })
    .to_string()
}

fn flow_list() -> String {
    let tools = "Read, ".repeat((4 << 20) / 6);
    format!(
        "id: w\ninitial: a\nstates:\n  a: {{allowed_tools: [{tools}Read], on: {{DONE: b}}}}\n  b: {{type: final}}\n"
    )
}

/// Returns lines near the maximum length that is judged, each of another kind.
fn lines() -> Vec<(&'static str, String)> {
    vec![
        (
            "explain: `rm` of 20,000 names",
            format!("rm {}", "ab ".repeat(20_000)),
        ),
        (
            "explain: `rm` of many braces",
            format!("rm -rf {}", "{1..999} ".repeat(900)),
        ),
        ("explain: 15,000 times `cd a`", "cd a;".repeat(13_000)),
        (
            "explain: `while` 90 deep",
            format!("{}ls{}", "while ls; do ".repeat(90), "; done".repeat(90)),
        ),
        (
            "explain: values that double",
            format!("a=xxxxxxxx;{}", "a=$a$a;".repeat(40)),
        ),
        ("explain: 60 KB of assignments", "a=1 ".repeat(15_000)),
        (
            "explain: 9,900 variables",
            format!("echo \"{}\"", "$x ".repeat(9_900)),
        ),
        (
            "explain: a here-document of 60 KB",
            format!("cat <<'E'\n{}E\n", "let a = f(b);\n".repeat(4_300)),
        ),
    ]
}
