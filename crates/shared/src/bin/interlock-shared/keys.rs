//! Files with keys.

use std::{
    error::Error, fs::File, io::Read as _, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc,
};

use interlock_attest::{PublicKey, SecretKey, public_keys};
use interlock_shared::Tenant;

use crate::commands::home;

/// The name of the private key in the state directory, which no guarded agent reads or writes.
const FILE: &str = "attest.key";
/// Maximum size of a file with keys in bytes.
const BYTES_MAX: u64 = 64 * 1024;

/// Reads a private key, which nobody else may be able to read.
pub(crate) fn private(named: Option<&Path>) -> Result<Arc<SecretKey>, Box<dyn Error>> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => home()?.path().join(FILE),
    };
    let shown = path.display();
    let advice = "`interlock attest keygen` makes one, and `--key` names another";
    let mut file = File::open(&path)
        .map_err(|error| format!("cannot read the key `{shown}`: {error}; {advice}"))?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(format!(
            "others can read the key `{shown}`: make a new one, or run `chmod 600` on it if nobody has seen it"
        )
        .into());
    }
    let text = text(&mut file, &path)?;
    let key = SecretKey::from_pem(&text).map_err(|error| format!("the key `{shown}`: {error}"))?;
    Ok(Arc::new(key))
}

/// Reads the public keys of a file; there is at least one.
pub(crate) fn public(path: &Path) -> Result<Vec<PublicKey>, Box<dyn Error>> {
    let shown = path.display();
    let mut file = File::open(path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    let text = text(&mut file, path)?;
    Ok(public_keys(&text).map_err(|error| format!("`{shown}`: {error}"))?)
}

/// A tenant, and the keys that its bundles must be signed with.
type KeysOfTenant = (Tenant, Vec<PublicKey>);

/// Reads the public keys of tenants, from `TENANT=FILE`; each tenant is named once.
pub(crate) fn of_tenants(named: &[String]) -> Result<Vec<KeysOfTenant>, Box<dyn Error>> {
    let mut found: Vec<KeysOfTenant> = Vec::new();
    for one in named {
        let (tenant, path) = one
            .split_once('=')
            .ok_or_else(|| format!("`--bundle-key {one}` is not TENANT=FILE"))?;
        let tenant = Tenant::new(tenant)?;
        if found.iter().any(|(known, _)| *known == tenant) {
            return Err(format!(
                "`--bundle-key` names tenant `{tenant}` twice: put all of its keys into one file"
            )
            .into());
        }
        found.push((tenant, public(Path::new(path))?));
    }
    Ok(found)
}

fn text(file: &mut File, path: &Path) -> Result<String, Box<dyn Error>> {
    let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(format!("`{}` is not a regular file", path.display()).into());
    }
    let mut text = String::new();
    file.take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(text)
}
