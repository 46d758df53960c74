//! The file of a regression or a classifier.

use std::sync::Arc;

use oblivio_base::choice::check_strength;
use oblivio_base::{Encoder, Result};
use oblivio_kernels::{Basis, Kernel, Shape};
use serde::{Deserialize, Serialize};

use super::container::{Codec, Tensor, kind_of, read, require, write};
use super::fallback::{Fallback, FallbackTensors};
use super::intervals::IntervalsHeader;
use crate::adjust::{Adjustment, Offsets, SmoothOffsets};
use crate::align::Alignment;
use crate::classes::Classes;
use crate::model::{Card, Model};
use crate::partition::{Partition, Smooth};
use crate::predictor::Predictor;

/// Kinds of files: a regression, whatever its learner is called, and a classifier.
const REGRESSION: &str = "ridge";
const CLASSIFIER: &str = "classifier";

/// A model: the numbers of all scores one after the other.
struct ModelFile<'m> {
    header: Header,
    coefficients: Tensor<'m>,
    /// The offsets of cells.
    offsets: Tensor<'m>,
    points: Tensor<'m>,
    /// The offsets by a regression on S: of the features, then of the cells.
    smooth: Tensor<'m>,
    fallback: Option<FallbackTensors<'m>>,
    intervals: Option<Tensor<'m>>,
    fallback_intervals: Option<Tensor<'m>>,
}

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
    /// The scores after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Score>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fallback: Option<Fallback>,
    /// The intervals of a regression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intervals: Option<IntervalsHeader>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fallback_intervals: Option<IntervalsHeader>,
}

/// A score, apart from its tensors.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Score {
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
        let kernel = self.predictor().kernel();
        kernel.check_formula("a model in a file")?;
        ModelFile::new(self).write()
    }

    /// Reads a model file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        ModelFile::decode(bytes, ())
    }
}

impl<'m> ModelFile<'m> {
    fn new(model: &'m Model) -> Self {
        let first = model.predictor();
        let intervals = first.intervals();
        let fallback_intervals = first.fallback().and_then(Predictor::intervals);
        let fallback = FallbackTensors::new(model);
        Self {
            header: Header::new(model, fallback.as_ref()),
            coefficients: of_all(model, "coefficients", |scorer| scorer.coefficients.clone()),
            offsets: of_all(model, "offsets", |scorer| {
                let offsets = scorer.offsets();
                offsets.map_or(Vec::new(), |offsets| offsets.by_cell.clone())
            }),
            points: Tensor::points("points", first.basis.points()),
            smooth: of_all(model, "smooth", |scorer| {
                let smooth = scorer.offsets().and_then(|offsets| offsets.smooth.as_ref());
                smooth.map_or(Vec::new(), |smooth| {
                    [&smooth.values[..], &smooth.by_cell].concat()
                })
            }),
            fallback,
            intervals: intervals.map(|own| IntervalsHeader::numbers("intervals", own)),
            fallback_intervals: fallback_intervals
                .map(|own| IntervalsHeader::numbers("fallback-intervals", own)),
        }
    }

    /// The kind of the file.
    fn kind(&self) -> &'static str {
        self.header
            .classes
            .as_ref()
            .map_or(REGRESSION, |_| CLASSIFIER)
    }

    /// The basis that all scores share.
    fn basis(&mut self, scores: usize) -> Result<Arc<Basis>> {
        let kernel: Kernel = self.header.kernel.parse()?;
        let width = self.header.encoder.width();
        let points = std::mem::take(&mut self.points).into_points()?;
        let dim = points.dim();
        let basis = Basis::new(kernel, points, self.header.basis);
        let count = basis.len();
        require(
            dim == width
                && count > 0
                && count.checked_mul(scores) == Some(self.coefficients.values.len()),
            "the number of its points, features and coefficients",
        )?;
        Ok(basis.into())
    }
}

