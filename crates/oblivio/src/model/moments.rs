//! Moments as bytes, alone or as the state of a fit that can be taken up again.

use std::sync::Arc;

use oblivio_base::column::MOST_ROWS;
use oblivio_base::{Encoder, Points, Result, Warning};
use oblivio_kernels::{Basis, FeatureMap, Kernel, Shape};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use super::container::{Tensor, invalid, numbers, read, require, tensor, write};
use crate::features::{FeatureFit, FeatureSettings};
use crate::fit::{Settings, StreamFit};
use crate::gather::Gather;
use crate::moments::{
    Moments, Pending, Plan, Scratch, SensitivePlan, SensitiveSums, Sums, block_rows,
};
use crate::partition::{Cuts, Slots, Uses};
use crate::reference::Members;

#[derive(Serialize, Deserialize)]
struct PlanHeader {
    kernel: String,
    basis: Shape,
    sensitive: SensitivePlan,
    whitened: bool,
    second: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SumsHeader {
    rows: usize,
    /// The cuts as they have grown, the keys of the slots and their rows; absent where ψ is not cells.
    slots: Option<(Cuts, Vec<Vec<u32>>, Vec<usize>)>,
    /// Rows of each cell of a plan with smooth features, and the policies they needed.
    #[serde(default)]
    placed: (Vec<usize>, Uses),
    pending: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct MomentsHeader {
    plan: PlanHeader,
    sums: SumsHeader,
}

impl Moments {
    /// The bytes of the moments. The same moments give the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = MomentsHeader {
            plan: PlanHeader::of(&self.plan),
            sums: SumsHeader::of(self),
        };
        let mut tensors = plan_tensors(&self.plan);
        tensors.extend(sums_tensors(self, ""));
        write("moments", &header, &tensors)
    }

    /// Reads moments, trusting nothing in them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (MomentsHeader, _) = read(bytes, "moments")?;
        let plan = Arc::new(header.plan.plan(&tensors)?);
        header.sums.moments(&plan, &tensors, "")
    }
}

impl PlanHeader {
    fn of(plan: &Plan) -> Self {
        Self {
            kernel: plan.map.kernel().to_string(),
            basis: plan.map.basis().shape(),
            sensitive: plan.sensitive.clone(),
            whitened: plan.whitened,
            second: plan.second,
        }
    }

    fn plan(self, tensors: &SafeTensors) -> Result<Plan> {
        let (values, shape) = numbers(tensors, "landmarks", 2)?;
        let (root, root_shape) = numbers(tensors, "root", 2)?;
        let (origin, _) = numbers(tensors, "origin", 1)?;
        let kernel: Kernel = self.kernel.parse()?;
        let sound = match &self.sensitive {
            SensitivePlan::Cells(cuts) => cuts.is_sound(&[]),
            SensitivePlan::Features { ridge, .. } => *ridge >= 0.0 && ridge.is_finite(),
            SensitivePlan::Smooth(partition) => partition.is_sound() && partition.smooth.is_some(),
        };
        let basis = Basis::new(kernel, Points::new(values, shape[1])?, self.basis);
        let count = basis.len();
        require(
            sound && count > 0 && root_shape == [count, count] && origin.len() == count,
            "its plan",
        )?;
        Ok(Plan {
            map: FeatureMap::from_parts(basis, root),
            sensitive: self.sensitive,
            origin,
            whitened: self.whitened,
            second: self.second,
        })
    }
}

impl SumsHeader {
    pub(super) fn of(moments: &Moments) -> Self {
        Self {
            rows: moments.sums.rows,
            slots: match &moments.sums.sensitive {
                SensitiveSums::Cells { cuts, slots, .. } => {
                    Some((cuts.clone(), slots.keys.clone(), slots.counts.clone()))
                }
                SensitiveSums::Dense { .. } => None,
            },
            placed: match &moments.sums.sensitive {
                SensitiveSums::Cells { .. } => (Vec::new(), Uses::default()),
                SensitiveSums::Dense { placed, .. } => placed.clone(),
            },
            pending: moments.pending.slots.clone(),
        }
    }

