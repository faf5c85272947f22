//! Marks in place of absolute paths: records contain `@project`, `@run` or `@home`.
//!
//! A log may be moved to another folder, home or machine, where these paths differ. Recorded JSON is therefore encoded
//! before it is written, and decoded with the paths of this machine after it was read:
//!
//! - An `@` becomes `@@`, so that no text of an agent or a person can pass for a mark.
//! - A path that begins with one of the places begins with its mark instead; the longest place wins.
//!
//! INVARIANT: with the same places, decoding returns exactly the bytes that were encoded.

use std::{borrow::Cow, path::Path};

/// Names after the `@`; none is a prefix of another.
const NAMES: [&str; 3] = ["run", "project", "home"];

/// The places of a run on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Each place, by the index of its name and as text within a JSON string; empty: there is none.
    places: [String; NAMES.len()],
    /// Indexes of the places that are encoded, the longest place first.
    order: Vec<usize>,
}

impl Marks {
    /// Creates the marks of a run. An empty or relative place, or the file system's root, has no mark.
    #[must_use]
    pub fn new(run: &str, project: &str, home: &str) -> Self {
        let places = [run, project, home].map(|place| {
            let is_absolute = Path::new(place).is_absolute();
            let place = if is_absolute {
                place.trim_end_matches('/')
            } else {
                ""
            };
            inner_json(place)
        });
        let mut order: Vec<usize> = (0..NAMES.len())
            .filter(|index| places.get(*index).is_some_and(|place| !place.is_empty()))
            .collect();
        order.sort_by_key(|index| std::cmp::Reverse(places.get(*index).map_or(0, String::len)));
        Self { places, order }
    }

    /// Encodes JSON text.
    #[must_use]
    pub fn encode<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        let is_marked = |at: &usize| self.mark_at(json, *at, None).is_some();
        let candidates = json
            .iter()
            .enumerate()
            .filter(|(_, byte)| matches!(byte, b'@' | b'/'));
        let first = candidates
            .map(|(at, _)| at)
            .find(|at| json.get(*at) == Some(&b'@') || is_marked(at));
        if first.is_none() {
            return Cow::Borrowed(json);
        }
        let mut encoded = Vec::with_capacity(json.len() + 64);
        let mut before = None;
        let mut at = 0;
        while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
            let is_special = |byte: &u8| matches!(byte, b'@' | b'/' | b'\\');
            let plain = rest.iter().position(is_special).unwrap_or(rest.len());
            let (written, read): (&[u8], usize) = match rest.get(plain) {
                _ if plain > 0 => (rest.get(..plain).unwrap_or_default(), plain),
                Some(b'@') => (b"@@", 1),
                Some(b'/') => match self.mark_at(json, at, before) {
                    Some((index, length)) => (mark(index), length),
                    None => (b"/", 1),
                },
                _ => (escape(rest), escape(rest).len()),
            };
            encoded.extend_from_slice(written);
            at += read.max(1);
            // After an escape a path may begin, whatever its last letter is.
            let is_escape = rest.first() == Some(&b'\\');
            before = json.get(at - 1).copied().filter(|_| !is_escape);
        }
        Cow::Owned(encoded)
    }

    /// Decodes JSON text that was encoded with the places of any machine.
    ///
    /// # Errors
    /// An `@` in it is neither a mark nor doubled.
    pub fn decode<'a>(&self, json: &'a [u8]) -> Result<Cow<'a, [u8]>, UnknownMark> {
        let Some(first) = json.iter().position(|byte| *byte == b'@') else {
            return Ok(Cow::Borrowed(json));
        };
        let mut decoded = Vec::with_capacity(json.len() + 64);
        decoded.extend_from_slice(json.get(..first).unwrap_or_default());
        let mut rest = json.get(first..).unwrap_or_default();
        while let Some((byte, after)) = rest.split_first() {
            if *byte != b'@' {
                let end = rest.iter().position(|byte| *byte == b'@');
                let (plain, next) = rest.split_at(end.unwrap_or(rest.len()));
                decoded.extend_from_slice(plain);
                rest = next;
                continue;
            }
            if let Some(next) = after.strip_prefix(b"@") {
                decoded.push(b'@');
                rest = next;
                continue;
            }
            let named = |(index, name): (usize, &str)| {
                after
                    .strip_prefix(name.as_bytes())
                    .map(|next| (index, next))
            };
            let (index, next) = NAMES
                .into_iter()
                .enumerate()
                .find_map(named)
                .ok_or(UnknownMark)?;
            let place = self.places.get(index).map_or("", String::as_str);
            // The root of the file system is written by the path below it.
            let is_root = place.is_empty() && next.first() != Some(&b'/');
            decoded.extend_from_slice(if is_root { b"/" } else { place.as_bytes() });
            rest = next;
        }
        Ok(Cow::Owned(decoded))
    }

    /// Encodes text that is not JSON.
    #[must_use]
    pub fn encode_text(&self, text: &str) -> String {
        let encoded = self.encode(inner_json(text).as_bytes()).into_owned();
        from_inner_json(encoded).unwrap_or_else(|| text.replace('@', "@@"))
    }

    /// Decodes text that is not JSON.
    ///
    /// # Errors
    /// An `@` in it is neither a mark nor doubled.
    pub fn decode_text(&self, text: &str) -> Result<String, UnknownMark> {
        let decoded = self.decode(inner_json(text).as_bytes())?.into_owned();
        from_inner_json(decoded).ok_or(UnknownMark)
    }

    /// Finds the longest place with which a path at `at` begins; `before` is the preceding byte.
    fn mark_at(&self, json: &[u8], at: usize, before: Option<u8>) -> Option<(usize, usize)> {
        let goes_on = match before {
            Some(b'@') | None => false,
            // The third of `file:///`, and no second one within a path.
            Some(b'/') => !json.get(..at)?.ends_with(b"://"),
            Some(before) => is_of_name(before),
        };
        if goes_on {
            return None;
        }
        let rest = json.get(at..)?;
        self.order.iter().find_map(|index| {
            let place = self.places.get(*index)?;
            let after = rest.strip_prefix(place.as_bytes())?;
            let ends = after.first().is_none_or(|next| !is_of_name(*next));
            ends.then_some((*index, place.len()))
        })
    }
}

