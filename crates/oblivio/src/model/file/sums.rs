//! Sums over rows, and the plan they follow: parts of the files of moments, checkpoints and shares.

use std::sync::Arc;

use oblivio_base::Result;
use oblivio_base::column::MOST_ROWS;
use oblivio_kernels::{Basis, FeatureMap, Kernel, Shape};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use super::container::{Tensor, invalid, require};
use crate::moments::{
    Moments, Pending, Plan, Scratch, SensitivePlan, SensitiveSums, Sums, block_rows,
};
use crate::partition::{Cuts, Slots, Uses};

/// A plan, apart from its tensors.
#[derive(Serialize, Deserialize)]
pub(super) struct PlanHeader {
    kernel: String,
    basis: Shape,
    sensitive: SensitivePlan,
    whitened: bool,
    second: bool,
}

/// The numbers of a plan.
pub(super) struct PlanTensors<'m> {
    landmarks: Tensor<'m>,
    root: Tensor<'m>,
    origin: Tensor<'m>,
}

/// Sums, apart from their tensors.
#[derive(Serialize, Deserialize)]
pub(super) struct SumsHeader {
    rows: usize,
    /// The cuts as they have grown, the keys of the slots and their rows; absent where ψ is not cells.
    slots: Option<Keyed>,
    /// Rows of each cell of a plan with smooth features, and the policies they needed.
    #[serde(default)]
    placed: (Vec<usize>, Uses),
    pending: Vec<usize>,
}

/// The cuts, the keys of the slots, and the rows of each slot.
type Keyed = (Cuts, Vec<Vec<u32>>, Vec<usize>);

/// The numbers of sums.
pub(super) struct SumsTensors<'m> {
    origin: Tensor<'m>,
    second: Tensor<'m>,
    sums: Tensor<'m>,
    gram: Tensor<'m>,
    pending_points: Tensor<'m>,
    pending_psi: Tensor<'m>,
    pending_targets: Tensor<'m>,
    pending_weights: Tensor<'m>,
}

impl PlanHeader {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            kernel: plan.map.kernel().to_string(),
            basis: plan.map.basis().shape(),
            sensitive: plan.sensitive.clone(),
            whitened: plan.whitened,
            second: plan.second,
        }
    }

    pub(super) fn check(self, tensors: PlanTensors) -> Result<Plan> {
        let PlanTensors {
            landmarks,
            root,
            origin,
        } = tensors;
        let kernel: Kernel = self.kernel.parse()?;
        let sound = match &self.sensitive {
            SensitivePlan::Cells(cuts) => cuts.check_read(&[]).is_ok(),
            SensitivePlan::Features { ridge, .. } => *ridge >= 0.0 && ridge.is_finite(),
            SensitivePlan::Smooth(partition) => {
                partition.check_read().is_ok() && partition.smooth().is_some()
            }
        };
        let basis = Basis::new(kernel, landmarks.into_points()?, self.basis);
        let count = basis.len();
        require(
            sound && count > 0 && root.shape == [count, count] && origin.values.len() == count,
            "its plan",
        )?;
        Ok(Plan {
            map: FeatureMap::from_parts(basis, root.values.into_owned()),
            sensitive: self.sensitive,
            origin: origin.values.into_owned(),
            whitened: self.whitened,
            second: self.second,
        })
    }
}

impl<'m> PlanTensors<'m> {
    pub(super) fn new(plan: &'m Plan) -> Self {
        let count = plan.map.len();
        Self {
            landmarks: Tensor::points("landmarks", plan.map.basis().points()),
            root: Tensor::matrix("root", [count, count], plan.map.root_entries()),
            origin: Tensor::vector("origin", &plan.origin),
        }
    }

    pub(super) fn read(tensors: &SafeTensors) -> Result<Self> {
        Ok(Self {
            landmarks: Tensor::read_matrix(tensors, "landmarks")?,
            root: Tensor::read_matrix(tensors, "root")?,
            origin: Tensor::read_vector(tensors, "origin")?,
        })
    }

    pub(super) fn all(&self) -> [&Tensor<'m>; 3] {
        [&self.landmarks, &self.root, &self.origin]
    }
}

impl<'m> SumsTensors<'m> {
    /// The numbers of moments, with names that begin so.
    pub(super) fn new(moments: &'m Moments, prefix: &str) -> Self {
        let vector =
            |name: &str, values: &'m [f64]| Tensor::vector(format!("{prefix}{name}"), values);
        let (gram, sums): (&[f64], &[f64]) = match &moments.sums.sensitive {
            SensitiveSums::Cells { sums, .. } => (&[], sums),
            SensitiveSums::Dense { gram, sums, .. } => (gram, sums),
        };
        let pending = &moments.pending;
        // Without rows the second moments are zero: a plan on its way to workers is half as large.
        let summed = moments.sums.second.as_deref();
        let second = summed.filter(|_| moments.sums.rows > 0).unwrap_or(&[]);
        Self {
            origin: vector("sums-origin", &moments.sums.origin),
            second: vector("second", second),
            sums: vector("sums", sums),
            gram: vector("gram", gram),
            pending_points: vector("pending-points", &pending.points),
            pending_psi: vector("pending-psi", &pending.psi),
            pending_targets: vector("pending-targets", &pending.targets),
            pending_weights: vector("pending-weights", &pending.weights),
        }
    }

    pub(super) fn read(tensors: &SafeTensors, prefix: &str) -> Result<Self> {
        let vector = |name: &str| Tensor::read_vector(tensors, format!("{prefix}{name}"));
        Ok(Self {
            origin: vector("sums-origin")?,
            second: vector("second")?,
            sums: vector("sums")?,
            gram: vector("gram")?,
            pending_points: vector("pending-points")?,
            pending_psi: vector("pending-psi")?,
            pending_targets: vector("pending-targets")?,
            pending_weights: vector("pending-weights")?,
        })
    }

