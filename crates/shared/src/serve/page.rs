//! The team's console: a page that is embedded at compile time, and speaks only to the API of this server.
//!
//! The page is what anybody may load: whatever it shows, it reads with the token of the person who looks at it.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use interlock_store::ChainHash;

use super::{handle::one, problem::Problem};

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

/// The files of the page, which `cargo xtask console` builds.
const FILES: &[File] = &[
    File {
        path: "/",
        kind: "text/html; charset=utf-8",
        bytes: include_bytes!("../../dist/index.html"),
    },
    File {
        path: "/team.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../dist/team.js"),
    },
    File {
        path: "/team.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("../../dist/team.css"),
    },
    File {
        path: "/icon.svg",
        kind: "image/svg+xml",
        bytes: include_bytes!("../../dist/icon.svg"),
    },
];

/// The addresses of the page's files.
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.path)
}

/// Headers of every file.
const HEADERS: [(HeaderName, &str); 7] = [
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
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    // Always the page of the server that answers: a browser asks whether it has changed.
    (header::CACHE_CONTROL, "no-cache"),
];

/// Responds with a file of the page.
pub(super) async fn file(uri: Uri, headers: HeaderMap) -> Response {
    let Some(file) = FILES.iter().find(|file| file.path == uri.path()) else {
        return Problem::internal().into_response();
    };
    let tag = format!("\"{}\"", ChainHash::of_parts(&[file.bytes]));
    let is_known = one(&headers, &header::IF_NONE_MATCH) == Some(&tag);
    let mut response = Response::new(match is_known {
        true => Body::empty(),
        false => Body::from(file.bytes),
    });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let kind = HeaderValue::from_static(file.kind);
    headers.insert(header::CONTENT_TYPE, kind);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]
mod tests {
    use std::fmt::Write as _;

    use ring::digest::{SHA256, digest};
    use serde_json::Value;

    use super::FILES;

    #[test]
    fn the_manifest_names_every_file_as_it_is() {
        let manifest = include_str!("../../dist/manifest.json");
        let manifest: Value = serde_json::from_str(manifest).unwrap();
        let named = manifest["files"].as_object().unwrap();
        assert_eq!(named.len(), FILES.len(), "files and names of files");
        for file in FILES {
            let name = match file.path {
                "/" => "index.html",
                path => path.trim_start_matches('/'),
            };
            let mut hash = String::new();
            for byte in digest(&SHA256, file.bytes).as_ref() {
                write!(hash, "{byte:02x}").unwrap();
            }
            assert_eq!(named[name]["sha256"], hash, "{name}");
            assert_eq!(named[name]["bytes"], file.bytes.len(), "{name}");
        }
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for file in FILES {
            let text = String::from_utf8_lossy(file.bytes);
            for sign in ["https://cdn", "//unpkg", "//fonts.", "sourceMappingURL"] {
                assert!(!text.contains(sign), "{} has {sign}", file.path);
            }
        }
    }
}
