//! What a person's approval of one call permits, and what it does not.

use interlock_core::{
    Reply,
    call::{CallFacts, CallKind, ToolCall},
    command::{Answer, Command, CommandKind},
    decide,
    event::Event,
    evolve,
    facts::ShellFacts,
    machine::Machine,
    names::{AgentId, CallId, Digest},
    refusal::Code,
    run::Run,
};
use serde_json::json;

use crate::support::started::started;

fn machine() -> Machine {
    serde_json::from_value(json!({
        "id": "m", "initial": "a",
        "limits": interlock_core::machine::Limits::default(),
        "states": {
            "a": {
                "policy": {"allowed_tools": ["Read"], "on_denied": "ask", "edit_lines_max": 5,
                    "iterations_max": 9, "result_bytes_max": 100, "files_max": 2},
                "on": {"DONE": {"branched": false, "transitions": [{"target": {"state": "b"}, "guards": []}]}},
            },
            "b": {"activity": {"final": {"outcome": "success"}}},
        },
    }))
    .unwrap()
}

/// Returns an edit of one file by the main agent, the same each time except for its id.
fn edit(id: &str) -> ToolCall {
    let facts = json!({
        "edit_lines": 3,
        "writes": [{"path": "/p/a", "relative": "a", "place": "project", "by": "Edit", "removes": false, "recursive": false, "lines": 3, "before": null}],
    });
    let mut all = json!(CallFacts::default());
    for (key, value) in facts.as_object().unwrap() {
        all[key] = value.clone();
    }
    ToolCall {
        id: CallId::new(id),
        tool: "Edit".to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: CallKind::Edit,
        digest: Digest::new("d"),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: serde_json::from_value(all).unwrap(),
    }
}

/// A run in which a person has approved [`edit`].
struct Allowed {
    machine: Machine,
    run: Run,
}

impl Allowed {
    fn new() -> Self {
        let machine = machine();
        let run = started(&machine);
        let mut allowed = Self { machine, run };
        assert!(matches!(allowed.proposes(edit("asked")), Reply::Ask(_)));
        let yes = Answer {
            by: "ana".to_owned(),
            ..Answer::default()
        };
        assert_eq!(allowed.ask(CommandKind::Approve(yes)), Reply::Accepted);
        allowed
    }

    fn ask(&mut self, command: CommandKind) -> Reply {
        let command = Command {
            at_ms: 1_000,
            kind: command,
        };
        let decision = decide(&self.machine, &self.run, &command);
        self.run = decision.events.iter().fold(self.run.clone(), evolve);
        decision.reply
    }

    fn proposes(&mut self, call: ToolCall) -> Reply {
        self.ask(CommandKind::Propose(Box::new(call)))
    }

