//! Signing in: an issuer's ID token of a person or of a CI job is exchanged for a token of the server.
//!
//! The server trusts the issuers of its configuration, and each only for the tenant, the audience and the claims that
//! stand there. It verifies signatures with the keys that the issuer publishes, and needs no secret of its own.
//!
//! **Invariant.** Whatever is missing, unknown or of another type is refused. No ID token is exchanged twice.

mod browser;
mod claims;
mod config;
mod flaw;
mod jwt;
mod keys;
mod rows;

pub use config::{BadSignIn, SignIn};

pub(crate) use browser::{Asked, NoToken};
pub(crate) use claims::{Claimed, Proof};
pub(crate) use config::Entry;
pub(crate) use flaw::Flaw;
pub(crate) use jwt::Jwt;
pub(crate) use keys::{IssuerAway, Keys};
pub(crate) use rows::Exchange;

#[cfg(test)]
mod tests;
