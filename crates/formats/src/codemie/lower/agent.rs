//! States in which an assistant works.

use interlock_core::{
    machine::{Activity, Ending, ModelOptions, ModelStage, State as Lowered},
    policy::Policy,
};
use interlock_expr::text::{Piece, Text};
use interlock_tool_names::server_name;
use serde_json::{Number, Value};

use super::{texts, timing::milliseconds};
use crate::codemie::syntax::{Assistant, Server, Shape, State, Workflow};

/// Assumed number of bytes per token.
const TOKEN_BYTES: u64 = 4;
/// Additional tools of an assistant with datasources.
const KNOWLEDGE: [&str; 2] = ["search_knowledge_base", "get_document_by_id"];

/// Creates the state of an assistant, without its transitions.
pub(super) fn state(workflow: &Workflow, state: &State, assistant: &Assistant) -> Lowered {
    let again_max = u32::try_from(workflow.limits.schema_retries).unwrap_or(u32::MAX);
    let (schema, schema_text) = match state.schema.as_ref().map(|schema| &schema.shape) {
        Some(Shape::Enforced(schema)) => (Some(schema.clone()), None),
        Some(Shape::Later(text)) => (None, Some(texts::text(text, true))),
        Some(Shape::Hint(_)) | None => (None, None),
    };
    let stage = ModelStage {
        body: body(state, assistant),
        task: Some(texts::task(state)),
        history: true,
        ending: Ending::Answer {
            schema,
            schema_text,
            again_max,
        },
        turns_max: u32::try_from(assistant.turns).unwrap_or(u32::MAX),
        gate: Vec::new(),
        assert: Vec::new(),
        options: ModelOptions {
            temperature: assistant.temperature.as_deref().and_then(number),
            ..ModelOptions::default()
        },
        result_bytes: Some(assistant.output_tokens.saturating_mul(TOKEN_BYTES)),
        timeout_ms: milliseconds(state.timeout.as_ref()),
    };
    Lowered {
        activity: Activity::Stage(Box::new(stage)),
        policy: policy(state, assistant),
        speaks: true,
        model: assistant.model.as_ref().map(|model| model.text.clone()),
        ..Lowered::default()
    }
}

/// Returns the system prompt, followed by skills and an example of the output.
fn body(state: &State, assistant: &Assistant) -> Text {
    let prompt = assistant.system_prompt.as_ref();
    let mut body = texts::text(
        prompt.map_or("", |prompt| prompt.text.as_str()),
        state.fills_prompt,
    );
    for skill in &assistant.skill_texts {
        add(&mut body, skill);
    }
    if let Some(Shape::Hint(hint)) = state.schema.as_ref().map(|schema| &schema.shape) {
        add(
            &mut body,
            &format!("Give your answer in this form:\n\n{hint}"),
        );
    }
    body
}

/// Appends a part that is not a template.
fn add(body: &mut Text, part: &str) {
    let lead = if body.pieces.is_empty() { "" } else { "\n\n" };
    let told = format!("{lead}{}", part.trim_end());
    body.pieces.push(Piece::Plain(told));
}

/// Returns the tools that an assistant may call in a state: its own, as far as the state allows them.
fn policy(state: &State, assistant: &Assistant) -> Policy {
    let mut own: Vec<String> = Vec::new();
    own.extend(assistant.tools.iter().map(|tool| called(&tool.name.text)));
    if !assistant.datasources.is_empty() && !assistant.no_extra_tools {
        own.extend(KNOWLEDGE.map(str::to_owned));
    }
    own.extend(
        assistant
            .servers
            .iter()
            .filter(|one| one.enabled)
            .flat_map(served),
    );
    let written = state.policy.clone().unwrap_or_default();
    let allowed = match &written.allowed_tools {
        None => own,
        Some(wanted) => {
            let narrow = Policy {
                allowed_tools: Some(wanted.clone()),
                ..Policy::default()
            };
            let lets = |name: &String| narrow.lets_pass(&[name.as_str()]);
            // A pattern for a whole server allows those of its tools that the state names.
            let (whole, single): (Vec<String>, Vec<String>) =
                own.into_iter().partition(|name| name.ends_with('*'));
            let kept = single.into_iter().filter(lets);
            let named = wanted.iter().filter(|name| {
                whole
                    .iter()
                    .any(|pattern| interlock_core::policy::wildcard_matches(pattern, name))
            });
            let whole_kept = whole.iter().filter(|pattern| lets(pattern));
            kept.chain(named.cloned())
                .chain(whole_kept.cloned())
                .collect()
        }
    };
    Policy {
        // Without a policy of the state, an assistant's tools only say what it has; it is not restricted to reading.
        shell_writes: state.policy.is_none() && allowed.iter().any(|tool| tool == "bash"),
        allowed_tools: Some(allowed),
        ..written
    }
}

/// Returns the name by which a tool is allowed; for `server/tool`, the combined name.
fn called(name: &str) -> String {
    match name.split_once('/') {
        Some((server, tool)) => format!("mcp__{}__{tool}", server_name(server)),
        None => name.to_owned(),
    }
}

/// Returns the names by which the tools of a server are allowed.
fn served(server: &Server) -> Vec<String> {
    let name = server_name(&server.name.text);
    match &server.tools {
        None => vec![format!("mcp__{name}__*")],
        Some(tools) => {
            let full = |tool: &crate::codemie::syntax::Named| format!("mcp__{name}__{}", tool.text);
            tools.iter().map(full).collect()
        }
    }
}

/// Parses a decimal number, including `.5` and `1.`.
fn number(text: &str) -> Option<Value> {
    let written = serde_json::from_str::<Number>(text).ok();
    let number = written.or_else(|| Number::from_f64(text.parse().ok()?))?;
    Some(Value::Number(number))
}
