//! `interlock exec --planned`: a stage's line, run by the built program.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use interlock_confine::{PersonsLine, plan_for_person};
use interlock_core::{names::CallId, policy::Policy};
use interlock_facts::{CallContext, RealDisk};
use interlock_process::Cancel;
use interlock_project::Environment;
use interlock_sandbox::Level;
use interlock_store::Home;
use interlock_tools::{Arguments, Carrier, Code, Seen, Tool, ToolContext, ToolEnd};
use serde_json::json;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Runs a line in `project`, in a state with these tools.
fn run(project: &Path, tools: &[&str], line: &str) -> ToolEnd {
    let policy = Policy {
        allowed_tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
        ..Policy::default()
    };
    let asked = PersonsLine {
        text: line,
        policy: &policy,
        project,
        directory: project,
    };
    let plan = plan_for_person(&Environment::at(Home::at("")), &[], &asked).unwrap();
    let call_context = CallContext::of_project(project.to_str().unwrap()).resolved(&RealDisk);
    let arguments = Arguments::of(json!({ "command": line })).unwrap();
    let call = Tool::Bash.proposed(CallId::from("t1.c1"), &arguments, &call_context, &RealDisk);
    Tool::Bash.run(
        &arguments,
        &ToolContext {
            call_context: &call_context,
            facts: &call.facts,
            seen: &Seen::new(),
            cancel: &Cancel::new().unwrap(),
            carrier: Some(Carrier {
                program: Path::new(INTERLOCK),
                plan: &plan,
                level_max: Level::Full,
            }),
            datasources: &[],
            environment: &[],
            result_bytes_max: 30_000,
            progress: None,
        },
    )
}

#[test]
fn a_line_of_a_stage_is_carried_and_held() {
    let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let project = room.path().canonicalize().unwrap();
    let end = run(
        &project,
        &["Read", "Edit", "Bash"],
        "echo x > made; cat made; exit 3",
    );
    assert_eq!(
        (end.code, end.exit),
        (Some(Code::ExitStatus), Some(3)),
        "{end:?}"
    );
    assert_eq!(end.text, "x\n(exit code 3)");
    assert!(end.held.is_some());

    fs::write(project.join("run.sh"), "echo y > made").unwrap();
    let end = run(&project, &["Read", "Bash"], "bash run.sh");
    assert!(!end.ok, "{end:?}");
    assert_eq!(fs::read_to_string(project.join("made")).unwrap(), "x\n");
}

#[test]
fn nobody_else_can_hand_a_plan_over() {
    for input in [Stdio::null(), Stdio::piped()] {
        let mut command = Command::new(INTERLOCK);
        command.args(["exec", "--planned"]).stdin(input);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(126));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            told.contains("`--planned` is for Interlock itself"),
            "{told}"
        );
    }
}
