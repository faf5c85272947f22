//! States of custom nodes.

use interlock_core::{
    machine::{Activity, DataFlags, Ending, ModelOptions, ModelStage, OnCrash, State as Lowered},
    policy::Policy,
};
use interlock_expr::text::Text;
use interlock_nodes::Node as _;

use super::{task, texts, timing::milliseconds};
use crate::codemie::{
    nodes::canonical,
    syntax::{CustomNode, State, Workflow},
    works,
};

/// Instruction for a model that condenses the conversation.
const CONDENSE: &str = "Summarise the conversation so far for somebody who goes on with the work and has not seen it. Keep every fact, name, number, decision and open question that may still matter.";
/// Instruction for a model that summarizes a run.
const FINALIZE: &str = "Write the result of the work above for the person who asked for it: what was asked, what was done, what came of it. Say nothing that is not in the conversation.";

/// Creates the state of a custom node, without its transitions.
pub(super) fn state(
    workflow: &Workflow,
    state: &State,
    node: &CustomNode,
    strict: bool,
) -> Lowered {
    let config = node.config.clone().unwrap_or_default();
    let policy = state.policy.clone().unwrap_or_default();
    let work = match canonical(&node.kind.text).map(|(name, _)| name) {
        Some("transform_node") => {
            let transform = works::transform(&config, strict).unwrap_or_default();
            transform.task()
        }
        Some("generate_documents_tree") => works::tree(&config).task(),
        Some("state_processor_node") => works::records(node, state.task.as_ref(), strict).task(),
        Some("summarize_conversation_node") => {
            return model(workflow, Some(node), &Words::of(state, CONDENSE));
        }
        Some("result_finalizer_node") => {
            return model(workflow, Some(node), &Words::of(state, FINALIZE));
        }
        _ => return Lowered::default(),
    };
    match work {
        Ok(work) => task(work, policy, OnCrash::Retry),
        Err(_) => Lowered::default(),
    }
}

/// Returns whether a node replaces the conversation by a summary.
pub(super) fn condenses(node: &CustomNode) -> bool {
    let kind = canonical(&node.kind.text).map(|(name, _)| name);
    kind == Some("summarize_conversation_node")
}

/// Creates the state that summarizes a run.
pub(super) fn finalizer(workflow: &Workflow) -> Lowered {
    let words = Words {
        task: Text::plain(FINALIZE),
        fills: true,
        timeout: None,
    };
    Lowered {
        data: Some(DataFlags {
            store: false,
            ..DataFlags::default()
        }),
        ..model(workflow, None, &words)
    }
}

/// Instruction for a node's model, and its time limit.
struct Words {
    task: Text,
    fills: bool,
    timeout: Option<u64>,
}

impl Words {
    fn of(state: &State, default: &str) -> Self {
        let task = texts::task(state);
        Self {
            task: if task.pieces.is_empty() {
                Text::plain(default)
            } else {
                task
            },
            fills: state.fills_prompt,
            timeout: milliseconds(state.timeout.as_ref()),
        }
    }
}

/// Creates a state in which a model sees the conversation and calls no tools.
fn model(workflow: &Workflow, node: Option<&CustomNode>, words: &Words) -> Lowered {
    let prompt = node.and_then(|node| node.system_prompt.as_ref());
    let stage = ModelStage {
        body: texts::text(prompt.map_or("", |prompt| &prompt.text), words.fills),
        task: Some(words.task.clone()),
        history: true,
        ending: Ending::Answer {
            schema: None,
            schema_text: None,
            again_max: 0,
        },
        turns_max: 2,
        gate: Vec::new(),
        assert: Vec::new(),
        options: ModelOptions::default(),
        result_bytes: None,
        timeout_ms: words.timeout,
    };
    let own = node.and_then(|node| node.model.as_ref());
    let first = workflow
        .assistants
        .iter()
        .find_map(|one| one.model.as_ref());
    Lowered {
        activity: Activity::Stage(Box::new(stage)),
        policy: Policy {
            allowed_tools: Some(Vec::new()),
            ..Policy::default()
        },
        model: own.or(first).map(|model| model.text.clone()),
        ..Lowered::default()
    }
}
