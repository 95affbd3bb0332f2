//! The forward pass of BERT (Devlin et al. 2019), as `transformers` names its tensors.

use ndarray::Array2;
use serde::Deserialize;

use crate::error::Error;
use crate::folder::Folder;
use crate::linear::{Linear, stacked};
use crate::math::{LayerNorm, add, add_and_normalize, gelu, map_into, part};
use crate::packed::{Attention, Packed};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    vocab_size: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    #[serde(default = "epsilon")]
    layer_norm_eps: f32,
    #[serde(default = "gelu_name")]
    hidden_act: String,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

fn two() -> usize {
    2
}

fn epsilon() -> f32 {
    1e-12
}

fn gelu_name() -> String {
    "gelu".to_owned()
}

/// A linear map with a bias.
struct Affine {
    map: Linear,
    bias: Vec<f32>,
}

impl Affine {
    /// Of the outputs of several tensors, one after another.
    fn read(weights: &Weights, names: &[String], inputs: usize, outputs: usize) -> Result<Self, Error> {
        let (mut maps, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            maps.push(weights.matrix(&format!("{name}.weight"), outputs, inputs)?);
            bias.extend(weights.vector(&format!("{name}.bias"), outputs)?);
        }
        Ok(Self { map: stacked(&maps), bias })
    }
}

fn layer_norm(weights: &Weights, name: &str, config: &Config) -> Result<LayerNorm, Error> {
    Ok(LayerNorm {
        scale: weights.vector(&format!("{name}.weight"), config.hidden_size)?.to_vec(),
        shift: weights.vector(&format!("{name}.bias"), config.hidden_size)?.to_vec(),
        epsilon: config.layer_norm_eps,
    })
}

struct Layer {
    /// Queries, keys and values in one product.
    qkv: Affine,
    attention_out: Affine,
    attention_norm: LayerNorm,
    up: Affine,
    down: Affine,
    norm: LayerNorm,
}

pub(crate) struct Bert {
    words: Array2<f32>,
    positions: Array2<f32>,
    types: Array2<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
    heads: usize,
}

impl Bert {
    pub(crate) fn open(folder: &mut Folder, weights: &Weights) -> Result<Self, Error> {
        let config: Config = folder.required("config.json")?;
        let bad = |problem: String| Err(Error::setting(&folder.path("config.json"), problem));
        if config.hidden_act != "gelu" {
            return bad(format!("unsupported hidden_act {:?}; expected \"gelu\"", config.hidden_act));
        }
        if let Some(kind) = config.position_embedding_type.as_ref().filter(|&kind| kind != "absolute") {
            return bad(format!("unsupported position_embedding_type {kind:?}; expected \"absolute\""));
        }
        let (hidden, inner, heads) =
            (config.hidden_size, config.intermediate_size, config.num_attention_heads);
        if heads == 0 || hidden == 0 || inner == 0 || !hidden.is_multiple_of(heads) {
            return bad(format!("hidden_size {hidden} is not a multiple of {heads} heads"));
        }
        if config.max_position_embeddings == 0 || config.type_vocab_size == 0 {
            return bad("max_position_embeddings and type_vocab_size have to be 1 or more".to_owned());
        }
        let table = |name: &str, rows| weights.matrix(&format!("embeddings.{name}.weight"), rows, hidden);
        let words = table("word_embeddings", config.vocab_size)?;
        let positions = table("position_embeddings", config.max_position_embeddings)?;
        let types = table("token_type_embeddings", config.type_vocab_size)?;
        let mut layers = Vec::new();
        for n in 0..config.num_hidden_layers {
            let at = |name: &str| format!("encoder.layer.{n}.{name}");
            let one = |name: &str, inputs, outputs| Affine::read(weights, &[at(name)], inputs, outputs);
            let qkv = ["query", "key", "value"].map(|name| at(&format!("attention.self.{name}")));
            layers.push(Layer {
                qkv: Affine::read(weights, &qkv, hidden, hidden)?,
                attention_out: one("attention.output.dense", hidden, hidden)?,
                attention_norm: layer_norm(weights, &at("attention.output.LayerNorm"), &config)?,
                up: one("intermediate.dense", hidden, inner)?,
                down: one("output.dense", inner, hidden)?,
                norm: layer_norm(weights, &at("output.LayerNorm"), &config)?,
            });
        }
        Ok(Self {
            words,
            positions,
            types,
            norm: layer_norm(weights, "embeddings.LayerNorm", &config)?,
            layers,
            heads,
        })
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.words.ncols()
    }

