//! New objects for a model of a precomputed kernel: a table with their values takes the place of the one of the fit.

use oblivio_base::Result;
use oblivio_kernels::{Basis, Kernel};

use super::{KernelModel, Model};
use crate::oblivious::ObliviousMap;
use crate::predictor::Predictor;

impl Model {
    /// The same model for `rows` new objects, whose points follow the ones of the fit; see [`KernelTable::with_new`](oblivio_kernels::KernelTable::with_new).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oblivio::{Column, Kernel, Model, Roles, Settings, Watch};
    /// use oblivio_base::Scaling;
    /// use oblivio_kernels::KernelTable;
    /// // k(a, b) counts the letters that two words share.
    /// let words = ["ab", "abc", "cd", "d"];
    /// let k = |a: &str, b: &str| a.chars().filter(|c| b.contains(*c)).count() as f64;
    /// let all: Vec<f64> = words.iter().flat_map(|a| words.iter().map(|b| k(a, b))).collect();
    /// let settings = Settings { kernel: Kernel::Table(Arc::new(KernelTable::new(&all, 4)?)), ..Settings::default() };
    /// let roles = Roles {
    ///     features: &[Column::numbers("object", vec![0.0, 1.0, 2.0, 3.0])],
    ///     sensitive: &[Column::texts("group", ["x", "y", "x", "y"].map(Some))],
    ///     target: &Column::numbers("y", vec![2.0, 3.0, 2.0, 1.0]),
    ///     labels: None,
    ///     weights: None,
    /// };
    /// let (model, _) = Model::fit(roles, Scaling::Raw, &settings, &Watch::default())?;
    /// let new: Vec<f64> = words.iter().map(|word| k("bd", word)).collect();
    /// let rows = [Column::numbers("object", vec![4.0]), Column::texts("group", [Some("x")])];
    /// let found = model.with_new_objects(new, 1)?.predict(&rows, &Watch::default())?;
    /// assert!(found[0].scores[0].is_finite());
    /// # Ok::<(), oblivio::Error>(())
    /// ```
    pub fn with_new_objects(&self, values: Vec<f64>, rows: usize) -> Result<Self> {
        let kernel = self.predictor().kernel().with_new_objects(values, rows)?;
        let mut model = self.clone();
        for scorer in &mut model.scorers {
            scorer.replace(&kernel);
        }
        Ok(model)
    }
}

impl KernelModel {
    /// As [`Model::with_new_objects`].
    pub fn with_new_objects(&self, values: Vec<f64>, rows: usize) -> Result<Self> {
        let mean = self.map.mean();
        let kernel = mean.kernel().with_new_objects(values, rows)?;
        Ok(Self {
            map: ObliviousMap::new(mean.clone().with_kernel(kernel), self.map.strength())?,
            ..self.clone()
        })
    }
}

impl Predictor {
    /// Takes a kernel that has the same values between the points of the expansion.
    fn replace(&mut self, kernel: &Kernel) {
        let (points, shape) = (self.basis.points().clone(), self.basis.shape());
        self.basis = Basis::new(kernel.clone(), points, shape).into();
        if let Some(fallback) = &mut self.fallback {
            fallback.replace(kernel);
        }
    }
}
