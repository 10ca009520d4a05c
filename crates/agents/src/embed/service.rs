//! Embeddings of `OpenAI`, and of every service that speaks its wire: Ollama, vLLM, llama.cpp, LM Studio.
//!
//! The best vectors of the three, and the only ones that leave the machine. The key, the client, the reading of errors
//! and the retries are those of [`crate::llm`].

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Embedder, Error, Kind, Settings, normalise};
use crate::llm::http::{Bad, Http};
use crate::llm::openai::{self, OpenAi};
use crate::llm::retry::{self, Policy};
use crate::llm::tokens;

const DEFAULT_MODEL: &str = "text-embedding-3-small";
/// The sizes of vectors that models give by themselves. Others have to be told.
const SIZES: &[(&str, usize)] = &[
    (DEFAULT_MODEL, 1536),
    ("text-embedding-3-large", 3072),
    ("text-embedding-ada-002", 1536),
    ("nomic-embed-text", 768),
    ("mxbai-embed-large", 1024),
    ("bge-m3", 1024),
    ("all-minilm", 384),
];
const MAX_DIMENSIONS: usize = 16_000;

/// Texts in one request.
const BATCH: usize = 128;
/// Bytes of text in one request, unless a single text has more.
const BATCH_BYTES: usize = 256 * 1024;
/// The models take 8,191 tokens. Ours are an estimate, so there is some room.
const MAX_TOKENS: u64 = 7_500;
/// So that a huge text is not counted through. English of the limit has half as many.
const MAX_CHARS: usize = 8 * 7_500;
const TIMEOUT: Duration = Duration::from_mins(1);

/// A model behind `/embeddings`.
#[derive(Debug)]
pub struct Service {
    api: OpenAi,
    /// With the provider before it.
    name: String,
    model: String,
    dimensions: usize,
    /// Whether the service has to be asked for that many.
    asks_dimensions: bool,
    policy: Policy,
}

impl Service {
    pub(super) fn open(http: Http, settings: &Settings) -> Result<Self, Error> {
        let Settings { model, dimensions, openai_api_key, openai_base_url, choice: _, weights: _ } =
            settings;
        let key = openai_api_key.clone().filter(|key| !key.expose_secret().trim().is_empty());
        let base = given(openai_base_url.as_deref());
        // A compatible service on one's own machine has no key.
        if key.is_none() && base.is_none() {
            return Err(Error::lasting("there is no service for embeddings: set OPENAI_API_KEY"));
        }
        let api = OpenAi::new(http, base.unwrap_or(openai::BASE), key).map_err(|bad| {
            let variable = match bad {
                Bad::Key => "OPENAI_API_KEY",
                Bad::Address | Bad::Userinfo => "OPENAI_BASE_URL",
            };
            Error::lasting(format!("the service for embeddings cannot be used: {variable} {bad}"))
        })?;
        let model = given(model.as_deref()).unwrap_or(DEFAULT_MODEL);
        // Written as models of conversations are, too.
        let model = model.strip_prefix("openai/").unwrap_or(model).to_owned();
        let own = SIZES.iter().find(|(known, _)| *known == model).map(|(_, size)| *size);
        let dimensions = dimensions.or(own).ok_or_else(|| {
            Error::lasting(format!(
                "how many dimensions has the embedding model {model:?}? It is not known here: set it"
            ))
        })?;
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(Error::lasting(format!(
                "embeddings cannot have {dimensions} dimensions; give 1 to {MAX_DIMENSIONS}"
            )));
        }
        Ok(Self {
            api,
            name: format!("openai/{model}"),
            model,
            dimensions,
            // Many services refuse the parameter, even when it asks for what they give anyway.
            asks_dimensions: own != Some(dimensions),
            policy: Policy::default(),
        })
    }

    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let body = self.body(texts);
        let again = || self.api.embeddings(body.clone(), TIMEOUT);
        let answer = retry::with_retries(again, &self.policy, &retry::chance, |_| ()).await?;
        self.read(&answer, texts.len())
    }

    fn body(&self, texts: &[&str]) -> Value {
        let mut body = Map::from_iter([
            ("model".to_owned(), json!(self.model)),
            ("input".to_owned(), json!(texts)),
            // A third of the size. Services that do not know it send numbers.
            ("encoding_format".to_owned(), json!("base64")),
        ]);
        if self.asks_dimensions {
            body.insert("dimensions".to_owned(), json!(self.dimensions));
        }
        Value::Object(body)
    }

    fn read(&self, answer: &[u8], count: usize) -> Result<Vec<Vec<f32>>, Error> {
        let strange = |what: String| {
            Error::lasting(format!("the embedding service sent what cannot be understood: {what}"))
        };
        let answer: Answer =
            serde_json::from_slice(answer).map_err(|error| strange(error.to_string()))?;
        let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
        for Entry { index, embedding } in answer.data {
            let place = vectors.get_mut(index).filter(|place| place.is_none());
            let place = place.ok_or_else(|| strange(format!("entry {index} of {count} texts")))?;
            let mut vector = embedding.vector().ok_or_else(|| strange("no vector".to_owned()))?;
            if vector.len() != self.dimensions {
                return Err(Error::lasting(format!(
                    "the embedding model {} gives {} dimensions, not {}: set that number",
                    self.model,
                    vector.len(),
                    self.dimensions
                )));
            }
            normalise(&mut vector);
            *place = Some(vector);
        }
        let whole: Option<Vec<_>> = vectors.into_iter().collect();
        whole.ok_or_else(|| strange(format!("fewer vectors than {count} texts")))
    }
}

#[async_trait]
impl Embedder for Service {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn kind(&self) -> Kind {
        Kind::Service
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut batch: Vec<&str> = Vec::new();
        let mut bytes = 0;
        for text in texts {
            let text = fit(text);
            if batch.len() == BATCH || (!batch.is_empty() && bytes + text.len() > BATCH_BYTES) {
                vectors.append(&mut self.ask(&batch).await?);
                batch.clear();
                bytes = 0;
            }
            bytes += text.len();
            batch.push(text);
        }
        if !batch.is_empty() {
            vectors.append(&mut self.ask(&batch).await?);
        }
        Ok(vectors)
    }
}

/// As much of a text as the model takes. Services refuse an empty one, so it becomes a space.
fn fit(text: &str) -> &str {
    if text.trim().is_empty() {
        return " ";
    }
    let end = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(end, _)| end);
    let mut text = &text[..end];
    let mut tokens = tokens::estimate(text);
    while tokens > MAX_TOKENS {
        // By the share that fits, and a little more, since scripts may be mixed.
        let chars = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        let keep = chars * MAX_TOKENS / tokens * 98 / 100;
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        text = text.char_indices().nth(keep).map_or(text, |(end, _)| &text[..end]);
        tokens = tokens::estimate(text);
    }
    text
}

fn given(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    index: usize,
    embedding: Embedding,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Embedding {
    Base64(String),
    Numbers(Vec<f32>),
}

impl Embedding {
    /// `None` when it is not one, or has what is no number.
    fn vector(self) -> Option<Vec<f32>> {
        let vector = match self {
            Self::Numbers(numbers) => numbers,
            Self::Base64(text) => {
                let bytes = STANDARD.decode(text).ok()?;
                let (numbers, rest) = bytes.as_chunks::<4>();
                rest.is_empty().then_some(())?;
                numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
            }
        };
        vector.iter().all(|x| x.is_finite()).then_some(vector)
    }
}
