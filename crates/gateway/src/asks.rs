//! Requests of a server to a client: only what the configuration permits, labelled with the server's name, and never in
//! Interlock's name.
//!
//! Interlock uses forms, too. A person has to see which of the two asks, so a server's form that mentions Interlock, its token or
//! its approvals is refused.

use interlock_core::machine::Object;
use interlock_project::Asks;
use interlock_tool_names::looks;
use serde_json::{Value, json};

use crate::{
    era::{CAPABILITIES_KEY, Introduced},
    message::{INVALID_PARAMS, METHOD_NOT_FOUND, Outcome, raw},
};

/// Method that asks a person.
pub(crate) const ELICITATION: &str = "elicitation/create";
/// Method that asks for a message of a model.
const SAMPLING: &str = "sampling/createMessage";
/// Method that asks for the client's directories.
const ROOTS: &str = "roots/list";

/// Maximum nesting of a form that is examined; deeper forms are refused.
const DEPTH_MAX: usize = 32;

/// Prefix of a person's token.
const TOKEN: &str = "ilk_";

/// Words that ask for an approval, if the same text has one of [`OF_A_RUN`].
const APPROVAL: [&str; 5] = ["approve", "approval", "approves", "approved", "grant"];

/// Words for things that only Interlock lets a person approve.
const OF_A_RUN: [&str; 4] = ["transition", "guarded", "gateway", "statemachine"];

/// The server that asks, and what the configuration permits it to ask.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) label: String,
    pub(crate) may: Asks,
}

/// Capabilities of a client, each with whether the server may see it.
fn capabilities(may: Asks) -> [(&'static str, bool); 3] {
    [
        ("elicitation", may.elicitation),
        ("sampling", may.sampling),
        ("roots", may.roots),
    ]
}

/// Returns a client's introduction for a server, without the capabilities that the server may not use.
pub(crate) fn introduced(may: Asks, client: &Introduced) -> Introduced {
    let mut told = client.clone();
    hide(may, &mut told.capabilities);
    if let Some(capabilities) = told.initialize.get_mut("capabilities") {
        hide(may, capabilities);
    }
    told
}

/// Removes the capabilities that a server may not use from a request of the modern protocol.
pub(crate) fn hide_from_request(may: Asks, params: &mut Option<Object>) {
    let meta = params.as_mut().and_then(|params| params.get_mut("_meta"));
    if let Some(capabilities) = meta.and_then(|meta| meta.get_mut(CAPABILITIES_KEY)) {
        hide(may, capabilities);
    }
}

fn hide(may: Asks, declared: &mut Value) {
    if let Some(declared) = declared.as_object_mut() {
        for (name, shown) in capabilities(may) {
            if !shown {
                declared.shift_remove(name);
            }
        }
    }
}

/// Labels a server's request with the server's name; requests other than forms pass unchanged.
///
/// # Errors
/// The configuration does not permit the request, or it speaks in Interlock's name. The error is the answer for the server.
pub(crate) fn marked(
    asker: &Asker,
    method: &str,
    params: Option<Object>,
) -> Result<Option<Object>, Outcome> {
    let Asker { label, may } = asker;
    let lets = match method {
        ELICITATION => may.elicitation,
        SAMPLING => may.sampling,
        ROOTS => may.roots,
        _ => true,
    };
    if !lets {
        let why =
            format!("{label} may not ask for `{method}`: its configuration does not permit it");
        return Err(Outcome::error(METHOD_NOT_FOUND, &why));
    }
    let Some(mut params) = params.filter(|_| method == ELICITATION) else {
        return Ok(None);
    };
    for (name, value) in &params {
        if name != "_meta" && (claims(name) || any_claims(value, 0)) {
            let why =
                format!("{label} asks in words that are Interlock's: its question is not shown");
            return Err(Outcome::error(INVALID_PARAMS, &why));
        }
    }
    if let Some(Value::String(message)) = params.get_mut("message") {
        *message = format!("[{label} asks] {message}");
    }
    Ok(Some(params))
}

/// Labels the questions in a result of the modern protocol; a question in Interlock's name becomes an error.
pub(crate) fn marked_result(asker: &Asker, outcome: Outcome) -> Outcome {
    const REQUESTS: &str = "inputRequests";
    let Outcome::Result(result) = &outcome else {
        return outcome;
    };
    // Parsing decodes an escaped name, too.
    let text = result.get();
    if !text.contains(REQUESTS) && !text.contains("\\u") {
        return outcome;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return outcome;
    };
    let Some(Value::Object(requests)) = value.get_mut(REQUESTS) else {
        return outcome;
    };
    let mut is_changed = false;
    for request in requests.values_mut() {
        let method = request
            .get("method")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let params = request.get("params").and_then(Value::as_object).cloned();
        match marked(asker, method, params.clone()) {
            Ok(Some(marked)) if Some(&marked) != params.as_ref() => {
                is_changed = true;
                if let Some(place) = request.get_mut("params") {
                    *place = Value::Object(marked);
                }
            }
            Ok(_) => {}
            Err(refused) => return refused,
        }
    }
    if is_changed {
        Outcome::Result(raw(&json!(value)))
    } else {
        outcome
    }
}

fn any_claims(value: &Value, depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return true;
    }
    match value {
        Value::String(text) => claims(text),
        Value::Array(items) => items.iter().any(|item| any_claims(item, depth + 1)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| claims(name) || any_claims(value, depth + 1)),
        _ => false,
    }
}

