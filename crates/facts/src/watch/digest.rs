//! The contents of a file, as far as they are compared.

use sha2::{Digest as _, Sha256};

use super::settings;
use crate::{
    disk::{Disk, Kind, Stamp},
    protected::Compared,
};

/// Maximum size of a file that is read, in bytes; for a larger one, its stamp is compared.
const BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Returns a digest of what is compared; `None` if the file contains nothing of that.
pub(super) fn of(path: &str, compared: Compared, stamp: &Stamp, disk: &dyn Disk) -> Option<String> {
    let link = stamp.link.as_deref().unwrap_or_default();
    if stamp.kind != Kind::File {
        return Some(format!("{:?} {link}", stamp.kind));
    }
    let Ok(Some(bytes)) = disk.read(path, BYTES_MAX) else {
        return Some(format!("{:?} {:?} {link}", stamp.numbers, stamp.times));
    };
    let text = || String::from_utf8_lossy(&bytes);
    let kept = match compared {
        Compared::Settings => settings::json(&bytes),
        Compared::Toml => settings::toml(&text()),
        Compared::Git => settings::git(&text()),
        Compared::Lines => settings::lines(&text()),
        Compared::Not | Compared::Whole | Compared::Parts(_) => {
            return Some(whole(&bytes, link, stamp.runs()));
        }
    };
    match kept {
        Some(kept) if kept.is_empty() && link.is_empty() => None,
        Some(kept) => Some(whole(kept.as_bytes(), link, false)),
        None => Some(whole(&bytes, link, false)),
    }
}

fn whole(bytes: &[u8], link: &str, runs: bool) -> String {
    let mut hash = Sha256::new();
    hash.update([u8::from(runs)]);
    hash.update(u64::try_from(link.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash.update(link.as_bytes());
    hash.update(bytes);
    crate::canonical::hex(&hash.finalize())
}
