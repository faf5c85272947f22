use interlock_core::{
    facts::{CommandSpan, SimpleCommand},
    names::FramePath,
    policy::Policy,
};
use interlock_store::Home;
use serde_json::json;

use super::*;
use crate::ClientId;

/// What the decision about a line looks at.
#[derive(Debug, Clone)]
struct Line {
    program: bool,
    attended: bool,
    mode: &'static str,
    carrying: RewriteMode,
    rule: Option<Effect>,
    stance: Stance,
    reads: bool,
    contained: bool,
    listed: bool,
    nothing: bool,
    probes: bool,
    overrides: bool,
}

/// A line that writes, of a client at which a person sits, and about which no rule of the client is.
const WRITES: Line = Line {
    program: true,
    attended: true,
    mode: "default",
    carrying: RewriteMode::ByRules,
    rule: None,
    stance: Stance::Writing,
    reads: false,
    contained: false,
    listed: false,
    nothing: false,
    probes: false,
    overrides: false,
};

/// The same line, known to read only.
const READS: Line = Line {
    reads: true,
    ..WRITES
};

fn decided(line: &Line) -> Rewriting {
    let attended = if line.attended { "1" } else { "0" };
    let environment = Environment {
        program: line.program.then(|| "/opt/interlock".into()),
        variables: vec![("CLAUDE_CODE_SESSION_ATTENDED".into(), attended.into())],
        ..Environment::at(Home::at("/nowhere"))
    };
    let told = json!({
        "session_id": "s", "cwd": "/p", "permission_mode": line.mode, "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "make"},
    });
    let input = crate::read(ClientId::ClaudeCode, told.to_string().as_bytes(), None);
    let input = input.unwrap_or_else(|why| unreachable!("{why}"));
    let mut policy = Policy::default();
    if line.overrides {
        policy
            .env_overrides
            .insert("LANG".to_owned(), "C".to_owned());
    }
    let command = SimpleCommand::default();
    let confinement = LineConfinement {
        path: FramePath::root(),
        policy: &policy,
        stance: line.stance,
        listed: if line.listed {
            vec![&command]
        } else {
            Vec::new()
        },
        by_person: false,
        reads: line.reads,
        contained: line.contained,
        nothing: line.nothing,
        fetches: false,
        probes: if line.probes {
            vec![CommandSpan { start: 0, end: 4 }]
        } else {
            Vec::new()
        },
    };
    rewriting(&environment, &input, &confinement, line.carrying, || {
        line.rule
    })
}

#[test]
fn a_line_is_carried_without_a_question_only_where_the_client_would_have_asked_none() {
    use Rewriting::{Allow, Ask, Keep};
    let free = Line {
        stance: Stance::Free,
        ..READS
    };
    let rule = |effect: Effect, line: Line| Line {
        rule: Some(effect),
        ..line
    };
    let mode = |mode: &'static str, line: Line| Line { mode, ..line };
    let alone = |line: Line| Line {
        attended: false,
        ..line
    };
    let contained = Line {
        contained: true,
        ..WRITES
    };
    let listed = Line {
        listed: true,
        ..WRITES
    };
    let by = |carrying: RewriteMode| Line { carrying, ..WRITES };
    let rows = [
        ("a person is asked", WRITES, Ask),
        ("nobody is there", alone(WRITES), Keep),
        ("it reads", READS, Allow),
        ("it reads, and nobody is there", alone(READS), Allow),
        ("the kernel holds it", contained.clone(), Allow),
        ("the state lists it", listed.clone(), Allow),
        // What carries nothing.
        (
            "no program",
            Line {
                program: false,
                ..READS
            },
            Keep,
        ),
        (
            "it does nothing",
            Line {
                nothing: true,
                ..READS
            },
            Keep,
        ),
        ("a free state", free.clone(), Keep),
        (
            "a free state that sets variables",
            Line {
                overrides: true,
                ..free.clone()
            },
            Allow,
        ),
        (
            "a check in a free state",
            Line {
                probes: true,
                ..free
            },
            Allow,
        ),
        // What the client says of itself.
        (
            "it takes no other line",
            Line {
                carrying: RewriteMode::No,
                ..READS
            },
            Keep,
        ),
        ("it asks nobody", by(RewriteMode::Yes), Allow),
        ("it refuses the line", rule(Effect::Deny, READS), Keep),
        (
            "it refuses the line in any mode",
            rule(Effect::Deny, mode("bypassPermissions", READS)),
            Keep,
        ),
        ("it asks about the line", rule(Effect::Ask, READS), Ask),
        (
            "it asks about the line in any mode",
            rule(Effect::Ask, mode("plan", READS)),
            Ask,
        ),
        (
            "it would ask, and nobody is there",
            rule(Effect::Ask, alone(READS)),
            Keep,
        ),
        ("it allows the line", rule(Effect::Allow, WRITES), Allow),
        (
            "it asks nothing in this mode",
            mode("bypassPermissions", WRITES),
            Allow,
        ),
        ("it reads lines itself", mode("plan", READS), Keep),
        (
            "it lets no listed line pass while it plans",
            mode("plan", listed),
            Ask,
        ),
        (
            "nor one that is held while it plans",
            mode("plan", contained),
            Ask,
        ),
        (
            "nor one that its rules allow",
            rule(Effect::Allow, mode("plan", WRITES)),
            Ask,
        ),
        (
            "it plans, and nobody is there",
            alone(mode("plan", WRITES)),
            Keep,
        ),
        (
            "a mode in which it may ask nobody",
            mode("auto", WRITES),
            Keep,
        ),
    ];
    for (why, line, wanted) in rows {
        assert_eq!(decided(&line), wanted, "{why}: {line:?}");
    }
}
