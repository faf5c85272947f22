//! Nothing: brush-parser names `insta` among the dependencies of its library and uses it in its own tests alone.
//!
//! With the crate of that name, every build would compile twelve further crates that nothing calls.
