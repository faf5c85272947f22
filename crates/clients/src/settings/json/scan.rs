//! Finds the byte range of each value in a JSON text.

/// A value in a text, by its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) start: usize,
    pub(crate) key: String,
    pub(crate) value: Node,
}

impl Node {
    /// Returns the byte ranges of the members or items, including keys.
    pub(crate) fn extents(&self) -> Vec<(usize, usize)> {
        match &self.what {
            What::Object(members) => members
                .iter()
                .map(|member| (member.start, member.value.end))
                .collect(),
            What::Array(items) => items.iter().map(|item| (item.start, item.end)).collect(),
            What::Other => Vec::new(),
        }
    }
}

/// The syntax that a client's own parser accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// Plain JSON.
    Strict,
    /// JSON with comments.
    Comments,
    /// JSON with comments and trailing commas.
    Loose,
}

/// A text in which blanks replace everything that is not JSON, with the same length.
#[derive(Debug, Clone)]
pub(crate) struct Clean {
    /// Without comments and byte order mark.
    pub(crate) values: String,
    /// Also without trailing commas.
    pub(crate) strict: String,
}

impl Clean {
    pub(crate) fn of(text: &str, syntax: Syntax) -> Self {
        let values = without_comments(text, syntax != Syntax::Strict);
        let strict = match syntax {
            Syntax::Loose => without_last_commas(&values),
            Syntax::Strict | Syntax::Comments => values.clone(),
        };
        Self { values, strict }
    }
}

/// What a character of the text belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Text,
    Line,
    Block,
}

fn without_comments(text: &str, comments: bool) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut within = Within::Nothing;
    let mut letters = text.chars().peekable();
    let blank = |clean: &mut String, letter: char| {
        if matches!(letter, '\n' | '\r') {
            clean.push(letter);
        } else {
            clean.extend(std::iter::repeat_n(' ', letter.len_utf8()));
        }
    };
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match within {
            Within::Nothing if letter == '\u{feff}' && clean.is_empty() => {
                blank(&mut clean, letter);
            }
            Within::Nothing if comments && letter == '/' && matches!(next, Some('/' | '*')) => {
                within = if next == Some('/') {
                    Within::Line
                } else {
                    Within::Block
                };
                letters.next();
                clean.push_str("  ");
            }
            Within::Nothing => {
                if letter == '"' {
                    within = Within::Text;
                }
                clean.push(letter);
            }
            Within::Text => {
                clean.push(letter);
                match letter {
                    '"' => within = Within::Nothing,
                    '\\' => clean.extend(letters.next()),
                    _ => {}
                }
            }
            Within::Line => {
                if letter == '\n' {
                    within = Within::Nothing;
                }
                blank(&mut clean, letter);
            }
            Within::Block => {
                blank(&mut clean, letter);
                if letter == '*' && next == Some('/') {
                    letters.next();
                    clean.push(' ');
                    within = Within::Nothing;
                }
            }
        }
    }
    clean
}

fn without_last_commas(clean: &str) -> String {
    let mut within_text = false;
    let mut escaped = false;
    let mut comma = None;
    let mut bytes = clean.as_bytes().to_vec();
    for (at, byte) in clean.bytes().enumerate() {
        if within_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => within_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(byte) = comma.take().and_then(|at| bytes.get_mut(at)) {
                    *byte = b' ';
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            other => {
                within_text = other == b'"';
                comma = None;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| clean.to_owned())
}

/// Finds the byte range of each value in a text that is known to be JSON except for trailing commas.
pub(crate) fn scan(clean: &str) -> Option<Node> {
    Scanner { text: clean, at: 0 }.node()
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn node(&mut self) -> Option<Node> {
        self.blank();
        let start = self.at;
        let what = match self.peek()? {
            b'{' => self.object()?,
            b'[' => self.array()?,
            b'"' => {
                self.string()?;
                What::Other
            }
            _ => {
                while self
                    .peek()
                    .is_some_and(|byte| !b",]} \t\r\n".contains(&byte))
                {
                    self.at += 1;
                }
                What::Other
            }
        };
        let end = self.at;
        Some(Node { start, end, what })
    }

    fn object(&mut self) -> Option<What> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.blank();
            match self.peek()? {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let start = self.at;
                    let key = self.string()?;
                    self.blank();
                    // The colon.
                    self.at += 1;
                    let value = self.node()?;
                    members.push(Member { start, key, value });
                }
            }
        }
        self.at += 1;
        Some(What::Object(members))
    }

    fn array(&mut self) -> Option<What> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.blank();
            match self.peek()? {
                b']' => break,
                b',' => self.at += 1,
                _ => items.push(self.node()?),
            }
        }
        self.at += 1;
        Some(What::Array(items))
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(|byte| b" \t\r\n".contains(&byte)) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
