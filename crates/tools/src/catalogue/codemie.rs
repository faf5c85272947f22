//! Descriptions of the tools of CodeMie's assistants.

use serde_json::json;

use super::Definition;

pub(super) fn read_file() -> Definition {
    Definition {
        description: "Reads a text file of the project or of a datasource.",
        schema: json!({
            "type": "object",
            "required": ["path"],
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "The file; a path may be relative to the project root."},
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Number of lines to skip at the beginning."},
                "limit": {"type": "integer", "minimum": 1, "description": "Number of lines to return; by default all."}
            }
        }),
    }
}

pub(super) fn write_file() -> Definition {
    Definition {
        description: "Writes an entire file of the project or of a datasource, creating missing directories.",
        schema: json!({
            "type": "object",
            "required": ["path", "content"],
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "The file; a path may be relative to the project root."},
                "content": {"type": "string", "description": "The complete text."}
            }
        }),
    }
}

pub(super) fn list_files() -> Definition {
    Definition {
        description: "Lists files of the project or of a datasource, sorted.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "minLength": 1, "default": ".", "description": "The directory."},
                "pattern": {"type": "string", "minLength": 1, "description": "Only files whose path below it matches this glob; without `/`, whose name does."},
                "recursive": {"type": "boolean", "default": true, "description": "Whether directories below it are listed, too."}
            }
        }),
    }
}

pub(super) fn search() -> Definition {
    Definition {
        description: "Searches the files of the project or of a datasource for a text or a regular expression. Ignored files are left out.",
        schema: json!({
            "type": "object",
            "required": ["query"],
            "additionalProperties": false,
            "properties": {
                "query": {"type": "string", "minLength": 1, "description": "The text, or the expression."},
                "path": {"type": "string", "minLength": 1, "default": ".", "description": "The directory or file."},
                "regex": {"type": "boolean", "default": false, "description": "Whether the query is a regular expression."},
                "max_results": {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 100, "description": "Number of matching lines to return."}
            }
        }),
    }
}

pub(super) fn http_request() -> Definition {
    Definition {
        description: "Sends a request to an address that begins with http: or https: and returns the body of the answer. A status from 400 is a failure.",
        schema: json!({
            "type": "object",
            "required": ["url"],
            "additionalProperties": false,
            "properties": {
                "url": {"type": "string", "minLength": 1, "description": "The address."},
                "method": {"type": "string", "pattern": "^[A-Za-z]{1,20}$", "default": "GET"},
                "headers": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
                "query": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null", "array"]}, "description": "Added to the address; a list adds each of its items."},
                "body": {"description": "Text is sent unchanged, an object or a list as JSON."},
                "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 3600, "default": 60, "description": "Time limit in seconds."}
            }
        }),
    }
}

pub(super) fn bash() -> Definition {
    Definition {
        description: "Runs a shell line with bash and returns what it prints to its standard output.",
        schema: json!({
            "type": "object",
            "required": ["command"],
            "additionalProperties": false,
            "properties": {
                "command": {"type": "string", "description": "The line."},
                "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 3600, "default": 120, "description": "Time limit in seconds."},
                "cwd": {"type": "string", "minLength": 1, "description": "Working directory; by default the project root."},
                "env": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}, "description": "Variables for this line."}
            }
        }),
    }
}

pub(super) fn search_knowledge_base() -> Definition {
    Definition {
        description: "Searches the documents of the datasources for the words of a query, and returns the best passages with the ids of their documents.",
        schema: json!({
            "type": "object",
            "required": ["query"],
            "additionalProperties": false,
            "properties": {
                "query": {"type": "string", "minLength": 1, "description": "The words."},
                "datasource": {"type": "string", "minLength": 1, "description": "Search only this one; by default all."},
                "max_results": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}
            }
        }),
    }
}

pub(super) fn get_document_by_id() -> Definition {
    Definition {
        description: "Returns a document of a datasource by the id that search_knowledge_base returned.",
        schema: json!({
            "type": "object",
            "required": ["id"],
            "additionalProperties": false,
            "properties": {
                "id": {"type": "string", "minLength": 1}
            }
        }),
    }
}
