//! An exported memory comes back, read piece by piece as it arrives.
//!
//! Vectors in the document are taken over when they were made by the model of this server; without them, or with
//! those of another model, the interactions wait for theirs. Each batch is on disk before the next is read. What has
//! the id of something that is there replaces it, so an import that broke off can simply be done again.

use std::cell::Cell;
use std::fmt;
use std::io::{BufReader, Read};
use std::rc::Rc;

use artel_agents::embed::Kind as Embedding;
use artel_domain::memory::{Facts, Interaction};
use artel_domain::{Agent, AgentId, InteractionId, ProjectId};
use artel_storage::Scope;
use artel_storage::vectors::Entry;
use serde::Deserialize;
use serde::Serialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::{collection, input};
use crate::{App, Caller, Error, Kind, Result};

const BATCH: usize = 256;
/// The most that one interaction may take in the document, its vector included.
const LARGEST: usize = 4 * 1024 * 1024;

/// What came of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct Imported {
    pub imported: u64,
    /// How many of them wait for their vectors, and are found by search later.
    pub waiting: u64,
}

impl App {
    /// Adds the interactions of an export to an agent's memory.
    pub async fn import_context(
        &self,
        caller: &Caller,
        project: ProjectId,
        agent: AgentId,
        source: impl Read + Send + 'static,
    ) -> Result<Imported> {
        let scope = Scope { user: caller.user, project };
        let agent = self.agent(caller, project, agent).await?;
        let (send, mut batches) = mpsc::channel(1);
        let model = self.vectors().model().name.clone();
        let reading = tokio::task::spawn_blocking(move || read(source, &model, &send));
        let mut imported = Imported::default();
        let mut refused = None;
        while let Some(batch) = batches.recv().await {
            if let Err(error) = self.take_in(scope, &agent, batch, &mut imported).await {
                refused = Some(error);
                break;
            }
        }
        drop(batches);
        let read = reading.await.map_err(Error::internal)?;
        if imported.waiting > 0 {
            self.look_again(scope, agent.id, self.clock().now()).await?;
            self.0.memory.call();
        }
        // Even if it broke off, so that a memory never stays above its limit.
        self.keep_in_bounds(scope, &agent, imported.imported).await?;
        tracing::info!(agent = %agent.id, imported = imported.imported, "memory imported");
        match (refused, read) {
            (Some(error), _) => Err(told(error, imported)),
            (None, Err(fault)) => {
                Err(told(Error::new(Kind::Invalid, "not_an_export", fault.to_string()), imported))
            }
            (None, Ok(())) => Ok(imported),
        }
    }

    async fn take_in(
        &self,
        scope: Scope,
        agent: &Agent,
        batch: Vec<Incoming>,
        imported: &mut Imported,
    ) -> Result<()> {
        let mut entries = Vec::with_capacity(batch.len());
        for (at, incoming) in batch.into_iter().enumerate() {
            let place = imported.imported + at as u64;
            entries.push(incoming.into_entry(self, place)?);
        }
        // Vectors of words cost next to nothing; others are made in the background.
        if self.embedder().kind() == Embedding::Lexical {
            for entry in entries.iter_mut().filter(|entry| entry.vector.is_none()) {
                entry.vector = Some(self.embed_one(entry.interaction.meaning()).await?);
            }
        }
        let number = entries.len() as u64;
        // What is over the limit would push out what came just before.
        let limit = u64::from(agent.config.max_vectors);
        if imported.imported + number > limit {
            let message =
                format!("has more than the {limit} that the agent may remember (max_vectors)");
            return Err(Error::invalid_field("interactions", message));
        }
        let waiting = entries.iter().filter(|entry| entry.vector.is_none()).count() as u64;
        let turn = self.0.memory.turn(agent.id).await;
        self.vectors().put(&collection(scope, agent), entries).await?;
        drop(turn);
        imported.imported += number;
        imported.waiting += waiting;
        Ok(())
    }
}

