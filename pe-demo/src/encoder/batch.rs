//! Sentences as a matrix of token ids.

use candle_core::{Device, Result, Tensor};

/// Sentences padded to one length.
#[derive(Debug, Clone)]
pub struct Batch {
    pub(super) ids: Tensor,
    pub(super) lengths: Vec<usize>,
}

impl Batch {
    /// Pads the sentences to the longest one (or to `min_len`) with token 0, which no other token
    /// attends to.
    ///
    /// # Errors
    /// Returns an error if Candle does.
    pub fn new(sentences: &[&[u32]], min_len: usize, device: &Device) -> Result<Self> {
        let lengths: Vec<usize> = sentences.iter().map(|ids| ids.len()).collect();
        let len = lengths.iter().copied().max().unwrap_or(0).max(min_len);
        let mut ids = Vec::with_capacity(len * sentences.len());
        for sentence in sentences {
            ids.extend_from_slice(sentence);
            ids.resize(ids.len() + len - sentence.len(), 0);
        }
        Ok(Self {
            ids: Tensor::from_vec(ids, (sentences.len(), len), device)?,
            lengths,
        })
    }

    /// Returns the numbers of real tokens.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }
}
