//! A tool call as facts: what it would write, run and touch.

mod shell;

pub use shell::{
    CommandClass, CommandSpan, EnvSet, EnvUse, NetworkDirection, NetworkUse, PathText, PathUse,
    Probe, ShellAsk, ShellFacts, SimpleCommand, Word,
};
