//! Questions in a client's own prompt: their text, and how they are closed.

use interlock_core::{
    command::{CommandKind, TransitionRequest},
    event::{PromptCall, PromptEnd},
    names::CallId,
    pending::{About, Pending, asked_since},
};
use interlock_store::StoreError;

use crate::{
    answer::cut,
    input::{Event, Input},
    review,
    session::Guarded,
};

/// Maximum number of characters that a client's prompt shows.
const PROMPT_CHARS_MAX: usize = 900;

/// Records that the client asks its person about a transition; returns the question.
///
/// Returns `None` if no person has to agree.
pub(crate) fn ask(
    guarded: &mut Guarded,
    input: &Input,
    request: TransitionRequest,
    call: CallId,
) -> Result<Option<String>, StoreError> {
    let before = guarded.run.seq;
    guarded.ask(CommandKind::AskInPrompt {
        request,
        prompt: PromptCall {
            session: guarded.binding.session.session.clone(),
            agent: input.agent.clone(),
            call,
        },
    })?;
    let asked = asked_since(&guarded.machine, &guarded.run, before)
        .into_iter()
        .rfind(Pending::is_in_prompt);
    Ok(asked.map(|one| text(guarded, &one)))
}

/// Writes a question for a client's prompt: what an approval means, in a few lines.
fn text(guarded: &Guarded, asked: &Pending) -> String {
    let log = Some(&guarded.log);
    let rows = review::rows(&guarded.machine, &guarded.run, log, asked, guarded.at_ms);
    let mut lines = vec![format!(
        "Interlock: {}",
        review::headline(&guarded.machine, &guarded.run, asked)
    )];
    for row in rows {
        match (row.name, asked.about()) {
            ("takes", _) => {}
            ("asks", _) => lines.push(row.text),
            ("", _) => lines.push(format!("  {}", row.text)),
            (name, About::Transition(_)) => lines.push(format!("{name}: {}", row.text)),
            (_, _) => {}
        }
    }
    let more = format!(
        "the diff: `interlock approve {} {}` or `interlock watch`",
        guarded.id(),
        asked.id()
    );
    let room = PROMPT_CHARS_MAX.saturating_sub(more.chars().count() + 1);
    format!("{}\n{more}", cut(&lines.join("\n"), room))
}

/// Closes the questions that were not approved, according to an event.
pub(crate) fn close(guarded: &mut Guarded, input: &Input) -> Result<(), StoreError> {
    let (why, call) = match &input.event {
        Event::BeforeTool(used) => (PromptEnd::NextCall, used.id.clone()),
        Event::Prompt | Event::Stop { .. } | Event::SubagentStop => (PromptEnd::TurnOver, None),
        Event::SessionEnd => (PromptEnd::SessionOver, None),
        _ => return Ok(()),
    };
    close_as(guarded, input, call, why)
}

/// Closes the questions of the session or sub-agent that the hook belongs to.
pub(crate) fn close_as(
    guarded: &mut Guarded,
    input: &Input,
    call: Option<CallId>,
    why: PromptEnd,
) -> Result<(), StoreError> {
    let run = &guarded.run;
    let session = guarded.binding.session.session.clone();
    let own = |prompt: &PromptCall| prompt.session == session;
    let mut requests = run.requests.iter();
    let open = requests.any(|request| request.prompt.as_ref().is_some_and(own));
    if !open || run.is_over() {
        return Ok(());
    }
    let agent = input.agent.clone();
    guarded.ask(CommandKind::ClosePrompts {
        session,
        agent,
        call,
        why,
    })?;
    Ok(())
}
