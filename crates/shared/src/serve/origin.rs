//! Refuses requests of pages of other sites.
//!
//! Every request that reads or changes something carries a token in a header, which no other site knows: there are no
//! cookies that a browser would send by itself. What is refused here would fail for want of a token; it is refused before
//! anything looks at it.

use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};

use super::{handle::one, problem::Problem};

/// Where a request comes from, as browsers say and no page can.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Checks that a request comes from the server's own page, or from no page.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Problem> {
    let is_own = if headers.contains_key(SITE) {
        // `none`: a person has typed the address.
        matches!(one(headers, &SITE), Some("same-origin" | "none"))
    } else if headers.contains_key(header::ORIGIN) {
        let host = one(headers, &header::HOST);
        let origin = one(headers, &header::ORIGIN).and_then(|text| text.parse::<Uri>().ok());
        let from = origin.and_then(|origin| origin.authority().map(ToString::to_string));
        from.is_some() && from.as_deref() == host
    } else {
        // No browser sends a request with a body, or one to another site, without either.
        true
    };
    is_own.then_some(()).ok_or_else(|| {
        let message = "a page of another site may not send requests here";
        Problem::new(StatusCode::FORBIDDEN, "other_site", message)
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_page_and_programs_send_requests() {
        let host = ("host", "team.example");
        for (headers, is_own) in [
            (vec![host], true),
            (vec![host, ("sec-fetch-site", "same-origin")], true),
            (vec![host, ("sec-fetch-site", "none")], true),
            (vec![host, ("sec-fetch-site", "same-site")], false),
            (vec![host, ("sec-fetch-site", "cross-site")], false),
            (vec![host, ("sec-fetch-site", "")], false),
            (vec![host, ("origin", "https://team.example")], true),
            (vec![host, ("origin", "https://evil.example")], false),
            (vec![host, ("origin", "https://team.example.evil")], false),
            (vec![host, ("origin", "https://team.example:8443")], false),
            (vec![host, ("origin", "null")], false),
            (vec![("origin", "https://team.example")], false),
            // A proxy may call the server otherwise than the browser does.
            (
                vec![
                    ("host", "10.0.0.1:4680"),
                    ("origin", "https://team.example"),
                    ("sec-fetch-site", "same-origin"),
                ],
                true,
            ),
            (
                vec![
                    host,
                    ("origin", "https://team.example"),
                    ("sec-fetch-site", "cross-site"),
                ],
                false,
            ),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in &headers {
                let name = HeaderName::from_static(name);
                map.append(name, value.parse().unwrap());
            }
            assert_eq!(check(&map).is_ok(), is_own, "{headers:?}");
        }
        let mut twice = HeaderMap::new();
        twice.append(SITE, "same-origin".parse().unwrap());
        twice.append(SITE, "same-origin".parse().unwrap());
        assert!(check(&twice).is_err());
    }
}
