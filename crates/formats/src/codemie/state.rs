//! States and what follows them.

use super::{
    document::{arguments, called, named, names, retry, start_of},
    keys::{CASE, CONDITION, NEXT, STATE, SWITCH},
    notes::{Notes, shown},
    policy, shape,
    syntax::{Clear, Condition, Does, Flags, Named, Next, OnItemError, State, Way},
    table::Fields,
};
use crate::node::Node;

/// Name of the end of a region.
pub(super) const END: &str = "end";

/// Names that a state may not have.
const RESERVED: [&str; 4] = [
    END,
    "__end__",
    "result_finalizer_node",
    "summarize_memory_node",
];

/// Keys of which a state has exactly one.
const WHO: [&str; 3] = ["assistant_id", "tool_id", "custom_node_id"];

/// Parses a state; returns `None` if it has no usable id.
pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> Option<State> {
    let what = called("state", node);
    let fields = STATE.read(&what, node, notes)?;
    let does = who(&what, &fields, notes);
    let asks = asks_before(&fields, notes);
    let next = fields
        .get("next")
        .and_then(|node| next(&format!("`next` of {what}"), node, notes));
    let retry = retry(&fields, &format!("the `retry_policy` of {what}"), notes);
    let schema = fields
        .get("output_schema")
        .and_then(|node| shape::read(node, notes));
    if let (true, Some(Does::Tool(_) | Does::Node(_))) = (fields.has("output_schema"), &does) {
        let span = fields.key_span("output_schema").unwrap_or(node.span);
        notes
            .report
            .error(
                span,
                "schema_without_agent",
                format!("`output_schema` in {what}, which is not an agent"),
            )
            .help("only the output of an assistant is held to a schema: remove it");
    }
    let policy = fields
        .get("policy")
        .and_then(|node| policy::read(&format!("the `policy` of {what}"), node, notes));
    let id = named(&fields, "id")?;
    check_id(&id, notes);
    Some(State {
        id,
        span: node.span,
        does,
        task: named(&fields, "task"),
        next,
        fills_prompt: fields
            .flag("resolve_dynamic_values_in_prompt")
            .unwrap_or(true),
        schema,
        asks_before: asks,
        arguments: arguments(&fields),
        finish_iteration: fields.flag("finish_iteration").unwrap_or_default(),
        as_person: fields.flag("result_as_human_message").unwrap_or_default(),
        retry,
        on_error: named(&fields, "on_error"),
        timeout: fields.decimal("timeout"),
        policy,
    })
}

fn check_id(id: &Named, notes: &mut Notes<'_>) {
    let text = id.text.as_str();
    let reason = if text.is_empty() {
        "is empty"
    } else if RESERVED.contains(&text) {
        "has a meaning of its own"
    } else if text.contains(['/', ':', '|']) {
        "holds `/`, `:` or `|`"
    } else if text.chars().any(char::is_control) {
        "contains a line break or another control character"
    } else {
        return;
    };
    notes
        .report
        .error(
            id.span,
            "invalid_name",
            format!("the id `{}` of a state {reason}", shown(text)),
        )
        .help("choose another id");
}

fn who(what: &str, fields: &Fields<'_>, notes: &mut Notes<'_>) -> Option<Does> {
    let written: Vec<&str> = WHO.into_iter().filter(|key| fields.has(key)).collect();
    match written.as_slice() {
        [only] => {
            let id = named(fields, only)?;
            Some(match *only {
                "assistant_id" => Does::Assistant(id),
                "tool_id" => Does::Tool(id),
                _ => Does::Node(id),
            })
        }
        [] => {
            notes
                .report
                .error(
                    start_of(fields.node.span),
                    "state_kind",
                    format!("nobody works in {what}"),
                )
                .help("add one of `assistant_id`, `tool_id` and `custom_node_id`");
            None
        }
        [first, second, ..] => {
            let span = fields.key_span(second).unwrap_or(fields.node.span);
            notes
                .report
                .error(
                    span,
                    "state_kind",
                    format!("`{first}` and `{second}` stand in {what}"),
                )
                .help("a state has exactly one of `assistant_id`, `tool_id` and `custom_node_id`");
            None
        }
    }
}

