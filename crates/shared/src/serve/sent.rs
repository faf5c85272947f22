//! What a token may send, and the command that it becomes.

use interlock_core::command::{
    AGENT, ActivityOutcome, Answer, CommandKind, EffectSettlement, LineEnd, LineStart,
    TransitionRequest,
};
use interlock_fleet::{AnswerBody, Settlement, WireCommand};
use serde_json::{Value, json};

use crate::tokens::{Identity, Role};

/// Returns why the role may not send this; `None`: it may.
pub(crate) fn refusal(command: &WireCommand, role: Role) -> Option<&'static str> {
    match command {
        WireCommand::Transition { .. } | WireCommand::Pause { .. } => None,
        WireCommand::Resume { .. } | WireCommand::Cancel {} => {
            role.drives().then_some("only a person resumes and cancels")
        }
        WireCommand::Answer { .. } | WireCommand::GoOn { .. } | WireCommand::Settle { .. } => {
            (role != Role::Person).then_some("only the token of a person answers")
        }
        _ => {
            let is_person = role == Role::Person;
            is_person.then_some("only the token of an agent or a worker reports its calls")
        }
    }
}

/// Returns whether the sender does work of the run with it, which other people approve.
pub(crate) fn drives(command: &WireCommand, role: Role) -> bool {
    role.drives() || matches!(command, WireCommand::Transition { .. })
}

/// Returns whether a person approves something with it.
pub(crate) fn accepts(command: &WireCommand) -> bool {
    matches!(command, WireCommand::Resume { changes } if !changes.is_empty())
}

/// Returns the command as sent by `identity`.
///
/// INVARIANT: the name in it is the token's, and nothing in it answers a request.
pub(crate) fn kind(command: &WireCommand, identity: &Identity) -> CommandKind {
    let by = match identity.role {
        Role::Person => identity.subject.clone(),
        Role::Agent | Role::Worker => AGENT.to_owned(),
    };
    match command.clone() {
        WireCommand::Propose(mut call) => {
            // The machine of an agent cannot tell whether a person has agreed in the client's prompt.
            call.prompts_in = None;
            CommandKind::Propose(call)
        }
        WireCommand::Record(result) => CommandKind::Record(result),
        WireCommand::StartLine {
            call,
            level,
            unconfined,
        } => CommandKind::StartLine(LineStart {
            call,
            level,
            unconfined,
        }),
        WireCommand::EndLine {
            call,
            path,
            exit,
            wrote,
            commands,
            unseen,
            checked,
        } => CommandKind::EndLine(LineEnd {
            call,
            path,
            exit,
            wrote,
            commands,
            unseen,
            checked,
        }),
        WireCommand::Transition {
            event,
            data,
            branch,
            agent,
        } => CommandKind::Transition(TransitionRequest {
            event,
            data,
            branch,
            agent: agent.filter(|_| identity.role.drives()),
            by,
            approved_by: None,
        }),
        WireCommand::ReleaseAgent { agent } => CommandKind::ReleaseAgent { agent },
        WireCommand::Finish {} => CommandKind::Finish,
        WireCommand::ReportFiles { files, before } => CommandKind::ReportFiles { files, before },
        WireCommand::ReportFrozen { changes } => CommandKind::ReportFrozen { changes },
        WireCommand::ReportProtected { changes } => CommandKind::ReportProtected { changes },
        WireCommand::ReportToken { place } => CommandKind::ReportToken { place },
        WireCommand::ReportTool(change) => CommandKind::ReportTool(change),
        WireCommand::ReportConsole {
            pid,
            program,
            request,
        } => CommandKind::ReportConsole {
            pid,
            program,
            request,
        },
        WireCommand::Pause { reason } => CommandKind::Pause { by, reason },
        WireCommand::Resume { changes } => CommandKind::Resume {
            by,
            seen: Some(changes),
        },
        WireCommand::Cancel {} => CommandKind::Cancel { by },
        // What is answered is checked against the question while the run is locked: `standing::checked`.
        WireCommand::Answer { state, text } => CommandKind::EndActivity {
            path: state,
            outcome: ActivityOutcome::done(text),
        },
        WireCommand::GoOn { state } => CommandKind::EndActivity {
            path: state,
            outcome: ActivityOutcome::done(Value::Null),
        },
        WireCommand::Settle { state, how, output } => CommandKind::SettleEffect {
            path: state,
            how: match how {
                Settlement::Again => EffectSettlement::Again,
                Settlement::Failed => EffectSettlement::Failed(json!(1)),
                Settlement::Done => EffectSettlement::Done(json!(output.unwrap_or_default())),
            },
            by,
        },
    }
}

/// Returns the answer as given by `by`.
pub(crate) fn answer(body: &AnswerBody, by: &str) -> CommandKind {
    let answer = Answer {
        by: by.to_owned(),
        data: body.data.clone(),
        note: body.note.clone(),
        path: Some(body.request.clone()),
        before: Some(body.seen),
        ..Answer::default()
    };
    if body.yes {
        CommandKind::Approve(answer)
    } else {
        CommandKind::Reject(answer)
    }
}
