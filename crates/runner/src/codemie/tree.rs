//! `generate_documents_tree`: the documents of datasources.

use interlock_core::call::CallFacts;
use interlock_nodes::{NodeOutput, TreeNode};
use interlock_tools::{Documents, Seen, ToolContext, documents};
use serde_json::{Value, json};

use super::{Worked, reasoned};
use crate::order::Failed;

impl Worked<'_> {
    /// Lists the documents.
    pub(super) fn documents(&mut self) -> Result<NodeOutput, Failed> {
        let node: TreeNode = self.input()?;
        let nodes = self.nodes()?;
        let mut sources = Vec::new();
        for id in &node.datasources {
            let found = nodes.datasources.iter().find(|source| source.id == *id);
            sources.push(found.cloned().ok_or_else(|| {
                let why = format!("the configuration has no `[datasources.{id}]` that can be read");
                reasoned("node_failed", why, None)
            })?);
        }
        let context = ToolContext {
            call_context: &nodes.place,
            facts: &CallFacts::default(),
            seen: &Seen::new(),
            cancel: self.cancel,
            carrier: None,
            datasources: &sources,
            environment: &[],
            result_bytes_max: usize::MAX,
            progress: None,
        };
        let wanted = Documents {
            filter: &node.filter,
            pattern: node.pattern.as_deref(),
            content: node.content,
            metadata: node.metadata,
            depth_max: node.depth_max,
        };
        let listed =
            documents(&wanted, &context).map_err(|why| reasoned("node_failed", why, None))?;
        Ok(NodeOutput {
            output: json!({ node.output_key: Value::Array(listed) }),
            warnings: Vec::new(),
        })
    }
}
