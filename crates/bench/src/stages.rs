//! Measures stages with a model in the shipped program: the overhead of a turn, and the memory of branches.

mod bare;
mod peer;
mod place;

use std::time::Duration;

use anyhow::Result;

use crate::{arguments::Arguments, sample::median, table::Table};
use place::StageRoom;

pub(crate) use peer::langgraph;

/// Number of the model's messages in a short and a long stage; the difference gives the cost of a turn.
const SHORT: usize = 10;
const LONG: usize = 110;
/// Number of runs of each; they alternate.
const ROUNDS: usize = 7;
/// Maximum time that a turn may add at the median.
const ADDED_MOST: Duration = Duration::from_millis(2);
/// Number of concurrent stages, and of the model's messages in each.
const BRANCHES_FEW: usize = 10;
const BRANCHES_MANY: usize = 100;
const BRANCH_TURNS: usize = 5;
/// Number of runs whose greatest peak counts.
const PEAKS: usize = 3;
/// Maximum memory of a hundred branches relative to that of ten.
const FLAT_MOST: f64 = 1.5;

/// Compares a turn with a cheap tool and a bare loop of the same exchanges, by the same client.
pub(crate) fn turns(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let long = place::alone(LONG)?.run(&arguments.interlock)?;
        let short = place::alone(SHORT)?.run(&arguments.interlock)?;
        ours.push(a_turn(long, short));
        others.push(a_turn(bare::run(LONG)?, bare::run(SHORT)?));
    }
    let (own, other) = (median(ours), median(others));
    table.time(
        "a turn of a stage over the bare loop",
        own.saturating_sub(other),
        ADDED_MOST,
    );
    let beside = format!("bare loop: {}", crate::table::shown(other));
    table.seen(
        "a turn of a stage, the exchange included",
        crate::table::shown(own),
        beside,
        crate::table::ratio(own, other),
    );
    Ok(())
}

/// Returns the time of a turn, from the times of the long stage and of the short one.
fn a_turn(long: Duration, short: Duration) -> Duration {
    let turns = u32::try_from(LONG - SHORT).unwrap_or(u32::MAX);
    long.saturating_sub(short) / turns
}

/// Compares the memory of a hundred branches with that of ten.
pub(crate) fn branches(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let few = peak(arguments, BRANCHES_FEW)?;
    let many = peak(arguments, BRANCHES_MANY)?;
    table.memory_beside(
        format!("the peak of {BRANCHES_MANY} branches"),
        many,
        (&format!("{BRANCHES_FEW} branches"), few),
        FLAT_MOST,
    );
    Ok(())
}

fn peak(arguments: &Arguments, branches: usize) -> Result<u32> {
    let mut most = 0;
    for _ in 0..PEAKS {
        let place: StageRoom = place::fork(branches, BRANCH_TURNS)?;
        most = most.max(place.peak(&arguments.interlock)?);
    }
    Ok(most)
}
