//! Tables of programs, names and options, to be checked row by row, without control flow.

pub(crate) mod forms;
pub(crate) mod git;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod outputs;
pub(crate) mod own;
pub(crate) mod plain;
pub(crate) mod programs;
pub(crate) mod reading;
pub(crate) mod remote;
pub(crate) mod results;
pub(crate) mod wrappers;
pub(crate) mod zsh;
