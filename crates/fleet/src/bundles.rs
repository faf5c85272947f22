//! The current bundle of a server: the bodies of its routes, and a client for them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    client::Server,
    error::FleetError,
    wire::{StartBody, Started},
};

/// The longest time that a start may take: two workflows may be compared.
const START_TIME: Duration = Duration::from_secs(60);

/// Any JSON object.
type AnyObject = std::collections::BTreeMap<String, serde_json::Value>;

/// The current bundle of a tenant.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BundleView {
    /// Its name.
    pub name: String,
    /// Its revision.
    pub revision: u64,
    /// When it is no longer valid, in milliseconds since 1970.
    pub expires_ms: u64,
    /// The id of the key that has signed it.
    pub key: String,
    /// Newer ones that are not used.
    pub refused: Vec<RefusedBundle>,
    /// The bundle as it was published: a manifest in a DSSE envelope, and the files.
    #[schemars(with = "AnyObject")]
    pub bundle: Box<RawValue>,
}

/// A bundle that is not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedBundle {
    /// The revision under which it is stored.
    pub revision: u64,
    /// A stable code.
    pub code: String,
    /// One sentence, with what is wrong.
    pub message: String,
}

/// Reads the current bundle of the token's tenant.
///
/// # Errors
/// The server does not answer, or has no bundle that is good.
pub fn current_bundle(server: &str, token: &str) -> Result<BundleView, FleetError> {
    let server = Server::new(server, token)?;
    let bytes = server.get("v1/bundles/current", Duration::ZERO)?;
    read(&server, &bytes)
}

/// Starts a run.
///
/// # Errors
/// The server does not answer, or refuses the start.
pub fn start_run(server: &str, token: &str, body: &StartBody) -> Result<Started, FleetError> {
    let server = Server::new(server, token)?;
    let body = serde_json::to_vec(body).map_err(|error| unreadable(&server, &error))?;
    let bytes = server.post_within("v1/runs", &body, START_TIME)?;
    read(&server, &bytes)
}

fn read<T: DeserializeOwned>(server: &Server, bytes: &[u8]) -> Result<T, FleetError> {
    serde_json::from_slice(bytes).map_err(|error| unreadable(server, &error))
}

fn unreadable(server: &Server, error: &serde_json::Error) -> FleetError {
    FleetError::Unreadable {
        server: server.address().to_owned(),
        what: error.to_string(),
    }
}
