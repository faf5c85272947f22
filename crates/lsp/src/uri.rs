//! Addresses of documents, and their paths.

/// Returns the path of a `file:` address; any other address as it is.
#[must_use]
pub fn path_of(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    // A host may precede the path; only files of this machine are opened.
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(rest);
    decoded(path)
}

/// Decodes `%` followed by two hexadecimal digits; any other `%` stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn addresses_of_files_are_paths() {
        assert_eq!(path_of("file:///a/b.yaml"), "/a/b.yaml");
        assert_eq!(path_of("file:///a%20b/%C3%BC.yaml"), "/a b/\u{fc}.yaml");
        assert_eq!(path_of("file://localhost/a.yaml"), "/a.yaml");
        assert_eq!(path_of("untitled:Untitled-1"), "untitled:Untitled-1");
        assert_eq!(path_of("file:///100%.yaml%4"), "/100%.yaml%4");
        assert_eq!(path_of("file:///%+1%\u{fc}"), "/%+1%\u{fc}");
    }
}
