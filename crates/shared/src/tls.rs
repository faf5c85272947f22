//! The encryption of connections, checked against the certificates that this machine trusts.

use crate::{certificate::ClientCertificate, error::SharedError};

/// Returns what encrypts a connection, and shows the database `shown`.
#[cfg(feature = "tls")]
pub(crate) fn connector(
    place: &str,
    shown: Option<&ClientCertificate>,
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
    let config = match shown {
        Some(shown) => {
            let (chain, key) = parsed(shown)?;
            let config = config.with_client_auth_cert(chain, key);
            config.map_err(|error| bad(crate::certificate::KEY, error))?
        }
        None => config.with_no_client_auth(),
    };
    Ok(tokio_postgres_rustls::MakeRustlsConnect::new(config))
}

/// Checks that a connection can show `shown`.
#[cfg(feature = "tls")]
pub(crate) fn check(place: &str, shown: &ClientCertificate) -> Result<(), SharedError> {
    connector(place, Some(shown)).map(drop)
}

#[cfg(feature = "tls")]
use crate::certificate::bad;

#[cfg(feature = "tls")]
type Parsed = (
    Vec<rustls::pki_types::CertificateDer<'static>>,
    rustls::pki_types::PrivateKeyDer<'static>,
);

#[cfg(feature = "tls")]
fn parsed(shown: &ClientCertificate) -> Result<Parsed, SharedError> {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

    use crate::certificate::{CERTIFICATE, KEY};

    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(shown.chain.as_bytes()).collect();
    let chain = chain.map_err(|error| bad(CERTIFICATE, error))?;
    if chain.is_empty() {
        return Err(bad(
            CERTIFICATE,
            "there is no `BEGIN CERTIFICATE` in the file: it has to be PEM",
        ));
    }
    let key = PrivateKeyDer::from_pem_slice(shown.key.as_bytes()).map_err(|_| {
        bad(
            KEY,
            "there is no private key in the file that can be read: it has to be PEM without a passphrase",
        )
    })?;
    Ok((chain, key))
}

/// Returns what would encrypt a connection: this program was built without TLS.
#[cfg(not(feature = "tls"))]
pub(crate) fn connector(
    place: &str,
    _: Option<&ClientCertificate>,
) -> Result<tokio_postgres::NoTls, SharedError> {
    Err(SharedError::NoTls {
        place: place.to_owned(),
    })
}

/// Checks that a connection can show a certificate: none can.
#[cfg(not(feature = "tls"))]
pub(crate) fn check(place: &str, _: &ClientCertificate) -> Result<(), SharedError> {
    connector(place, None).map(drop)
}