    pub(super) fn moments(
        self,
        plan: &Arc<Plan>,
        tensors: &SafeTensors,
        prefix: &str,
    ) -> Result<Moments> {
        let vector = |name: &str| Ok(numbers(tensors, &format!("{prefix}{name}"), 1)?.0);
        let shape = |holds: bool| require(holds, "the shape of its sums");
        let (placed, uses) = (&self.placed.0, self.placed.1);
        let counts = placed.iter().chain([&self.rows]);
        require(
            counts.copied().all(|count| count <= MOST_ROWS) && uses.is_sound(),
            "the number of its rows",
        )?;
        // Before there is room for as many features of S as the plan announces.
        let gram = vector("gram")?;
        let announced = plan.sensitive.dense().unwrap_or(0);
        shape(announced.checked_mul(announced) == Some(gram.len()))?;
        let empty = Moments::new(Arc::clone(plan));
        let width = empty.sums.width;
        let (origin, sums) = (vector("sums-origin")?, vector("sums")?);
        let second = match vector("second")? {
            none if none.is_empty() && plan.second && self.rows == 0 => vec![0.0; width * width],
            second => squared(second, width),
        };
        shape(origin.len() == width - 1)?;
        shape(second.len() == if plan.second { width * width } else { 0 })?;
        let sensitive = match (self.slots, &empty.sums.sensitive) {
            (Some((cuts, keys, counts)), SensitiveSums::Cells { cuts: made, .. }) => {
                shape(sums.len().is_multiple_of(width) && sums.len() / width <= keys.len())?;
                require(
                    cuts.is_sound(&keys) && made.clone().join(&cuts).is_some(),
                    "its cells",
                )?;
                let rows = counts.iter().try_fold(0usize, |sum, c| sum.checked_add(*c));
                let slots = Slots::of(cuts.names().count(), &keys, counts);
                match slots {
                    Some(slots) if rows == Some(self.rows) => {
                        SensitiveSums::Cells { cuts, slots, sums }
                    }
                    _ => return Err(invalid("its cells make no sense")),
                }
            }
            (None, SensitiveSums::Dense { count, placed, .. }) => {
                shape(sums.len() == count * width)?;
                shape(self.placed.0.len() == placed.0.len())?;
                SensitiveSums::Dense {
                    count: *count,
                    gram,
                    sums,
                    placed: self.placed,
                }
            }
            _ => return Err(invalid("its sensitive sums make no sense")),
        };
        let pending = Pending {
            points: vector("pending-points")?,
            slots: self.pending,
            psi: vector("pending-psi")?,
            targets: vector("pending-targets")?,
            weights: vector("pending-weights")?,
        };
        let rows = pending.targets.len();
        // Rows wait for the rest of their block, and slots for the first of their rows.
        require(rows < block_rows(width), "the number of its rows")?;
        if let SensitiveSums::Cells { slots, sums, .. } = &sensitive {
            let waiting = slots.keys.len() - sums.len() / width;
            require(waiting <= rows, "the number of its cells")?;
        }
        let fits = match &sensitive {
            SensitiveSums::Cells { slots, .. } => {
                let known = |slot: &usize| *slot < slots.keys.len();
                pending.slots.len() == rows && pending.slots.iter().all(known)
            }
            SensitiveSums::Dense { count, .. } => pending.psi.len() == count * rows,
        };
        require(
            fits && pending.points.len() == rows * plan.map.basis().dim()
                && pending.weights.len() == rows
                && pending.weights.iter().all(|weight| *weight > 0.0),
            "its rows",
        )?;
        Ok(Moments {
            sums: Sums {
                origin,
                rows: self.rows,
                second: plan.second.then_some(second),
                sensitive,
                ..empty.sums
            },
            pending,
            plan: Arc::clone(plan),
            scratch: Scratch::default(),
        })
    }
}