    pub(super) fn all(&self) -> [&Tensor<'m>; 8] {
        [
            &self.origin,
            &self.second,
            &self.sums,
            &self.gram,
            &self.pending_points,
            &self.pending_psi,
            &self.pending_targets,
            &self.pending_weights,
        ]
    }
}

impl SumsHeader {
    pub(super) fn new(moments: &Moments) -> Self {
        let (slots, placed) = match &moments.sums.sensitive {
            SensitiveSums::Cells { cuts, slots, .. } => {
                let keyed = (cuts.clone(), slots.keys.clone(), slots.counts.clone());
                (Some(keyed), (Vec::new(), Uses::default()))
            }
            SensitiveSums::Dense { placed, .. } => (None, placed.clone()),
        };
        Self {
            rows: moments.sums.rows,
            slots,
            placed,
            pending: moments.pending.slots.clone(),
        }
    }

    /// Refuses more rows than a table can have.
    fn check_counts(&self) -> Result<()> {
        let (placed, uses) = &self.placed;
        let mut counts = placed.iter().chain([&self.rows]);
        let known = counts.all(|count| *count <= MOST_ROWS);
        require(known, "the number of its rows")?;
        uses.check_read()
    }

    pub(super) fn check(self, tensors: SumsTensors, plan: &Arc<Plan>) -> Result<Moments> {
        self.check_counts()?;
        // Before there is room for the features of S that the plan announces.
        let announced = plan.sensitive.dense().unwrap_or(0);
        let entries = announced.checked_mul(announced);
        shape(entries == Some(tensors.gram.values.len()))?;
        let empty = Moments::new(Arc::clone(plan));
        let width = empty.sums.width;
        let second = match tensors.second.values.into_owned() {
            none if none.is_empty() && plan.second && self.rows == 0 => vec![0.0; width * width],
            second => squared(second, width),
        };
        shape(tensors.origin.values.len() == width - 1)?;
        shape(second.len() == if plan.second { width * width } else { 0 })?;
        let sums = tensors.sums.values.into_owned();
        let sensitive = match (self.slots, &empty.sums.sensitive) {
            (Some(keyed), SensitiveSums::Cells { cuts: planned, .. }) => {
                cells(keyed, sums, planned, (self.rows, width))?
            }
            (None, SensitiveSums::Dense { count, placed, .. }) => {
                shape(sums.len() == count * width && self.placed.0.len() == placed.0.len())?;
                SensitiveSums::Dense {
                    count: *count,
                    gram: tensors.gram.values.into_owned(),
                    sums,
                    placed: self.placed,
                }
            }
            _ => return Err(invalid("its sensitive sums make no sense")),
        };
        let pending = Pending {
            points: tensors.pending_points.values.into_owned(),
            slots: self.pending,
            psi: tensors.pending_psi.values.into_owned(),
            targets: tensors.pending_targets.values.into_owned(),
            weights: tensors.pending_weights.values.into_owned(),
        };
        check_pending(&pending, &sensitive, (plan.map.basis().dim(), width))?;
        Ok(Moments {
            sums: Sums {
                origin: tensors.origin.values.into_owned(),
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

fn shape(holds: bool) -> Result<()> {
    require(holds, "the shape of its sums")
}

/// Sums by the key of rows: cuts that have grown from those of the plan.
fn cells(
    (cuts, keys, counts): Keyed,
    sums: Vec<f64>,
    planned: &Cuts,
    (rows, width): (usize, usize),
) -> Result<SensitiveSums> {
    shape(sums.len().is_multiple_of(width) && sums.len() / width <= keys.len())?;
    cuts.check_read(&keys)?;
    require(planned.clone().join(&cuts).is_some(), "its cells")?;
    let counted = counts.iter().try_fold(0usize, |sum, c| sum.checked_add(*c));
    match Slots::of(cuts.names().count(), &keys, counts) {
        Some(slots) if counted == Some(rows) => Ok(SensitiveSums::Cells { cuts, slots, sums }),
        _ => Err(invalid("its cells make no sense")),
    }
}

/// Refuses rows that cannot be waiting for the rest of their block.
fn check_pending(
    pending: &Pending,
    sensitive: &SensitiveSums,
    (dim, width): (usize, usize),
) -> Result<()> {
    let rows = pending.targets.len();
    require(rows < block_rows(width), "the number of its rows")?;
    let fits = match sensitive {
        SensitiveSums::Cells { slots, sums, .. } => {
            // Slots wait for the first of their rows.
            let waiting = slots.keys.len() - sums.len() / width;
            require(waiting <= rows, "the number of its cells")?;
            let known = |slot: &usize| *slot < slots.keys.len();
            pending.slots.len() == rows && pending.slots.iter().all(known)
        }
        SensitiveSums::Dense { count, .. } => pending.psi.len() == count * rows,
    };
    require(
        fits && pending.points.len() == rows * dim
            && pending.weights.len() == rows
            && pending.weights.iter().all(|weight| *weight > 0.0),
        "its rows",
    )
}

/// The lower triangle of a square matrix, column after column.
pub(super) fn triangle(square: &[f64], width: usize) -> Vec<f64> {
    let columns = square.chunks(width).enumerate();
    columns
        .flat_map(|(j, column)| &column[j..])
        .copied()
        .collect()
}

/// The square matrix with this lower triangle; anything else stays as it is.
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
