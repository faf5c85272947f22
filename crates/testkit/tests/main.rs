//! The tests of this crate from outside, as one program.

mod e2e_claude_code;
mod e2e_real_clients;
mod scripted_model;
