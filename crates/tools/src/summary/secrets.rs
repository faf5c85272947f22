//! Masks secrets in texts for people and logs.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex, RegexSet};

/// Minimum length in characters of a value that is masked wherever it occurs.
const KNOWN_CHARS_MIN: usize = 8;

/// Secrets that are known by their value, and the patterns by which others are recognized.
///
/// Masking is only for display. It finds the formats of issuers and values after a telling name; a secret of another form is not
/// found.
#[derive(Default, Clone)]
pub struct Secrets {
    /// Longest first, so that one within another leaves nothing.
    known: Vec<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.known.len())
    }
}

/// Formats of issued secrets.
const FORMS: [&str; 11] = [
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{30,}",
    r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?",
];

/// Values after something that shows what they are: group 1 stays, group 2 is masked.
const TOLD: [&str; 5] = [
    // User and password in a URL.
    r"(://[^/\s:@]*:)([^@\s/]+)@",
    // `Authorization: Bearer …`
    r"(?i)\b((?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{8,})",
    // `PASSWORD=…` of a shell line, `--password …`, `--token=…`
    r"\b([A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)[A-Z0-9_]*=)([^\s;&|]+)",
    r"(--(?:password|passwd|token|secret|api-key|access-key)[=\s]+)([^\s;&|]+)",
    // `"api_key": "…"`, `password = '…'`
    r#"(?i)((?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization|cookie)["']?\s*[:=]\s*)("[^"\n]{4,}"|'[^'\n]{4,}')"#,
];

/// All of these patterns, compiled.
struct Patterns {
    /// Whether any of the others matches: most texts contain no secret, and are searched once.
    any: RegexSet,
    forms: Vec<Regex>,
    told: Vec<Regex>,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| Patterns::new().ok());

impl Patterns {
    fn new() -> Result<Self, regex::Error> {
        let each = |forms: &[&str]| -> Result<Vec<Regex>, regex::Error> {
            forms.iter().map(|form| Regex::new(form)).collect()
        };
        Ok(Self {
            any: RegexSet::new(FORMS.iter().chain(&TOLD))?,
            forms: each(&FORMS)?,
            told: each(&TOLD)?,
        })
    }
}

/// Names of variables whose value is a secret.
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization|cookie").ok()
});

impl Secrets {
    /// Replacement of a secret.
    pub const MASK: &str = "[secret]";

    /// Creates the secrets with known values; short ones would mask ordinary words.
    pub fn known(values: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> = values
            .into_iter()
            .filter(|value| value.chars().count() >= KNOWN_CHARS_MIN)
            .collect();
        known.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        known.dedup();
        Self { known }
    }

    /// Takes the values of those variables whose name tells a secret.
    pub fn of_environment(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let told = variables.into_iter().filter(|(name, _)| tells(name));
        Self::known(told.map(|(_, value)| value))
    }

    /// Writes a text without the secrets that are known by their value; all else stays.
    #[must_use]
    pub fn masked_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        for value in &self.known {
            if masked.contains(value.as_str()) {
                masked = Cow::Owned(masked.replace(value.as_str(), Self::MASK));
            }
        }
        masked
    }

    /// Writes a text without its secrets.
    #[must_use]
    pub fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(patterns) = PATTERNS.as_ref() else {
            return Cow::Borrowed(Self::MASK);
        };
        let mut masked = self.masked_known(text);
        if !patterns.any.is_match(&masked) {
            return masked;
        }
        for form in &patterns.forms {
            if form.is_match(&masked) {
                masked = Cow::Owned(form.replace_all(&masked, Self::MASK).into_owned());
            }
        }
        for told in &patterns.told {
            if told.is_match(&masked) {
                let hidden = told.replace_all(&masked, |found: &Captures<'_>| hidden(found));
                masked = Cow::Owned(hidden.into_owned());
            }
        }
        masked
    }

    /// Writes the value of an argument without its secrets: all of it where its name tells one.
    #[must_use]
    pub fn masked_value<'t>(&self, name: &str, value: &'t str) -> Cow<'t, str> {
        if tells(name) && !value.is_empty() {
            return Cow::Borrowed(Self::MASK);
        }
        self.masked(value)
    }
}

fn tells(name: &str) -> bool {
    NAMES.as_ref().is_none_or(|names| names.is_match(name))
}

fn hidden(found: &Captures<'_>) -> String {
    let group = |number| found.get(number).map_or("", |part| part.as_str());
    let at = if found
        .get(0)
        .is_some_and(|whole| whole.as_str().ends_with('@'))
    {
        "@"
    } else {
        ""
    };
    // An expansion names a secret and does not hold it.
    if group(2).starts_with('$') {
        return format!("{}{}{at}", group(1), group(2));
    }
    format!("{}{}{at}", group(1), Secrets::MASK)
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    #[test]
    fn every_form_is_there() {
        assert!(super::PATTERNS.is_some());
        assert!(super::NAMES.is_some());
    }

    /// Each line of the file: what is masked, `=>`, how it is written.
    #[test]
    fn secrets_are_masked_and_other_words_are_not() {
        let secrets = Secrets::known(["correct horse battery".to_owned(), "short".to_owned()]);
        for row in include_str!("secrets.txt").lines() {
            let Some((text, wanted)) = row.split_once(" => ") else {
                continue;
            };
            assert_eq!(secrets.masked(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_secret_within_a_longer_one_leaves_nothing_of_it() {
        let short = "battery-staple".to_owned();
        let long = "correct-battery-staple-horse".to_owned();
        for known in [[short.clone(), long.clone()], [long, short]] {
            let secrets = Secrets::known(known);
            assert_eq!(
                secrets.masked_known("a correct-battery-staple-horse and a battery-staple"),
                "a [secret] and a [secret]"
            );
        }
    }

    #[test]
    fn a_value_is_masked_from_the_length_on_that_no_word_has() {
        let known = ["12345678".to_owned(), "1234567".to_owned()];
        let secrets = Secrets::known(known);
        assert_eq!(secrets.masked_known("a 12345678 b"), "a [secret] b");
        assert_eq!(secrets.masked_known("a 1234567 b"), "a 1234567 b");
    }
}
