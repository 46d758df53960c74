//! Kernel values that were computed elsewhere.

use std::sync::Arc;

use oblivio_base::{Error, Points, Result};

/// The values of a kernel of any objects: strings, graphs, trees.
///
/// The objects have numbers: objects of the fit from 0 on, new ones after them. A point of this kernel is one feature, the number of an
/// object. Values between two new objects may be unknown: only inner products of new rows with each other ask for them.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTable {
    /// The objects of the fit.
    count: usize,
    /// The symmetric matrix of their values.
    known: Arc<[f64]>,
    /// The values of each new object with the objects of the fit, and with the new ones if they are known, one object after the other.
    new: Vec<f64>,
    /// The values of one new object.
    width: usize,
}

impl KernelTable {
    /// The table of a symmetric matrix of `count` rows. Small differences between its halves, as of rounding, are taken for their mean.
    pub fn new(values: &[f64], count: usize) -> Result<Self> {
        let invalid = |expected, value: String| {
            Err(Error::InvalidParameter {
                name: "the kernel matrix",
                expected,
                value,
            })
        };
        if count == 0 || values.len() != count * count {
            return Err(Error::Length {
                what: "the kernel matrix",
                found: values.len(),
                needed: count * count,
            });
        }
        let largest = values.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        if !largest.is_finite() || values.iter().any(|v| v.is_nan()) {
            return invalid("finite numbers", "one that is not".into());
        }
        let mut known = values.to_vec();
        for i in 0..count {
            for j in 0..i {
                let (a, b) = (values[i * count + j], values[j * count + i]);
                if (a - b).abs() > SYMMETRY * largest {
                    let value = format!("{a} in row {i} and {b} in row {j}");
                    return invalid("symmetric: k(a, b) = k(b, a)", value);
                }
                let mean = 0.5 * a + 0.5 * b;
                (known[i * count + j], known[j * count + i]) = (mean, mean);
            }
            if known[i * count + i] < -SYMMETRY * largest {
                let value = format!("{} at row {i}", known[i * count + i]);
                return invalid("not negative on its diagonal", value);
            }
        }
        Ok(Self {
            count,
            known: known.into(),
            new: Vec::new(),
            width: count,
        })
    }

    /// The same with `rows` new objects, whose values follow one object after the other: those with all objects of the fit, then those
    /// with all new objects or none.
    pub fn with_new(&self, values: Vec<f64>, rows: usize) -> Result<Self> {
        let width = values.len().checked_div(rows).unwrap_or(self.count);
        let fits = [self.count, self.count + rows].contains(&width) && width * rows == values.len();
        if !fits {
            return Err(Error::Length {
                what: "the values of a new row of the kernel matrix",
                found: width,
                needed: self.count,
            });
        }
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::InvalidParameter {
                name: "a new row of the kernel matrix",
                expected: "finite numbers",
                value: "one that is not".into(),
            });
        }
        Ok(Self {
            count: self.count,
            known: Arc::clone(&self.known),
            new: values,
            width,
        })
    }

    /// The number of objects of the fit.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no object; no table is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The points of the objects of the fit, or of the new ones if there are any.
    pub fn points(&self) -> Points<'static> {
        let new = self.new.len() / self.width;
        let numbers = if new == 0 {
            0..self.count
        } else {
            self.count..self.count + new
        };
        let rows: Vec<[f64; 1]> = numbers.map(|number| [number as f64]).collect();
        Points::of_rows(&rows.iter().map(<[f64; 1]>::as_slice).collect::<Vec<_>>())
    }

    /// The value between two points; NaN where it is not known.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "points of a table are numbers of its rows"
    )]
    pub(crate) fn value(&self, x: f64, y: f64) -> f64 {
        let (a, b) = (x as usize, y as usize);
        let (new, old) = (a.max(b), a.min(b));
        if new < self.count {
            return self.known[b * self.count + a];
        }
        if old >= self.width {
            return f64::NAN;
        }
        let place = (new - self.count) * self.width + old;
        self.new.get(place).copied().unwrap_or(f64::NAN)
    }
}

/// How far the halves of a symmetric matrix may differ, as a share of its largest entry.
const SYMMETRY: f64 = 1e-8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, KernelMatrix};
    use oblivio_base::Watch;

    #[test]
    fn a_table_is_the_kernel_that_it_was_made_of() {
        let value = |i: usize| (i as f64 * 1.3).sin() * 2.0;
        let gaussian = Kernel::Gaussian { gamma: 0.7 };
        let at = |i: usize, j: usize| gaussian.at(&[value(i)], &[value(j)]);
        let all: Vec<f64> = (0..40 * 40).map(|e| at(e / 40, e % 40)).collect();
        let known = KernelTable::new(&all, 40).unwrap();
        let new: Vec<f64> = (0..7 * 40).map(|e| at(40 + e / 40, e % 40)).collect();
        let table = known.with_new(new, 7).unwrap();
        // With the values among new objects, too.
        let more: Vec<f64> = (0..7 * 47).map(|e| at(40 + e / 47, e % 47)).collect();
        let whole = known.with_new(more, 7).unwrap();
        assert_eq!(whole.value(45.0, 42.0), at(45, 42));
        assert!(table.value(45.0, 42.0).is_nan());
        let (old, later) = (known.points(), table.points());
        assert_eq!((old.len(), later.len(), later.row(2)), (40, 7, &[42.0][..]));
        let kernel = Kernel::<f64>::Table(Arc::new(table));
        let watch = Watch::default();
        let between = KernelMatrix::between(&kernel, &later, &old)
            .and_then(|matrix| matrix.entries(&watch))
            .unwrap();
        let own = KernelMatrix::of(&kernel, &old).entries(&watch).unwrap();
        for j in 0..40 {
            for i in 0..40 {
                assert_eq!(own[j * 40 + i], at(i, j));
            }
            for i in 0..7 {
                assert_eq!(between[j * 7 + i], at(40 + i, j));
            }
        }
        // A part of a sum, and of a multiple.
        let sum = Kernel::Scaled(2.0, Box::new(Kernel::Sum(vec![kernel.clone(), kernel])));
        assert_eq!(sum.at(&[3.0], &[41.0]), 4.0 * at(41, 3));
    }

    #[test]
    fn what_is_no_kernel_matrix_is_refused() {
        let refused =
            |values: &[f64], count| KernelTable::new(values, count).unwrap_err().to_string();
        assert!(refused(&[1.0, 0.5], 2).contains("kernel matrix"));
        assert!(refused(&[1.0, 0.5, 0.4, 1.0], 2).contains("symmetric"));
        assert!(refused(&[-1.0, 0.0, 0.0, 1.0], 2).contains("not negative on its diagonal"));
        assert!(refused(&[1.0, f64::NAN, f64::NAN, 1.0], 2).contains("finite"));
        let table = KernelTable::new(&[1.0, 0.5, 0.5, 1.0], 2).unwrap();
        assert!(table.with_new(vec![1.0], 1).is_err());
        assert!(table.with_new(vec![1.0; 5], 2).is_err());
        assert!(table.with_new(vec![1.0, f64::INFINITY], 1).is_err());
        assert!(table.value(2.0, 2.0).is_nan() && table.value(0.0, 9.0).is_nan());
    }
}
