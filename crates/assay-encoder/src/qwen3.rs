//! The forward pass of Qwen3 (Yang et al. 2025), as `transformers` names its tensors: root mean
//! square norms, also of queries and keys, rotary positions, groups of heads that share keys and
//! values, a gated activation, and each token sees those before it.

use ndarray::Array2;
use serde::Deserialize;

use crate::error::Error;
use crate::folder::Folder;
use crate::linear::{Linear, stacked};
use crate::math::{map_into, part, rms_norm, silu_gate};
use crate::packed::{Attention, Packed};
use crate::weights::Weights;

#[derive(Deserialize)]
struct Config {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    head_dim: Option<usize>,
    intermediate_size: usize,
    max_position_embeddings: usize,
    vocab_size: usize,
    #[serde(default = "epsilon")]
    rms_norm_eps: f32,
    rope_theta: Option<f64>,
    rope_scaling: Option<serde_json::Value>,
    rope_parameters: Option<Rope>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    use_sliding_window: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
    hidden_act: Option<String>,
}

#[derive(Deserialize)]
struct Rope {
    rope_theta: f64,
    rope_type: Option<String>,
}

fn epsilon() -> f32 {
    1e-6
}

struct Layer {
    input_norm: Vec<f32>,
    qkv: Linear,
    q_norm: Vec<f32>,
    k_norm: Vec<f32>,
    out: Linear,
    norm: Vec<f32>,
    gate: Linear,
    up: Linear,
    down: Linear,
}

pub(crate) struct Qwen3 {
    words: Array2<f32>,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    heads: usize,
    groups: usize,
    head: usize,
    theta: f64,
    epsilon: f32,
    positions: usize,
    tied: bool,
}

impl Qwen3 {
    pub(crate) fn open(folder: &mut Folder, weights: &Weights) -> Result<Self, Error> {
        let config: Config = folder.required("config.json")?;
        let bad = |problem: String| Err(Error::setting(&folder.path("config.json"), problem));
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let (heads, groups) = (config.num_attention_heads, config.num_key_value_heads);
        let Some(head) = config.head_dim.or_else(|| hidden.checked_div(heads)) else {
            return bad("num_attention_heads is 0".to_owned());
        };
        if groups == 0 || heads == 0 || !heads.is_multiple_of(groups) {
            return bad(format!("{heads} heads are not a multiple of {groups} key-value heads"));
        }
        if hidden == 0 || inner == 0 || head == 0 || head % 2 == 1 || config.max_position_embeddings == 0 {
            return bad(
                "hidden_size, intermediate_size, max_position_embeddings and an even head_dim are needed"
                    .to_owned(),
            );
        }
        let (Some(q_wide), Some(kv_wide)) = (heads.checked_mul(head), groups.checked_mul(head)) else {
            return bad("num_attention_heads times head_dim is too large".to_owned());
        };
        let scaled = config.rope_scaling.is_some()
            || config
                .rope_parameters
                .as_ref()
                .is_some_and(|rope| rope.rope_type.as_deref().is_some_and(|kind| kind != "default"));
        if scaled || config.use_sliding_window || config.attention_bias {
            return bad("rope_scaling, use_sliding_window and attention_bias are not supported".to_owned());
        }
        if let Some(kind) = config.hidden_act.filter(|kind| kind != "silu") {
            return bad(format!("unsupported hidden_act {kind:?}; expected \"silu\""));
        }
        let theta = config.rope_parameters.map(|rope| rope.rope_theta).or(config.rope_theta);
        let Some(theta) = theta.filter(|theta| theta.is_finite() && *theta > 0.0) else {
            return bad("rope_theta is missing, or not a positive number".to_owned());
        };
        let words = weights.matrix("embed_tokens.weight", config.vocab_size, hidden)?;
        let mut layers = Vec::new();
        for n in 0..config.num_hidden_layers {
            let at = |name: &str| format!("layers.{n}.{name}.weight");
            let vector = |name: &str, length| weights.vector(&at(name), length).map(|vector| vector.to_vec());
            let parts = [("q", q_wide), ("k", kv_wide), ("v", kv_wide)];
            let mut qkv = Vec::new();
            for (name, wide) in parts {
                qkv.push(weights.matrix(&at(&format!("self_attn.{name}_proj")), wide, hidden)?);
            }
            let one = |name, inputs, outputs| -> Result<Linear, Error> {
                Ok(Linear::new(&weights.matrix(&at(name), outputs, inputs)?.view()))
            };
            layers.push(Layer {
                input_norm: vector("input_layernorm", hidden)?,
                qkv: stacked(&qkv),
                q_norm: vector("self_attn.q_norm", head)?,
                k_norm: vector("self_attn.k_norm", head)?,
                out: one("self_attn.o_proj", q_wide, hidden)?,
                norm: vector("post_attention_layernorm", hidden)?,
                gate: one("mlp.gate_proj", hidden, inner)?,
                up: one("mlp.up_proj", hidden, inner)?,
                down: one("mlp.down_proj", inner, hidden)?,
            });
        }
        Ok(Self {
            words,
            norm: weights.vector("norm.weight", hidden)?.to_vec(),
            layers,
            heads,
            groups,
            head,
            theta,
            epsilon: config.rms_norm_eps,
            positions: config.max_position_embeddings,
            tied: config.tie_word_embeddings,
        })
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.words.ncols()
    }

