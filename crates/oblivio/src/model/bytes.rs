//! A fitted regression as bytes.

use serde::{Deserialize, Serialize};

use super::container::{numbers, read, require, tensor, write};
use super::{Card, Model};
use crate::basis::{Basis, Shape};
use crate::encoder::Encoder;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::oblivious::check_strength;
use crate::partition::Partition;
use crate::points::Points;
use crate::predictor::{Offsets, Predictor};

const KIND: &str = "ridge";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Header {
    kernel: String,
    #[serde(default)]
    basis: Shape,
    intercept: f64,
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

impl Model {
    /// The bytes of the model file. The same model gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Predictor {
            basis,
            coefficients,
            intercept,
            offsets,
        } = &self.predictor;
        let points = &basis.points;
        let header = Header {
            kernel: basis.kernel.to_string(),
            basis: basis.shape,
            intercept: *intercept,
            encoder: self.encoder.clone(),
            cells: offsets.as_ref().map(|offsets| Cells {
                partition: offsets.partition.clone(),
                strength: offsets.strength,
                mean: offsets.mean,
            }),
            card: self.card.clone(),
        };
        let by_cell = offsets.as_ref().map_or(&[][..], |offsets| &offsets.by_cell);
        let tensors = [
            tensor("coefficients", &[coefficients.len()], coefficients),
            tensor("offsets", &[by_cell.len()], by_cell),
            tensor("points", &[points.len(), points.dim()], points.values()),
        ];
        write(KIND, &header, &tensors)
    }

    /// Reads a model file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (Header, _) = read(bytes, KIND)?;
        let (coefficients, _) = numbers(&tensors, "coefficients", 1)?;
        let (values, shape) = numbers(&tensors, "points", 2)?;
        let (by_cell, _) = numbers(&tensors, "offsets", 1)?;
        let kernel: Kernel = header.kernel.parse()?;
        require(header.intercept.is_finite(), "its intercept")?;
        require(header.encoder.is_sound(), "the encoding of its columns")?;
        let basis = Basis {
            kernel,
            points: Points::new(values, shape[1])?,
            shape: header.basis,
        };
        require(
            shape[1] == header.encoder.width() && basis.len() == coefficients.len(),
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
                basis,
                coefficients,
                intercept: header.intercept,
                offsets,
            },
            card: header.card,
        })
    }
}
