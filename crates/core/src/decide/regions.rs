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
