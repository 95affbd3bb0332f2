//! One of the networks that are known.

use ndarray::Array2;

use crate::bert::Bert;
use crate::error::Error;
use crate::folder::Folder;
use crate::packed::Packed;
use crate::qwen3::Qwen3;
use crate::settings::Family;
use crate::weights::Weights;

pub(crate) enum Network {
    Bert(Bert),
    Qwen3(Qwen3),
}

impl Network {
    /// Reads the network, and returns the open files for its head.
    pub(crate) fn open(folder: &mut Folder, family: Family) -> Result<(Self, Weights), Error> {
        let weights = Weights::open(folder)?;
        Ok(match family {
            Family::Bert => {
                let weights = weights.with_prefix("bert.");
                (Self::Bert(Bert::open(folder, &weights)?), weights)
            }
            Family::Qwen3 => {
                let weights = weights.with_prefix("model.");
                (Self::Qwen3(Qwen3::open(folder, &weights)?), weights)
            }
        })
    }

    pub(crate) fn dimensions(&self) -> usize {
        match self {
            Self::Bert(bert) => bert.dimensions(),
            Self::Qwen3(qwen) => qwen.dimensions(),
        }
    }

    pub(crate) fn vocabulary(&self) -> usize {
        match self {
            Self::Bert(bert) => bert.vocabulary(),
            Self::Qwen3(qwen) => qwen.vocabulary(),
        }
    }

    /// How many places of tokens there are.
    pub(crate) fn positions(&self) -> usize {
        match self {
            Self::Bert(bert) => bert.positions(),
            Self::Qwen3(qwen) => qwen.positions(),
        }
    }

    pub(crate) fn hidden(&self, packed: &Packed) -> Array2<f32> {
        match self {
            Self::Bert(bert) => bert.hidden(packed),
            Self::Qwen3(qwen) => qwen.hidden(packed),
        }
    }
}
