//! Names of tools as a provider accepts them, and the reverse.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::{Kind, Message, Request};

/// Number of hexadecimal digits of the digest that distinguishes changed names.
const MARK_CHARS: usize = 8;

/// Names of tools that differ in requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Own names to those in requests.
    out: BTreeMap<String, String>,
    /// The reverse.
    back: BTreeMap<String, String>,
}

impl Names {
    /// Finds the names of `request` that a provider of this kind does not accept.
    pub(crate) fn of(kind: Kind, request: &Request) -> Self {
        let tools = request.tools.iter().map(|tool| tool.name.as_str());
        let called = request.messages.iter().flat_map(Message::calls);
        let all: Vec<&str> = tools.chain(called.map(|call| call.name.as_str())).collect();
        let mut names = Self::default();
        for own in &all {
            if is_lawful(kind, own) || names.out.contains_key(*own) {
                continue;
            }
            // INVARIANT: no changed name equals an unchanged one, or another changed one.
            let free =
                |name: &String| !all.contains(&name.as_str()) && !names.back.contains_key(name);
            let Some(name) = (0_u32..).map(|salt| changed(kind, own, salt)).find(free) else {
                continue;
            };
            names.out.insert((*own).to_owned(), name.clone());
            names.back.insert(name, (*own).to_owned());
        }
        names
    }

    /// Returns a name as it is sent.
    pub(crate) fn out<'n>(&'n self, own: &'n str) -> &'n str {
        self.out.get(own).map_or(own, String::as_str)
    }

    /// Returns the original of a name.
    pub(crate) fn back(&self, wire: &str) -> String {
        self.back.get(wire).map_or(wire, String::as_str).to_owned()
    }
}

fn longest(kind: Kind) -> usize {
    match kind {
        Kind::Gemini => 63,
        _ => 64,
    }
}

fn is_lawful(kind: Kind, name: &str) -> bool {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    match kind {
        Kind::Ollama => !name.is_empty(),
        Kind::Gemini if !name.starts_with(begins) => false,
        _ => !name.is_empty() && name.len() <= longest(kind) && name.chars().all(is_plain),
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn changed(kind: Kind, own: &str, salt: u32) -> String {
    let digest = Sha256::new()
        .chain_update(own)
        .chain_update(salt.to_be_bytes())
        .finalize();
    let mark: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let plain = own.chars().map(|c| if is_plain(c) { c } else { '_' });
    // A letter first: not every provider accepts a digit there.
    let begin = if own.starts_with(|c: char| c.is_ascii_alphabetic()) {
        ""
    } else {
        "t_"
    };
    let room = longest(kind).saturating_sub(MARK_CHARS + 1 + begin.len());
    let name: String = plain.take(room).collect();
    let mark: String = mark.chars().take(MARK_CHARS).collect();
    format!("{begin}{name}_{mark}")
}
