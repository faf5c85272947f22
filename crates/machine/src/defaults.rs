//! Tests for default values, which serialization omits and deserialization restores.

/// Returns whether a value is its default.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns whether a number is 0.
pub fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    is_default(number)
}
