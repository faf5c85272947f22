//! One module a command.

pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod gateway;
pub(crate) mod graph;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod pages;
pub(crate) mod people;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod telemetry;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod watch;
