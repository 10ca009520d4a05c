//! A memory as a JSON document, written piece by piece: a million interactions are never in memory together.

use std::sync::Arc;

use artel_domain::memory::{Collection, Filter};
use artel_domain::{AgentId, InteractionId, ProjectId};
use artel_storage::Scope;
use artel_storage::vectors::{Entry, VectorIndex};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{Narrow, collection};
use crate::{App, Caller, Error, Result};

/// Entries in one piece; bounded so that a piece with vectors has a few megabytes at most.
const PAGE: usize = 200;

/// An export under way.
pub struct Export {
    store: Arc<dyn VectorIndex>,
    of: Collection,
    filter: Filter,
    vectors: bool,
    head: Option<String>,
    after: Option<InteractionId>,
    written: u64,
    done: bool,
}

impl App {
    /// Everything that an agent remembers and the request admits.
    pub async fn export_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
        narrow: Narrow,
        vectors: bool,
    ) -> Result<Export> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        let filter = narrow.filter()?;
        self.arrive(scope, agent.id).await?;
        let store = Arc::clone(&self.0.storage.vectors);
        let of = collection(scope, &agent);
        let head = json!({
            "agent_id": agent.id,
            "agent_name": agent.name,
            "collection": of.name,
            "export_date": self.clock().now(),
            "embedding_model": store.model().name,
        });
        let head = head.to_string();
        // The object is left open: the interactions follow, and their number once it is known.
        let head = format!("{},\"interactions\":[", head.trim_end_matches('}'));
        Ok(Export {
            store,
            of,
            filter,
            vectors,
            head: Some(head),
            after: None,
            written: 0,
            done: false,
        })
    }
}

impl Export {
    /// How many interactions were written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The next piece; none when it was the last.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.done {
            return Ok(None);
        }
        let page = self.store.page(&self.of, &self.filter, self.after, PAGE, self.vectors).await?;
        let mut text = self.head.take().unwrap_or_default().into_bytes();
        self.after = page.last().map(|entry| entry.interaction.id).or(self.after);
        self.done = page.len() < PAGE;
        for Entry { interaction, vector } in page {
            text.extend_from_slice(if self.written == 0 { b"\n" } else { b",\n" });
            self.written += 1;
            let mut one = serde_json::to_value(&interaction).map_err(Error::internal)?;
            if let (Value::Object(one), true) = (&mut one, self.vectors) {
                one.insert("embedding".to_owned(), json!(vector));
            }
            serde_json::to_writer(&mut text, &one).map_err(Error::internal)?;
        }
        if self.done {
            text.extend_from_slice(
                format!("\n],\"total_interactions\":{}}}\n", self.written).as_bytes(),
            );
        }
        Ok(Some(text.into()))
    }
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Export");
        shown.field("of", &self.of).field("written", &self.written).finish_non_exhaustive()
    }
}
