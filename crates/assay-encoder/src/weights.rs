//! Tensors of files in the safetensors format, one at a time and as f32.
//!
//! A file is eight bytes (the length of the header, little-endian), the header (JSON: name to type,
//! shape and offsets) and the numbers: <https://github.com/huggingface/safetensors#format>. A
//! tensor is read when it is needed, so that memory contains the model without the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use ndarray::{Array1, Array2};
use serde::Deserialize;

use crate::error::Error;
use crate::folder::Folder;

/// The format's own limit for a header.
const MAX_HEADER: u64 = 100_000_000;

#[derive(Clone, Copy)]
enum Kind {
    F32,
    F16,
    Bf16,
}

impl Kind {
    fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    fn read(self, bytes: &[u8]) -> Vec<f32> {
        let halves = |convert: fn(u16) -> f32| {
            bytes.chunks_exact(2).map(|pair| convert(u16::from_le_bytes([pair[0], pair[1]]))).collect()
        };
        match self {
            Self::F32 => bytes
                .chunks_exact(4)
                .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
                .collect(),
            Self::F16 => halves(from_f16),
            Self::Bf16 => halves(|bits| f32::from_bits(u32::from(bits) << 16)),
        }
    }
}

/// IEEE 754 binary16 to binary32.
fn from_f16(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 31), u32::from(bits & 0x3ff));
    match exponent {
        // Subnormal: a multiple of 2^-24.
        0 => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// A model's tensors, in one file or in several.
pub(crate) struct Weights {
    files: Vec<(PathBuf, File)>,
    /// By name: the file's index in `files`, the start of the numbers, and the header's entry.
    tensors: BTreeMap<String, (usize, u64, Entry)>,
    prefix: String,
}

impl Weights {
    /// Reads the headers of `model.safetensors`, or of the files that
    /// `model.safetensors.index.json` names.
    pub(crate) fn open(folder: &mut Folder) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Index {
            weight_map: BTreeMap<String, String>,
        }
        const INDEX: &str = "model.safetensors.index.json";
        let mut names = BTreeSet::new();
        if let Some(index) = folder.json::<Index>(INDEX)? {
            names.extend(index.weight_map.into_values());
            if let Some(name) = names.iter().find(|name| name.contains('/') || name.starts_with('.')) {
                let problem = format!("{name:?} is not the name of a file in the same folder");
                return Err(Error::setting(&folder.path(INDEX), problem));
            }
        } else {
            names.insert("model.safetensors".to_owned());
        }
        let mut weights = Self { files: Vec::new(), tensors: BTreeMap::new(), prefix: String::new() };
        for name in names {
            weights.add(folder, &name)?;
        }
        Ok(weights)
    }

    fn add(&mut self, folder: &mut Folder, name: &str) -> Result<(), Error> {
        let path = folder.path(name);
        let (file, size) = folder.large(name)?;
        let read = |place: u64, length: u64| -> Result<Vec<u8>, Error> {
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
            match file.read_exact_at(&mut bytes, place) {
                Ok(()) => Ok(bytes),
                Err(source) => Err(Error::Read { path: path.clone(), source }),
            }
        };
        let bad = |problem: String| Error::setting(&path, format!("{problem}; fetch the weights again"));
        if size < 8 {
            return Err(bad("is not a safetensors file: shorter than 8 bytes".to_owned()));
        }
        let mut first = [0; 8];
        first.copy_from_slice(&read(0, 8)?);
        let header = u64::from_le_bytes(first);
        if header > MAX_HEADER.min(size - 8) {
            return Err(bad(format!(
                "is cut off, or no safetensors file: its header should have {header} bytes"
            )));
        }
        let bytes = read(8, header)?;
        let entries: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&bytes).map_err(|source| Error::Json { path: path.clone(), source })?;
        for (tensor, value) in entries {
            if tensor == "__metadata__" {
                continue;
            }
            let entry: Entry =
                serde_json::from_value(value).map_err(|source| Error::Json { path: path.clone(), source })?;
            let [start, end] = entry.data_offsets;
            if start > end || end > size - 8 - header {
                let problem = format!(
                    "ends at byte {end} of the {} that there are: the file is cut off",
                    size - 8 - header
                );
                return Err(Error::Tensor { path, tensor, problem });
            }
            self.tensors.insert(tensor, (self.files.len(), 8 + header, entry));
        }
        self.files.push((path, file));
        Ok(())
    }

    /// Takes `prefix` for the beginning of all names, if any name begins so.
    pub(crate) fn with_prefix(mut self, prefix: &str) -> Self {
        if self.tensors.keys().any(|name| name.starts_with(prefix)) {
            prefix.clone_into(&mut self.prefix);
        }
        self
    }

    /// Whether there is a tensor of this full name.
    pub(crate) fn has(&self, whole: &str) -> bool {
        self.tensors.contains_key(whole)
    }

    /// A vector under the prefix.
    pub(crate) fn vector(&self, name: &str, length: usize) -> Result<Array1<f32>, Error> {
        Ok(Array1::from_vec(self.read(&format!("{}{name}", self.prefix), &[length])?))
    }

    /// A matrix under the prefix, as stored in the file.
    pub(crate) fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>, Error> {
        self.whole_matrix(&format!("{}{name}", self.prefix), rows, columns)
    }

    /// The same by its full name.
    pub(crate) fn whole_matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>, Error> {
        let values = self.read(name, &[rows, columns])?;
        Ok(Array2::from_shape_vec((rows, columns), values).expect("as many numbers were read"))
    }

    /// A vector by its full name.
    pub(crate) fn whole_vector(&self, name: &str, length: usize) -> Result<Array1<f32>, Error> {
        Ok(Array1::from_vec(self.read(name, &[length])?))
    }

    fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, Error> {
        let fail = |path: &PathBuf, problem: String| Error::Tensor {
            path: path.clone(),
            tensor: name.to_owned(),
            problem,
        };
        let Some((place, data, entry)) = self.tensors.get(name) else {
            let path = self.files.first().map_or_else(PathBuf::new, |(path, _)| path.clone());
            return Err(fail(&path, "is missing".to_owned()));
        };
        let (path, file) = &self.files[*place];
        if entry.shape != shape {
            return Err(fail(
                path,
                format!("has the shape {:?}, expected {shape:?} by config.json", entry.shape),
            ));
        }
        let kind = match entry.dtype.as_str() {
            "F32" => Kind::F32,
            "F16" => Kind::F16,
            "BF16" => Kind::Bf16,
            other => {
                return Err(fail(
                    path,
                    format!("has the unsupported type {other}; expected F32, F16 or BF16"),
                ));
            }
        };
        let [start, end] = entry.data_offsets;
        let wanted = shape.iter().try_fold(kind.bytes(), |product, &side| product.checked_mul(side));
        let held = usize::try_from(end - start).ok();
        let Some(wanted) = wanted.filter(|_| wanted == held) else {
            return Err(fail(
                path,
                format!("has {} bytes, which does not match its shape {shape:?}", end - start),
            ));
        };
        let mut bytes = vec![0; wanted];
        file.read_exact_at(&mut bytes, data + start)
            .map_err(|source| Error::Read { path: path.clone(), source })?;
        let values = kind.read(&bytes);
        match values.iter().position(|value| !value.is_finite()) {
            Some(bad) => Err(fail(path, format!("has the value {} at index {bad}", values[bad]))),
            None => Ok(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_become_singles() {
        let check =
            |bits: u16, expected: f32| assert_eq!(from_f16(bits).to_bits(), expected.to_bits(), "{bits:#x}");
        check(0, 0.0);
        check(0x8000, -0.0);
        check(0x3c00, 1.0);
        check(0xc100, -2.5);
        check(0x7bff, 65504.0);
        check(0x0400, 2f32.powi(-14));
        check(0x0001, 2f32.powi(-24));
        check(0x83ff, -1023.0 * 2f32.powi(-24));
        check(0x7c00, f32::INFINITY);
        assert!(from_f16(0x7e00).is_nan());
        assert_eq!(Kind::Bf16.read(&[0x80, 0x3f, 0x20, 0xc0]), [1.0, -2.5]);
    }
}
