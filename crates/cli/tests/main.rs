//! Integration tests of this crate, as one program.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

mod approvals;
mod attest;
mod authoring;
mod backtest;
mod begin_at_once;
mod ci_scripts;
mod codemie_tools;
mod commands;
mod compare;
mod console;
mod convert;
mod corpus_through_hook;
mod docs;
mod e2e_backtest;
mod e2e_claude;
mod e2e_clients;
mod e2e_confined;
mod e2e_console;
mod e2e_editors;
mod e2e_escape;
mod e2e_grants;
mod e2e_journeys;
mod e2e_mods;
mod e2e_plugins;
mod e2e_prompts;
mod e2e_sessions;
mod e2e_steps;
mod e2e_substance;
mod editors;
mod examples;
mod exec;
mod exec_evidence;
mod exec_person;
mod exec_planned;
mod findings;
mod flowstate_runs;
mod foreign_text;
mod fuzz_targets;
mod guard;
mod hook_clients;
mod hook_process;
mod init;
mod kernel_alone;
mod kill_sweep;
mod mcp_conformance;
mod mcp_governed;
mod mcp_inspector;
mod mcp_load;
mod mcp_shared;
mod mcp_stdio;
mod mcp_tools;
mod mcp_trusted;
mod model_runs;
mod notify;
mod offer;
mod opencode_plugin;
mod packages;
mod people;
mod persons_door;
mod progress;
mod protected;
mod prove;
mod published;
mod recording;
mod reference_pages;
mod review;
mod run;
mod run_inputs;
mod stages;
mod support;
mod telemetry;
mod watch;

// The targets of `fuzz` name their engine; this crate takes its name.
extern crate self as libfuzzer_sys;
use fuzz_targets::fuzz_target;