fn asks_before(fields: &Fields<'_>, notes: &mut Notes<'_>) -> bool {
    let (new, old) = ("interrupt_before", "wait_for_user_confirmation");
    if let (true, Some(span)) = (fields.has(new), fields.key_span(old)) {
        notes
            .report
            .error(
                span,
                "two_spellings",
                format!("`{new}` and `{old}` are two names of one key"),
            )
            .help(format!("keep `{new}`"));
    }
    fields.flag(new).or_else(|| fields.flag(old)) == Some(true)
}

/// Keys of `next` of which exactly one gives the target.
const WAYS: [&str; 4] = ["state_id", "state_ids", "condition", "switch"];

/// Keys that require `iter_key`.
const OF_ITEMS: [&str; 2] = ["include_in_iterator_context", "on_item_error"];

fn next(what: &str, node: &Node, notes: &mut Notes<'_>) -> Option<Next> {
    let fields = NEXT.read(what, node, notes)?;
    let flags = flags(&fields, notes);
    let way = way(what, &fields, notes);
    Some(Next { way, flags })
}

fn way(what: &str, fields: &Fields<'_>, notes: &mut Notes<'_>) -> Way {
    let written: Vec<&str> = WAYS.into_iter().filter(|key| fields.has(key)).collect();
    if let [first, second, ..] = written.as_slice() {
        return two(what, first, second, fields, notes);
    }
    let Some(only) = written.first() else {
        return nowhere(what, fields, notes);
    };
    if fields.has("iter_key") && *only != "state_id" {
        return two(what, "iter_key", only, fields, notes);
    }
    for key in OF_ITEMS {
        if let (Some(span), false) = (fields.key_span(key), fields.has("iter_key")) {
            notes
                .report
                .error(
                    span,
                    "missing_key",
                    format!("`{key}` in {what} needs `iter_key`"),
                )
                .help("add `iter_key`, or remove it");
        }
    }
    if let (Some(span), "state_id") = (fields.key_span("per_item"), *only) {
        notes
            .report
            .error(
                span,
                "wrong_pair",
                format!("`per_item` in {what} stands beside `state_id`"),
            )
            .help("it goes with `condition`, `switch` and `state_ids`");
    }
    let read = match *only {
        "state_id" => one(fields),
        "state_ids" => all(fields, notes),
        "condition" => condition(fields, notes),
        _ => switch(fields, notes),
    };
    read.unwrap_or(Way::Broken)
}

fn two(what: &str, first: &str, second: &str, fields: &Fields<'_>, notes: &mut Notes<'_>) -> Way {
    let spans = [first, second].map(|key| fields.key_span(key));
    let span = spans.into_iter().flatten().max_by_key(|span| span.start);
    notes
        .report
        .error(
            span.unwrap_or(fields.node.span),
            "wrong_pair",
            format!("`{first}` and `{second}` stand together in {what}"),
        )
        .help("keep one of the two; `iter_key` goes with `state_id` only");
    Way::Broken
}

/// Parses a `next` without any target.
fn nowhere(what: &str, fields: &Fields<'_>, notes: &mut Notes<'_>) -> Way {
    let span = fields.node.span;
    if fields.node.entries().is_empty() {
        notes
            .doubt(span, "empty_next", format!("{what} is empty: the run ends"))
            .help("write `state_id: end`");
        return Way::One(Named {
            text: END.to_owned(),
            span,
        });
    }
    notes
        .report
        .error(
            start_of(span),
            "missing_key",
            format!("{what} leads nowhere"),
        )
        .help("add one of `state_id`, `state_ids`, `condition` and `switch`");
    Way::Broken
}

fn one(fields: &Fields<'_>) -> Option<Way> {
    let target = named(fields, "state_id")?;
    Some(match named(fields, "iter_key") {
        Some(key) => Way::Items { target, key },
        None => Way::One(target),
    })
}

