//! The model file: safetensors whose header holds one JSON text. Reading checks everything and runs nothing.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};

use super::{Card, Model};
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::oblivious::check_strength;
use crate::partition::Partition;
use crate::points::Points;
use crate::predictor::{Offsets, Predictor};

/// Raised when a reader of the old format would misread the new one.
const FORMAT: u64 = 1;
/// The header's one entry.
const KEY: &str = "oblivio";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Header {
    format: u64,
    version: String,
    kernel: String,
    encoder: Encoder,
    cells: Option<Cells>,
    card: Card,
}

/// [`Offsets`] without the numbers that are a tensor.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cells {
    partition: Partition,
    strength: f64,
    mean: f64,
}

/// Read first, so that a later format is told apart from a damaged file.
#[derive(Deserialize)]
struct Format {
    format: u64,
}

impl Model {
    /// The bytes of the model file. The same model gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Predictor {
            kernel,
            points,
            coefficients,
            offsets,
        } = &self.predictor;
        let header = Header {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: kernel.to_string(),
            encoder: self.encoder.clone(),
            cells: offsets.as_ref().map(|offsets| Cells {
                partition: offsets.partition.clone(),
                strength: offsets.strength,
                mean: offsets.mean,
            }),
            card: self.card.clone(),
        };
        let text = serde_json::to_string(&header).map_err(invalid)?;
        let by_cell = offsets.as_ref().map_or(&[][..], |offsets| &offsets.by_cell);
        let tensors = [
            (
                "coefficients",
                vec![coefficients.len()],
                bytes(coefficients),
            ),
            ("offsets", vec![by_cell.len()], bytes(by_cell)),
            (
                "points",
                vec![points.len(), points.dim()],
                bytes(points.values()),
            ),
        ];
        let views = tensors
            .iter()
            .map(|(name, shape, data)| {
                Ok((*name, TensorView::new(Dtype::F64, shape.clone(), data)?))
            })
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
            .map_err(invalid)?;
        serialize(views, Some(HashMap::from([(KEY.to_owned(), text)]))).map_err(invalid)
    }

    /// Reads a model file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(invalid)?;
        let text = metadata
            .metadata()
            .as_ref()
            .and_then(|entries| entries.get(KEY))
            .ok_or_else(|| invalid("it is a safetensors file but not one of oblivio's"))?;
        let Format { format } = serde_json::from_str(text).map_err(invalid)?;
        if format > FORMAT {
            return Err(Error::ModelTooNew {
                found: format,
                known: FORMAT,
            });
        }
        let header: Header = serde_json::from_str(text).map_err(invalid)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(invalid)?;
        let (coefficients, _) = numbers(&tensors, "coefficients", 1)?;
        let (values, shape) = numbers(&tensors, "points", 2)?;
        let (by_cell, _) = numbers(&tensors, "offsets", 1)?;
        let kernel: Kernel = header.kernel.parse()?;
        require(header.encoder.is_sound(), "the encoding of its columns")?;
        require(
            shape[1] == header.encoder.width() && shape[0] == coefficients.len(),
            "the number of its points, features and coefficients",
        )?;
        let offsets = match header.cells {
            None => None,
            Some(Cells {
                partition,
                strength,
                mean,
            }) => {
                check_strength(strength)?;
                require(partition.is_sound() && mean.is_finite(), "its partition")?;
                require(
                    partition.len() == by_cell.len(),
                    "the number of its offsets",
                )?;
                Some(Offsets {
                    partition,
                    strength,
                    by_cell,
                    mean,
                })
            }
        };
        Ok(Self {
            encoder: header.encoder,
            predictor: Predictor {
                kernel,
                points: Points::new(values, shape[1])?,
                coefficients,
                offsets,
            },
            card: header.card,
        })
    }
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A tensor of finite numbers and its shape.
fn numbers(tensors: &SafeTensors, name: &str, dimensions: usize) -> Result<(Vec<f64>, Vec<usize>)> {
    let tensor = tensors.tensor(name).map_err(invalid)?;
    let (chunks, rest) = tensor.data().as_chunks::<8>();
    let values: Vec<f64> = chunks
        .iter()
        .map(|chunk| f64::from_le_bytes(*chunk))
        .collect();
    require(
        tensor.dtype() == Dtype::F64
            && tensor.shape().len() == dimensions
            && rest.is_empty()
            && values.iter().all(|v| v.is_finite()),
        "one of its tensors",
    )?;
    Ok((values, tensor.shape().to_vec()))
}

fn require(holds: bool, what: &str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(invalid(format!("{what} makes no sense")))
    }
}

fn invalid(problem: impl std::fmt::Display) -> Error {
    Error::InvalidModel {
        problem: problem.to_string(),
    }
}
