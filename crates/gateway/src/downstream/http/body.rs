//! Reads the body of a request within limits.

use std::time::Duration;

use axum::{
    body::Body,
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT, CONTENT_TYPE},
    },
};
use futures_util::StreamExt as _;

use super::refuse::Refused;

/// Reads a JSON body.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
    time: Duration,
) -> Result<Vec<u8>, Refused> {
    if !is_json(headers) {
        return Err(Refused::plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "`Content-Type` must be application/json",
        ));
    }
    let too_large = || {
        let what = format!("a message may have {bytes_max} bytes");
        Refused::plain(StatusCode::PAYLOAD_TOO_LARGE, &what)
    };
    let reading = async {
        let mut bytes = Vec::new();
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let piece =
                piece.map_err(|_| Refused::plain(StatusCode::BAD_REQUEST, "the body broke off"))?;
            if bytes.len() + piece.len() > bytes_max {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    };
    tokio::time::timeout(time, reading)
        .await
        .unwrap_or_else(|_| {
            Err(Refused::plain(
                StatusCode::REQUEST_TIMEOUT,
                "the body came too slowly",
            ))
        })
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let kind = kinds.next().and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
        && kinds.next().is_none()
}

/// Checks that a client accepts the possible content types of an answer.
pub(crate) fn check_accept(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Refused> {
    if kinds.iter().all(|kind| accepts(headers, kind)) {
        return Ok(());
    }
    let what = format!("`Accept` must contain {}", kinds.join(" and "));
    Err(Refused::plain(StatusCode::NOT_ACCEPTABLE, &what))
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let lines = headers.get_all(ACCEPT).iter();
    let ranges = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','));
    let mut fitting = ranges.filter(|range| {
        let mut parts = range.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        let refused = parts.any(|parameter| {
            let parameter = parameter.to_ascii_lowercase();
            let weight = parameter.strip_prefix("q=");
            weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
        });
        !refused && fits(essence, kind)
    });
    fitting.next().is_some()
}

fn fits(range: &str, kind: &str) -> bool {
    let main = kind.split('/').next().unwrap_or_default();
    range == "*/*"
        || range.eq_ignore_ascii_case(kind)
        || range
            .strip_suffix("/*")
            .is_some_and(|of| of.eq_ignore_ascii_case(main))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_answers_must_be_taken() {
        let cases = [
            ("application/json, text/event-stream", true),
            ("text/event-stream;q=0.5, Application/JSON", true),
            ("*/*", true),
            ("application/*, text/*", true),
            ("application/json", false),
            ("text/event-stream", false),
            ("application/json, text/event-stream;q=0", false),
            ("text/html", false),
            ("", false),
        ];
        for (accept, taken) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            let kinds = ["application/json", "text/event-stream"];
            assert_eq!(check_accept(&headers, &kinds).is_ok(), taken, "{accept}");
        }
        assert!(check_accept(&HeaderMap::new(), &["text/event-stream"]).is_err());
    }
}
