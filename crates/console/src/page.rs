//! The built page, embedded at compile time.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::Response,
};

use crate::reply::{Answered, Problem};

/// Every file below `dist`, by its path relative to it.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Headers of every response, both of pages and of the API.
const HEADERS: [(header::HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        header::HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (header::CACHE_CONTROL, "no-store"),
];

/// Adds the protective headers to a response.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Returns a file of the page as text; empty if there is none.
pub(crate) fn text(wanted: &str) -> &'static str {
    let found = FILES.iter().find(|(name, _)| *name == wanted);
    found
        .and_then(|(_, bytes)| std::str::from_utf8(bytes).ok())
        .unwrap_or_default()
}

/// Responds with a file of the page.
pub(crate) async fn file(uri: Uri) -> Answered {
    let wanted = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    let found = FILES.iter().find(|(name, _)| *name == wanted);
    let (name, bytes) = found
        .filter(|(name, _)| *name != "manifest.json")
        .ok_or_else(|| Problem::unknown(format!("there is no `{}`", uri.path())))?;
    let mut response = Response::new(Body::from(*bytes));
    *response.status_mut() = StatusCode::OK;
    let kind = HeaderValue::from_static(media_type(name));
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]
mod tests {
    use serde_json::Value;
    use sha2::{Digest as _, Sha256};

    use super::FILES;

    #[test]
    fn the_manifest_names_every_file_as_it_is() {
        let (_, manifest) = FILES
            .iter()
            .find(|(name, _)| *name == "manifest.json")
            .unwrap();
        let manifest: Value = serde_json::from_slice(manifest).unwrap();
        let named = manifest["files"].as_object().unwrap();
        assert_eq!(named.len() + 1, FILES.len(), "files and names of files");
        for (name, bytes) in FILES.iter().filter(|(name, _)| *name != "manifest.json") {
            let hash: String = Sha256::digest(bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(named[*name]["sha256"], hash, "{name}");
            assert_eq!(named[*name]["bytes"], bytes.len(), "{name}");
        }
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for (name, bytes) in FILES {
            let text = String::from_utf8_lossy(bytes);
            for sign in ["https://cdn", "//unpkg", "//fonts.", "sourceMappingURL"] {
                assert!(!text.contains(sign), "{name} has {sign}");
            }
        }
    }
}
