//! Text to token ids and back, by the checkpoint's own `tokenizer.json`. Must not know about models.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A checkpoint's tokenizer.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    path: PathBuf,
}

impl Tokenizer {
    /// Reads `tokenizer.json` in a checkpoint's folder.
    pub fn open(dir: &Path) -> Result<Self> {
        let path = dir.join("tokenizer.json");
        if !path.is_file() {
            return Err(Error::MissingTokenizer { dir: dir.to_owned() });
        }
        match tokenizers::Tokenizer::from_file(&path) {
            Ok(inner) => Ok(Self { inner, path }),
            Err(e) => Err(Error::Tokenizer { path, reason: e.to_string() }),
        }
    }

    /// Token ids of a text.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.inner.encode(text, false).map_err(|e| self.error(e.as_ref()))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Text of token ids.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.inner.decode(ids, true).map_err(|e| self.error(e.as_ref()))
    }

    fn error(&self, e: &(dyn std::error::Error + Send + Sync)) -> Error {
        Error::Tokenizer { path: self.path.clone(), reason: e.to_string() }
    }
}

/// Turns a growing list of ids into pieces of text as they become certain: a character that spans tokens is held back
/// until it is whole.
#[derive(Default)]
pub struct Stream {
    ids: Vec<u32>,
    /// Ids before this have been turned into text.
    done: usize,
}

impl Stream {
    /// Adds a token; the text that is now certain, often empty.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> Result<String> {
        self.ids.push(id);
        let text = self.tail(tokenizer)?;
        if text.ends_with('\u{fffd}') {
            return Ok(String::new());
        }
        self.advance();
        Ok(text)
    }

    /// What is left when no more tokens come.
    pub fn finish(&mut self, tokenizer: &Tokenizer) -> Result<String> {
        let text = self.tail(tokenizer)?;
        self.advance();
        Ok(text)
    }

    /// Text of the ids from `done` on, decoded together with the id before so that a leading space is not dropped.
    fn tail(&self, tokenizer: &Tokenizer) -> Result<String> {
        let context = self.ids.get(self.done.saturating_sub(1)..self.done).unwrap_or(&[]);
        let before = tokenizer.decode(context)?;
        let from_context = self.ids.get(self.done.saturating_sub(1)..).unwrap_or(&[]);
        let all = tokenizer.decode(from_context)?;
        Ok(all.strip_prefix(before.as_str()).unwrap_or(&all).to_owned())
    }

    fn advance(&mut self) {
        self.done = self.ids.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte-level vocabulary: one token per byte, written in GPT-2's printable alphabet.
    fn byte_level() -> (tempfile::TempDir, Tokenizer) {
        let mut vocab = serde_json::Map::new();
        let printable = |b: u8| (b'!'..=b'~').contains(&b) || (0xa1..=0xac).contains(&b) || b >= 0xae;
        let mut spare = 0;
        for b in 0..=255u8 {
            let c = if printable(b) {
                char::from(b)
            } else {
                spare += 1;
                char::from_u32(255 + spare).unwrap()
            };
            vocab.insert(c.to_string(), serde_json::json!(b));
        }
        let value = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "post_processor": null,
            "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "vocab": vocab, "merges": []},
        });
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("tokenizer.json"), value.to_string()).unwrap();
        let tokenizer = Tokenizer::open(dir.path()).unwrap();
        (dir, tokenizer)
    }

    #[test]
    fn a_stream_holds_back_half_characters() {
        let (_dir, tokenizer) = byte_level();
        let text = "né 中 ok";
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(ids.len(), text.len());
        let mut stream = Stream::default();
        let pieces: Vec<String> = ids.iter().map(|&id| stream.push(&tokenizer, id).unwrap()).collect();
        assert_eq!(pieces.concat() + &stream.finish(&tokenizer).unwrap(), text);
        assert!(pieces.contains(&String::new()) && pieces.contains(&"中".to_owned()), "{pieces:?}");
    }

    #[test]
    fn missing_and_broken_tokenizers_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let missing = Tokenizer::open(dir.path()).err().expect("missing");
        assert!(missing.to_string().contains("give token ids instead"), "{missing}");
        std::fs::write(dir.path().join("tokenizer.json"), "{\"model\": 3}").unwrap();
        assert!(matches!(Tokenizer::open(dir.path()), Err(Error::Tokenizer { .. })));
    }
}