/// A mark that no version of Interlock writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it has an `@` that is not a mark")]
pub struct UnknownMark;

/// Returns whether a byte continues a file name, which makes the path a different one.
const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || !byte.is_ascii()
        || matches!(byte, b'.' | b'_' | b'-' | b'+' | b'~' | b'@')
}

fn mark(index: usize) -> &'static [u8] {
    const MARKS: [&[u8]; NAMES.len()] = [b"@run", b"@project", b"@home"];
    MARKS.get(index).copied().unwrap_or_default()
}

/// Returns the JSON escape at the beginning of `rest`; an `@` is never part of one.
fn escape(rest: &[u8]) -> &[u8] {
    let length = match rest {
        [_, b'u', digits @ ..] if is_hex(digits) => 6,
        [_, b'@', ..] | [_] | [] => 1,
        _ => 2,
    };
    rest.get(..length).unwrap_or(rest)
}

fn is_hex(digits: &[u8]) -> bool {
    let first = digits.get(..4);
    first.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Returns the text between the quotes of a JSON string.
fn inner_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

fn from_inner_json(inner: Vec<u8>) -> Option<String> {
    let inner = String::from_utf8(inner).ok()?;
    serde_json::from_str(&format!("\"{inner}\"")).ok()
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]
mod tests {
    use super::*;

    fn here() -> Marks {
        Marks::new(
            "/home/ana/.local/state/interlock/work/01/files",
            "/home/ana/shop",
            "/home/ana",
        )
    }

    fn there() -> Marks {
        Marks::new("/var/state/work/01/files", "/srv/shop", "/root")
    }

    fn encoded(text: &str) -> String {
        here().encode_text(text)
    }

    #[test]
    fn a_path_below_a_place_is_recorded_by_its_mark() {
        for (text, recorded) in [
            ("/home/ana/shop", "@project"),
            ("/home/ana/shop/src/a.rs", "@project/src/a.rs"),
            ("/home/ana/.local/state/interlock/work/01/files/x", "@run/x"),
            ("/home/ana/other", "@home/other"),
            (
                "cat '/home/ana/shop/a' >/home/ana/b",
                "cat '@project/a' >@home/b",
            ),
            ("a\n/home/ana/shop\tb", "a\n@project\tb"),
            ("PATH=/home/ana/bin:/usr/bin", "PATH=@home/bin:/usr/bin"),
            ("file:///home/ana/shop/a", "file://@project/a"),
            ("curl -d @/home/ana/shop/a", "curl -d @@@project/a"),
        ] {
            assert_eq!(encoded(text), recorded, "{text}");
        }
    }

    #[test]
    fn another_path_that_begins_alike_stays_as_it_is() {
        for text in [
            "/home/ana2",
            "/home/ana-old/x",
            "/home/anaé",
            "/mnt/home/ana/x",
            "/mnt//home/ana/x",
            "./home/ana/x",
            "-I/home/ana/include",
            "/home",
            "/usr/bin/env",
        ] {
            assert_eq!(encoded(text), text);
        }
        let within = Marks::new("", "/srv", "/srv/ana");
        assert_eq!(
            within.encode_text("/srv/ana/x /srv/x"),
            "@home/x @project/x"
        );
        assert_eq!(encoded("/home/ana/shop.bak"), "@home/shop.bak");
        assert_eq!(encoded("/home/ana/shop/home/ana/x"), "@project/home/ana/x");
    }

    #[test]
    fn what_looks_like_a_mark_is_never_one() {
        for text in [
            "@project/x",
            "@run",
            "@@home",
            "a@projectb",
            "me@home.org",
            "@",
        ] {
            let recorded = encoded(text);
            assert_eq!(recorded, text.replace('@', "@@"), "{text}");
            assert_eq!(there().decode_text(&recorded).unwrap(), text);
        }
        // As JSON may spell it, too.
        let spelled = br#"{"path":"\u0040project/x"}"#;
        assert_eq!(
            *there().decode(&here().encode(spelled)).unwrap(),
            spelled[..]
        );
        for unknown in ["@", "@other/x", "@Project"] {
            assert_eq!(there().decode_text(unknown), Err(UnknownMark), "{unknown}");
        }
    }

    #[test]
    fn elsewhere_the_same_record_names_the_places_there() {
        for (text, wanted) in [
            (
                "/home/ana/shop/a and /home/ana/b",
                "/srv/shop/a and /root/b",
            ),
            (
                "/home/ana/.local/state/interlock/work/01/files",
                "/var/state/work/01/files",
            ),
            ("@project of /home/ana/shop", "@project of /srv/shop"),
        ] {
            let recorded = encoded(text);
            assert_eq!(there().decode_text(&recorded).unwrap(), wanted);
            assert_eq!(here().decode_text(&recorded).unwrap(), text);
        }
        // A home that is the root of the file system.
        let root = Marks::new("/r", "/p", "/");
        assert_eq!(root.decode_text("@home/x @home").unwrap(), "/x /");
        assert_eq!(root.encode_text("/x"), "/x");
    }

    #[test]
    fn whatever_is_encoded_is_decoded_byte_for_byte() {
        let places = [
            here(),
            there(),
            Marks::new("/a", "/a", "/a"),
            Marks::new("/a/b", "/a", "/"),
            Marks::new("", "relative", "/it's \"quoted\"\\é"),
            Marks::default(),
        ];
        let pieces = [
            "/",
            "a",
            "@",
            "project",
            "run",
            "home",
            "/home/ana",
            "/home/ana/shop",
            "/a",
            "/b",
            "\\n",
            "\\\\",
            "\\\"",
            "\\u0040",
            "\\u002",
            " ",
            "é",
            ".",
            "/it's \\\"quoted\\\"\\\\é",
            "\\",
        ];
        let mut state: u64 = 7;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap()
        };
        for _ in 0..20_000 {
            let count = next() % 12;
            let text: String = (0..count).map(|_| pieces[next() % pieces.len()]).collect();
            let marks = &places[next() % places.len()];
            let recorded = marks.encode(text.as_bytes());
            let again = marks.decode(&recorded).unwrap();
            assert_eq!(std::str::from_utf8(&again).unwrap(), text, "{marks:?}");
        }
    }
}
