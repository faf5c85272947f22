//! The console of this machine, whose port no call of an agent may access.

use serde_json::Value;

use super::Guarded;

/// Names and addresses of this machine.
const HERE: [&str; 10] = [
    "localhost",
    "127.",
    "::1",
    "[::]",
    "0.0.0.0",
    "0x7f",
    "2130706433",
    "/dev/tcp/",
    "loopback",
    "$hostname",
];

impl Guarded<'_> {
    /// Searches for the address of a console in a text that may be run or opened.
    pub(super) fn console(&self, text: &str) -> Option<String> {
        let ports = &self.context.consoles;
        if ports.is_empty() {
            return None;
        }
        // An address may contain quoting characters.
        let bare: String = text
            .chars()
            .filter(|letter| !matches!(letter, '"' | '\'' | '\\'))
            .collect();
        let bare = bare.to_lowercase();
        if !HERE.iter().any(|name| bare.contains(name)) {
            return None;
        }
        let mut numbers = bare.split(|letter: char| !letter.is_ascii_digit());
        let port = numbers.find_map(|number| {
            let number: u16 = number.parse().ok()?;
            ports.contains(&number).then_some(number)
        })?;
        Some(format!("the console at port {port} of this machine"))
    }

    /// Searches every text of a tool's arguments for it.
    pub(super) fn console_in(&self, input: &Value) -> Option<String> {
        if self.context.consoles.is_empty() {
            return None;
        }
        self.console(&input.to_string())
    }
}
