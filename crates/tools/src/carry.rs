//! Which module carries out which tool.

use serde_json::Value;

use crate::{Around, Code, Tool, ToolEnd, end::Failure};

pub(crate) fn carry(tool: Tool, _input: &Value, _around: &Around<'_>) -> ToolEnd {
    Failure::new(
        Code::NotStarted,
        format!("`{}` is not carried out yet", tool.name()),
    )
    .into()
}
