//! Texts to unit vectors.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::batches;
use crate::error::Error;
use crate::folder::Folder;
use crate::math::to_unit;
use crate::network::Network;
use crate::packed::Sequence;
use crate::settings::{self, Pooling, Prompts};
use crate::tokenizer::Tokenizer;

/// The role of a text, which decides its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Query,
    /// A text that is searched.
    Document,
}

/// A bi-encoder: a text becomes a vector by itself.
pub struct Encoder {
    path: PathBuf,
    name: String,
    digest: String,
    network: Network,
    tokenizer: Tokenizer,
    pooling: Pooling,
    prompts: Prompts,
    max_tokens: usize,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("name", &self.name)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl Encoder {
    /// Reads a model's folder in the layout of sentence-transformers.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let mut files = Folder::new(folder);
        let (_, family) = settings::Kind::read(&mut files)?;
        let pooling = settings::pooling(&mut files)?;
        let prompts = settings::prompts(&mut files)?;
        let (network, _) = Network::open(&mut files, family)?;
        let tokenizer = Tokenizer::open(&mut files, network.vocabulary())?;
        let max_tokens = settings::max_tokens(&mut files, network.positions())?;
        let (path, digest) = (folder.to_owned(), files.digest());
        Ok(Self { path, name: name_of(folder), digest, network, tokenizer, pooling, prompts, max_tokens })
    }

    /// The folder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The length of a vector.
    pub fn dimensions(&self) -> usize {
        self.network.dimensions()
    }

    /// How many tokens of a text are read, with those of its prompt and those that the model puts
    /// around it.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Reads fewer tokens of each text, but no more than the model was made for and no fewer than
    /// 3.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = tokens.clamp(3.min(self.max_tokens), self.max_tokens);
        self
    }

    /// BLAKE3 over configuration, tokenizer and weights: the files' names and contents.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The prompts before texts.
    pub fn prompts(&self) -> &Prompts {
        &self.prompts
    }

    /// A unit vector for each text, in their order. A text is trimmed, and cut after
    /// [`Encoder::max_tokens`]. One without a token, if the model adds none around it, has the zero
    /// vector. `progress` gets, from several threads, how many more texts are done.
    pub fn embed(
        &self,
        texts: &[&str],
        kind: Kind,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<f32>>, Error> {
        let prompt = self.prompt(kind);
        let tokenize = |&text: &&str| {
            let whole: String;
            let text = if prompt.is_empty() {
                text
            } else {
                whole = format!("{prompt}{text}");
                &whole
            };
            self.tokenizer.one(text.trim(), self.max_tokens)
        };
        let sequences: Vec<Sequence> = texts.par_iter().map(tokenize).collect();
        batches::run(&sequences, progress, |first, packed| {
            let hidden = self.network.hidden(packed);
            let mut vectors = Vec::new();
            for (n, span) in packed.spans().enumerate() {
                let mut vector = vec![0.0; self.dimensions()];
                let pooled = match self.pooling {
                    Pooling::Mean => span,
                    Pooling::First => span.start..span.end.min(span.start + 1),
                    Pooling::Last => span.end.saturating_sub(1).max(span.start)..span.end,
                };
                for token in pooled {
                    vector.iter_mut().zip(hidden.row(token)).for_each(|(sum, x)| *sum += x);
                }
                to_unit(&mut vector);
                if vector.iter().any(|x| !x.is_finite()) {
                    return Err(Error::NotFinite { path: self.path.clone(), text: first + n });
                }
                vectors.push(vector);
            }
            Ok(vectors)
        })
    }

    fn prompt(&self, kind: Kind) -> &str {
        match kind {
            Kind::Query => &self.prompts.query,
            Kind::Document => &self.prompts.document,
        }
    }

    /// The ids of a text's tokens: all of them, without a prompt, with those that the model adds
    /// around it.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        self.tokenizer.one(text, usize::MAX).ids
    }

    /// Parts of a document, as ranges of bytes, of at most `tokens` tokens each when they are
    /// embedded, including the prompt's and those that the model adds around it. Each part but the
    /// first begins about `overlap` tokens before the end of the previous one. Parts end where
    /// words do, unless a word is longer than a part. There is always at least one, and together
    /// they cover the complete text.
    pub fn chunks(&self, text: &str, tokens: usize, overlap: usize) -> Vec<Range<usize>> {
        let prompt = self.tokenizer.tokens(&self.prompts.document, usize::MAX).len();
        let room = tokens.saturating_sub(self.tokenizer.around_one() + prompt).max(1);
        let mut units = Vec::new();
        let mut start = 0;
        let mut blank = true;
        for (at, c) in text.char_indices() {
            // A unit is blanks and the word after them.
            if c.is_whitespace() && !blank {
                self.units(text, start..at, room, &mut units);
                start = at;
            }
            blank = c.is_whitespace();
        }
        self.units(text, start..text.len(), room, &mut units);
        let mut chunks = Vec::new();
        let (mut first, mut held) = (0, 0);
        for n in 0..units.len() {
            if held + units[n].1 > room && n > first {
                chunks.push(units[first].0.start..units[n - 1].0.end);
                let (mut next, mut kept) = (n, 0);
                while overlap > 0
                    && next > first + 1
                    && kept + units[next - 1].1 <= overlap.min(room - units[n].1.min(room))
                {
                    next -= 1;
                    kept += units[next].1;
                }
                (first, held) = (next, kept);
            }
            held += units[n].1;
        }
        let begin = units.get(first).map_or(0, |(span, _)| span.start);
        chunks.push(begin..text.len());
        chunks
    }

    /// Adds a span with its number of tokens; in halves, if that is more than `room`.
    fn units(&self, text: &str, span: Range<usize>, room: usize, units: &mut Vec<(Range<usize>, usize)>) {
        let part = &text[span.clone()];
        let count = self.tokenizer.tokens(part, room.saturating_add(1)).len();
        let middle = part.floor_char_boundary(part.len() / 2);
        if count <= room || middle == 0 {
            units.push((span, count));
        } else {
            self.units(text, span.start..span.start + middle, room, units);
            self.units(text, span.start + middle..span.end, room, units);
        }
    }
}

pub(crate) fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize();
    let name = whole.as_deref().unwrap_or(folder).file_name();
    name.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}
