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
    machine::{OverItems, State},
    names::FramePath,
    refusal::Refusal,
};

impl Work<'_> {
    /// Returns the state around the line at `path`, if it is one of lines that meet or of items.
    fn around(&self, path: &FramePath) -> Option<(FramePath, &State)> {
        let (parent, _) = path.split_last()?;
        let frame = self.run.frame(&parent)?;
        Some((parent, frame.state(self.machine)?))
    }

    /// Returns the frame above the line at `path`, if it is one of lines that meet.
    pub(super) fn meets(&self, path: &FramePath) -> Option<FramePath> {
        let (parent, state) = self.around(path)?;
        let parallel = state.activity.parallel()?;
        parallel.meets().then_some(parent)
    }

    /// Tells whether the frame at `path` is a line of a fork that meets, or of an item.
    pub(in crate::decide) fn is_line(&self, path: &FramePath) -> bool {
        self.meets(path).is_some() || self.items_around(path).is_some()
    }

    /// Returns the frame above the line at `path` and its items, if it is the line of one.
    pub(in crate::decide) fn items_around(
        &self,
        path: &FramePath,
    ) -> Option<(FramePath, &OverItems)> {
        let (parent, state) = self.around(path)?;
        Some((parent, state.activity.items()?))
    }

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
