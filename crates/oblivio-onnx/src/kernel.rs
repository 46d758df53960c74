//! The expansion $h = c + \sum_jg_jk(x_j, \cdot)$ in operators.

use std::rc::Rc;

use oblivio_kernels::{Basis, Kernel, Shape, Side, Smoothness};

use super::encode::Encoded;
use super::graph::{Graph, Precision, Value};

/// Values of the functions of one basis at the rows.
pub(super) struct Functions<'a> {
    graph: &'a mut Graph,
    basis: &'a Basis,
    precision: Precision,
    encoded: &'a Encoded,
    centre: Vec<f64>,
    /// The points in the precision, less the centre where they are rounded.
    near: Value,
    squared: Option<Value>,
}

/// Differences between rows and points, feature by feature, one function of them added up.
enum Distance {
    Squared,
    Manhattan,
}

/// The values of all functions of a basis; `None` for the linear kernel, whose expansion is a weight for each feature.
pub(super) fn functions(
    graph: &mut Graph,
    encoded: &Encoded,
    basis: &Basis,
    precision: Precision,
) -> Option<Value> {
    if linear_factor(basis).is_some() {
        return None;
    }
    if basis.shape() == Shape::Frequencies {
        let frequencies = columns_of(basis, |_, value| value);
        let phases = graph.product(&encoded.points, basis.dim(), &frequencies);
        let waves = ["Cos", "Sin"].map(|wave| graph.op(wave, &[&phases]));
        return Some(graph.concat(&[&waves[0], &waves[1]]));
    }
    let centre = Side::centre(basis.points());
    let near = match precision {
        Precision::Double => encoded.points.clone(),
        Precision::Single => {
            let middle = graph.numbers(&[1, centre.len()], &centre);
            let centred = graph.op("Sub", &[&encoded.points, &middle]);
            graph.in_precision(&centred, precision)
        }
    };
    let mut functions = Functions {
        graph,
        basis,
        precision,
        encoded,
        centre,
        near,
        squared: None,
    };
    let values = functions.kernel(basis.kernel());
    Some(match precision {
        Precision::Double => values,
        Precision::Single => graph.in_precision(&values, Precision::Double),
    })
}

/// $h(x)$ of an expansion whose functions have these values, the sum in double precision.
pub(super) fn expansion(
    graph: &mut Graph,
    encoded: &Encoded,
    basis: &Basis,
    values: Option<&Value>,
    (coefficients, intercept): (&[f64], f64),
) -> Value {
    let sum = if let Some(values) = values {
        graph.product(values, coefficients.len(), coefficients)
    } else {
        let weights = linear_weights(basis, coefficients);
        graph.product(&encoded.points, weights.len(), &weights)
    };
    let intercept = graph.number(intercept);
    graph.op("Add", &[&sum, &intercept])
}

/// The factor of a linear kernel at points.
pub(super) fn linear_factor(basis: &Basis) -> Option<f64> {
    factor_of(basis.kernel()).filter(|_| basis.shape() == Shape::Points)
}

fn factor_of(kernel: &Kernel) -> Option<f64> {
    match kernel {
        Kernel::Linear => Some(1.0),
        Kernel::Scaled(factor, kernel) => Some(factor * factor_of(kernel)?),
        _ => None,
    }
}

/// $\sum_jg_jx_j$
fn linear_weights(basis: &Basis, coefficients: &[f64]) -> Vec<f64> {
    let factor = linear_factor(basis).unwrap_or(1.0);
    let mut weights = vec![0.0; basis.dim()];
    for (j, g) in coefficients.iter().enumerate() {
        for (weight, x) in weights.iter_mut().zip(basis.points().row(j)) {
            *weight += factor * g * x;
        }
    }
    weights
}

/// The points of a basis, one in each column.
fn columns_of(basis: &Basis, of: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    let points = basis.points();
    (0..points.dim())
        .flat_map(|k| (0..points.len()).map(move |j| (k, j)))
        .map(|(k, j)| of(k, points.row(j)[k]))
        .collect()
}

