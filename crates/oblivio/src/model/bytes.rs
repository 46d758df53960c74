//! A fitted regression or classifier as bytes.

use std::sync::Arc;

use oblivio_base::choice::check_strength;
use oblivio_base::{Encoder, Points, Result};
use oblivio_kernels::{Basis, Kernel, Shape};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use super::container::{kind_of, numbers, read, require, tensor, write};
use super::intervals::IntervalsHeader;
use super::{Card, Model};
use crate::align::Alignment;
use crate::classes::Classes;
use crate::partition::{Partition, Smooth};
use crate::predictor::{Offsets, Predictor, SmoothOffsets};

const KIND: &str = "ridge";
const CLASSIFIER: &str = "classifier";

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alignment: Option<Alignment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classes: Option<Classes>,
    /// Of the scores after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Other>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fallback: Option<Fallback>,
    /// Of the first score, which is the only one of a regression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intervals: Option<IntervalsHeader>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fallback_intervals: Option<IntervalsHeader>,
}

/// What the models for rows without sensitive values have apart from their tensors.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Fallback {
    intercepts: Vec<f64>,
    /// Whether they have points of their own; else those of the scores.
    own_points: bool,
}

/// What another score has of its own.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Other {
    intercept: f64,
    mean: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alignment: Option<Alignment>,
}

/// [`Offsets`] without the numbers that are a tensor.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cells {
    partition: Arc<Partition>,
    strength: f64,
    mean: f64,
}

