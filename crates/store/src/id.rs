//! Run ids: 26 letters and digits that sort by time.

use interlock_core::names::RunId;

use crate::error::StoreError;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Length of a run id.
pub(crate) const ID_LENGTH: usize = 26;

/// Makes the id of a run that begins at `at_ms`.
///
/// The id is a ULID in lower case: 48 bits of time, and 80 random bits.
///
/// # Errors
/// The system provides no random bytes.
pub fn run_id(at_ms: u64) -> Result<RunId, StoreError> {
    Ok(encode(at_ms, random::<10>()?))
}

fn encode(at_ms: u64, random: [u8; 10]) -> RunId {
    let mut bits = u128::from(at_ms & 0xffff_ffff_ffff) << 80;
    for (index, byte) in random.iter().rev().enumerate() {
        bits |= u128::from(*byte) << (8 * index);
    }
    let letters = (0..ID_LENGTH).rev().map(|place| {
        let index = usize::try_from((bits >> (5 * place)) & 31).unwrap_or_default();
        char::from(ALPHABET.get(index).copied().unwrap_or(b'0'))
    });
    RunId::new(letters.collect::<String>())
}

/// Makes an unguessable word of 32 hexadecimal digits.
///
/// # Errors
/// The system provides no random bytes.
pub fn random_word() -> Result<String, StoreError> {
    random::<16>().map(|bytes| crate::chain::hex(&bytes))
}

/// Returns whether `text` could be a prefix of a run id.
pub(crate) fn is_prefix(text: &str) -> bool {
    (1..=ID_LENGTH).contains(&text.len()) && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

/// Checks that `run` is a valid run id, which cannot lead out of the directory of runs.
///
/// # Errors
/// The id is not valid.
pub fn check(run: &RunId) -> Result<(), StoreError> {
    let text = run.as_str();
    if text.len() == ID_LENGTH && is_prefix(text) {
        Ok(())
    } else {
        Err(StoreError::BadRunId {
            text: text.to_owned(),
        })
    }
}

/// Returns random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::NoRandom {
        what: error.to_string(),
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_whatever_the_random_part() {
        let earlier = encode(1_700_000_000_000, [0xff; 10]);
        let later = encode(1_700_000_000_001, [0; 10]);
        assert!(earlier < later, "{earlier} {later}");
        assert_eq!(encode(0, [0; 10]).as_str(), "0".repeat(ID_LENGTH));
        assert_eq!(
            encode(0xffff_ffff_ffff, [0xff; 10]).as_str(),
            "7zzzzzzzzzzzzzzzzzzzzzzzzz"
        );
    }

    #[test]
    fn nothing_but_an_id_passes_for_one() {
        assert!(check(&encode(1, [7; 10])).is_ok());
        for text in [
            "",
            "..",
            "../../etc",
            "01k0",
            "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "0000000000000000000000000u",
            "00000000000000000000000000/",
            "0000000000000/000000000000",
        ] {
            assert!(check(&RunId::new(text)).is_err(), "{text}");
        }
    }
}
