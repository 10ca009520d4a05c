//! A small model in this process: all-MiniLM-L6-v2, joined with the lexical vector.
//!
//! The model knows what English sentences mean, and little of numbers and names of code; the lexical vector is its
//! opposite. So a text's vector is both, one after the other, and the cosine of two such vectors is the weighted sum of
//! both cosines. Of other scripts the model has only seen the letters: Russian texts are all alike to it, and it finds
//! half of what the words find. Such texts have the lexical half alone, which spares its work, too.
//!
//! The work keeps a core busy, so it runs on blocking threads, one batch at a time in the whole process; whoever stops
//! waiting has stopped the work after the batch that is being computed, and a short question waits for one batch of a
//! long document, not for all of it.

mod bert;
mod windows;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;

use super::lexical;
use super::{Embedder, Error, FETCH, Kind, normalise};
use bert::Bert;
use windows::{Splitter, Window};

const WEIGHTS: &str = "model.safetensors";
const VOCABULARY: &str = "tokenizer.json";

/// How much the model's opinion counts against the words', between 0 and 1. Chosen by `tests/retrieval.rs`, where 0.45
/// to 0.65 are about as good.
pub const MEANING: f32 = 0.5;
const DIMENSIONS: usize = bert::HIDDEN + lexical::DIMENSIONS;

const LAST_LATIN: char = '\u{24f}';

/// Windows in one batch, and tokens with their padding.
const BATCH: usize = 16;
const BATCH_TOKENS: usize = 2048;

/// One batch at a time, however many embedders there are: more would only share the same cores.
static TURN: Semaphore = Semaphore::const_new(1);

/// Whether the folder has the files.
pub fn is_there(folder: &Path) -> bool {
    [WEIGHTS, VOCABULARY].iter().all(|name| folder.join(name).is_file())
}

/// The model and the words.
pub struct Local {
    folder: PathBuf,
    /// Read at the first use: it takes a moment and 90 MB.
    model: OnceCell<Arc<Model>>,
}

impl Local {
    pub fn open(folder: &Path) -> Result<Self, Error> {
        if !is_there(folder) {
            return Err(Error::lasting(format!(
                "the folder {} has no {WEIGHTS} and {VOCABULARY}: {FETCH}",
                folder.display()
            )));
        }
        Ok(Self { folder: folder.to_owned(), model: OnceCell::new() })
    }

    /// What the model alone makes of the texts.
    pub async fn meanings(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let model = self.model.get_or_try_init(|| Model::read(&self.folder)).await?;
        let texts: Arc<[String]> = texts.into();
        let splitting = Arc::clone(model);
        let split = Arc::clone(&texts);
        let windows = in_turn(move || splitting.splitter.all(&split)).await??;
        let mut sums = vec![vec![0.0; bert::HIDDEN]; texts.len()];
        for batch in batches(windows) {
            let model = Arc::clone(model);
            let made = in_turn(move || {
                let vectors = model.bert.embed(&batch)?;
                Ok(batch.into_iter().map(|window| window.text).zip(vectors).collect::<Vec<_>>())
            });
            for (text, vector) in made.await?.map_err(|error| broken(&error))? {
                for (sum, x) in sums[text].iter_mut().zip(vector) {
                    *sum += x;
                }
            }
        }
        for sum in &mut sums {
            normalise(sum);
        }
        Ok(sums)
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("folder", &self.folder).finish_non_exhaustive()
    }
}

#[async_trait]
impl Embedder for Local {
    fn name(&self) -> &'static str {
        "all-MiniLM-L6-v2+lexical-1"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn kind(&self) -> Kind {
        Kind::Local
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let readable: Vec<String> =
            texts.iter().filter(|text| is_readable(text)).cloned().collect();
        let mut meanings = self.meanings(&readable).await?.into_iter();
        let join = |text: &String| {
            let meaning = is_readable(text).then(|| meanings.next()).flatten();
            join(MEANING, meaning.as_deref(), &lexical::vector(text))
        };
        Ok(texts.iter().map(join).collect())
    }
}

/// Whether the model can make anything of the text: most of its letters are Latin. Russian notes are full of Latin
/// names, so a third of other letters is enough to doubt it.
pub fn is_readable(text: &str) -> bool {
    let (mut latin, mut other) = (0_usize, 0_usize);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        if c <= LAST_LATIN {
            latin += 1;
        } else {
            other += 1;
        }
    }
    other * 2 <= latin
}

/// One unit vector of two, such that its products are the weighted sums of theirs. Without a meaning, it is the words.
pub fn join(weight: f32, meaning: Option<&[f32]>, words: &[f32]) -> Vec<f32> {
    let weight = if meaning.is_some() { weight } else { 0.0 };
    let meaning = meaning.unwrap_or(&[0.0; bert::HIDDEN]);
    let (a, b) = (weight.sqrt(), (1.0 - weight).sqrt());
    meaning.iter().map(|x| a * x).chain(words.iter().map(|x| b * x)).collect()
}

struct Model {
    bert: Bert,
    splitter: Splitter,
}

impl Model {
    async fn read(folder: &Path) -> Result<Arc<Self>, Error> {
        let (weights, vocabulary) = (folder.join(WEIGHTS), folder.join(VOCABULARY));
        let read = move || {
            let bert = Bert::read(&weights).map_err(|error| {
                Error::lasting(format!("{} cannot be used: {error}; {FETCH}", weights.display()))
            })?;
            let splitter = Splitter::read(&vocabulary).map_err(|error| {
                Error::lasting(format!("{} cannot be used: {error}; {FETCH}", vocabulary.display()))
            })?;
            Ok(Arc::new(Self { bert, splitter }))
        };
        in_turn(read).await?
    }
}

/// Windows of like length together, so that little is padding.
fn batches(mut windows: Vec<Window>) -> Vec<Vec<Window>> {
    windows.sort_by_key(|window| window.tokens.len());
    let mut batches: Vec<Vec<Window>> = Vec::new();
    for window in windows {
        // The last to come is the longest, and the others are padded to it.
        let length = window.tokens.len();
        let fits = |batch: &&mut Vec<Window>| {
            batch.len() < BATCH && (batch.len() + 1) * length <= BATCH_TOKENS
        };
        match batches.last_mut().filter(fits) {
            Some(batch) => batch.push(window),
            None => batches.push(vec![window]),
        }
    }
    batches
}

/// Does heavy work on a thread for it. The turn ends with the work, also when nobody waits for it any more.
async fn in_turn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let turn = TURN.acquire().await.map_err(|_| Error::lasting("the server is stopping"))?;
    let done = spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    done.await.map_err(|_| Error::lasting("the local embedding model broke down"))
}

fn broken(error: &candle_core::Error) -> Error {
    Error::lasting(format!("the local embedding model cannot be run: {error}"))
}
