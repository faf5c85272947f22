//! The console of this machine: its port is reached by no call of an agent.

use serde_json::Value;

use super::Guarded;

/// Names and numbers of this machine, as addresses have them.
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
    /// Looks for the address of a console in a text that may be run or opened.
    pub(super) fn console(&self, text: &str) -> Option<String> {
        let ports = &self.context.consoles;
        if ports.is_empty() {
            return None;
        }
        // Marks that only quote may stand within an address.
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

    /// Looks for it in every text of a tool's arguments.
    pub(super) fn console_in(&self, input: &Value) -> Option<String> {
        if self.context.consoles.is_empty() {
            return None;
        }
        self.console(&input.to_string())
    }
}
