//! What every workflow is to be: it can end, all of it can happen, and no answer of a person is a dead end.

use std::collections::BTreeSet;

use interlock_core::machine::Target;

use crate::{
    facts::Taken,
    graph::Graph,
    machine::machines,
    model::{Model, Standing},
    moves::Act,
    reach::{Way, backwards, search},
};

/// Something that is not sound.
#[derive(Debug)]
pub(crate) struct Unsound {
    pub(crate) message: String,
    /// How one gets there; `None`: it is about what never happens.
    pub(crate) way: Option<Way>,
}

/// Returns for each node whether the run can still end.
fn can_end(graph: &Graph) -> Vec<bool> {
    let ended = graph
        .nodes
        .iter()
        .map(|node| node.ended.is_some())
        .collect();
    backwards(graph, ended, &|_| true)
}

/// Finds a state of the graph from which no end is possible; `exhausted` tells of which kind.
pub(crate) fn no_end(model: &Model, graph: &Graph, exhausted: bool) -> Option<Unsound> {
    let can = can_end(graph);
    let stuck = |node: usize| {
        can.get(node) == Some(&false)
            && graph
                .nodes
                .get(node)
                .is_some_and(|node| node.exhausted == exhausted)
    };
    // Runs get to every state of the graph, so that without such a state no way has to be searched for.
    (0..graph.nodes.len()).find(|node| stuck(*node))?;
    let way = search(graph, None, &|_, node| stuck(node))?;
    let what = if exhausted {
        "limits are used up and the run can end no more"
    } else {
        "the run can end no more"
    };
    let _ = model;
    Some(Unsound {
        message: what.to_owned(),
        way: Some(way),
    })
}

/// Lists states, transitions and interrupts that never happen.
pub(crate) fn never(model: &Model, graph: &Graph) -> Vec<Unsound> {
    let mut entered: BTreeSet<&Standing> = BTreeSet::new();
    let mut taken: BTreeSet<&Taken> = BTreeSet::new();
    let mut asked: BTreeSet<Taken> = BTreeSet::new();
    let mut raised: BTreeSet<&str> = BTreeSet::new();
    for label in &graph.labels {
        entered.extend(&label.facts.entered);
        taken.extend(&label.facts.taken);
        raised.extend(label.facts.raised.iter().map(String::as_str));
        asked.extend(label.facts.taken.iter().cloned());
    }
    let mut found = Vec::new();
    let mut say = |message: String| found.push(Unsound { message, way: None });
    for (key, machine) in machines(&model.machine) {
        let of = key
            .as_ref()
            .map_or_else(String::new, |key| format!(" of `{key}`"));
        for (name, state) in machine
            .states
            .iter()
            .filter(|(_, state)| state.shown_as.is_none())
        {
            let standing = (key.clone(), name.clone());
            if !entered.contains(&standing) {
                say(format!("no run enters `{name}`{of}"));
                continue;
            }
            if state.raises_own_events() {
                continue;
            }
            for (event, rule) in &state.on {
                for (index, transition) in rule.transitions.iter().enumerate() {
                    if matches!(transition.target, Target::End(_)) {
                        continue;
                    }
                    let one = (standing.clone(), event.to_string(), index);
                    if !taken.contains(&one) {
                        let branch = if rule.branched {
                            format!("branch {} of ", index + 1)
                        } else {
                            String::new()
                        };
                        say(format!("no run takes {branch}`{event}` from `{name}`{of}"));
                    }
                }
            }
        }
        for name in machine.interrupts.keys() {
            if !raised.contains(name.as_str()) {
                say(format!("no run raises the interrupt `{name}`{of}"));
            }
        }
    }
    found
}

/// Finds a person's no after which only a yes to the same question leads to an end.
pub(crate) fn no_refusal(graph: &Graph) -> Option<(bool, Option<Unsound>)> {
    let mut events: BTreeSet<&str> = BTreeSet::new();
    for label in &graph.labels {
        if matches!(label.act, Act::Reject { .. }) {
            events.extend(label.facts.rejected.iter().map(String::as_str));
        }
    }
    if events.is_empty() {
        return None;
    }
    for event in events {
        let ended = graph
            .nodes
            .iter()
            .map(|node| node.ended.is_some())
            .collect();
        let may = |label: u32| {
            graph
                .label(label)
                .is_none_or(|label| !label.facts.approved.iter().any(|one| one == event))
        };
        let can = backwards(graph, ended, &may);
        let refused = |label: u32, node: usize| {
            can.get(node) == Some(&false)
                && graph
                    .label(label)
                    .is_some_and(|label| label.facts.rejected.iter().any(|one| one == event))
        };
        if let Some(way) = search(graph, None, &refused) {
            let message = format!(
                "a person says no to `{event}`, and no end is possible without a yes to it"
            );
            return Some((
                true,
                Some(Unsound {
                    message,
                    way: Some(way),
                }),
            ));
        }
    }
    Some((true, None))
}