    #[track_caller]
    fn denies(&mut self, call: ToolCall, code: Code) {
        match self.proposes(call) {
            Reply::Refused(refusal) => assert_eq!(refusal.code, code),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn it_is_used_up_by_the_call_that_it_was_for() {
    let mut allowed = Allowed::new();
    assert_eq!(allowed.proposes(edit("1")), Reply::Accepted);
    assert!(matches!(allowed.proposes(edit("2")), Reply::Ask(_)));
}

#[test]
fn it_opens_nothing_that_has_come_to_be_more_than_the_person_saw() {
    let mut allowed = Allowed::new();
    let mut call = edit("1");
    call.facts.protected = Some("the state directory".to_owned());
    allowed.denies(call, Code::Protected);
    let mut call = edit("2");
    call.facts.edit_lines = Some(6);
    allowed.denies(call, Code::EditTooLarge);
    let mut call = edit("3");
    call.facts.malformed = Some("it leads in a circle".to_owned());
    allowed.denies(call, Code::InvalidArguments);
    // A refused call has not used up the approval.
    assert_eq!(allowed.proposes(edit("4")), Reply::Accepted);
}

#[test]
fn it_is_for_whom_it_was_asked_and_for_these_arguments() {
    let mut allowed = Allowed::new();
    let mut call = edit("1");
    call.agent = Some(AgentId::new("helper"));
    assert!(matches!(allowed.proposes(call), Reply::Ask(_)));
    let mut call = edit("2");
    call.digest = Digest::new("e");
    assert!(matches!(allowed.proposes(call), Reply::Ask(_)));
    assert_eq!(allowed.proposes(edit("3")), Reply::Accepted);
}

#[test]
fn it_is_for_the_stay_in_which_it_was_asked_whatever_else_forgets_it() {
    let mut allowed = Allowed::new();
    allowed.run.root.stay.entered_seq += 1;
    assert!(matches!(allowed.proposes(edit("1")), Reply::Ask(_)));
    allowed.run.root.stay.entered_seq -= 1;
    assert_eq!(allowed.proposes(edit("2")), Reply::Accepted);
}

#[test]
fn it_does_not_go_beyond_what_the_state_has_left() {
    type Use = fn(&mut interlock_core::run::Used);
    let used: [(Use, Option<Code>); 8] = [
        (|used| used.calls = 8, None),
        (|used| used.calls = 9, Some(Code::IterationLimit)),
        (|used| used.bytes = 99, None),
        (|used| used.bytes = 100, Some(Code::ContextBudget)),
        (|used| used.files.extend(["/p/b".to_owned()]), None),
        (
            |used| used.files.extend(["/p/b", "/p/c"].map(str::to_owned)),
            Some(Code::TooManyFiles),
        ),
        // A file that counts already is not counted again.
        (
            |used| used.files.extend(["/p/a", "/p/c"].map(str::to_owned)),
            None,
        ),
        (|_| {}, None),
    ];
    for (at, (spend, wanted)) in used.into_iter().enumerate() {
        let mut allowed = Allowed::new();
        spend(&mut allowed.run.root.stay.used);
        let reply = allowed.proposes(edit("1"));
        let found = match &reply {
            Reply::Refused(refusal) => Some(refusal.code),
            _ => None,
        };
        assert_eq!(found, wanted, "{at}: {reply:?}");
        assert_eq!(reply == Reply::Accepted, wanted.is_none(), "{at}");
    }
}

#[test]
fn a_line_that_an_old_log_began_answers_no_question() {
    let machine = machine();
    let mut asked = Allowed {
        run: started(&machine),
        machine,
    };
    assert!(matches!(asked.proposes(edit("asked")), Reply::Ask(_)));
    // Logs from before a line's end settled its call do not record its beginning either.
    for (settles, waits) in [(false, true), (true, false)] {
        let begun = Event::LineConfined {
            call: CallId::new("asked"),
            level: "full".to_owned(),
            unconfined: Vec::new(),
            settles,
        };
        let run = evolve(asked.run.clone(), &begun);
        let open = run.calls.iter().find(|call| call.id.as_str() == "asked");
        assert_eq!(open.unwrap().asked, waits, "settles: {settles}");
        assert_eq!(run.requests.len(), usize::from(waits), "settles: {settles}");
    }
}

#[test]
fn a_write_voids_a_yes_to_a_line_and_to_nothing_else() {
    for (kind, tool, holds) in [
        (CallKind::Edit, "Edit", true),
        (CallKind::Other, "Fetch", true),
        (CallKind::Shell, "Bash", false),
    ] {
        let call = |id: &str| {
            let mut call = edit(id);
            call.kind = kind;
            call.tool = tool.to_owned();
            if kind == CallKind::Shell {
                call.facts.shell = Some(ShellFacts::default());
            }
            call
        };
        let machine = machine();
        let run = started(&machine);
        let mut allowed = Allowed { machine, run };
        let yes = || {
            CommandKind::Approve(Answer {
                by: "ana".to_owned(),
                ..Answer::default()
            })
        };
        assert!(matches!(allowed.proposes(call("asked")), Reply::Ask(_)));
        assert_eq!(allowed.ask(yes()), Reply::Accepted);
        allowed.run.last_write = Some(allowed.run.seq);
        let reply = allowed.proposes(call("1"));
        assert_eq!(reply == Reply::Accepted, holds, "{tool}: {reply:?}");
        if holds {
            continue;
        }
        // A person is asked again, and that answer counts.
        assert!(matches!(reply, Reply::Ask(_)), "{tool}: {reply:?}");
        assert_eq!(allowed.ask(yes()), Reply::Accepted, "{tool}");
        assert_eq!(allowed.proposes(call("2")), Reply::Accepted, "{tool}");
    }
}
