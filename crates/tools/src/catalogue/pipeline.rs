//! Descriptions of the tools of pipelines.

use serde_json::json;

use super::Definition;

pub(super) fn read() -> Definition {
    Definition {
        description: "Reads a text file and shows its lines with their numbers, by default at most 2,000 from the first. A path is relative to the project root. Binary files and directories are refused.",
        schema: json!({
            "type": "object",
            "required": ["file_path"],
            "additionalProperties": false,
            "properties": {
                "file_path": {"type": "string", "minLength": 1, "description": "The file."},
                "offset": {"type": "integer", "minimum": 0, "description": "The number of the first line shown, from 1."},
                "limit": {"type": "integer", "minimum": 1, "description": "How many lines are shown; by default 2000."}
            }
        }),
    }
}

pub(super) fn grep() -> Definition {
    Definition {
        description: "Searches the files below a directory, or one file, for a regular expression (linear time, no look-around). Ignored files, binary files and `.git` are left out. Results are sorted by path.",
        schema: json!({
            "type": "object",
            "required": ["pattern"],
            "additionalProperties": false,
            "properties": {
                "pattern": {"type": "string", "description": "The regular expression, matched within lines."},
                "path": {"type": "string", "minLength": 1, "description": "The directory or file; by default the project root."},
                "glob": {"type": "string", "minLength": 1, "description": "Only files that match, such as `*.rs` or `!tests/**`."},
                "output_mode": {"enum": ["content", "files_with_matches", "count"], "description": "Matching lines, only paths (the default), or the number of matching lines per file."},
                "ignore_case": {"type": "boolean", "description": "Whether to ignore case."},
                "context": {"type": "integer", "minimum": 0, "maximum": 100, "description": "Lines shown before and after each match, with `content`."}
            }
        }),
    }
}

pub(super) fn glob() -> Definition {
    Definition {
        description: "Lists files whose path below a directory matches a pattern such as `src/**/*.rs`: at most 1,000, sorted. `*` stays within a name, `**` does not. `.git` is left out unless the pattern names it.",
        schema: json!({
            "type": "object",
            "required": ["pattern"],
            "additionalProperties": false,
            "properties": {
                "pattern": {"type": "string", "minLength": 1, "description": "The pattern, relative to the directory."},
                "path": {"type": "string", "minLength": 1, "description": "The directory; by default the project root."}
            }
        }),
    }
}

pub(super) fn ls() -> Definition {
    Definition {
        description: "Lists what is in a directory: at most 1,000 names, sorted; `/` follows directories, `@` follows links.",
        schema: json!({
            "type": "object",
            "required": ["path"],
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "The directory; `.` is the project root."}
            }
        }),
    }
}

pub(super) fn edit() -> Definition {
    Definition {
        description: "Replaces a text in a file. The old text must be in the file exactly once, blanks and line ends included, unless replace_all is set. The file must have been read before, and must not have changed since. Line numbers that Read shows are not part of the text.",
        schema: json!({
            "type": "object",
            "required": ["file_path", "old_string", "new_string"],
            "additionalProperties": false,
            "properties": {
                "file_path": {"type": "string", "minLength": 1, "description": "The file."},
                "old_string": {"type": "string", "minLength": 1, "description": "The text to replace."},
                "new_string": {"type": "string", "description": "The new text."},
                "replace_all": {"type": "boolean", "description": "Whether to replace every occurrence."}
            }
        }),
    }
}

pub(super) fn multi_edit() -> Definition {
    Definition {
        description: "Replaces several texts in one file, in the given order, each in the result of the previous ones. Either all replacements are made or none. Each follows the same rules as Edit.",
        schema: json!({
            "type": "object",
            "required": ["file_path", "edits"],
            "additionalProperties": false,
            "properties": {
                "file_path": {"type": "string", "minLength": 1, "description": "The file."},
                "edits": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 1000,
                    "items": {
                        "type": "object",
                        "required": ["old_string", "new_string"],
                        "additionalProperties": false,
                        "properties": {
                            "old_string": {"type": "string", "minLength": 1, "description": "The text to replace."},
                            "new_string": {"type": "string", "description": "The new text."},
                            "replace_all": {"type": "boolean", "description": "Whether to replace every occurrence."}
                        }
                    }
                }
            }
        }),
    }
}

pub(super) fn write() -> Definition {
    Definition {
        description: "Writes an entire file, creating or overwriting it. Missing directories are created. Only in the project and the temporary directory.",
        schema: json!({
            "type": "object",
            "required": ["file_path", "content"],
            "additionalProperties": false,
            "properties": {
                "file_path": {"type": "string", "minLength": 1, "description": "The file."},
                "content": {"type": "string", "description": "The complete text."}
            }
        }),
    }
}

pub(super) fn bash() -> Definition {
    Definition {
        description: "Runs a shell line with bash in the project root and shows what it prints and its exit code. Each call has a new shell, without input and without a terminal. Programs that the line starts end with it.",
        schema: json!({
            "type": "object",
            "required": ["command"],
            "additionalProperties": false,
            "properties": {
                "command": {"type": "string", "description": "The line."},
                "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 600_000, "description": "How long it may take, in milliseconds; by default 120000."}
            }
        }),
    }
}