    pub(crate) fn vocabulary(&self) -> usize {
        self.words.nrows()
    }

    pub(crate) fn positions(&self) -> usize {
        self.positions.nrows()
    }

    /// The number of segment types.
    pub(crate) fn segments(&self) -> usize {
        self.types.nrows()
    }

    /// The last hidden state of each token. Sequences are no longer than `positions`, ids below
    /// `vocabulary`.
    pub(crate) fn hidden(&self, packed: &Packed) -> Array2<f32> {
        let (tokens, hidden) = (packed.tokens(), self.dimensions());
        let head = hidden / self.heads;
        let inner = self.layers.first().map_or(0, |layer| layer.up.bias.len());
        let mut x = Array2::<f32>::zeros((tokens, hidden));
        let mut rows = x.rows_mut().into_iter();
        for sequence in packed.sequences {
            for (place, (&id, row)) in sequence.ids.iter().zip(&mut rows).enumerate() {
                let row = row.into_slice().expect("rows of a whole array");
                for (table, at) in [
                    (&self.words, id as usize),
                    (&self.positions, place),
                    (&self.types, usize::from(place >= sequence.second)),
                ] {
                    add(row, table.row(at).as_slice().expect("rows of a whole array"));
                }
                self.norm.apply(row);
            }
        }
        let (mut wide, mut context) =
            (Array2::zeros((tokens, inner.max(3 * hidden))), Array2::zeros((tokens, hidden)));
        let mut narrow = Array2::zeros((tokens, hidden));
        let mut attention = Attention::new(packed.longest(), head, false);
        for layer in &self.layers {
            let mut qkv = map_into(&x.view(), &layer.qkv.map, &mut wide);
            for mut row in qkv.rows_mut() {
                add(row.as_slice_mut().expect("numbers of a row"), &layer.qkv.bias);
            }
            for span in packed.spans() {
                for h in 0..self.heads {
                    let one = |n: usize| {
                        let first = n * hidden + h * head;
                        part(qkv.view(), span.clone(), first..first + head)
                    };
                    let out = part(context.view_mut(), span.clone(), h * head..(h + 1) * head);
                    attention.head(&one(0), &one(1), &one(2), out);
                }
            }
            let out = map_into(&context.view(), &layer.attention_out.map, &mut narrow);
            normalize(&mut x, &out.view(), &layer.attention_out.bias, &layer.attention_norm);
            let mut up = map_into(&x.view(), &layer.up.map, &mut wide);
            for mut row in up.rows_mut() {
                gelu(row.as_slice_mut().expect("numbers of a row"), &layer.up.bias);
            }
            let down = map_into(&up.view(), &layer.down.map, &mut narrow);
            normalize(&mut x, &down.view(), &layer.down.bias, &layer.norm);
        }
        x
    }
}

fn normalize(x: &mut Array2<f32>, other: &ndarray::ArrayView2<f32>, bias: &[f32], norm: &LayerNorm) {
    for (mut row, other) in x.rows_mut().into_iter().zip(other.rows()) {
        let (row, other) = (row.as_slice_mut(), other.to_slice());
        if let (Some(row), Some(other)) = (row, other) {
            add_and_normalize(row, other, bias, norm);
        }
    }
}
