//! The forward pass of a BERT: embeddings, six layers of attention and feed-forward, the mean over the tokens.
//!
//! Written out, since the crate that has it brings a hundred other models, and eight minutes of building. The sizes are
//! those of all-MiniLM-L6-v2; weights of another model do not fit and are refused when they are read.

use std::path::Path;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{
    Embedding, LayerNorm, Linear, Module, VarBuilder, embedding, layer_norm, linear, ops,
};

use super::windows::Window;

pub(super) const HIDDEN: usize = 384;
const LAYERS: usize = 6;
const HEADS: usize = 12;
const HEAD: usize = HIDDEN / HEADS;
const INNER: usize = 1536;
const VOCABULARY: usize = 30_522;
const POSITIONS: usize = 512;
const EPSILON: f64 = 1e-12;
/// Added to what attention thinks of padding; after the exponential nothing is left of it.
const IGNORED: f32 = -1e9;

pub(super) struct Bert {
    words: Embedding,
    positions: Tensor,
    /// There is one kind of text here.
    kind: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

impl Bert {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let bytes = std::fs::read(file)?;
        let weights = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu)?;
        let at = weights.pp("embeddings");
        let layers = (0..LAYERS).map(|n| Layer::read(&weights.pp("encoder.layer").pp(n)));
        Ok(Self {
            words: embedding(VOCABULARY, HIDDEN, at.pp("word_embeddings"))?,
            positions: at.get((POSITIONS, HIDDEN), "position_embeddings.weight")?,
            kind: at.get((2, HIDDEN), "token_type_embeddings.weight")?.narrow(0, 0, 1)?,
            norm: layer_norm(HIDDEN, EPSILON, at.pp("LayerNorm"))?,
            layers: layers.collect::<Result<_>>()?,
        })
    }

    /// The mean of what it makes of each token, of length 1.
    pub(super) fn embed(&self, windows: &[Window]) -> Result<Vec<Vec<f32>>> {
        let length = windows.iter().map(|window| window.tokens.len()).max().unwrap_or(0);
        let mut tokens = Vec::with_capacity(windows.len() * length);
        let mut present = Vec::with_capacity(windows.len() * length);
        for window in windows {
            let padding = length - window.tokens.len();
            tokens.extend_from_slice(&window.tokens);
            tokens.extend(std::iter::repeat_n(0, padding));
            present.extend(std::iter::repeat_n(1_f32, window.tokens.len()));
            present.extend(std::iter::repeat_n(0_f32, padding));
        }
        let tokens = Tensor::from_vec(tokens, (windows.len(), length), &Device::Cpu)?;
        let present = Tensor::from_vec(present, (windows.len(), length), &Device::Cpu)?;

        let positions = self.positions.narrow(0, 0, length)?.broadcast_add(&self.kind)?;
        let mut hidden =
            self.norm.forward(&self.words.forward(&tokens)?.broadcast_add(&positions)?)?;
        // (1 − present) · IGNORED, for every head and every token that looks.
        let ignored = present.affine(f64::from(-IGNORED), f64::from(IGNORED))?;
        let ignored = ignored.unsqueeze(1)?.unsqueeze(1)?;
        for layer in &self.layers {
            hidden = layer.forward(&hidden, &ignored)?;
        }

        let present = present.unsqueeze(2)?;
        let sum = hidden.broadcast_mul(&present)?.sum(1)?;
        let length = sum.sqr()?.sum_keepdim(1)?.sqrt()?;
        sum.broadcast_div(&length)?.to_vec2()
    }
}

struct Layer {
    /// Query, key and value in one, which is one large product instead of three.
    attention: Linear,
    attended: Linear,
    attended_norm: LayerNorm,
    inner: Linear,
    outer: Linear,
    outer_norm: LayerNorm,
}

impl Layer {
    fn read(at: &VarBuilder<'_>) -> Result<Self> {
        let parts = ["query", "key", "value"].map(|name| at.pp("attention.self").pp(name));
        let weights = parts.each_ref().map(|part| part.get((HIDDEN, HIDDEN), "weight"));
        let biases = parts.each_ref().map(|part| part.get(HIDDEN, "bias"));
        let weights = weights.into_iter().collect::<Result<Vec<_>>>()?;
        let biases = biases.into_iter().collect::<Result<Vec<_>>>()?;
        let norm = |name: &str| layer_norm(HIDDEN, EPSILON, at.pp(name));
        Ok(Self {
            attention: Linear::new(Tensor::cat(&weights, 0)?, Some(Tensor::cat(&biases, 0)?)),
            attended: linear(HIDDEN, HIDDEN, at.pp("attention.output.dense"))?,
            attended_norm: norm("attention.output.LayerNorm")?,
            inner: linear(HIDDEN, INNER, at.pp("intermediate.dense"))?,
            outer: linear(INNER, HIDDEN, at.pp("output.dense"))?,
            outer_norm: norm("output.LayerNorm")?,
        })
    }

    fn forward(&self, hidden: &Tensor, ignored: &Tensor) -> Result<Tensor> {
        let attended = self.attended.forward(&self.attend(hidden, ignored)?)?;
        let hidden = self.attended_norm.forward(&(attended + hidden)?)?;
        let inner = self.inner.forward(&hidden)?.gelu_erf()?;
        self.outer_norm.forward(&(self.outer.forward(&inner)? + hidden)?)
    }

    fn attend(&self, hidden: &Tensor, ignored: &Tensor) -> Result<Tensor> {
        let (count, length, _) = hidden.dims3()?;
        let all = self.attention.forward(hidden)?.reshape((count, length, 3, HEADS, HEAD))?;
        let part = |n| all.narrow(2, n, 1)?.squeeze(2)?.transpose(1, 2)?.contiguous();
        let (query, key, value) = (part(0)?, part(1)?, part(2)?);
        #[expect(clippy::cast_precision_loss, reason = "32")]
        let scale = 1.0 / (HEAD as f64).sqrt();
        let scores = (query.matmul(&key.t()?)? * scale)?.broadcast_add(ignored)?;
        let weights = ops::softmax_last_dim(&scores)?;
        weights.matmul(&value)?.transpose(1, 2)?.reshape((count, length, HIDDEN))
    }
}