    pub(crate) fn vocabulary(&self) -> usize {
        self.words.nrows()
    }

    pub(crate) fn positions(&self) -> usize {
        self.positions
    }

    /// The words' own rows, if they serve as the output's too.
    pub(crate) fn tied(&self) -> Option<&Array2<f32>> {
        self.tied.then_some(&self.words)
    }

    /// The last hidden state of each token. Ids are below `vocabulary`.
    pub(crate) fn hidden(&self, packed: &Packed) -> Array2<f32> {
        let (tokens, hidden) = (packed.tokens(), self.dimensions());
        let (q_wide, kv_wide) = (self.heads * self.head, self.groups * self.head);
        let inner = self.layers.first().map_or(0, |layer| layer.gate.outputs());
        let mut x = Array2::<f32>::zeros((tokens, hidden));
        let ids = packed.sequences.iter().flat_map(|sequence| &sequence.ids);
        for (mut row, &id) in x.rows_mut().into_iter().zip(ids) {
            row.assign(&self.words.row(id as usize));
        }
        let rotation = self.rotation(packed.longest());
        let zeros = |wide| Array2::<f32>::zeros((tokens, wide));
        let (mut wide, mut gate, mut up) = (zeros(q_wide + 2 * kv_wide), zeros(inner), zeros(inner));
        let (mut normal, mut context, mut narrow) = (zeros(hidden), zeros(q_wide), zeros(hidden));
        let mut attention = Attention::new(packed.longest(), self.head, true);
        for layer in &self.layers {
            self.normalize(&x, &layer.input_norm, &mut normal);
            let mut qkv = map_into(&normal.view(), &layer.qkv, &mut wide);
            for span in packed.spans() {
                for (place, row) in span.clone().enumerate() {
                    let mut row = qkv.row_mut(row);
                    let row = row.as_slice_mut().expect("numbers of a row");
                    for (n, head) in
                        row.chunks_exact_mut(self.head).take(self.heads + self.groups).enumerate()
                    {
                        rms_norm(
                            head,
                            if n < self.heads { &layer.q_norm } else { &layer.k_norm },
                            self.epsilon,
                        );
                        rotate(head, rotation.row(place).as_slice().expect("numbers of a row"));
                    }
                }
                for h in 0..self.heads {
                    let group = h / (self.heads / self.groups);
                    let one = |first: usize| part(qkv.view(), span.clone(), first..first + self.head);
                    let out = part(context.view_mut(), span.clone(), h * self.head..(h + 1) * self.head);
                    let key = q_wide + group * self.head;
                    attention.head(&one(h * self.head), &one(key), &one(key + kv_wide), out);
                }
            }
            x += &map_into(&context.view(), &layer.out, &mut narrow);
            self.normalize(&x, &layer.norm, &mut normal);
            let mut gate = map_into(&normal.view(), &layer.gate, &mut gate);
            let up = map_into(&normal.view(), &layer.up, &mut up);
            silu_gate(gate.as_slice_mut().expect("a whole array"), up.as_slice().expect("a whole array"));
            x += &map_into(&gate.view(), &layer.down, &mut narrow);
        }
        for mut row in x.rows_mut() {
            rms_norm(row.as_slice_mut().expect("numbers of a row"), &self.norm, self.epsilon);
        }
        x
    }

    fn normalize(&self, x: &Array2<f32>, scale: &[f32], out: &mut Array2<f32>) {
        out.assign(x);
        for mut row in out.rows_mut() {
            rms_norm(row.as_slice_mut().expect("numbers of a row"), scale, self.epsilon);
        }
    }

    /// Cosines and then sines of each place's angles (rotary positions, Su et al. 2021).
    fn rotation(&self, longest: usize) -> Array2<f32> {
        let half = self.head / 2;
        Array2::from_shape_fn((longest, self.head), |(place, n)| {
            let angle = place as f64 * self.theta.powf(-((n % half) as f64) / half as f64);
            #[expect(clippy::cast_possible_truncation, reason = "single precision is sufficient for sines")]
            let value = if n < half { angle.cos() } else { angle.sin() } as f32;
            value
        })
    }
}

/// Turns each pair (n, n + half) of a head by its angle.
fn rotate(head: &mut [f32], rotation: &[f32]) {
    let half = head.len() / 2;
    let (cosines, sines) = rotation.split_at(half);
    let (first, second) = head.split_at_mut(half);
    for (((a, b), cos), sin) in first.iter_mut().zip(second).zip(cosines).zip(sines) {
        (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
    }
}
