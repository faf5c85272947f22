//! The control tools, with a real store and real MCP frames.

mod asked;
mod changed_tools;
mod configured;
mod drafts;
mod governed;
mod governed_files;
mod governed_results;
mod governed_session;
mod made_up;
mod moves;
mod protocol;
mod start;
mod which_run;
mod whose_call;
mod world;
