//! Claude Code's hook answers.

use serde_json::{Value, json};

use crate::hook::answer::Answer;

/// Characters of the longest text that Claude Code hands to the model whole.
const TEXT_MAX: usize = 9_500;

/// Writes an answer to the event called `event`.
pub(crate) fn write(event: &str, answer: &Answer) -> Value {
    match answer {
        Answer::Silent => json!({}),
        Answer::Allow => decision(event, "allow", None),
        Answer::Ask(reason) => decision(event, "ask", Some(reason)),
        Answer::Deny(reason) => decision(event, "deny", Some(reason)),
        Answer::Inject(text) => json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": cut(text) },
        }),
        Answer::GoOn(reason) => json!({ "decision": "block", "reason": cut(reason) }),
    }
}

fn decision(event: &str, decision: &str, reason: Option<&String>) -> Value {
    let mut specific = json!({ "hookEventName": event, "permissionDecision": decision });
    if let (Some(reason), Value::Object(object)) = (reason, &mut specific) {
        object.insert("permissionDecisionReason".to_owned(), cut(reason).into());
    }
    json!({ "hookSpecificOutput": specific })
}

fn cut(text: &str) -> String {
    if text.chars().count() <= TEXT_MAX {
        return text.to_owned();
    }
    text.chars()
        .take(TEXT_MAX - 3)
        .chain("...".chars())
        .collect()
}
