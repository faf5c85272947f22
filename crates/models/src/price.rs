//! Prices of tokens.

use std::str::FromStr;

use crate::Usage;

/// Maximum number of decimals of a price per million tokens: one millionth of a millionth of a dollar per token.
const DECIMALS_MAX: usize = 6;

/// US dollars per million tokens, exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    /// Millionths of a millionth of a dollar per token.
    pico_usd: u64,
}

/// A price that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a price: US dollars per million tokens, such as `2.5`, with at most six decimals"
)]
pub struct BadPrice(pub String);

impl FromStr for Rate {
    type Err = BadPrice;

    fn from_str(text: &str) -> Result<Self, BadPrice> {
        let bad = || BadPrice(text.to_owned());
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let part = part.trim_end_matches('0');
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > DECIMALS_MAX {
            return Err(bad());
        }
        let pico_usd = format!("{whole}{part:0<DECIMALS_MAX$}").parse();
        Ok(Self {
            pico_usd: pico_usd.map_err(|_| bad())?,
        })
    }
}

impl Rate {
    fn of(self, tokens: u64) -> Option<u64> {
        self.pico_usd.checked_mul(tokens)
    }
}

/// Prices of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    /// Price of request tokens.
    pub input: Rate,
    /// Price of answer tokens.
    pub output: Rate,
    /// Price of cached request tokens; `None` if it is the same.
    pub cached_input: Option<Rate>,
}

impl Price {
    /// Returns the cost of a call, in millionths of a millionth of a US dollar.
    ///
    /// Returns `None` if the provider did not report its usage, or if the cost is too large.
    #[must_use]
    pub fn pico_usd(&self, usage: &Usage) -> Option<u64> {
        let input = usage.input?;
        let cached = usage.cached.unwrap_or(0).min(input);
        let fresh = self.input.of(input.checked_sub(cached)?)?;
        let cached = self.cached_input.unwrap_or(self.input).of(cached)?;
        let output = self.output.of(usage.output?)?;
        fresh.checked_add(cached)?.checked_add(output)
    }
}
