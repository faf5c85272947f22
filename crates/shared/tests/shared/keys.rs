//! Keys for tests, and files with them.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use interlock_attest::SecretKey;

/// Returns the key that is made of one byte.
pub(crate) fn key(byte: u8) -> Arc<SecretKey> {
    Arc::new(SecretKey::from_seed(&[byte; 32]).unwrap())
}

/// Writes a private key and its public part, as `NAME.key` and `NAME.pub`.
pub(crate) fn write(folder: &Path, name: &str, byte: u8) {
    fs::create_dir_all(folder).unwrap();
    let private = folder.join(format!("{name}.key"));
    fs::write(&private, SecretKey::pem_of_seed(&[byte; 32])).unwrap();
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    let public = key(byte).public().to_pem();
    fs::write(folder.join(format!("{name}.pub")), public).unwrap();
}
