//! Regions below a state: how they start, end and join.
//!
//! [`branches`] runs the branches of a fork, [`converge`] regions that wait for each other at a state, [`items`] a region
//! for each item of an output, and [`sequence`] a machine for each line of text in turn. [`reach`] determines which regions
//! wait for which others, [`room`] how many states may be active.

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
    /// Returns the state around the region at `path`, if it is a region that converges or that of an item.
    fn around(&self, path: &FramePath) -> Option<(FramePath, &State)> {
        let (parent, _) = path.split_last()?;
        let frame = self.run.frame(&parent)?;
        Some((parent, frame.state(self.machine)?))
    }

    /// Returns the frame above the region at `path`, if it is a region that converges.
    pub(super) fn meets(&self, path: &FramePath) -> Option<FramePath> {
        let (parent, state) = self.around(path)?;
        let parallel = state.activity.parallel()?;
        parallel.meets().then_some(parent)
    }

    /// Returns whether the frame at `path` is a region that converges or that of an item.
    pub(in crate::decide) fn is_line(&self, path: &FramePath) -> bool {
        self.meets(path).is_some() || self.items_around(path).is_some()
    }

    /// Returns the frame above the region at `path` and its items, if it is the region of an item.
    pub(in crate::decide) fn items_around(
        &self,
        path: &FramePath,
    ) -> Option<(FramePath, &OverItems)> {
        let (parent, state) = self.around(path)?;
        Some((parent, state.activity.items()?))
    }

    /// Starts regions and settles each of them, in order.
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