/// Says with the error how far it went.
fn told(mut error: Error, imported: Imported) -> Error {
    error.message = format!(
        "{}. {} interactions before it were imported; mend the file and import it again: what is there already is \
         replaced, not doubled",
        error.message.trim_end_matches('.'),
        imported.imported
    );
    error
}

/// One interaction of the document.
#[derive(Debug, Deserialize)]
struct Incoming {
    id: Option<InteractionId>,
    text: String,
    metadata: Facts,
    #[serde(default)]
    embedding: Option<Vec<f32>>,
    /// Whether the vector was made by our model.
    #[serde(skip)]
    ours: bool,
}

impl Incoming {
    fn into_entry(self, app: &App, place: u64) -> Result<Entry> {
        let Self { id, text, metadata, embedding, ours } = self;
        let fault = |field: &str, message: String| {
            Error::invalid_field(&format!("interactions.{place}.{field}"), message)
        };
        if text.is_empty() || text.chars().count() > input::LONGEST_TEXT {
            return Err(fault(
                "text",
                format!("must have 1 to {} characters", input::LONGEST_TEXT),
            ));
        }
        input::check_own_keys(&metadata.other).map_err(|error| fault("metadata", error.message))?;
        let vector = match embedding.filter(|_| ours) {
            None => None,
            Some(vector) => {
                let dimensions = app.vectors().model().dimensions;
                if vector.len() != dimensions {
                    let message = format!("has {} dimensions, not {dimensions}", vector.len());
                    return Err(fault("embedding", message));
                }
                Some(vector)
            }
        };
        let id = id.unwrap_or_else(|| InteractionId::new(app.clock()));
        Ok(Entry { interaction: Interaction { id, text, metadata }, vector })
    }
}

/// Reads the document and hands its interactions on in batches; ends early when nobody takes them.
fn read(
    source: impl Read,
    model: &str,
    send: &mpsc::Sender<Vec<Incoming>>,
) -> std::result::Result<(), serde_json::Error> {
    let used = Rc::new(Cell::new(0));
    let bounded = Bounded { source: BufReader::new(source), used: Rc::clone(&used) };
    let mut document = serde_json::Deserializer::from_reader(bounded);
    Document { model, send, used: &used }.deserialize(&mut document)?;
    document.end()
}

/// Refuses to read on when one interaction has no end.
struct Bounded<R> {
    source: R,
    used: Rc<Cell<usize>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let number = self.source.read(buffer)?;
        self.used.set(self.used.get() + number);
        if self.used.get() > LARGEST {
            let message = format!("an interaction is larger than {LARGEST} bytes");
            return Err(std::io::Error::other(message));
        }
        Ok(number)
    }
}

struct Document<'a> {
    model: &'a str,
    send: &'a mpsc::Sender<Vec<Incoming>>,
    used: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> std::result::Result<(), D::Error> {
        document.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an export: an object with `interactions`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let mut ours = false;
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "embedding_model" => ours = map.next_value::<String>()? == self.model,
                "interactions" => {
                    found = true;
                    let interactions = Interactions { send: self.send, used: self.used, ours };
                    map.next_value_seed(interactions)?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if found { Ok(()) } else { Err(A::Error::missing_field("interactions")) }
    }
}

struct Interactions<'a> {
    send: &'a mpsc::Sender<Vec<Incoming>>,
    used: &'a Cell<usize>,
    ours: bool,
}

impl<'de> DeserializeSeed<'de> for Interactions<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> std::result::Result<(), D::Error> {
        list.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Interactions<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of interactions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let gone = || A::Error::custom("nobody takes more");
        let mut batch = Vec::with_capacity(BATCH);
        self.used.set(0);
        while let Some(incoming) = list.next_element::<Incoming>()? {
            self.used.set(0);
            batch.push(Incoming { ours: self.ours, ..incoming });
            if batch.len() == BATCH {
                let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
                self.send.blocking_send(full).map_err(|_| gone())?;
            }
        }
        if !batch.is_empty() {
            self.send.blocking_send(batch).map_err(|_| gone())?;
        }
        Ok(())
    }
}
