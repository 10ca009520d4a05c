//! Texts become vectors here, so that what was said can be found by what it means.
//!
//! Three ways, one seam ([`Embedder`]): a [`service`] that speaks `OpenAI`'s embeddings, a [`local`] model that runs in
//! this process, and [`lexical`] vectors that need nothing at all. [`open`] chooses. Vectors of different embedders
//! cannot be compared, so whoever stores them keeps [`Embedder::name`] and [`Embedder::dimensions`] beside them.
//!
//! The law, kept by every embedder: one vector for each text, in the same order, of that many dimensions and of
//! length 1, without a value that is not a number, for any text at all.

pub mod lexical;
pub mod local;
pub mod service;

mod cached;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};

use crate::llm;
use crate::llm::http::Http;
use cached::Cached;
use lexical::Lexical;
use local::Local;
use service::Service;

/// How to get the weights of the local model.
const FETCH: &str =
    "run scripts/fetch-weights.sh DIR and give that folder as the one of the weights";

/// Turns texts into unit vectors.
#[async_trait]
pub trait Embedder: Send + Sync + fmt::Debug {
    /// The name to store with vectors; another name means that they cannot be compared.
    fn name(&self) -> &str;

    fn dimensions(&self) -> usize;

    fn kind(&self) -> Kind;

    /// One vector for each text, in their order. Any number of texts of any length: batches are made inside, and of a
    /// text that is too long for the model the beginning counts.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error>;
}

/// What stands behind an embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Service,
    Local,
    Lexical,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Service => "openai",
            Self::Local => "local",
            Self::Lexical => "lexical",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which embedder is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// The service when there is a key to it, else the local model when its weights are there, else words.
    #[default]
    Auto,
    OpenAi,
    Local,
    Lexical,
}

impl Choice {
    pub const ALL: [Self; 4] = [Self::Auto, Self::OpenAi, Self::Local, Self::Lexical];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::OpenAi => "openai",
            Self::Local => "local",
            Self::Lexical => "lexical",
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|choice| choice.as_str() == text.trim());
        found.ok_or_else(|| {
            Error::lasting(format!(
                "there is no embedder {text:?}; it is auto, openai, local or lexical"
            ))
        })
    }
}

/// What the server was told. Empty values count as not given.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub choice: Choice,
    /// The service's own name of its model.
    pub model: Option<String>,
    /// Of the service's vectors: fewer than the model's own where it can give fewer, or the size of a model that is
    /// not known here.
    pub dimensions: Option<usize>,
    pub openai_api_key: Option<SecretString>,
    /// A compatible service; it may want no key.
    pub openai_base_url: Option<String>,
    /// The folder with the files of the local model.
    pub weights: Option<PathBuf>,
}

/// Why there are no vectors. The message may be shown: there is no key in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The same texts may well be embedded a little later.
    #[error("{message}")]
    Passing { message: String, retry_after: Option<Duration> },
    /// It stays so until somebody changes something.
    #[error("{message}")]
    Lasting { message: String },
}

impl Error {
    pub(crate) fn lasting(message: impl Into<String>) -> Self {
        Self::Lasting { message: message.into() }
    }

    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Passing { .. })
    }
}

impl From<llm::Error> for Error {
    fn from(error: llm::Error) -> Self {
        let message = error.to_string();
        if error.is_passing() {
            Self::Passing { message, retry_after: error.retry_after() }
        } else {
            Self::Lasting { message }
        }
    }
}

/// The embedder that the settings ask for. A choice that cannot be met is an error which says what to do; the weights of
/// the local model are looked for here and read at the first use.
pub fn open(settings: &Settings) -> Result<Arc<dyn Embedder>, Error> {
    let key = settings.openai_api_key.as_ref();
    let has_key = key.is_some_and(|key| !key.expose_secret().trim().is_empty());
    match settings.choice {
        Choice::OpenAi => service(settings),
        Choice::Auto if has_key => service(settings),
        Choice::Local => {
            let folder = settings.weights.as_ref().ok_or_else(|| {
                Error::lasting(format!("there are no weights for local embeddings: {FETCH}"))
            })?;
            Ok(cached(Local::open(folder)?))
        }
        Choice::Auto => match settings.weights.as_ref().filter(|folder| local::is_there(folder)) {
            Some(folder) => Ok(cached(Local::open(folder)?)),
            None => Ok(Arc::new(Lexical)),
        },
        // Quicker than any cache.
        Choice::Lexical => Ok(Arc::new(Lexical)),
    }
}

fn service(settings: &Settings) -> Result<Arc<dyn Embedder>, Error> {
    Ok(cached(Service::open(Http::new(), settings)?))
}

fn cached(embedder: impl Embedder + 'static) -> Arc<dyn Embedder> {
    Arc::new(Cached::new(embedder))
}

/// Makes the length 1. What has no direction, or none that is a number, gets a fixed one.
fn normalise(vector: &mut [f32]) {
    let squares: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    if squares.is_finite() && squares > f64::from(f32::MIN_POSITIVE) {
        #[expect(clippy::cast_possible_truncation, reason = "precision is lost, nothing else")]
        let scale = (1.0 / squares.sqrt()) as f32;
        for x in vector {
            *x *= scale;
        }
    } else {
        vector.fill(0.0);
        if let Some(first) = vector.first_mut() {
            *first = 1.0;
        }
    }
}
