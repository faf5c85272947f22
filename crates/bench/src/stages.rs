//! Stages with a model, run by the program that is shipped: what a turn adds to the exchange, and what branches take.

mod bare;
mod peer;
mod place;

use std::time::Duration;

use anyhow::Result;

use crate::{arguments::Arguments, sample::median, table::Table};
use place::StageRoom;

pub(crate) use peer::langgraph;

/// Messages of the model in a short and in a long stage; what a turn costs is what lies between.
const SHORT: usize = 10;
const LONG: usize = 110;
/// Runs of each; they take turns.
const ROUNDS: usize = 7;
/// Most that a turn may add at the median.
const ADDED_MOST: Duration = Duration::from_millis(2);
/// Stages at once, and messages of the model in each.
const BRANCHES_FEW: usize = 10;
const BRANCHES_MANY: usize = 100;
const BRANCH_TURNS: usize = 5;
/// Runs whose greatest peak counts.
const PEAKS: usize = 3;
/// How often the memory of ten branches a hundred may take: "flat".
const FLAT_MOST: f64 = 1.5;

/// Measures a turn with a cheap tool beside a bare loop of the same exchanges, made by the same client.
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

/// Returns what a turn takes, given the times of the long stage and of the short one.
fn a_turn(long: Duration, short: Duration) -> Duration {
    let turns = u32::try_from(LONG - SHORT).unwrap_or(u32::MAX);
    long.saturating_sub(short) / turns
}

/// Measures the memory of a hundred branches beside that of ten.
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