/// The lower triangle of a square matrix, column after column.
pub(super) fn triangle(square: &[f64], width: usize) -> Vec<f64> {
    let columns = square.chunks(width).enumerate();
    columns
        .flat_map(|(j, column)| &column[j..])
        .copied()
        .collect()
}

/// The square of which these are the lower triangle; anything else stays as it is.
fn squared(values: Vec<f64>, width: usize) -> Vec<f64> {
    if values.len() != width * (width + 1) / 2 {
        return values;
    }
    let mut square = vec![0.0; width * width];
    let mut rest = &values[..];
    for (j, column) in square.chunks_mut(width).enumerate() {
        let (own, after) = rest.split_at(width - j);
        column[j..].copy_from_slice(own);
        rest = after;
    }
    square
}

fn plan_tensors(plan: &Plan) -> Vec<Tensor<'_>> {
    let count = plan.map.len();
    let points = plan.map.basis().points();
    vec![
        tensor("landmarks", &[points.len(), points.dim()], points.values()),
        tensor("root", &[count, count], plan.map.root_entries()),
        tensor("origin", &[count], &plan.origin),
    ]
}

pub(super) fn sums_tensors<'m>(moments: &'m Moments, prefix: &str) -> Vec<Tensor<'m>> {
    let vector =
        |name: &str, values: &'m [f64]| tensor(format!("{prefix}{name}"), &[values.len()], values);
    let (gram, sums): (&[f64], &[f64]) = match &moments.sums.sensitive {
        SensitiveSums::Cells { sums, .. } => (&[], sums),
        SensitiveSums::Dense { gram, sums, .. } => (gram, sums),
    };
    let pending = &moments.pending;
    // Of no rows there is nothing to say: a plan on its way to workers is half as large.
    let summed = moments.sums.second.as_deref();
    let second = summed.filter(|_| moments.sums.rows > 0).unwrap_or(&[]);
    vec![
        vector("sums-origin", &moments.sums.origin),
        vector("second", second),
        vector("sums", sums),
        vector("gram", gram),
        vector("pending-points", &pending.points),
        vector("pending-psi", &pending.psi),
        vector("pending-targets", &pending.targets),
        vector("pending-weights", &pending.weights),
    ]
}

#[derive(Serialize, Deserialize)]
struct CheckpointHeader {
    encoder: Encoder,
    plan: PlanHeader,
    note: String,
    warnings: Vec<Warning>,
    gather: Option<GatherHeader>,
}

#[derive(Serialize, Deserialize)]
struct GatherHeader {
    table_rows: usize,
    rows: usize,
    reference: SumsHeader,
    training: Option<SumsHeader>,
}

/// A fit from a stream that was left off: it goes on as if nothing had happened, to the last bit.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    encoder: Encoder,
    plan: Arc<Plan>,
    gather: Option<Gather>,
    warnings: Vec<Warning>,
    note: String,
}

impl Checkpoint {
    /// The state of a regression; `note` is what the caller wants to find again: which files, how far.
    pub fn of_fit(encoder: &Encoder, fit: &StreamFit, note: String) -> Self {
        Self {
            encoder: encoder.clone(),
            plan: Arc::clone(&fit.plan),
            gather: Some(fit.gather.clone()),
            warnings: fit.warnings.clone(),
            note,
        }
    }

    /// The state of features.
    pub fn of_features(encoder: &Encoder, fit: &FeatureFit, note: String) -> Self {
        Self {
            encoder: encoder.clone(),
            plan: Arc::clone(&fit.plan),
            gather: fit.gather.clone(),
            warnings: fit.warnings.clone(),
            note,
        }
    }

    /// Moments with the encoding of their columns.
    pub fn of_moments(encoder: &Encoder, moments: &Moments, note: String) -> Self {
        Self {
            encoder: encoder.clone(),
            plan: Arc::clone(&moments.plan),
            gather: Some(Gather::of(moments.clone())),
            warnings: Vec::new(),
            note,
        }
    }

