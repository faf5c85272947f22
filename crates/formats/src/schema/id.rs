//! The names of the schemas.

/// Returns the name of a format's schema, under which editors store it.
///
/// It is a URN, because it is not a web address: the program itself provides the schema.
pub(crate) fn id(format: &str) -> String {
    format!("urn:interlock:schema:{format}")
}
