//! Pipelines through the built program: scripted providers, real tools, a real project.

mod budget;
mod crash;
mod grants;
mod interrupted;
mod items;
mod native;
mod people;
pub(crate) mod place;
mod races;
mod read;
mod servers;
mod shown;
mod starts;
mod sweep;
mod trace;
