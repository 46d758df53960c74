//! What a model gives away of the rows of its fit.

use oblivio_base::Named;
use oblivio_kernels::Basis;

use super::{Model, Transformer};
use crate::partition::Partition;

/// Which rows of its fit a model holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Held {
    /// Those of the exact path: all, or those that a machine needs.
    #[default]
    Rows,
    /// The landmarks, which are rows of the fit too.
    Landmarks,
    /// None: waves or axes, and sums over rows.
    Nothing,
}

impl Named for Held {
    const WHAT: &'static str = "what is held of the rows";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("rows", Self::Rows),
        ("landmarks", Self::Landmarks),
        ("nothing", Self::Nothing),
    ];
}

/// What a model gives away of the rows of its fit, besides sums over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    /// Which rows.
    pub held: Held,
    /// How many; one that the fallback has as well counts twice.
    pub rows: usize,
    /// The features of each, as encoded.
    pub features: usize,
    /// Combinations of sensitive values, where the conditional mean is smooth.
    pub sensitive: usize,
}

impl Model {
    /// What the model gives away of the rows of its fit.
    pub fn holdings(&self) -> Holdings {
        let basis = &self.predictor().basis;
        let other = self.predictor().fallback().map(|fallback| &fallback.basis);
        let own = other.filter(|other| *other != basis && other.holds_rows());
        let partition = self.predictor().partition();
        let mut holdings = Holdings::of(basis, self.card.components.is_some(), partition);
        holdings.rows += own.map_or(0, |basis| basis.len());
        holdings
    }
}

impl Transformer {
    /// What the features give away of the rows of their fit.
    pub fn holdings(&self) -> Holdings {
        Holdings::of(self.features.map.basis(), true, self.features.partition())
    }
}

impl Holdings {
    fn of(basis: &Basis, explicit: bool, partition: Option<&Partition>) -> Self {
        let held = match (basis.holds_rows(), explicit) {
            (false, _) => Held::Nothing,
            (true, true) => Held::Landmarks,
            (true, false) => Held::Rows,
        };
        Self {
            held,
            rows: if basis.holds_rows() { basis.len() } else { 0 },
            features: basis.dim(),
            sensitive: partition.map_or(0, Partition::held),
        }
    }
}
