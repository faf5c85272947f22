//! The encryption of connections, checked against the certificates that this machine trusts.

use crate::error::SharedError;

/// Returns what encrypts a connection.
#[cfg(feature = "tls")]
pub(crate) fn connector(
    place: &str,
) -> Result<tokio_postgres_rustls::MakeRustlsConnect, SharedError> {
    use std::sync::Arc;

    use rustls_platform_verifier::BuilderVerifierExt as _;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_platform_verifier());
    let config = config.map_err(|error| SharedError::Failed {
        place: place.to_owned(),
        what: format!("no TLS on this machine: {error}"),
    })?;
    Ok(tokio_postgres_rustls::MakeRustlsConnect::new(
        config.with_no_client_auth(),
    ))
}

/// Returns what would encrypt a connection: this program was built without TLS.
#[cfg(not(feature = "tls"))]
pub(crate) fn connector(place: &str) -> Result<tokio_postgres::NoTls, SharedError> {
    Err(SharedError::NoTls {
        place: place.to_owned(),
    })
}
