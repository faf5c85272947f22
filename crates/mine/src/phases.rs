//! Finds the phases of sessions, and the tools and commands used in each.

use std::collections::{BTreeMap, BTreeSet};

use interlock_core::{
    call::{CallKind, ToolCall},
    facts::CommandClass,
};

use crate::{
    evidence::Evidence,
    level::Level,
    tree::{Ways, groups, order},
};

/// A call of a session, with its kind of work.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) call: ToolCall,
    pub(crate) level: Option<Level>,
    pub(crate) exit: Option<i64>,
}

/// The observations about a phase.
#[derive(Debug, Default)]
pub(crate) struct Phase {
    /// The kinds of work in it.
    pub(crate) levels: BTreeSet<Level>,
    pub(crate) tools: BTreeSet<String>,
    pub(crate) commands: Vec<Vec<String>>,
    /// The maximum number of calls in one stay.
    pub(crate) calls: usize,
    /// The phases that may follow, by their leading kind of work.
    pub(crate) next: BTreeSet<Level>,
    /// Whether the work may end here.
    pub(crate) last: bool,
}

/// All phases, by their leading kind of work.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    pub(crate) all: BTreeMap<Level, Phase>,
    pub(crate) evidence: Evidence,
}

/// Finds the phases of sessions; returns `None` if they have no order.
pub(crate) fn phases(sessions: &[Vec<Observed>]) -> Option<Phases> {
    let traces: Vec<Vec<Level>> = sessions.iter().map(|calls| trace(calls)).collect();
    let tree = order(&traces)?;
    let groups = groups(&tree);
    let leaders: BTreeSet<&Level> = groups.values().collect();
    if groups.len() > 1 && leaders.len() == 1 {
        // One phase with all kinds of work would allow anything in any order, too.
        return None;
    }
    let leader = |level: Level| groups.get(&level).copied().unwrap_or(Level::Look);
    let ways = Ways::of(&tree);
    let mut found = Phases::default();
    for level in groups.keys() {
        found
            .all
            .entry(leader(*level))
            .or_default()
            .levels
            .insert(*level);
    }
    for (from, to) in &ways.pairs {
        let (from, to) = (leader(*from), leader(*to));
        if from != to {
            found.all.entry(from).or_default().next.insert(to);
        }
    }
    for level in &ways.last {
        found.all.entry(leader(*level)).or_default().last = true;
    }
    let first = found.all.entry(Level::Look).or_default();
    first.levels.insert(Level::Look);
    first.next = ways.first.iter().map(|level| leader(*level)).collect();
    first.last = ways.empty;
    for calls in sessions {
        walk(&mut found, calls, leader);
    }
    Some(found)
}

/// Returns the sequence of the kinds of work, without reading, which goes on in every phase.
fn trace(calls: &[Observed]) -> Vec<Level> {
    let levels = calls.iter().filter_map(|one| one.level);
    let mut trace: Vec<Level> = levels.filter(|level| *level != Level::Look).collect();
    trace.dedup();
    trace
}

/// Records the tools, commands and calls of one session in its phases.
fn walk(found: &mut Phases, calls: &[Observed], leader: impl Fn(Level) -> Level) {
    let mut at = Level::Look;
    let mut stay = 0;
    found.evidence.start();
    for one in calls {
        if let Some(level) = one.level.filter(|level| *level != Level::Look)
            && leader(level) != at
        {
            at = leader(level);
            stay = 0;
            found.evidence.began(Some(at));
        }
        stay += 1;
        found.evidence.ended(&one.call, one.exit);
        let phase = found.all.entry(at).or_default();
        phase.calls = phase.calls.max(stay);
        if !matches!(one.call.kind, CallKind::Conversation | CallKind::Control(_)) {
            let name = one.call.common.as_ref().unwrap_or(&one.call.tool);
            phase.tools.insert(name.clone());
        }
        let shell = one
            .call
            .facts
            .shell
            .iter()
            .flat_map(|shell| &shell.commands);
        let shell = shell.filter(|command| command.class != CommandClass::Nothing);
        phase.commands.extend(shell.filter_map(|command| {
            let words = command.words.iter().map_while(|word| word.literal());
            let words: Vec<String> = words.map(str::to_owned).collect();
            (!words.is_empty()).then_some(words)
        }));
    }
    found.evidence.began(None);
}
