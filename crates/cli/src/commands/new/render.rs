//! Writes the texts of a new workflow and of the cases that test it.

/// The contents of a new workflow.
#[derive(Debug)]
pub(super) struct Parts<'p> {
    /// Name of the workflow.
    pub(super) name: &'p str,
    /// Test commands, each of which must be observed to pass.
    pub(super) tests: &'p [String],
    /// Further allowed commands.
    pub(super) allowed: &'p [String],
    /// Whether a client edits by patches.
    pub(super) patches: bool,
    /// File of the schema, relative to the workflow.
    pub(super) schema: &'p str,
}

/// Commands that only read.
const READERS: [&str; 13] = [
    "cat",
    "head",
    "tail",
    "ls",
    "find",
    "grep",
    "rg",
    "sed -n",
    "wc",
    "git status",
    "git diff",
    "git log",
    "git show",
];

/// Writes the workflow.
pub(super) fn workflow(parts: &Parts<'_>) -> String {
    let Parts { name, schema, .. } = parts;
    let evidence: Vec<String> = parts
        .tests
        .iter()
        .map(|command| format!("      - {{evidence: {{command: {}}}}}\n", quoted(command)))
        .collect();
    let commands: Vec<String> = parts
        .tests
        .iter()
        .chain(parts.allowed)
        .map(|command| quoted(command))
        .chain(READERS.iter().map(|command| (*command).to_owned()))
        .map(|command| format!("      - {command}\n"))
        .collect();
    let commands = commands.concat();
    let patch = if parts.patches { ", apply_patch" } else { "" };
    let run = parts.tests.join("` and `");
    format!(
        "# yaml-language-server: $schema={schema}
# Plan, change, test: done only when the project's tests were seen to pass and a person agrees.
#
# Use it:  interlock start {name}      Try it without an agent:  interlock simulate {name}
id: {name}
initial: planning

guards:
  # What Interlock saw, not what the agent says: each ended with exit code 0, in a call begun after the last edit.
  tests_passed:
    all:
{evidence}
states:
  planning:
    # A shell without any tool that writes only reads: every line that would write is refused.
    allowed_tools: [Read, Grep, Glob, LS, Bash]
    max_iterations: 40
    instructions: >-
      Read what the task is about; change nothing. When you know what to change, ask for READY with data {{plan}}.
    on:
      READY: implementing
      GIVE_UP: failed

  implementing:
    allowed_tools: [Read, Grep, Glob, LS, Edit, MultiEdit, Write, Bash{patch}]
    allowed_commands:
{commands}    max_iterations: 80
    max_files_per_state: 12
    instructions: >-
      Make the change, with a test that fails without it. Ask for DONE when it is ready to be tested.
    on:
      DONE: testing
      REPLAN: planning
      GIVE_UP: failed

  testing:
    # Nothing is edited here, so that what was tested is what is handed over.
    allowed_tools: [Read, Grep, Glob, LS, Bash]
    allowed_commands:
{commands}    max_iterations: 20
    instructions: >-
      Run `{run}`. If anything fails, ask for FAIL. If everything passes, ask for DONE with data {{summary}}.
    on:
      DONE:
        target: completed
        guard: tests_passed
        requires_approval: true
        approval_message: The tests pass. Is the change what you want?
      FAIL: implementing
      GIVE_UP: failed

  completed: {{type: final}}
  failed: {{type: final}}
",
        evidence = evidence.concat(),
    )
}

/// Writes the cases.
pub(super) fn cases(parts: &Parts<'_>) -> String {
    let name = parts.name;
    let passing: Vec<String> = parts
        .tests
        .iter()
        .map(|command| {
            format!(
                "      - {{tool: Bash, input: {{command: {}}}, expect: {{verdict: allow}}}}
      - {{result: {{ok: true, exit: 0}}}}\n",
                quoted(command)
            )
        })
        .collect();
    let passing = passing.concat();
    let first = parts
        .tests
        .first()
        .map(|test| quoted(test))
        .unwrap_or_default();
    let edit = "{tool: Write, input: {file_path: new.txt, content: \"x\\n\"}";
    format!(
        "# What `{name}` allows and refuses. Run with:  interlock test
workflow: {name}.yaml
cases:
  - name: nothing is changed while planning
    steps:
      - {edit}, expect: {{verdict: deny, code: tool_not_allowed}}}}
      - {{tool: Bash, input: {{command: \"touch new.txt\"}}, expect: {{verdict: deny, code: shell_write}}}}
      - {{tool: Bash, input: {{command: \"ls -la\"}}, expect: {{verdict: allow, state: planning}}}}

  - name: tests that pass lead to a person
    steps:
      - {{transition: READY, data: {{plan: one line}}}}
      - {edit}, expect: {{verdict: allow}}}}
      - {{result: {{ok: true}}}}
      - {{transition: DONE, expect: {{state: testing}}}}
{passing}      - {{transition: DONE, expect: {{status: awaiting_approval}}}}
      - {{approve: {{by: ana}}, expect: {{state: completed, status: completed}}}}

  - name: a word that the tests pass is not enough
    steps:
      - {{transition: READY}}
      - {{transition: DONE}}
      - {{transition: DONE, data: {{tests: passed}}, expect: {{ok: false, code: guard_failed, state: testing}}}}

  - name: tests that fail lead nowhere
    steps:
      - {{transition: READY}}
      - {{transition: DONE}}
      - {{tool: Bash, input: {{command: {first}}}}}
      - {{result: {{ok: false, exit: 1}}}}
      - {{transition: DONE, expect: {{ok: false, code: guard_failed}}}}
      - {{transition: FAIL, expect: {{state: implementing}}}}

  - name: an edit after the tests asks for the tests again
    steps:
      - {{transition: READY}}
{passing}      - {edit}, expect: {{verdict: allow}}}}
      - {{result: {{ok: true}}}}
      - {{transition: DONE}}
      - {{transition: DONE, expect: {{ok: false, code: guard_failed}}}}
"
    )
}

/// Writes the workflow's properties.
pub(super) fn properties(parts: &Parts<'_>) -> String {
    let name = parts.name;
    format!(
        "# What `{name}` promises, in every run it could have. Prove it with:  interlock prove {name}
properties:
  - name: it is completed only with tests that passed since the last edit
    before: {{enter: completed}}
    require: [{{guard: tests_passed}}]
    since: last_edit
  - name: it is completed only with a person
    only_with_person: {{enter: completed}}
  - name: files are edited in implementing only
    only_in: [implementing]
    what: {{tool: Edit}}
  - name: it can be completed
    possible: {{enter: completed}}
"
    )
}

/// Writes a text as YAML, quoted if necessary.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '/' | '.' | '-');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '.' | '/'));
    if begins && text.chars().all(plain) && !text.ends_with(' ') {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}
