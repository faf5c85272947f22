//! How clients reach a session.

pub mod http;
pub mod stdio;