impl Model {
    /// The bytes of the model file. The same model gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Predictor {
            basis,
            intercept,
            offsets,
            alignment,
            ..
        } = self.predictor();
        let points = basis.points();
        let other = |scorer: &Predictor| Other {
            intercept: scorer.intercept,
            mean: scorer.offsets().map_or(0.0, |offsets| offsets.mean),
            alignment: scorer.alignment.clone(),
        };
        let intervals = self.predictor().intervals();
        let spare_intervals = self.predictor().fallback().and_then(Predictor::intervals);
        let header = Header {
            kernel: basis.kernel().to_string(),
            basis: basis.shape(),
            intercept: *intercept,
            encoder: self.encoder.clone(),
            cells: offsets.as_ref().map(|offsets| Cells {
                partition: Arc::clone(&offsets.partition),
                strength: offsets.strength,
                mean: offsets.mean,
            }),
            card: self.card.clone(),
            alignment: alignment.clone(),
            classes: self.classes.clone(),
            others: self.scorers[1..].iter().map(other).collect(),
            fallback: self.fallback_header(),
            intervals: intervals.map(IntervalsHeader::of),
            fallback_intervals: spare_intervals.map(IntervalsHeader::of),
        };
        // All scores one after the other.
        let all = |values: &dyn Fn(&Predictor) -> Vec<f64>| -> Vec<f64> {
            self.scorers.iter().flat_map(values).collect()
        };
        let coefficients = all(&|scorer| scorer.coefficients.clone());
        let by_cell = all(&|scorer| {
            let offsets = scorer.offsets();
            offsets.map_or(Vec::new(), |offsets| offsets.by_cell.clone())
        });
        let smooth = all(&|scorer| {
            let smooth = scorer.offsets().and_then(|offsets| offsets.smooth.as_ref());
            smooth.map_or(Vec::new(), |smooth| {
                [&smooth.values[..], &smooth.by_cell].concat()
            })
        });
        let fallbacks: Vec<&Predictor> = self.fallbacks().collect();
        let spare: Vec<f64> = fallbacks
            .iter()
            .flat_map(|f| &f.coefficients)
            .copied()
            .collect();
        let mut tensors = vec![
            tensor("coefficients", &[coefficients.len()], &coefficients),
            tensor("offsets", &[by_cell.len()], &by_cell),
            tensor("points", &[points.len(), points.dim()], points.values()),
            tensor("smooth", &[smooth.len()], &smooth),
        ];
        if let (Some(fallback), Some(first)) = (&header.fallback, fallbacks.first()) {
            tensors.push(tensor("fallback-coefficients", &[spare.len()], &spare));
            if fallback.own_points {
                let points = first.basis.points();
                let shape = [points.len(), points.dim()];
                tensors.push(tensor("fallback-points", &shape, points.values()));
            }
        }
        let residuals = intervals.map_or(Vec::new(), IntervalsHeader::numbers);
        let spare_residuals = spare_intervals.map_or(Vec::new(), IntervalsHeader::numbers);
        if intervals.is_some() {
            tensors.push(tensor("intervals", &[residuals.len()], &residuals));
        }
        if spare_intervals.is_some() {
            let shape = [spare_residuals.len()];
            tensors.push(tensor("fallback-intervals", &shape, &spare_residuals));
        }
        let kind = self.classes.as_ref().map_or(KIND, |_| CLASSIFIER);
        write(kind, &header, &tensors)
    }

    fn fallbacks(&self) -> impl Iterator<Item = &Predictor> {
        self.scorers.iter().filter_map(Predictor::fallback)
    }

    fn fallback_header(&self) -> Option<Fallback> {
        let first = self.fallbacks().next()?;
        Some(Fallback {
            intercepts: self.fallbacks().map(|f| f.intercept).collect(),
            own_points: first.basis != self.predictor().basis,
        })
    }

    /// Reads a model file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let kind = if kind_of(bytes)? == CLASSIFIER {
            CLASSIFIER
        } else {
            KIND
        };
        let (header, tensors): (Header, _) = read(bytes, kind)?;
        let (coefficients, _) = numbers(&tensors, "coefficients", 1)?;
        let (values, shape) = numbers(&tensors, "points", 2)?;
        let (by_cell, _) = numbers(&tensors, "offsets", 1)?;
        // Files of older versions have cells only.
        let (smooth, _) = numbers(&tensors, "smooth", 1).unwrap_or_default();
        let kernel: Kernel = header.kernel.parse()?;
        let first = Other {
            intercept: header.intercept,
            mean: header.cells.as_ref().map_or(0.0, |cells| cells.mean),
            alignment: header.alignment,
        };
        let own: Vec<Other> = std::iter::once(first).chain(header.others).collect();
        let sound = |other: &Other| other.intercept.is_finite() && other.mean.is_finite();
        require(own.iter().all(sound), "its intercept or mean")?;
        require(header.encoder.is_sound(), "the encoding of its columns")?;
        let decisions = header.classes.as_ref().map(Classes::decisions);
        let classes_sound = header.classes.as_ref().is_none_or(Classes::is_sound);
        require(
            (kind == CLASSIFIER) == decisions.is_some()
                && decisions.unwrap_or(1) == own.len()
                && classes_sound,
            "the number of its classes",
        )?;
        let basis = Arc::new(Basis::new(
            kernel,
            Points::new(values, shape[1])?,
            header.basis,
        ));
        let count = basis.len();
        require(
            shape[1] == header.encoder.width()
                && count > 0
                && count.checked_mul(own.len()) == Some(coefficients.len()),
            "the number of its points, features and coefficients",
        )?;
        let cells = header
            .cells
            .as_ref()
            .map_or(0, |cells| cells.partition.len());
        if let Some(cells) = &header.cells {
            check_strength(cells.strength)?;
            require(cells.partition.is_sound(), "its partition")?;
        }
        let partition = header.cells.as_ref().map(|of| &*of.partition);
        let features = partition.and_then(|of| of.smooth.as_ref());
        let is_smooth = features.is_some();
        let features = features.map_or(0, Smooth::len);
        let aligns = |other: &Other| {
            other.alignment.as_ref().is_none_or(|alignment| {
                let known = match alignment.cells() {
                    Some(known) => known <= cells && !is_smooth,
                    None => alignment.features() == Some(features) && is_smooth,
                };
                cells > 0 && alignment.is_sound() && known
            })
        };
        require(own.iter().all(aligns), "its alignment")?;
        require(
            cells.checked_mul(own.len()) == Some(by_cell.len()),
            "the number of its offsets",
        )?;
        require(header.card.is_sound(cells, own.len()), "its history")?;
        let smooth = smooth_offsets(partition, &smooth, own.len())?;
        let scorer = |(k, other): (usize, &Other)| Predictor {
            basis: Arc::clone(&basis),
            coefficients: coefficients[k * count..(k + 1) * count].to_vec(),
            intercept: other.intercept,
            offsets: header.cells.as_ref().map(|of| Offsets {
                partition: Arc::clone(&of.partition),
                strength: of.strength,
                by_cell: by_cell[k * cells..(k + 1) * cells].to_vec(),
                mean: other.mean,
                smooth: smooth.get(k).cloned(),
            }),
            alignment: other.alignment.clone(),
            fallback: None,
            intervals: None,
        };
        let mut scorers: Vec<Predictor> = own.iter().enumerate().map(scorer).collect();
        if let Some(fallback) = &header.fallback {
            require(header.cells.is_some(), "its fallback")?;
            fallback.read(&tensors, &mut scorers)?;
        }
        let residuals = [&header.intervals, &header.fallback_intervals];
        let regression = scorers.iter_mut().filter(|_| header.classes.is_none());
        IntervalsHeader::read_both(residuals, &tensors, cells.max(1), regression.collect())?;
        Ok(Self {
            encoder: header.encoder,
            scorers,
            classes: header.classes,
            card: header.card,
        })
    }
}

