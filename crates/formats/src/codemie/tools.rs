//! The built-in tools and their parameters.

/// A tool: its name, and its parameters with whether each is required.
pub(super) type Builtin = (&'static str, &'static [(&'static str, bool)]);

/// Every tool that is available without an MCP server.
pub(super) const BUILTINS: [Builtin; 8] = [
    (
        "read_file",
        &[("path", true), ("offset", false), ("limit", false)],
    ),
    ("write_file", &[("path", true), ("content", true)]),
    (
        "list_files",
        &[("path", false), ("pattern", false), ("recursive", false)],
    ),
    (
        "search",
        &[
            ("query", true),
            ("path", false),
            ("regex", false),
            ("max_results", false),
        ],
    ),
    (
        "http_request",
        &[
            ("url", true),
            ("method", false),
            ("headers", false),
            ("query", false),
            ("body", false),
            ("timeout", false),
        ],
    ),
    (
        "bash",
        &[
            ("command", true),
            ("timeout", false),
            ("cwd", false),
            ("env", false),
        ],
    ),
    (
        "search_knowledge_base",
        &[
            ("query", true),
            ("datasource", false),
            ("max_results", false),
        ],
    ),
    ("get_document_by_id", &[("id", true)]),
];

/// Returns a built-in tool.
pub(super) fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|(known, _)| *known == name)
}
