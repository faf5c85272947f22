//! How clients reach a session.

pub mod stdio;