/// The offsets of so many scores that are regressions on features of S; none where they are those of cells.
fn smooth_offsets(
    partition: Option<&Partition>,
    numbers: &[f64],
    scores: usize,
) -> Result<Vec<SmoothOffsets>> {
    let features = partition.and_then(|of| of.smooth.as_ref()).map(Smooth::len);
    let each = features.map_or(0, |features| features + partition.map_or(0, Partition::len));
    require(
        each.checked_mul(scores) == Some(numbers.len()) && numbers.iter().all(|v| v.is_finite()),
        "the number of its smooth offsets",
    )?;
    let Some(features) = features.filter(|_| each > 0) else {
        return Ok(Vec::new());
    };
    let offsets = |own: &[f64]| SmoothOffsets {
        values: own[..features].to_vec(),
        by_cell: own[features..].to_vec(),
    };
    Ok(numbers.chunks(each).map(offsets).collect())
}

impl Fallback {
    /// Gives every score its model for rows without sensitive values.
    fn read(&self, tensors: &SafeTensors, scorers: &mut [Predictor]) -> Result<()> {
        let (coefficients, _) = numbers(tensors, "fallback-coefficients", 1)?;
        let mut basis = Arc::clone(&scorers[0].basis);
        if self.own_points {
            let (values, shape) = numbers(tensors, "fallback-points", 2)?;
            require(shape[1] == basis.dim(), "the points of its fallback")?;
            basis = Arc::new(Basis::new(
                basis.kernel().clone(),
                Points::new(values, shape[1])?,
                basis.shape(),
            ));
        }
        let count = basis.len();
        require(
            count > 0
                && self.intercepts.len() == scorers.len()
                && self.intercepts.iter().all(|c| c.is_finite())
                && count.checked_mul(scorers.len()) == Some(coefficients.len()),
            "its fallback",
        )?;
        let own = self.intercepts.iter().zip(coefficients.chunks(count));
        for (scorer, (intercept, coefficients)) in scorers.iter_mut().zip(own) {
            scorer.fallback = Some(Box::new(Predictor {
                basis: Arc::clone(&basis),
                coefficients: coefficients.to_vec(),
                intercept: *intercept,
                offsets: None,
                alignment: None,
                fallback: None,
                intervals: None,
            }));
        }
        Ok(())
    }
}