fn all(fields: &Fields<'_>, notes: &mut Notes<'_>) -> Option<Way> {
    let list = fields.get("state_ids")?;
    let targets = names(fields, "state_ids");
    if list.items().is_empty() {
        notes
            .report
            .error(list.span, "wrong_value", "`state_ids` names no state")
            .help("name the states, or write `state_id: end`");
        return None;
    }
    for (at, target) in targets.iter().enumerate() {
        let mut before = targets.iter().take(at);
        if before.any(|other| other.text == target.text) {
            notes
                .report
                .error(
                    target.span,
                    "duplicate_target",
                    format!("`{}` stands in `state_ids` twice", shown(&target.text)),
                )
                .help("remove one of the two");
        }
    }
    match targets.as_slice() {
        [only] if list.items().len() == 1 => Some(Way::One(only.clone())),
        _ => Some(Way::All(targets)),
    }
}

fn condition(fields: &Fields<'_>, notes: &mut Notes<'_>) -> Option<Way> {
    let node = fields.get("condition")?;
    let fields = CONDITION.read("the `condition`", node, notes)?;
    Some(Way::Condition {
        expression: expression(named(&fields, "expression")?, notes),
        then: named(&fields, "then")?,
        otherwise: named(&fields, "otherwise")?,
    })
}

fn switch(fields: &Fields<'_>, notes: &mut Notes<'_>) -> Option<Way> {
    let node = fields.get("switch")?;
    let fields = SWITCH.read("the `switch`", node, notes)?;
    let items = fields.get("cases").map(Node::items).unwrap_or_default();
    let mut cases = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let what = format!("case {} of the `switch`", number + 1);
        if let Some(fields) = CASE.read(&what, item, notes) {
            let condition = named(&fields, "condition").map(|text| expression(text, notes));
            cases.extend(condition.zip(named(&fields, "state_id")));
        }
    }
    Some(Way::Switch {
        cases,
        default: named(&fields, "default")?,
    })
}

/// Parses a condition, and reports errors in it.
fn expression(text: Named, notes: &mut Notes<'_>) -> Condition {
    let read = notes.expression(&text);
    Condition { text, read }
}

fn flags(fields: &Fields<'_>, notes: &mut Notes<'_>) -> Flags {
    let output_key = named(fields, "output_key");
    let clear = match fields.text("clear_context_store") {
        Some("keep_current") => Clear::KeepCurrent,
        Some(_) if fields.flag("clear_context_store") == Some(true) => Clear::Everything,
        _ => Clear::Nothing,
    };
    if let (Clear::Everything, Some(key)) = (clear, &output_key) {
        notes
            .report
            .error(
                key.span,
                "wrong_pair",
                "`clear_context_store: true` would remove what `output_key` stores",
            )
            .help("write `clear_context_store: keep_current`, or remove `output_key`");
    }
    let texts = |name: &str| -> Vec<String> {
        let texts = fields.texts(name).into_iter();
        texts.map(|(text, _)| text.to_owned()).collect()
    };
    let is = |name: &str| fields.flag(name).unwrap_or_default();
    let item_keys = Some("include_in_iterator_context")
        .filter(|key| fields.has(key))
        .map(texts);
    Flags {
        store: fields.flag("store_in_context").unwrap_or(true),
        output_key,
        clear,
        reset: texts("reset_keys_in_context_store"),
        append: is("append_to_context"),
        in_history: fields
            .flag("include_in_llm_history")
            .or_else(|| fields.flag("keep_history"))
            .unwrap_or(true),
        clear_messages: is("clear_prior_messages"),
        item_keys: item_keys.filter(|keys| !keys.iter().any(|key| key == "*")),
        override_task: is("override_task"),
        on_item_error: match fields.text("on_item_error") {
            Some("skip") => OnItemError::Skip,
            Some("collect") => OnItemError::Collect,
            _ => OnItemError::Fail,
        },
        per_item: is("per_item"),
    }
}
