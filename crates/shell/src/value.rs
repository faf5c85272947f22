//! A word after expansion: known text, or only a known beginning.

/// A word as a program would receive it, as far as known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arg {
    Literal(String),
    Dynamic(Dynamic),
}

/// A word whose text is only known when the line runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Dynamic {
    /// Known beginning of the text.
    pub(crate) start: String,
    /// Text of the line from which it comes.
    pub(crate) source: String,
    /// Whether it is a number.
    pub(crate) is_number: bool,
    /// Whether it is exactly one word, whatever its value.
    pub(crate) is_single: bool,
    /// Whether it certainly does not begin with `-`.
    pub(crate) is_operand: bool,
    /// Whether no word of it begins with `-`, however many there are.
    pub(crate) is_never_option: bool,
    /// The pattern, if it expands to matching file names.
    pub(crate) pattern: Option<String>,
    /// The whole text with `1` in place of numbers, if only numbers are unknown.
    pub(crate) shape: Option<String>,
}

impl Arg {
    pub(crate) fn text(text: &str) -> Self {
        Self::Literal(text.to_owned())
    }

    /// Creates a completely unknown word.
    pub(crate) fn unknown(source: &str) -> Self {
        Self::Dynamic(Dynamic {
            source: source.to_owned(),
            ..Dynamic::default()
        })
    }

    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic(_) => None,
        }
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.literal() == Some(text)
    }

    /// Returns the text, with `1` in place of unknown numbers.
    pub(crate) fn shape(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic(dynamic) => dynamic.shape.as_deref(),
        }
    }

    /// Returns the known beginning of the word.
    pub(crate) fn start(&self) -> &str {
        match self {
            Self::Literal(text) => text,
            Self::Dynamic(dynamic) => &dynamic.start,
        }
    }

    /// Returns the word as written in the line.
    pub(crate) fn shown(&self) -> &str {
        match self {
            Self::Literal(text) => text,
            Self::Dynamic(dynamic) => &dynamic.source,
        }
    }

    pub(crate) fn is_number(&self) -> bool {
        match self {
            Self::Literal(text) => is_number(text),
            Self::Dynamic(dynamic) => dynamic.is_number,
        }
    }

    /// Returns whether a word of unknown text may turn out to be an option.
    pub(crate) fn may_be_option(&self) -> bool {
        match self {
            Self::Literal(text) => text.len() > 1 && text.starts_with('-'),
            Self::Dynamic(dynamic)
                if dynamic.is_number
                    || dynamic.is_never_option
                    || dynamic.is_operand && dynamic.is_single =>
            {
                false
            }
            Self::Dynamic(dynamic) => {
                let divides = !dynamic.is_single && dynamic.pattern.is_none();
                divides || dynamic.start.is_empty() || dynamic.start.starts_with('-')
            }
        }
    }

    /// Returns whether the word is an option for recursion, in its common forms.
    pub(crate) fn is_recursive(&self) -> bool {
        let Some(option) = self.literal().and_then(|text| text.strip_prefix('-')) else {
            return false;
        };
        match option.strip_prefix('-') {
            Some(long) => !long.is_empty() && "recursive".starts_with(long),
            None => {
                option.contains(['r', 'R'])
                    && option.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
        }
    }

    pub(crate) fn to_word(&self) -> interlock_core::facts::Word {
        match self {
            Self::Literal(text) => interlock_core::facts::Word::Literal(text.clone()),
            Self::Dynamic(dynamic) => interlock_core::facts::Word::Dynamic(dynamic.source.clone()),
        }
    }
}

/// Returns whether `text` is a decimal number with an optional sign.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