impl Functions<'_> {
    fn kernel(&mut self, kernel: &Kernel) -> Value {
        match kernel {
            Kernel::Linear => self.products(1.0),
            Kernel::Polynomial {
                degree,
                gamma,
                coef0,
            } => {
                let products = self.products(*gamma);
                let coef0 = self.number(*coef0);
                let base = self.graph.op("Add", &[&products, &coef0]);
                self.power(&base, *degree)
            }
            Kernel::Gaussian { gamma } => match self.precision {
                Precision::Double => self.gaussian(*gamma),
                Precision::Single => {
                    let squared = self.squared();
                    self.exponential(&squared, *gamma)
                }
            },
            Kernel::Laplacian { gamma } => {
                let distance = self.distance(&Distance::Manhattan);
                self.exponential(&distance, *gamma)
            }
            Kernel::Matern { smoothness, gamma } => self.matern(*smoothness, *gamma),
            Kernel::Sum(kernels) => self.combined("Add", kernels),
            Kernel::Product(kernels) => self.combined("Mul", kernels),
            Kernel::Scaled(factor, kernel) => {
                if let Some(own) = factor_of(kernel) {
                    return self.products(factor * own);
                }
                let values = self.kernel(kernel);
                self.times(&values, *factor)
            }
            // The export refuses it before it comes here.
            Kernel::Table(_) => self.number(f64::NAN),
        }
    }

    fn number(&mut self, value: f64) -> Value {
        self.graph.rounded(&[1, 1], &[value], self.precision)
    }

    fn times(&mut self, values: &Value, factor: f64) -> Value {
        let columns = self.basis.points().len();
        self.graph.times(values, columns, factor, self.precision)
    }

    fn combined(&mut self, operator: &str, kernels: &[Kernel]) -> Value {
        let all: Vec<Value> = kernels.iter().map(|kernel| self.kernel(kernel)).collect();
        let mut all = all.into_iter();
        let first = all.next().unwrap_or_else(|| self.number(0.0));
        all.fold(first, |sum, next| self.graph.op(operator, &[&sum, &next]))
    }

    /// $\gamma\langle x, x_j\rangle$
    fn products(&mut self, gamma: f64) -> Value {
        let points = columns_of(self.basis, |_, value| gamma * value);
        let dim = self.basis.dim();
        self.graph.product(&self.encoded.points, dim, &points)
    }

    fn power(&mut self, base: &Value, degree: u32) -> Value {
        if degree == 1 {
            return base.clone();
        }
        let half = self.power(base, degree / 2);
        let square = self.graph.op("Mul", &[&half, &half]);
        if degree.is_multiple_of(2) {
            square
        } else {
            self.graph.op("Mul", &[&square, base])
        }
    }

    /// $e^{-\gamma v}$
    fn exponential(&mut self, values: &Value, gamma: f64) -> Value {
        let exponent = self.times(values, -gamma);
        self.graph.op("Exp", &[&exponent])
    }

    /// $\exp(2\gamma\langle z, z_j\rangle - \gamma\|z\|^2 - \gamma\|z_j\|^2)$ with z less the centre: far from the origin the three
    /// terms would cancel.
    fn gaussian(&mut self, gamma: f64) -> Value {
        let (dim, count) = (self.basis.dim(), self.basis.points().len());
        let centre = self.centre.clone();
        let points = columns_of(self.basis, |k, value| value - centre[k]);
        let norm = |j: usize| -> f64 {
            let entries = (0..dim).map(|k| points[k * count + j]);
            -gamma * entries.map(|z| z * z).sum::<f64>()
        };
        let norms: Vec<f64> = (0..count).map(norm).collect();
        let doubled: Vec<f64> = points.iter().map(|z| 2.0 * gamma * z).collect();
        let graph = &mut *self.graph;
        let middle = graph.numbers(&[1, dim], &centre);
        let centred = graph.op("Sub", &[&self.encoded.points, &middle]);
        let products = graph.product(&centred, dim, &doubled);
        let squares = graph.op("Mul", &[&centred, &centred]);
        let own = graph.row_sum(&squares);
        let gamma = graph.number(gamma);
        let own = graph.op("Mul", &[&own, &gamma]);
        let norms = graph.numbers(&[1, count], &norms);
        let exponent = graph.op("Sub", &[&products, &own]);
        let exponent = graph.op("Add", &[&exponent, &norms]);
        let zero = graph.number(0.0);
        let exponent = graph.op("Min", &[&exponent, &zero]);
        graph.op("Exp", &[&exponent])
    }

    fn matern(&mut self, smoothness: Smoothness, gamma: f64) -> Value {
        let squared = self.squared();
        let distance = self.graph.op("Sqrt", &[&squared]);
        let u = self.times(&distance, smoothness.factor() * gamma);
        let decay = self.exponential(&u, 1.0);
        let one = self.number(1.0);
        let polynomial = match smoothness {
            Smoothness::Half => return decay,
            Smoothness::ThreeHalves => self.graph.op("Add", &[&u, &one]),
            Smoothness::FiveHalves => {
                let third = self.times(&u, 1.0 / 3.0);
                let slope = self.graph.op("Add", &[&third, &one]);
                let rest = self.graph.op("Mul", &[&u, &slope]);
                self.graph.op("Add", &[&rest, &one])
            }
        };
        self.graph.op("Mul", &[&polynomial, &decay])
    }

    fn squared(&mut self) -> Value {
        if let Some(squared) = &self.squared {
            return squared.clone();
        }
        let squared = self.distance(&Distance::Squared);
        self.squared = Some(squared.clone());
        squared
    }

    /// $\sum_k|x_k - x_{jk}|^p$, differences first: those of equal points are zero, which a root needs.
    ///
    /// Indicators are 0 or 1, and so are their differences: the sum over all of them is exact as
    /// $\sum x_k + \sum x_{jk} - 2\sum x_kx_{jk}$.
    fn distance(&mut self, distance: &Distance) -> Value {
        let count = self.basis.points().len();
        let points = Rc::new(columns_of(self.basis, |_, value| value));
        let column = |k: usize| &points[k * count..(k + 1) * count];
        let is_indicator = |k: &usize| {
            self.encoded.indicators[*k] && column(*k).iter().all(|v| *v == 0.0 || *v == 1.0)
        };
        let (indicators, numbers): (Vec<usize>, Vec<usize>) =
            (0..self.basis.dim()).partition(is_indicator);
        let mut sum: Option<Value> = None;
        for k in numbers {
            let shift = match self.precision {
                Precision::Double => 0.0,
                Precision::Single => self.centre[k],
            };
            let of_points: Vec<f64> = column(k).iter().map(|v| v - shift).collect();
            let of_points = self.graph.rounded(&[1, count], &of_points, self.precision);
            let own = self.graph.columns(&self.near, &[k]);
            let difference = self.graph.op("Sub", &[&own, &of_points]);
            let term = match distance {
                Distance::Squared => self.graph.op("Mul", &[&difference, &difference]),
                Distance::Manhattan => self.graph.op("Abs", &[&difference]),
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.graph.op("Add", &[&sum, &term]),
            });
        }
        if !indicators.is_empty() {
            let apart: Vec<f64> = indicators
                .iter()
                .flat_map(|&k| column(k))
                .copied()
                .collect();
            let apart = apart_by(self.graph, &self.encoded.points, &indicators, &apart);
            let apart = match self.precision {
                Precision::Double => apart,
                Precision::Single => self.graph.in_precision(&apart, self.precision),
            };
            sum = Some(match sum {
                None => apart,
                Some(sum) => self.graph.op("Add", &[&sum, &apart]),
            });
        }
        sum.unwrap_or_else(|| self.number(0.0))
    }
}

/// In how many of these indicators each row differs from each of some points, `ones` being those of the points, indicator by indicator.
pub(super) fn apart_by(
    graph: &mut Graph,
    rows: &Value,
    indicators: &[usize],
    ones: &[f64],
) -> Value {
    let (width, count) = (indicators.len(), ones.len() / indicators.len());
    let totals: Vec<f64> = (0..count)
        .map(|j| (0..width).map(|k| ones[k * count + j]).sum())
        .collect();
    let doubled: Vec<f64> = ones.iter().map(|v| -2.0 * v).collect();
    let own = graph.columns(rows, indicators);
    let total = graph.row_sum(&own);
    let shared = graph.product(&own, width, &doubled);
    let totals = graph.numbers(&[1, count], &totals);
    let either = graph.op("Add", &[&total, &totals]);
    graph.op("Add", &[&either, &shared])
}
