//! Features of a Gaussian kernel on sensitive values: the kernel at landmarks among them.

use std::cmp::Ordering;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::derived::Derived;
use super::coordinates::{Coordinates, Form};

/// The most landmarks among the sensitive values.
pub(in crate::partition) const MOST_LANDMARKS: usize = 128;
/// Landmarks stop where they explain this share of every row.
const TOLERANCE: f64 = 1e-6;
/// Rows whose features are computed at a time; fixed, so that the result does not depend on the threads.
const CHUNK: usize = 512;

/// Features of a Gaussian kernel on coordinates: $k_S(s, s') = e^{-\gamma\|z - z'\|^2}\cdot 4^{-d}$, z being the standardised
/// continuous columns and d the number of categorical ones that differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Landmarks", into = "Landmarks")]
pub struct KernelFeatures {
    /// The landmarks.
    pub on: Landmarks,
    factor: Derived<Vec<f64>>,
}

/// Landmarks among sensitive values, as a file has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Landmarks {
    /// The columns.
    pub coordinates: Coordinates,
    /// γ
    pub gamma: f64,
    /// Their coordinates, one landmark after the other.
    pub values: Vec<f64>,
}

impl KernelFeatures {
    /// Landmarks among these rows: each the one that those before leave the most of (the smallest of several), until little is left
    /// of any. Rows that come twice, and the order they come in, change nothing.
    pub(crate) fn choose(coordinates: &Coordinates, points: &[f64], gamma: f64) -> Self {
        let mut on = Landmarks {
            coordinates: coordinates.clone(),
            gamma,
            values: Vec::new(),
        };
        let dim = coordinates.len().max(1);
        let rows = points.len() / dim;
        let row = |i: usize| &points[i * dim..(i + 1) * dim];
        let mut left = vec![1.0f64; rows];
        let mut by_value: Vec<usize> = (0..rows).collect();
        by_value.sort_by(|&i, &j| {
            let mut pairs = row(i).iter().zip(row(j)).map(|(a, b)| a.total_cmp(b));
            pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        let mut columns: Vec<Vec<f64>> = Vec::new();
        while columns.len() < MOST_LANDMARKS.min(rows) {
            let most = left.iter().copied().fold(0.0, f64::max);
            let Some(&pivot) = by_value.iter().find(|&&i| left[i] == most) else {
                break;
            };
            if most <= TOLERANCE {
                break;
            }
            let root = most.sqrt();
            let column: Vec<f64> = (0..rows)
                .into_par_iter()
                .map(|i| {
                    let explained: f64 = columns.iter().map(|c| c[pivot] * c[i]).sum();
                    (on.kernel(row(pivot), row(i)) - explained) / root
                })
                .collect();
            for (l, v) in left.iter_mut().zip(&column) {
                *l = (*l - v * v).max(0.0);
            }
            left[pivot] = 0.0;
            columns.push(column);
            on.values.extend_from_slice(row(pivot));
        }
        Self::from(on)
    }

    pub(in crate::partition) fn len(&self) -> usize {
        self.on.len()
    }

    /// The factor L of the landmarks' kernel matrix, row after row.
    pub(crate) fn factor(&self) -> &[f64] {
        self.factor.get(|| self.on.factor())
    }

    /// ψ for rows of coordinates, row after row.
    pub(crate) fn values(&self, points: &[f64]) -> Vec<f64> {
        let (dim, count) = (self.on.coordinates.len(), self.len());
        let mut values = vec![0.0; points.len() / dim * count];
        values
            .par_chunks_mut(count * CHUNK)
            .zip(points.par_chunks(dim * CHUNK))
            .for_each(|(values, points)| {
                for (psi, point) in values.chunks_mut(count).zip(points.chunks(dim)) {
                    self.write(point, psi);
                }
            });
        values
    }

    /// ψ for one row of coordinates.
    pub(in crate::partition) fn write(&self, point: &[f64], psi: &mut [f64]) {
        let (count, factor) = (self.len(), self.factor());
        for k in 0..count {
            let row = &factor[k * count..=k * count + k];
            let before: f64 = row[..k].iter().zip(&*psi).map(|(l, v)| l * v).sum();
            psi[k] = (self.on.kernel(self.on.at(k), point) - before) / row[k];
        }
    }

    pub(in crate::partition) fn coordinates(&self) -> &Coordinates {
        &self.on.coordinates
    }
}

impl From<KernelFeatures> for Landmarks {
    fn from(features: KernelFeatures) -> Self {
        features.on
    }
}

impl From<Landmarks> for KernelFeatures {
    fn from(on: Landmarks) -> Self {
        Self {
            on,
            factor: Derived::default(),
        }
    }
}

impl Landmarks {
    /// The factor L of their kernel matrix, row after row.
    pub(super) fn factor(&self) -> Vec<f64> {
        let count = self.len();
        let mut factor = vec![0.0; count * count];
        for i in 0..count {
            for j in 0..=i {
                let before: f64 = (0..j)
                    .map(|k| factor[i * count + k] * factor[j * count + k])
                    .sum();
                let rest = self.kernel(self.at(i), self.at(j)) - before;
                factor[i * count + j] = if i == j {
                    // Rounding alone could make it less; landmarks of a damaged file may be twins.
                    rest.max(1e-3 * TOLERANCE).sqrt()
                } else {
                    rest / factor[j * count + j]
                };
            }
        }
        factor
    }

    pub(in crate::partition) fn len(&self) -> usize {
        self.values.len() / self.coordinates.len().max(1)
    }

    pub(super) fn at(&self, k: usize) -> &[f64] {
        let dim = self.coordinates.len();
        &self.values[k * dim..(k + 1) * dim]
    }

    pub(super) fn kernel(&self, a: &[f64], b: &[f64]) -> f64 {
        let (mut continuous, mut categories) = (0.0, 0.0);
        let mut at = 0;
        for coordinate in &self.coordinates.0 {
            let numbers = usize::from(matches!(coordinate.form, Form::Number { .. }));
            for k in 0..coordinate.len() {
                let squared = (a[at + k] - b[at + k]).powi(2);
                if k < numbers {
                    continuous += squared;
                } else {
                    categories += squared;
                }
            }
            at += coordinate.len();
        }
        // Two categories are two indicators apart.
        (-self.gamma * continuous - 0.5 * categories * 4.0f64.ln()).exp()
    }
}