impl Codec for ModelFile<'_> {
    type Value = Model;
    type Context<'c> = ();

    fn write(&self) -> Result<Vec<u8>> {
        let always = [
            &self.coefficients,
            &self.offsets,
            &self.points,
            &self.smooth,
        ];
        let fallback = self.fallback.iter();
        let fallback = fallback.flat_map(FallbackTensors::all);
        let intervals = self.intervals.iter().chain(&self.fallback_intervals);
        let tensors = always.into_iter().chain(fallback).chain(intervals);
        write(self.kind(), &self.header, tensors)
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let kind = kind_of(bytes)?;
        let classifies = kind == CLASSIFIER;
        let kind = if classifies { CLASSIFIER } else { REGRESSION };
        let (header, tensors): (Header, _) = read(bytes, kind)?;
        require(
            classifies == header.classes.is_some(),
            "the number of its classes",
        )?;
        if classifies {
            header.has_no_intervals()?;
        }
        let fallback = header.fallback.as_ref();
        let intervals = |own: &Option<IntervalsHeader>, name| {
            let read = own.as_ref().map(|_| Tensor::read_vector(&tensors, name));
            read.transpose()
        };
        Ok(Self {
            coefficients: Tensor::read_vector(&tensors, "coefficients")?,
            offsets: Tensor::read_vector(&tensors, "offsets")?,
            points: Tensor::read_matrix(&tensors, "points")?,
            // Files of older versions have cells only.
            smooth: Tensor::read_vector(&tensors, "smooth").unwrap_or_default(),
            fallback: fallback
                .map(|own| FallbackTensors::read(&tensors, own))
                .transpose()?,
            intervals: intervals(&header.intervals, "intervals")?,
            fallback_intervals: intervals(&header.fallback_intervals, "fallback-intervals")?,
            header,
        })
    }

    fn check(mut self, (): ()) -> Result<Model> {
        let scores = self.header.scores();
        self.header.check(&scores)?;
        let basis = self.basis(scores.len())?;
        let count = basis.len();
        let partition = self.header.partition();
        let cells = partition.map_or(0, Partition::len);
        require(
            cells.checked_mul(scores.len()) == Some(self.offsets.values.len()),
            "the number of its offsets",
        )?;
        let smooth = smooth_offsets(partition, &self.smooth.values, scores.len())?;
        let scorer = |(k, score): (usize, Score)| Predictor {
            basis: Arc::clone(&basis),
            coefficients: self.coefficients.values[k * count..(k + 1) * count].to_vec(),
            intercept: score.intercept,
            adjustment: self.header.cells.as_ref().map(|of| Adjustment {
                offsets: Offsets {
                    partition: Arc::clone(&of.partition),
                    strength: of.strength,
                    by_cell: self.offsets.values[k * cells..(k + 1) * cells].to_vec(),
                    mean: score.mean,
                    smooth: smooth.get(k).cloned(),
                },
                alignment: score.alignment,
            }),
            fallback: None,
            intervals: None,
        };
        let mut scorers: Vec<Predictor> = scores.into_iter().enumerate().map(scorer).collect();
        if let (Some(header), Some(tensors)) = (&self.header.fallback, self.fallback.take()) {
            require(self.header.cells.is_some(), "its fallback")?;
            tensors.attach(header, &mut scorers)?;
        }
        self.attach_intervals(&mut scorers)?;
        Ok(Model {
            encoder: self.header.encoder,
            scorers,
            classes: self.header.classes,
            card: self.header.card,
        })
    }
}

impl ModelFile<'_> {
    /// Attaches the stored intervals to a regression and to its fallback.
    fn attach_intervals(&self, scorers: &mut [Predictor]) -> Result<()> {
        let cells = self.header.partition().map_or(0, Partition::len).max(1);
        let scorer = &mut scorers[0];
        if let (Some(own), Some(numbers)) = (&self.header.intervals, &self.intervals) {
            scorer.intervals = Some(own.check(numbers, cells)?);
        }
        let of_fallback = (&self.header.fallback_intervals, &self.fallback_intervals);
        if let (Some(own), Some(numbers)) = of_fallback {
            let intervals = own.check(numbers, cells)?;
            let Some(fallback) = &mut scorer.fallback else {
                return require(false, "the intervals of its fallback");
            };
            fallback.intervals = Some(intervals);
        }
        Ok(())
    }
}

