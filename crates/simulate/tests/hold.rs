//! How the kernel is to confine a permitted line: its reads, listed commands, and background processes.

use interlock_clients::{ClientId, tool};
use interlock_core::{
    call::ToolCall,
    command::{Command, CommandKind},
    confinement, confinement_at, decide, evolve, judge_written, keeps_running,
    machine::Machine,
    names::{CallId, FramePath, RunId},
    policy::Stance,
    run::Run,
};
use interlock_facts::{CallContext, GivenDisk, Proposal, facts};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_simulate::{Scenario, Simulation};
use serde_json::{Value, json};

const WORKFLOW: &str = r"
id: w
initial: STATE
guards: {tested: {evidence: {command: npm test}}}
states:
  reads:
    allowed_tools: [Read, Bash, WebFetch]
    on_denied: ask
    on: {TESTS: tests}
  tests:
    allowed_tools: [Read, Bash]
    allowed_commands: [npm test, sudo reboot]
    on: {WRITES: writes}
  writes:
    allowed_tools: [Read, Edit, Bash]
    background: [npm run dev]
    on: {READS: reads, FREE: free, GO: {target: end, guard: tested}}
  free: {on: {READS: reads}}
  end: {type: final}
";

fn machine(state: &str) -> Machine {
    let text = WORKFLOW.replace("STATE", state);
    load(&Source::new("w.yaml", &text), None, &NoWorkflows)
        .unwrap()
        .machine
}

fn started(machine: &Machine) -> Run {
    let run = Run::new(RunId::new("r"));
    let command = CommandKind::Start {
        input: Default::default(),
        by: "ana".to_owned(),
        durable: None,
    };
    let decision = decide(
        machine,
        &run,
        &Command {
            at_ms: 1,
            kind: command,
        },
    );
    decision.events.iter().fold(run, evolve)
}

/// Returns a call of one of Claude Code's tools, with its facts.
fn called(name: &str, input: &Value, place: &CallContext) -> ToolCall {
    let proposal = Proposal {
        id: CallId::new("c"),
        tool: name,
        common: None,
        shape: tool(ClientId::ClaudeCode, name).shape,
        input,
        doubled: None,
        agent: None,
        branch: None,
    };
    facts(proposal, place, &GivenDisk::empty())
}

/// Describes how `line` is confined in `state`: the applicable words, in a fixed order.
fn held(state: &str, line: &str) -> String {
    let machine = machine(state);
    let run = started(&machine);
    let place = CallContext {
        home: Some("/home/you".to_owned()),
        temporary: Some("/tmp".to_owned()),
        allowed_by_person: vec!["sudo ls".to_owned(), "npm test".to_owned()],
        kernel_holds: true,
        environment_held: true,
        ..CallContext::of_project("/project".to_owned())
    };
    let call = called("Bash", &json!({ "command": line }), &place);
    let told = |confinement: interlock_core::LineConfinement<'_>| {
        let line = call.facts.shell.as_ref().unwrap();
        let flags = [
            (confinement.stance == Stance::Free, "free"),
            (confinement.by_person, "by-person"),
            (confinement.reads, "reads"),
            (confinement.contained, "contained"),
            (confinement.nothing, "nothing"),
            (confinement.fetches, "fetches"),
            (keeps_running(confinement.policy, line), "goes-on"),
        ];
        let mut words: Vec<String> = flags
            .iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, word)| (*word).to_owned())
            .collect();
        words.push(format!(
            "{} listed, {} probed",
            confinement.listed.len(),
            confinement.probes.len()
        ));
        words.join(" ")
    };
    let found = told(confinement(&machine, &run, &call).unwrap());
    let root = FramePath::root();
    assert_eq!(
        told(confinement_at(&machine, &run, &call, &root).unwrap()),
        found
    );
    found
}

