//! Words of a command, and reserved words.

use super::{Case, CommandRead, Document, OTHER, Role, Scan, Word};

impl Scan {
    pub(super) fn end_word(&mut self, line: &mut CommandRead) {
        let Some(word) = line.word.take() else {
            return;
        };
        match std::mem::take(&mut line.role) {
            Role::Argument => self.argument(word, line),
            Role::Redirect => {}
            Role::HereString => line.strings.extend(word.holes),
            Role::Mark(strips_tabs) => {
                for hole in &word.holes {
                    self.blame(*hole, "in the mark of a here-document");
                }
                self.documents.push(Document {
                    mark: word.text,
                    quoted: word.quoted,
                    strips_tabs,
                    from: line.command,
                    fault: None,
                });
            }
        }
    }

    /// Handles a word as part of the command, or as a reserved word.
    fn argument(&mut self, word: Word, line: &mut CommandRead) {
        let text = word.text.as_str();
        let first = line.words.is_empty() && !word.quoted;
        if line.cases.last() == Some(&Case::Word) {
            if text == "in" && !word.quoted && !line.words.is_empty() {
                line.words.clear();
                if let Some(case) = line.cases.last_mut() {
                    *case = Case::Pattern;
                }
            } else {
                line.words.push(word);
            }
            return;
        }
        if first {
            match text {
                "esac" if !line.cases.is_empty() => {
                    line.cases.pop();
                    return;
                }
                "case" => {
                    line.cases.push(Case::Word);
                    return;
                }
                "if" | "while" | "until" | "{" => {
                    line.compounds.push(line.pipeline);
                    line.restart(self.at);
                    return;
                }
                "then" | "else" | "elif" | "do" | "!" | "time" => return,
                "[[" => line.tests = true,
                "for" | "select" => line.compounds.push(line.pipeline),
                "fi" | "done" | "}" => {
                    if let Some(pipeline) = line.compounds.pop() {
                        line.pipeline = pipeline;
                    }
                    line.words.push(Word {
                        text: OTHER.to_string(),
                        ..Word::default()
                    });
                    return;
                }
                _ => {}
            }
        }
        if text == "]]" && !word.quoted {
            line.tests = false;
        }
        let defines = line.words.first().is_some_and(|first| {
            first.text == "function" || (line.words.len() == 1 && first.text.ends_with('('))
        });
        if defines && text == "{" && !word.quoted {
            line.words.clear();
            line.compounds.push(line.pipeline);
            line.restart(self.at);
            return;
        }
        line.words.push(word);
    }

    pub(super) fn end_command(&mut self, line: &mut CommandRead) {
        self.end_word(line);
        line.role = Role::Argument;
        if matches!(line.cases.last(), Some(Case::Pattern | Case::Word)) {
            return;
        }
        let words = std::mem::take(&mut line.words);
        let strings = std::mem::take(&mut line.strings);
        self.judge(&words, &strings, line.pipeline, line.command);
    }
}
