//! The run that shows a difference, played in both versions.

use interlock_core::{machine::Object, run::Run};
use interlock_formats::Lines;

use super::Search;
use crate::{
    against::{Permission, asks},
    hash::{at, short},
    moves::Act,
    replay::Player,
};

impl Search {
    /// Plays what shows a difference in both versions.
    pub(super) fn shown(
        &self,
        pair: usize,
        act: &Act,
        what: &str,
        lines: Option<&Lines>,
    ) -> Result<Permission, String> {
        let mut acts: Vec<(Act, bool)> = Vec::new();
        let mut number = short(pair);
        let mut input = Object::new();
        while let Some(one) = self.pairs.get(at(number)) {
            match &one.act {
                Act::Start(data) => {
                    input = self
                        .new
                        .model
                        .cells
                        .data
                        .get(*data)
                        .cloned()
                        .unwrap_or_default();
                }
                act => acts.push((act.clone(), one.alone)),
            }
            number = one.from;
        }
        acts.reverse();
        let mut new = Player::begin(&self.new.model, input.clone(), lines);
        let mut old = Player::begin(&self.old.model, input.clone(), None);
        for (act, alone) in &acts {
            new.step(act)?;
            if !alone {
                old.step(act)
                    .map_err(|why| format!("the old version: {why}"))?;
            }
        }
        if matches!(act, Act::Start(_)) {
            let played = new.end();
            return Ok(Permission {
                what: what.to_owned(),
                input,
                trace: played.trace,
                refusal: "the run continues, and calls are judged".to_owned(),
            });
        }
        new.step(act)?;
        let refusal = match old.clone().step(act) {
            Err(why) => why,
            Ok(()) if asks(&new_run(&old, act)?) => "a person is asked".to_owned(),
            Ok(()) => return Err("the old version permits it, too".to_owned()),
        };
        let played = new.end();
        Ok(Permission {
            what: what.to_owned(),
            input,
            trace: played.trace,
            refusal,
        })
    }
}

/// Plays one more step, and returns the run after it.
fn new_run(player: &Player<'_>, act: &Act) -> Result<Run, String> {
    let mut next = player.clone();
    next.step(act)?;
    Ok(next.simulation.run().clone())
}
