//! Paths as text: absolute, without `.`, `..` and doubled slashes.

/// Maximum length of a path in bytes.
const BYTES_MAX: usize = 16 * 1024;

/// Why a path cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// The text contains a NUL character.
    #[error("the path contains a NUL character")]
    Nul,
    /// It is longer than any system allows.
    #[error("the path is too long")]
    TooLong,
    /// It begins at an unknown home directory.
    #[error("`~` is not known here: write the path out")]
    NoHome,
    /// The text is a `file:` URL that names another machine or is malformed.
    #[error("`{0}` is not a path on this machine: write the path out")]
    Address(String),
}

/// Makes `path` absolute and normalized: `~`, `file://` and `..` are resolved.
///
/// A relative path is resolved against `base`, which is absolute. Links are not resolved.
///
/// # Errors
/// The text is not a valid path.
pub fn normalise(path: &str, base: &str, home: Option<&str>) -> Result<String, PathError> {
    let joined = absolute(path, base, home)?;
    Ok(plain(&joined))
}

/// Makes `path` absolute and keeps `.` and `..`.
pub(crate) fn absolute(path: &str, base: &str, home: Option<&str>) -> Result<String, PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.contains('\0') {
        return Err(PathError::Nul);
    }
    if path.len() > BYTES_MAX {
        return Err(PathError::TooLong);
    }
    if let Some(address) = strip_scheme(path) {
        return address_path(address, path);
    }
    if let Some(below) = path.strip_prefix('~')
        && (below.is_empty() || below.starts_with('/'))
    {
        let home = home.ok_or(PathError::NoHome)?;
        return Ok(format!("{home}{below}"));
    }
    if path.starts_with('/') {
        return Ok(path.to_owned());
    }
    Ok(format!("{base}/{path}"))
}

/// Removes `.`, `..` and doubled slashes from an absolute path.
pub(crate) fn plain(path: &str) -> String {
    if is_plain(path) {
        return path.to_owned();
    }
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// Returns whether a path is already normalized; `false` may be wrong.
fn is_plain(path: &str) -> bool {
    let bends = |three: &[u8]| matches!(three, [b'/', b'/', _] | [b'/', b'.', b'/' | b'.']);
    path.starts_with('/')
        && !path.ends_with('/')
        && !path.ends_with("/.")
        && !path.as_bytes().windows(3).any(bends)
}

/// Returns whether `path` is `directory` or is below it; both must be normalized.
pub(crate) fn is_within(path: &str, directory: &str) -> bool {
    relative(path, directory).is_some()
}

/// Returns `path` relative to `directory`, empty for the directory itself.
pub(crate) fn relative<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    match rest.strip_prefix('/') {
        Some(below) => Some(below),
        None if rest.is_empty() => Some(""),
        None => None,
    }
}

fn strip_scheme(path: &str) -> Option<&str> {
    let (scheme, rest) = path.split_at_checked("file:".len())?;
    scheme.eq_ignore_ascii_case("file:").then_some(rest)?;
    rest.strip_prefix("//")
}

fn address_path(address: &str, whole: &str) -> Result<String, PathError> {
    let wrong = || PathError::Address(whole.chars().take(80).collect());
    let local = address.split_at_checked("localhost".len());
    let local = local.filter(|(host, _)| host.eq_ignore_ascii_case("localhost"));
    let path = local.map_or(address, |(_, path)| path);
    if !path.starts_with('/') {
        return Err(wrong());
    }
    let decoded = percent_decoded(path).ok_or_else(wrong)?;
    if decoded.contains('\0') {
        return Err(PathError::Nul);
    }
    Ok(decoded)
}

/// Returns the paths that a program may derive from `text` if it treats it as a URL.
///
/// Programs parse URLs in many ways: white space is removed, a host ignored, a scheme of their own means a file. Empty for a web
/// address.
pub(crate) fn as_address(text: &str) -> Vec<String> {
    let bare = without_white_space(text);
    let address = bare
        .split_once(':')
        .filter(|(scheme, rest)| is_scheme(scheme) && !rest.starts_with(' '));
    let Some((scheme, rest)) = address else {
        return if bare == text { Vec::new() } else { vec![bare] };
    };
    if ["http", "https", "ws", "wss"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Vec::new();
    }
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    let below = path.trim_start_matches('/');
    let mut found = vec![below.to_owned(), format!("/{below}")];
    if let Some((_, after_host)) = below.split_once('/').filter(|_| path.starts_with("//")) {
        found.push(format!("/{after_host}"));
    }
    let decoded: Vec<String> = found
        .iter()
        .filter_map(|path| percent_decoded(path))
        .collect();
    found.extend(decoded);
    found.retain(|path| path.len() > 1);
    found.dedup();
    found
}

/// Returns whether `text` is a URL of some scheme, even if split over lines.
pub(crate) fn is_address(text: &str) -> bool {
    // A longer text is content, not a location.
    text.len() <= BYTES_MAX
        && without_white_space(text)
            .split_once("://")
            .is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn without_white_space(text: &str) -> String {
    text.trim_matches(|c: char| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .map(|c| if c == '\\' { '/' } else { c })
        .collect()
}

fn is_scheme(scheme: &str) -> bool {
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[path = "path/tests.rs"]
mod tests;
