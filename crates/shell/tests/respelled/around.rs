//! Surroundings of a line that do not change its effect.

/// A surrounding; `@` is replaced by the line, `--around` marks commands that do not belong to it.
pub(crate) struct Around {
    pub(crate) text: &'static str,
    /// The line is quoted text.
    pub(crate) quoted: bool,
    /// The line is one line of a here-document.
    pub(crate) in_document: bool,
    /// It may be in a loop, whose second iteration begins with the variables of the first.
    pub(crate) repeats: bool,
    /// Arithmetic needs known numbers, so most lines are refused.
    pub(crate) computes: bool,
}

const fn around(text: &'static str) -> Around {
    Around {
        text,
        quoted: false,
        in_document: false,
        repeats: false,
        computes: false,
    }
}

const fn repeated(text: &'static str) -> Around {
    Around {
        repeats: true,
        ..around(text)
    }
}

const fn computed(text: &'static str) -> Around {
    Around {
        computes: true,
        ..around(text)
    }
}

pub(crate) const AROUND: &[Around] = &[
    around("{ @\n}"),
    around("( @\n)"),
    around("if true --around; then @\nfi"),
    around("if @\nthen true --around; fi"),
    around("if false --around; then true --around; elif @\nthen true --around; fi"),
    around("if false --around; then true --around; else @\nfi"),
    repeated("for around in 1; do @\ndone"),
    repeated("while true --around; do @\nbreak --around; done"),
    repeated("while @\ndo break --around; done"),
    repeated("until @\ndo break --around; done"),
    Around {
        repeats: true,
        ..computed("for ((around = 1; around < 2; around++)); do @\ndone")
    },
    repeated("select around in a; do @\nbreak --around; done"),
    around("case a in a) @\n;; esac"),
    around("case a in (b) true --around;; (a|c) @\n;; esac"),
    around("! { @\n}"),
    around("time { @\n}"),
    around("{ @\n} &"),
    around("true --around; { @\n}"),
    around("true --around && { @\n}"),
    around("{ @\n} || true --around"),
    around("coproc { @\n}"),
    around("echo --around $( @\n)"),
    around("echo --around \"$( @\n)\""),
    around("echo --around <( @\n)"),
    computed("echo --around $(( $( @\n) ))"),
    computed("echo --around \"$(( 1 + $( @\n) ))\""),
    computed("(( 1 + $( @\n) ))"),
    around("echo --around ${around:-$( @\n)}"),
    around("echo --around \"${around:+$( @\n)}\""),
    around("echo --around ${around#$( @\n)}"),
    around("echo --around ${around/$( @\n)/}"),
    computed("echo --around ${around:$( @\n)}"),
    computed("echo --around ${around[$( @\n)]}"),
    computed("around[$( @\n)]=1"),
    around("around=$( @\n)"),
    around("around=\"$( @\n)\" true --around"),
    around("around=(a $( @\n))"),
    around("[[ -n $( @\n) ]]"),
    around("[[ -n a && ! ( $( @\n) == b ) ]]"),
    around("[[ a == $( @\n)* ]]"),
    around("[[ a =~ $( @\n) ]]"),
    around("for around in $( @\n); do true --around; done"),
    computed("for ((around = $( @\n); around < 1; around++)); do true --around; done"),
    around("case $( @\n) in a) true --around;; esac"),
    around("case a in $( @\n)) true --around;; esac"),
    around("echo --around <<< \"$( @\n)\""),
    around("echo --around > /dev/null $( @\n)"),
    around("echo --around \"`@\n`\""),
    computed("echo --around $(( `@` ))"),
    computed("echo --around \"${around:`@`}\""),
    Around {
        quoted: false,
        in_document: true,
        ..around("echo --around <<AROUND\n$( @)\nAROUND")
    },
    Around {
        quoted: true,
        in_document: false,
        ..around("eval @")
    },
    Around {
        quoted: true,
        in_document: false,
        ..around("bash -c @")
    },
];

impl Around {
    /// Inserts a line; returns `None` if it is not possible there.
    pub(crate) fn of(&self, line: &str) -> Option<String> {
        let has = |texts: &[&str]| texts.iter().any(|text| line.contains(text));
        let ends_early = line.trim_end().ends_with(['&', '|']) && !line.ends_with(" &");
        if line.trim_start().starts_with('#') || ends_early {
            return None;
        }
        // A second parser mistakes the brackets for those of the coprocess.
        if self.text.starts_with("coproc") && line.starts_with(['(', '{']) {
            return None;
        }
        // In a substitution, unbalanced brackets are refused, and so is a position that is not recorded.
        if (self.text.contains("( @") || self.text.contains('`'))
            && has(&["case ", "select ", "\\\n)"])
        {
            return None;
        }
        if self.repeats && has(&["cd ", "cd;", "pushd", "popd", "declare -A"]) {
            return None;
        }
        // The text has its own parameters.
        if self.text.starts_with("bash") && has(&["$1", "$@", "$*", "$#", "$0"]) {
            return None;
        }
        if self.in_document && line.contains(['\n', '#']) || line.ends_with('\\') {
            return None;
        }
        // The line's backquotes would close the outer ones.
        if self.text.contains('`') && line.contains(['`', '\\', '"']) {
            return None;
        }
        let line = if self.quoted {
            format!("'{}'", line.replace('\'', "'\\''"))
        } else {
            line.to_owned()
        };
        Some(self.text.replace('@', &line))
    }
}
