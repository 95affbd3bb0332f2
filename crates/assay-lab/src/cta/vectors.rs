//! TF-IDF as scikit-learn's `TfidfVectorizer` computes it with its defaults: raw counts,
//! `ln((1 + N) / (1 + df)) + 1`, Euclidean norm (scikit-learn user guide, "Tf-idf term weighting").
//! Unigrams, no stop words.

use super::vocabulary::Vocabulary;

/// A bag of terms: ids in ascending order, and how often each occurs.
pub(super) type Bag = Vec<(u32, u32)>;

/// Cosines closer than this are equal: distinct sentences often have the same cosine in
/// mathematics, and its last bits hang on the order of a sum.
const TIE: f64 = 1e-12;

/// The bag of a text.
pub(super) fn bag(text: &str, vocabulary: &mut Vocabulary) -> Bag {
    let mut ids = Vec::new();
    super::literals::terms(&super::python::lower(text), |term| ids.push(vocabulary.id(term)));
    ids.sort_unstable();
    let mut bag: Bag = Vec::with_capacity(ids.len());
    for id in ids {
        match bag.last_mut() {
            Some((last, count)) if *last == id => *count += 1,
            _ => bag.push((id, 1)),
        }
    }
    bag
}

/// Weights of terms, fitted on documents.
pub(super) struct Weights {
    /// By id; 0 for a term that no document has.
    idf: Vec<f64>,
}

impl Weights {
    /// Fits on bags, of which at most `cap` terms are kept, the commonest first. Which of equally
    /// common ones are kept follows an unstable sort in the release; here the names decide.
    pub(super) fn from_bags<'a>(
        bags: impl Iterator<Item = &'a Bag>,
        cap: usize,
        vocabulary: &Vocabulary,
    ) -> Self {
        let mut frequencies = vec![(0_u32, 0_u64); vocabulary.len()];
        let mut documents = 0_u32;
        for bag in bags {
            documents += 1;
            for &(id, count) in bag {
                let (df, total) = &mut frequencies[id as usize];
                *df += 1;
                *total += u64::from(count);
            }
        }
        let mut kept: Vec<u32> =
            (0_u32..).zip(&frequencies).filter(|(_, (df, _))| *df > 0).map(|(id, _)| id).collect();
        if kept.len() > cap {
            kept.sort_by_key(|&id| (std::cmp::Reverse(frequencies[id as usize].1), vocabulary.text(id)));
            kept.truncate(cap);
        }
        let mut idf = vec![0.0; vocabulary.len()];
        for id in kept {
            let df = frequencies[id as usize].0;
            idf[id as usize] = (f64::from(1 + documents) / f64::from(1 + df)).ln() + 1.0;
        }
        Self { idf }
    }

    /// The vector of a bag, of length 1, or empty where no term of it is known.
    pub(super) fn vector(&self, bag: &Bag) -> Vec<(u32, f64)> {
        let mut vector: Vec<(u32, f64)> = bag
            .iter()
            .filter_map(|&(id, count)| {
                let idf = self.idf.get(id as usize).copied().filter(|&idf| idf > 0.0)?;
                Some((id, f64::from(count) * idf))
            })
            .collect();
        let norm = vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        for (_, weight) in &mut vector {
            *weight /= norm;
        }
        vector
    }

    /// How many ids a dense vector has to hold.
    pub(super) fn len(&self) -> usize {
        self.idf.len()
    }
}

/// One vector spread out, to be compared with many.
pub(super) struct Dense {
    weights: Vec<f64>,
}

impl Dense {
    pub(super) fn new(length: usize) -> Self {
        Self { weights: vec![0.0; length] }
    }

    /// The one of `others` nearest to `vector`, and its cosine: the first of equals. `None` where
    /// none has a cosine above 0.
    ///
    /// Where a vector is empty, the release falls back on Python's salted hashes, which differ from
    /// run to run, or fails. Here its cosine is 0.
    pub(super) fn nearest<'a>(
        &mut self,
        vector: &[(u32, f64)],
        others: impl Iterator<Item = &'a [(u32, f64)]>,
    ) -> Option<(usize, f64)> {
        for &(id, weight) in vector {
            self.weights[id as usize] = weight;
        }
        let mut best = None;
        let mut most = 0.0;
        for (at, other) in others.enumerate() {
            let cosine: f64 = other.iter().map(|&(id, weight)| self.weights[id as usize] * weight).sum();
            if cosine > most + TIE {
                most = cosine;
                best = Some((at, cosine));
            }
        }
        for &(id, _) in vector {
            self.weights[id as usize] = 0.0;
        }
        best
    }
}