    /// What the caller wanted to find again.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// The regression, with the settings it was begun with.
    pub fn into_fit(self, settings: &Settings) -> Result<(Encoder, StreamFit)> {
        let Some(mut gather) = self.gather else {
            return Err(invalid("it is the checkpoint of another kind of fit"));
        };
        gather.members = settings
            .reference
            .members(gather.table_rows, settings.seed)?;
        let fit = StreamFit::of(settings, gather, self.warnings)?;
        Ok((self.encoder, fit))
    }

    /// The moments, with the encoding of their columns.
    pub fn into_moments(self) -> Result<(Encoder, Moments)> {
        match self.gather {
            Some(gather) if gather.training.is_none() && self.plan.second => {
                Ok((self.encoder, gather.reference))
            }
            _ => Err(invalid("it is the checkpoint of another kind of fit")),
        }
    }

    /// The encoding of the columns and moments of no rows, by the plan of a fit that has none yet.
    pub(crate) fn into_plan(self) -> Result<(Encoder, Option<Moments>)> {
        match self.gather {
            None => Ok((self.encoder, None)),
            Some(gather) if gather.training.is_none() && gather.reference.rows() == 0 => {
                Ok((self.encoder, Some(gather.reference)))
            }
            Some(_) => Err(invalid(
                "it is not the plan of a fit whose rows are yet to come",
            )),
        }
    }

    /// The features, with the settings they were begun with.
    pub fn into_features(mut self, settings: &FeatureSettings) -> Result<(Encoder, FeatureFit)> {
        if self.gather.is_none() && self.plan.has_sensitive() && settings.strength > 0.0 {
            return Err(invalid(
                "it was begun at strength 0, without means of the cells",
            ));
        }
        if let Some(gather) = &mut self.gather {
            gather.members = settings
                .reference
                .members(gather.table_rows, settings.seed)?;
        }
        let fit = FeatureFit {
            plan: self.plan,
            gather: self.gather,
            strength: settings.strength,
            warnings: self.warnings,
        };
        Ok((self.encoder, fit))
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut tensors = plan_tensors(&self.plan);
        if let Some(gather) = &self.gather {
            tensors.extend(sums_tensors(&gather.reference, "reference-"));
            if let Some(training) = &gather.training {
                tensors.extend(sums_tensors(training, "training-"));
            }
        }
        let header = CheckpointHeader {
            encoder: self.encoder.clone(),
            plan: PlanHeader::of(&self.plan),
            note: self.note.clone(),
            warnings: self.warnings.clone(),
            gather: self.gather.as_ref().map(|gather| GatherHeader {
                table_rows: gather.table_rows,
                rows: gather.rows,
                reference: SumsHeader::of(&gather.reference),
                training: gather.training.as_ref().map(SumsHeader::of),
            }),
        };
        write("checkpoint", &header, &tensors)
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (CheckpointHeader, _) = read(bytes, "checkpoint")?;
        let plan = Arc::new(header.plan.plan(&tensors)?);
        require(
            header.encoder.is_sound() && header.encoder.width() == plan.map.basis().dim(),
            "the encoding of its columns",
        )?;
        let gather = match header.gather {
            None => None,
            Some(gather) => {
                require(
                    gather.rows <= gather.table_rows && gather.table_rows <= MOST_ROWS,
                    "the number of its rows",
                )?;
                let training = gather
                    .training
                    .map(|sums| sums.moments(&plan, &tensors, "training-"));
                Some(Gather {
                    // Drawn anew when the settings are known.
                    members: Members::all(),
                    table_rows: gather.table_rows,
                    rows: gather.rows,
                    reference: gather.reference.moments(&plan, &tensors, "reference-")?,
                    training: training.transpose()?,
                })
            }
        };
        Ok(Self {
            encoder: header.encoder,
            plan,
            gather,
            warnings: header.warnings,
            note: header.note,
        })
    }
}