impl Header {
    fn new(model: &Model, fallback: Option<&FallbackTensors>) -> Self {
        let first = model.predictor();
        let others = model.scorers[1..].iter();
        let of_fallback = first.fallback().and_then(Predictor::intervals);
        Self {
            kernel: first.basis.kernel().to_string(),
            basis: first.basis.shape(),
            intercept: first.intercept,
            encoder: model.encoder.clone(),
            cells: first.offsets().map(|offsets| Cells {
                partition: Arc::clone(&offsets.partition),
                strength: offsets.strength,
                mean: offsets.mean,
            }),
            card: model.card.clone(),
            alignment: first.alignment().cloned(),
            classes: model.classes.clone(),
            others: others.map(Score::new).collect(),
            fallback: fallback.map(|tensors| Fallback::new(model, tensors)),
            intervals: first.intervals().map(IntervalsHeader::new),
            fallback_intervals: of_fallback.map(IntervalsHeader::new),
        }
    }

    /// Refuses intervals of a classifier.
    fn has_no_intervals(&self) -> Result<()> {
        require(
            self.intervals.is_none() && self.fallback_intervals.is_none(),
            "the number of its intervals",
        )
    }

    fn partition(&self) -> Option<&Partition> {
        self.cells.as_ref().map(|of| &*of.partition)
    }

    /// All scores. The fields of the first are in the header itself, where the oldest versions look for them.
    fn scores(&mut self) -> Vec<Score> {
        let mut scores = vec![Score {
            intercept: self.intercept,
            mean: self.cells.as_ref().map_or(0.0, |cells| cells.mean),
            alignment: self.alignment.take(),
        }];
        scores.append(&mut self.others);
        scores
    }

    /// Refuses a header whose parts are damaged or do not belong together.
    fn check(&self, scores: &[Score]) -> Result<()> {
        let finite = |score: &Score| score.intercept.is_finite() && score.mean.is_finite();
        require(scores.iter().all(finite), "its intercept or mean")?;
        self.encoder.check_read()?;
        let classes = self.classes.as_ref();
        require(
            classes.map_or(1, Classes::decisions) == scores.len(),
            "the number of its classes",
        )?;
        classes.map_or(Ok(()), Classes::check_read)?;
        if let Some(cells) = &self.cells {
            check_strength(cells.strength)?;
            cells.partition.check_read()?;
        }
        for alignment in scores.iter().filter_map(|score| score.alignment.as_ref()) {
            alignment.check_read()?;
            require(self.fits(alignment), "its alignment")?;
        }
        let cells = self.partition().map_or(0, Partition::len);
        self.card.check_read(cells, scores.len())
    }

    /// Whether an alignment goes by the S of the offsets.
    fn fits(&self, alignment: &Alignment) -> bool {
        let Some(partition) = self.partition() else {
            return false;
        };
        match (alignment.cells(), partition.smooth()) {
            (Some(known), None) => known <= partition.len(),
            (None, Some(smooth)) => alignment.features() == Some(smooth.len()),
            _ => false,
        }
    }
}

impl Score {
    fn new(scorer: &Predictor) -> Self {
        Self {
            intercept: scorer.intercept,
            mean: scorer.offsets().map_or(0.0, |offsets| offsets.mean),
            alignment: scorer.alignment().cloned(),
        }
    }
}

/// Numbers of all scores one after the other.
fn of_all(
    model: &Model,
    name: &'static str,
    numbers: impl Fn(&Predictor) -> Vec<f64>,
) -> Tensor<'static> {
    Tensor::vector(
        name,
        model.scorers.iter().flat_map(numbers).collect::<Vec<f64>>(),
    )
}

/// The offsets of `scores` scores by a regression on S; none where they are offsets of cells.
fn smooth_offsets(
    partition: Option<&Partition>,
    numbers: &[f64],
    scores: usize,
) -> Result<Vec<SmoothOffsets>> {
    let features = partition.and_then(Partition::smooth).map(Smooth::len);
    let each = features.map_or(0, |features| features + partition.map_or(0, Partition::len));
    require(
        each.checked_mul(scores) == Some(numbers.len()),
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
