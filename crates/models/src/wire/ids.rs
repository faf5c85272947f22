//! Ids of calls in requests.

use std::collections::BTreeSet;

use crate::Message;

/// Maximum length of an id that every provider accepts.
const ID_CHARS_MAX: usize = 64;

/// Names every call of a conversation, message by message; those that are not calls have none.
///
/// A provider's own id is used if it is valid and unique, otherwise one by position: the same for the same conversation.
pub(super) fn all(messages: &[Message]) -> Vec<Vec<String>> {
    let mut seen = BTreeSet::new();
    let named = messages.iter().enumerate().map(|(at, message)| {
        let calls = message.calls().enumerate();
        calls
            .map(|(place, call)| {
                let own = call.provider_id.clone().filter(|id| is_lawful(id));
                let own = own.filter(|id| !seen.contains(id));
                let id = own.unwrap_or_else(|| format!("call_{at}_{place}"));
                seen.insert(id.clone());
                id
            })
            .collect()
    });
    named.collect()
}

fn is_lawful(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !id.is_empty() && id.len() <= ID_CHARS_MAX && id.bytes().all(plain)
}
