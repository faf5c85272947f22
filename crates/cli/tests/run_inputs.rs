//! What a run begins with: the inputs of a pipeline, the task and the attached files of a conversation.

use interlock_testkit::room::Room;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const PIPELINE: &str = "id: p
input:
  n: {type: number, description: how many}
  i: {type: integer, default: 1}
  b: {type: boolean, default: true}
  l: {type: array, default: []}
  o: {type: object, default: {}}
  s: {type: string, default: x}
stages:
  A: {body: work, gate: {field: n, op: eq, value: 3.5}, completionTool: submit, completionSchema: {}, turnCap: 1, next: end}
";
const CONVERSATION: &str = "assistants: [{id: a, system_prompt: x}]
states: [{id: s, assistant_id: a, task: go, next: {state_id: end}}]
";
/// What a run whose input is accepted ends with, where no model is configured.
const ACCEPTED: &str = "no model is named";

/// Runs a workflow without a model, and returns the exit code and what is said.
fn run(room: &Room, words: &[&str]) -> (Option<i32>, String) {
    let mut command = room.command(INTERLOCK);
    command.args(["run", "flow.yaml", "--headless"]).args(words);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[track_caller]
fn says(room: &Room, words: &[&str], wanted: &str) {
    let (code, said) = run(room, words);
    assert_eq!(code, Some(2), "{words:?} {said}");
    assert!(said.contains(wanted), "{words:?}: `{wanted}` not in {said}");
}

#[test]
fn an_input_of_a_pipeline_has_the_type_that_it_declares() {
    let room = Room::new().unwrap();
    room.write("flow.yaml", PIPELINE).unwrap();
    says(
        &room,
        &[],
        "the input `n` is missing (how many): give it with `--var n=VALUE`",
    );
    let rows = [
        ("n=4", ACCEPTED),
        ("n=3.25", ACCEPTED),
        ("n=x", "the input `n` is a number, not `x`"),
        ("n=true", "the input `n` is a number, not `true`"),
        ("i=2", ACCEPTED),
        ("i=-2", ACCEPTED),
        ("i=1.5", "the input `i` is a whole number, not `1.5`"),
        ("b=false", ACCEPTED),
        ("b=yes", "the input `b` is `true` or `false`, not `yes`"),
        ("b=1", "the input `b` is `true` or `false`, not `1`"),
        ("l=[1]", ACCEPTED),
        ("l={}", "the input `l` is a JSON list, not `{}`"),
        ("o={}", ACCEPTED),
        ("o=[]", "the input `o` is a JSON object, not `[]`"),
        ("s=7", ACCEPTED),
        (
            "many=7",
            "no input `many`: it has `n`, `i`, `b`, `l`, `o`, `s`",
        ),
    ];
    for (given, wanted) in rows {
        says(&room, &["--var", "n=1", "--var", given], wanted);
    }
    for (given, wanted) in [
        (r#"{"n": 4, "s": "7"}"#, ACCEPTED),
        (r#"{"n": 4, "s": 7}"#, "the input `s` is text, not `7`"),
        (r#"{"n": "4"}"#, "the input `n` is a number, not `\"4\"`"),
        (r#"{"n": 4, "nn": 4}"#, "no input `nn`: it has `n`"),
        ("{}", "the input `n` is missing"),
        ("[1]", "`--input` needs a JSON object"),
        ("@nowhere", "`nowhere` cannot be read"),
    ] {
        says(&room, &["--input", given], wanted);
    }
    // An option comes after the file, and wins.
    room.write("input.json", r#"{"n": "none"}"#).unwrap();
    says(&room, &["--input", "@input.json", "--var", "n=4"], ACCEPTED);
    says(
        &room,
        &["--var", "n=4", "--attach", "input.json"],
        "no conversation to which files could be attached",
    );
}

#[test]
fn a_conversation_begins_with_files_of_the_project() {
    let room = Room::new().unwrap();
    room.write("flow.yaml", CONVERSATION).unwrap();
    room.write("docs/a.md", "a").unwrap();
    let outside = room.path("outside.md");
    std::fs::write(&outside, "b").unwrap();
    let outside = outside.to_string_lossy();
    for (path, wanted) in [
        ("docs/a.md", ACCEPTED),
        ("./docs/../docs/a.md", ACCEPTED),
        ("docs", "`docs` cannot be attached: it is not a file"),
        ("docs/b.md", "`docs/b.md` cannot be attached"),
        (
            &outside,
            "it lies outside the project, where no tool reads it",
        ),
    ] {
        says(&room, &["look", "--attach", path], wanted);
    }
    std::os::unix::fs::symlink(&*outside, room.path("project/link.md")).unwrap();
    says(
        &room,
        &["look", "--attach", "link.md"],
        "outside the project",
    );
    let many: Vec<String> = (0..21).map(|number| format!("{number}.md")).collect();
    let mut words = vec!["look"];
    for path in &many {
        room.write(path, "x").unwrap();
        words.extend(["--attach", path]);
    }
    says(
        &room,
        &words,
        "21 files are attached, but at most 20 are allowed",
    );
    let twenty = words.split_last_chunk::<2>().unwrap().0;
    says(&room, twenty, ACCEPTED);
}

#[test]
fn a_task_is_given_once() {
    let room = Room::new().unwrap();
    room.write("flow.yaml", CONVERSATION).unwrap();
    says(&room, &["look", "--input", "look"], "the task only once");
    says(&room, &["--input", "look"], ACCEPTED);
}