/// Returns whether a text speaks in Interlock's name: it mentions Interlock, its token, or one of its approvals.
fn claims(text: &str) -> bool {
    let looks = looks(text);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = looks
        .split(|c: char| !is_word(c))
        .filter(|word| !word.is_empty())
        .collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    looks.contains(TOKEN)
        || words.iter().any(|word| is_ours(word))
        || is_spelled(&words)
        || has(&APPROVAL) && has(&OF_A_RUN)
}

/// Interlock's name as [`folded`] returns it.
const NAME: &str = "lnterlock";

fn is_ours(word: &str) -> bool {
    let folded = folded(word);
    folded == NAME || folded.split('_').any(|part| part == NAME)
}

/// Returns whether words together spell the name: `inter-lock`, `I n t e r l o c k`.
fn is_spelled(words: &[&str]) -> bool {
    (0..words.len()).any(|start| {
        let mut spelled = String::new();
        for word in words.iter().skip(start) {
            spelled.push_str(&folded(word));
            if spelled.len() >= NAME.len() {
                break;
            }
        }
        spelled == NAME
    })
}

/// Replaces letters and digits that look alike by one of them.
fn folded(word: &str) -> String {
    word.chars()
        .map(|c| match c {
            'i' | '1' | '|' | '!' => 'l',
            '0' => 'o',
            '3' => 'e',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(label: &str) -> Asker {
        Asker {
            label: label.to_owned(),
            may: Asks::default(),
        }
    }

    fn form(message: &str, title: &str) -> Option<Object> {
        json!({"message": message, "requestedSchema": {"properties": {"a": {"title": title}}}})
            .as_object()
            .cloned()
    }

    #[test]
    fn a_question_is_marked_with_its_server() {
        let asked = marked(&asker("the server `s`"), ELICITATION, form("who?", "Name"));
        let message = asked
            .ok()
            .flatten()
            .and_then(|mut asked| asked.remove("message"));
        assert_eq!(message, Some(json!("[the server `s` asks] who?")));
        assert_eq!(
            marked(&asker("x"), SAMPLING, form("who?", "")).ok(),
            Some(None)
        );
    }

    #[test]
    fn each_request_needs_a_permission_of_its_own() {
        let none = Asks {
            elicitation: false,
            sampling: false,
            roots: false,
        };
        let permissions = [
            (
                ELICITATION,
                Asks {
                    elicitation: true,
                    ..none
                },
            ),
            (
                SAMPLING,
                Asks {
                    sampling: true,
                    ..none
                },
            ),
            (
                ROOTS,
                Asks {
                    roots: true,
                    ..none
                },
            ),
        ];
        for (permitted, may) in permissions {
            let asker = Asker { may, ..asker("s") };
            for method in [ELICITATION, SAMPLING, ROOTS] {
                let passes = marked(&asker, method, None).is_ok();
                assert_eq!(passes, method == permitted, "{permitted} {method}");
            }
        }
    }

    #[test]
    fn words_in_interlocks_name_are_refused_wherever_they_stand() {
        for text in [
            "Interlock: may it go on?",
            "Enter your INTERLOCK_TOKEN",
            "interlock_transition",
            "\u{406}nterlock asks",
            "Inter\u{200b}lock",
            "I n t e r l o c k",
            "inter-lock",
            "1nter10ck",
            "paste ilk_ here",
            "Approve the transition SHIP",
        ] {
            assert!(
                marked(&asker("s"), ELICITATION, form(text, "")).is_err(),
                "{text}"
            );
            assert!(
                marked(&asker("s"), ELICITATION, form("", text)).is_err(),
                "{text}"
            );
        }
        let name = json!({"requestedSchema": {"properties": {"interlock_token": {}}}});
        assert!(marked(&asker("s"), ELICITATION, name.as_object().cloned()).is_err());
    }

    #[test]
    fn questions_of_a_servers_own_are_let_through() {
        for text in [
            "Which printer lock do you mean?",
            "Approve the purchase of 3 licences?",
            "Use InterlockedIncrement here?",
            "Your API token",
            "",
        ] {
            assert!(
                marked(&asker("s"), ELICITATION, form(text, text)).is_ok(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_result_that_asks_in_interlocks_name_becomes_an_error() {
        let asks = |message: &str| {
            let request = json!({"method": ELICITATION, "params": {"message": message}});
            let result = json!({"resultType": "input_required", "inputRequests": {"k": request}});
            marked_result(&asker("s"), Outcome::result(&result))
        };
        let Outcome::Result(shown) = asks("who?") else {
            unreachable!("it is let through");
        };
        assert!(shown.get().contains("[s asks] who?"), "{}", shown.get());
        assert!(matches!(asks("Interlock asks"), Outcome::Error(_)));
    }
}
