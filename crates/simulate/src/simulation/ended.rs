//! Matches the exits of commands in an outcome with the places of the line.

use interlock_core::{begins_with, event::ProbedCommand, facts::SimpleCommand};

use crate::input::CommandEnd;

/// Refuses an exit of a command that the line does not have.
pub(super) fn known(ends: &[CommandEnd], line: &[SimpleCommand]) -> Result<(), String> {
    match ends
        .iter()
        .find(|end| !line.iter().any(|command| begins_with(command, &end.words)))
    {
        None => Ok(()),
        Some(end) => Err(format!(
            "`{}` is not a command of the last shell line",
            end.text
        )),
    }
}

/// Returns what probes would have reported, place by place.
///
/// Exits of the same words belong to the places that begin with them, in the order of the line; further ones are from repeated
/// starts.
pub(super) fn probed(ends: &[CommandEnd], line: &[SimpleCommand]) -> Vec<ProbedCommand> {
    let mut probed: Vec<ProbedCommand> = Vec::new();
    for (at, end) in ends.iter().enumerate() {
        let before = ends
            .iter()
            .take(at)
            .filter(|other| other.words == end.words)
            .count();
        let mut places: Vec<usize> = line
            .iter()
            .filter(|command| begins_with(command, &end.words))
            .filter_map(|command| command.probe)
            .map(|probe| probe.span.start)
            .collect();
        places.dedup();
        let Some(place) = places.get(before).or(places.last()) else {
            continue;
        };
        match probed.iter_mut().find(|known| known.at == *place) {
            Some(known) => known.exits.push(end.exit),
            None => probed.push(ProbedCommand {
                at: *place,
                exits: vec![end.exit],
            }),
        }
    }
    probed
}
