//! Work that a call starts elsewhere or later, which the run may or may not cover.

use serde_json::Value;

use super::Finder;
use crate::shape::Shape;

/// Tool for sub-agents: allowing it also allows equivalent tools.
const SUB_AGENTS: &str = "Task";
/// Minimum number of digits at the end of a sub-agent's id.
const ID_DIGITS_MIN: usize = 8;

impl Finder<'_> {
    /// Determines which of the work that a call starts would not be guarded.
    pub(super) fn started(&mut self, shape: Shape, input: &Value) {
        self.facts.unheld = unheld(shape, input);
        if matches!(
            shape,
            Shape::SubAgents | Shape::Script { .. } | Shape::Message { .. }
        ) {
            self.facts.parts.push(SUB_AGENTS.to_owned());
        }
    }
}

/// Returns why the work that a call starts would not be guarded, if so.
fn unheld(shape: Shape, input: &Value) -> Option<String> {
    let text = |field: &str| input.get(field).and_then(Value::as_str).map(str::trim);
    let is_set = |field: &str| {
        !matches!(
            input.get(field),
            None | Some(Value::Null | Value::Bool(false))
        )
    };
    match shape {
        Shape::Unheld(why) => Some(why.to_owned()),
        Shape::SubAgent | Shape::SubAgents if text("isolation") == Some("remote") => {
            Some("it would run on another machine, where no hook sees its calls: leave `isolation` out".to_owned())
        }
        Shape::Script { text: field } => match text(field) {
            None => Some(format!(
                "what a script in a file starts is not seen: give its text as `{field}`"
            )),
            // No tested version supports this; others may.
            Some(code) if code.contains("remote") => Some(
                "its agents may run on another machine, where no hook sees their calls: leave out `remote`".to_owned(),
            ),
            Some(_) => None,
        },
        Shape::Message { to } => match text(to) {
            Some(address) if is_of_this_session(address) => None,
            _ => Some("it may reach a session that this run does not guard: write to `main`, or to a sub-agent by its id".to_owned()),
        },
        Shape::Prompt { .. } if is_set("durable") => Some(
            "a prompt kept on disk is given to another session, which this run does not guard: leave `durable` out".to_owned(),
        ),
        Shape::Prompt { text: field } => {
            let runs = text(field).is_some_and(|prompt| prompt.starts_with(['/', '!']));
            runs.then(|| "a prompt that begins with `/` or `!` may run commands that no hook sees: write out what is to be done".to_owned())
        }
        _ => None,
    }
}

/// Returns whether an address is the main agent's, or looks like the id of a sub-agent.
fn is_of_this_session(address: &str) -> bool {
    let digits = address
        .bytes()
        .rev()
        .take_while(u8::is_ascii_hexdigit)
        .count();
    let is_id = address.starts_with('a')
        && digits >= ID_DIGITS_MIN
        && address
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    address == "main" || is_id
}
