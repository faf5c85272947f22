//! What the schemas are called.

/// Returns the name of a format's schema, under which editors keep it.
///
/// A URN, because no address has to answer: the schema comes from the program.
pub(crate) fn id(format: &str) -> String {
    format!("urn:interlock:schema:{format}")
}
