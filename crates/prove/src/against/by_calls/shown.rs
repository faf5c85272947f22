//! The run that shows what is newly permitted, played in the new version.

use interlock_formats::Lines;

use super::{First, Searched};
use crate::{
    against::{Permission, Side},
    hash::{at, short},
    moves::Act,
    replay::Player,
};

impl Searched {
    /// Plays what shows a difference in the new version.
    pub(super) fn shown(
        &self,
        side: &Side,
        first: &First,
        lines: Option<&Lines>,
    ) -> Result<Permission, String> {
        let mut acts: Vec<(&Act, u64)> = Vec::new();
        let mut number = short(first.node);
        let mut input = Default::default();
        while let Some(one) = self.nodes.get(at(number)) {
            match &one.act {
                Act::Start(data) => {
                    let all = &side.model.cells.data;
                    input = all.get(*data).cloned().unwrap_or_default();
                }
                act => acts.push((act, one.times)),
            }
            number = one.from;
        }
        acts.reverse();
        if !matches!(first.act, Act::Start(_)) {
            acts.push((&first.act, first.before + 1));
        }
        let mut player = Player::begin(&side.model, input, lines);
        for (act, times) in acts {
            player.step(&repeated(act, times))?;
        }
        let played = player.end();
        let states: Vec<String> = first
            .states
            .iter()
            .map(|state| format!("`{state}`"))
            .collect();
        let refusal = match first.act {
            Act::Start(_) => format!(
                "after the same calls it may be in {}, and no event ends the run without a person",
                states.join(", ")
            ),
            _ => format!(
                "after the same calls it may be in {}, and refuses this one in each",
                states.join(", ")
            ),
        };
        Ok(Permission {
            what: first.what.clone(),
            input: played.input,
            trace: played.trace,
            refusal,
        })
    }
}

/// Returns an act that is done several times.
fn repeated(act: &Act, times: u64) -> Act {
    let mut act = act.clone();
    if let Act::Call { times: own, .. } = &mut act {
        *own = times;
    }
    act
}
