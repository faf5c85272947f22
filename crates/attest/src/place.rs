//! What a repository is called, whatever address it is fetched from.

/// Returns `host/path` for the address of a repository; `None`: it lies on this machine, or has no host.
///
/// Names of users, passwords, ports and `.git` at the end are left out.
#[must_use]
pub fn repository_name(address: &str) -> Option<String> {
    let address = address.trim().trim_end_matches('/');
    let (host, path) = match address.split_once("://") {
        Some((scheme, rest)) => {
            let is_remote = matches!(scheme, "https" | "http" | "ssh" | "git" | "git+ssh");
            is_remote.then(|| rest.split_once('/'))??
        }
        // As ssh takes it: `git@host:path`.
        None => match address.split_once(':') {
            Some((host, path)) if !host.contains('/') => (host, path),
            Some(_) => return None,
            None => address
                .split_once('/')
                .filter(|(host, _)| host.contains('.'))?,
        },
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_host = !host.is_empty() && !host.starts_with('.');
    (is_host && !path.is_empty()).then(|| format!("{}/{path}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::repository_name;

    #[test]
    fn one_repository_has_one_name() {
        for address in [
            "https://github.com/acme/shop.git",
            "https://ana:secret@GitHub.com/acme/shop/",
            "git@github.com:acme/shop.git",
            "ssh://git@github.com:22/acme/shop",
            "github.com/acme/shop",
        ] {
            let name = repository_name(address);
            assert_eq!(name.as_deref(), Some("github.com/acme/shop"), "{address}");
        }
        for address in [
            "",
            "/srv/git/shop.git",
            "../shop",
            "file:///srv/shop",
            "shop",
            "https://github.com",
        ] {
            assert_eq!(repository_name(address), None, "{address}");
        }
    }
}
