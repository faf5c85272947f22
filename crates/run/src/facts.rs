//! The facts of a tool call: what it would write, run and touch.

mod shell;
mod words;

pub use shell::{
    CommandClass, CommandSpan, EnvSet, EnvUse, NetworkDirection, NetworkUse, PathText, PathUse,
    Probe, ShellAsk, ShellFacts, SimpleCommand, Word,
};
pub use words::{
    Beside, HandsOut, InlineCode, Relocated, Selection, Steering, SteersPrograms, WordUse,
};