#[test]
fn a_line_is_held_as_its_facts_and_its_state_say() {
    let mut wrong = Vec::new();
    for (state, line, wanted) in [
        ("reads", "cat a", "reads 0 listed, 0 probed"),
        ("reads", "cd src", "reads nothing 0 listed, 0 probed"),
        ("writes", "cd src", "reads nothing 0 listed, 0 probed"),
        ("free", "cd src", "free reads nothing 0 listed, 0 probed"),
        ("reads", "echo a > b", "0 listed, 0 probed"),
        ("writes", "echo a > b", "0 listed, 0 probed"),
        ("writes", "sed -i s/a/b/ x", "0 listed, 0 probed"),
        // Sending over the network or changing the machine is not reading.
        (
            "reads",
            "curl https://example.com",
            "fetches 0 listed, 0 probed",
        ),
        ("reads", "tmux ls", "reads 0 listed, 0 probed"),
        ("reads", "docker ps", "fetches 0 listed, 0 probed"),
        (
            "writes",
            "curl -d x https://example.com",
            "fetches 0 listed, 0 probed",
        ),
        ("writes", "ssh host ls", "0 listed, 0 probed"),
        ("writes", "reboot", "0 listed, 0 probed"),
        ("writes", "eval \"$X\"", "0 listed, 0 probed"),
        // The kernel confines code in a line if nothing may be written.
        (
            "reads",
            "python3 -c 'print(1)'",
            "contained 0 listed, 0 probed",
        ),
        ("writes", "python3 -c 'print(1)'", "0 listed, 0 probed"),
        ("reads", "python3 a.py", "0 listed, 0 probed"),
        (
            "tests",
            "npm test && python3 -c 'print(1)'",
            "contained 1 listed, 1 probed",
        ),
        // A person's own entry counts if the state may write.
        ("writes", "sudo ls", "by-person 0 listed, 0 probed"),
        ("reads", "sudo ls", "0 listed, 0 probed"),
        ("writes", "npm test", "0 listed, 1 probed"),
        ("tests", "sudo reboot", "2 listed, 0 probed"),
        ("tests", "npm test", "1 listed, 1 probed"),
        ("tests", "npm test && npm test; ls", "2 listed, 2 probed"),
        ("reads", "npm test && false", "0 listed, 1 probed"),
        // A named process may keep running, in addition to known ones.
        ("writes", "npm run dev &", "goes-on 0 listed, 0 probed"),
        (
            "writes",
            "npm run dev & echo started",
            "goes-on 0 listed, 0 probed",
        ),
        ("writes", "npm run dev & ./own.sh", "0 listed, 0 probed"),
        ("writes", "sleep 9 &", "reads 0 listed, 0 probed"),
        ("writes", "npm run dev & eval \"$X\"", "0 listed, 0 probed"),
        ("tests", "npm run dev &", "0 listed, 0 probed"),
    ] {
        let found = held(state, line);
        if found != wanted {
            wrong.push(format!("{state}: {line}: {found}, and not {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_a_workflow_itself_writes_is_judged_and_nobody_is_asked() {
    let machine = machine("reads");
    let run = started(&machine);
    let root = FramePath::root();
    let told = |name: &str, input: Value| {
        let place = CallContext::of_project("/project".to_owned());
        let call = called(name, &input, &place);
        let judged = judge_written(&machine, &run, &call, &root);
        judged.map_err(|refusal| refusal.code.as_str())
    };
    assert_eq!(told("Bash", json!({"command": "cat a"})), Ok(()));
    let removes = json!({"command": "rm a"});
    assert_eq!(told("Bash", removes), Err("shell_write"));
    // The state asks a person about other tools.
    let writes = json!({"file_path": "a", "content": "b"});
    assert_eq!(told("Write", writes), Err("tool_not_allowed"));
}

#[test]
fn beside_what_a_person_lets_run_unconfined_nothing_unknown_runs() {
    let allowed = ["sudo systemctl restart db", "reboot"].map(str::to_owned);
    let judged = |state: &str, line: &str| {
        let setting = Scenario {
            allowed_by_person: allowed.to_vec(),
            ..Scenario::default()
        };
        let mut simulation = Simulation::new(machine(state), setting);
        let call = json!({"tool": "Bash", "input": {"command": line}});
        let told = simulation.step(&call.to_string()).unwrap();
        told.code.map_or("", |code| code.as_str())
    };
    for (line, wanted) in [
        ("sudo systemctl restart db", ""),
        (
            "sudo systemctl restart db && systemctl status db | grep -c active",
            "",
        ),
        ("CI=1 sudo systemctl restart db", ""),
        ("git status; sudo systemctl restart db", ""),
        ("sudo systemctl restart db; ./own.sh", "command_not_allowed"),
        ("npm test && reboot", "command_not_allowed"),
        (
            "sudo systemctl restart db | ./own.sh",
            "command_not_allowed",
        ),
        ("python3 -c 'x' && reboot", "command_not_allowed"),
        (
            "PATH=./bin:$PATH sudo systemctl restart db",
            "shell_unreadable",
        ),
        ("export PATH=./bin:$PATH; reboot", "shell_unreadable"),
        ("OWN=./own.sh sudo systemctl restart db", "shell_unreadable"),
        (
            "LD_PRELOAD=./x.so sudo systemctl restart db",
            "shell_unreadable",
        ),
        (
            "SYSTEMD_PAGER=./own.sh sudo systemctl restart db",
            "shell_unreadable",
        ),
        // Confined, they may run.
        ("./own.sh; npm test", ""),
        ("FOO=1 ./own.sh", ""),
    ] {
        assert_eq!(judged("writes", line), wanted, "{line}");
    }
    assert_ne!(judged("reads", "reboot"), "");
    // If nothing is confined anyway, it makes no difference.
    let paged = "SYSTEMD_PAGER=./own.sh sudo systemctl restart db; ./own.sh";
    assert_eq!(judged("free", paged), "");
}

#[test]
fn code_in_a_line_runs_only_where_the_kernel_holds_it_and_a_refusal_says_so() {
    let mut simulation = Simulation::new(machine("reads"), Scenario::default());
    for line in [
        "python3 -c 'print(1)'",
        "curl -s https://example.com | python3 -c 'print(1)'",
    ] {
        let call = json!({"tool": "Bash", "input": {"command": line}});
        let told = simulation.step(&call.to_string()).unwrap();
        assert_eq!(
            told.code.map(|code| code.as_str()),
            Some("shell_unreadable")
        );
        let held =
            "use a command that only reads; `python3` runs only where the kernel confines it";
        assert!(told.message.contains(held), "{}", told.message);
    }
}
