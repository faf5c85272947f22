//! Regions below a state: started, ended, joined.
//!
//! [`branches`] runs the branches of a fork, [`converge`] lines of a fork that meet, [`items`] a line for each
//! item of an output, [`sequence`] a machine for each line of text, one after the other. [`reach`] says which
//! lines wait for which others, [`room`] how many may be at work.

mod branches;
mod converge;
mod items;
mod reach;
mod room;
mod sequence;

pub(super) use sequence::of_item;

use super::Work;
use crate::{
    event::{Event, RegionsStart},
    names::FramePath,
    refusal::Refusal,
};

impl Work<'_> {
    /// Starts regions and settles each, in their order.
    fn start_regions(&mut self, path: &FramePath, start: RegionsStart) -> Result<(), Refusal> {
        let regions = start.regions(path).into_iter().map(|(region, _)| region);
        let regions: Vec<FramePath> = regions.collect();
        self.emit(Event::RegionsStarted {
            path: path.clone(),
            start,
        });
        // The last is taken first: what is due is a stack.
        regions
            .iter()
            .rev()
            .try_for_each(|region| self.settle(region))
    }
}
