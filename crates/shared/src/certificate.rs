//! The certificate by which a database knows the machine that connects.

use std::{
    ffi::OsString,
    fmt, fs,
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::error::SharedError;

/// The variable with the path of the certificate, as for PostgreSQL's own programs.
pub const CERTIFICATE: &str = "PGSSLCERT";
/// The variable with the path of its private key.
pub const KEY: &str = "PGSSLKEY";
/// Maximum size of each file in bytes.
const BYTES_MAX: u64 = 64 * 1024;

/// The certificate of a client, and its private key, as PEM.
#[derive(Clone, Serialize, Deserialize)]
pub struct ClientCertificate {
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}

impl ClientCertificate {
    /// Reads the files that `PGSSLCERT` and `PGSSLKEY` name; `None`: neither is set.
    ///
    /// # Errors
    /// Only one is set, or a file cannot be read, or others than its owner can read the key.
    pub fn of_environment(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Self>, SharedError> {
        let path = |name| {
            variable(name)
                .filter(|path| !path.is_empty())
                .map(PathBuf::from)
        };
        match (path(CERTIFICATE), path(KEY)) {
            (None, None) => Ok(None),
            (Some(chain), Some(key)) => Self::read(&chain, &key).map(Some),
            (chain, _) => {
                let (set, missing) = match chain {
                    Some(_) => (CERTIFICATE, KEY),
                    None => (KEY, CERTIFICATE),
                };
                Err(bad(set, format!("`{missing}` is not set: set both")))
            }
        }
    }

    /// Reads a certificate, followed by those that have signed it, and its private key.
    ///
    /// # Errors
    /// A file cannot be read, or others than its owner can read the key.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, SharedError> {
        let (chain, _) = text(chain)?;
        let (text, open) = text(key)?;
        // As PostgreSQL's own programs have it: a key of root may be readable by a group.
        let found = open.metadata().map_err(|error| bad(key.display(), error))?;
        let others = if found.uid() == 0 { 0o037 } else { 0o077 };
        if found.mode() & others != 0 {
            let what = format!(
                "others can read the private key: `chmod 600 {}`",
                key.display()
            );
            return Err(bad(key.display(), what));
        }
        Ok(Self { chain, key: text })
    }
}

fn text(path: &Path) -> Result<(String, fs::File), SharedError> {
    let bad = |error: std::io::Error| bad(path.display(), error);
    let file = fs::File::open(path).map_err(bad)?;
    let mut text = String::new();
    (&file)
        .take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(bad)?;
    Ok((text, file))
}

pub(crate) fn bad(file: impl fmt::Display, what: impl fmt::Display) -> SharedError {
    SharedError::BadCertificate {
        file: file.to_string(),
        what: what.to_string(),
    }
}
