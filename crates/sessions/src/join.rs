//! Merges the calls of sub-agents into their sessions.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Format,
    session::{Call, Session},
    transcript::Transcript,
};

/// Creates sessions from transcripts; a call in several files counts once.
#[must_use]
pub fn join(transcripts: Vec<Transcript>) -> Vec<Session> {
    let (own, of_agents): (Vec<_>, Vec<_>) = transcripts
        .into_iter()
        .partition(|one| !is_of_an_agent(one));
    let mut sessions: Vec<Session> = own.into_iter().map(alone).collect();
    let mut by_id: BTreeMap<(Format, String), usize> = BTreeMap::new();
    for (index, session) in sessions.iter().enumerate() {
        by_id
            .entry((session.format, session.id.clone()))
            .or_insert(index);
    }
    for part in of_agents {
        let leader = part.parent.clone().unwrap_or_else(|| part.session.clone());
        match by_id
            .get(&(part.format, leader))
            .and_then(|at| sessions.get_mut(*at))
        {
            Some(session) => add(session, part),
            // Its session is not among the files.
            None => sessions.push(alone(part)),
        }
    }
    let mut seen = BTreeSet::new();
    for session in &mut sessions {
        let before = session.calls.len();
        // Clients copy the beginning of a session into another one that continues it.
        session.calls.retain(|call| {
            call.at_ms.is_none() || seen.insert((call.id.clone(), call.tool.clone(), call.at_ms))
        });
        let gone = before - session.calls.len();
        session.losses.repeated += u64::try_from(gone).unwrap_or(u64::MAX);
    }
    sessions
}

/// Returns whether a file contains only calls of a sub-agent.
fn is_of_an_agent(one: &Transcript) -> bool {
    let all_of_agents = !one.calls.is_empty() && one.calls.iter().all(|call| call.agent.is_some());
    one.agent.is_some() || one.format == Format::ClaudeCode && all_of_agents
}

/// Creates a session from one file.
pub(crate) fn alone(mut one: Transcript) -> Session {
    name_agent(&mut one);
    Session {
        id: one.session,
        source: one.source,
        format: one.format,
        client: one.client,
        version: one.version,
        directory: one.directory,
        calls: one.calls,
        losses: one.losses,
    }
}

fn name_agent(one: &mut Transcript) {
    if let Some(agent) = &one.agent {
        for call in &mut one.calls {
            call.agent.get_or_insert_with(|| agent.clone());
        }
    }
}

/// Adds the calls of a sub-agent in order of time.
fn add(session: &mut Session, mut part: Transcript) {
    name_agent(&mut part);
    session.losses.add(&part.losses);
    let own = std::mem::take(&mut session.calls);
    session.calls = merged(own, part.calls);
}

/// Merges two lists, each in its own order; a call without a time follows the one before it.
fn merged(one: Vec<Call>, other: Vec<Call>) -> Vec<Call> {
    let timed = |calls: Vec<Call>| {
        let mut last = 0;
        calls.into_iter().map(move |call| {
            last = call.at_ms.unwrap_or(last).max(last);
            (last, call)
        })
    };
    let mut all: Vec<(u64, Call)> = timed(one).chain(timed(other)).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, call)| call).collect()
}
