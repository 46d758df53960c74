//! Kernels: what they are, and how they are written.

mod block;
pub mod exp;
mod matrix;
mod product;
mod row;
mod slope;
mod table;
mod text;

pub use block::Side;
pub use block::{Span, Tile};
pub use matrix::{KernelMatrix, Lower};
pub use row::{KernelRow, dot};
pub use table::KernelTable;

use std::convert::Infallible;
use std::sync::Arc;

use oblivio_base::{Error, Points, Result, random};
use rand::RngExt;

/// A positive-definite kernel $k(x, x') = \langle\phi(x), \phi(x')\rangle$.
///
/// `Kernel` has numbers for its γ; `Kernel<Gamma>` may name a rule instead, which [`resolve`](Kernel::resolve)
/// turns into a number once the points are known. Both print and parse in one spelling, which the command line,
/// Python and the model file share:
///
/// ```
/// use oblivio_kernels::{Gamma, Kernel};
/// let kernel: Kernel = "0.5 * rbf(gamma=2) + linear".parse()?;
/// assert_eq!(kernel.to_string(), "0.5 * rbf(gamma=2) + linear");
/// let rule: Kernel<Gamma> = "matern32(gamma=median)".parse()?;
/// assert_eq!(rule.to_string(), "matern32(gamma=median)");
/// # Ok::<(), oblivio_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Kernel<G = f64> {
    /// $\langle x, x'\rangle$
    Linear,
    /// $(\gamma\langle x, x'\rangle + c_0)^p$
    Polynomial {
        /// p, at least 1
        degree: u32,
        /// γ
        gamma: G,
        /// c₀, not negative
        coef0: f64,
    },
    /// $\exp(-\gamma\|x - x'\|_2^2)$
    Gaussian {
        /// γ
        gamma: G,
    },
    /// $\exp(-\gamma\|x - x'\|_1)$
    Laplacian {
        /// γ
        gamma: G,
    },
    /// With $u = \sqrt{2\nu}\,\gamma\|x - x'\|_2$: $e^{-u}$, $(1 + u)e^{-u}$ and $(1 + u + u^2/3)e^{-u}$ for ν = 1/2, 3/2, 5/2.
    Matern {
        /// ν
        smoothness: Smoothness,
        /// γ, one over the length scale
        gamma: G,
    },
    /// The sum of kernels.
    Sum(Vec<Kernel<G>>),
    /// The product of kernels.
    Product(Vec<Kernel<G>>),
    /// A kernel times a positive number.
    Scaled(f64, Box<Kernel<G>>),
    /// Values that were computed elsewhere, between objects that are known by number. Not spelled, and in no file.
    Table(Arc<KernelTable>),
}

/// The ν of a Matérn kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothness {
    /// ν = 1/2
    Half,
    /// ν = 3/2
    ThreeHalves,
    /// ν = 5/2
    FiveHalves,
}

impl Smoothness {
    /// 2ν
    pub(crate) fn twice_nu(self) -> f64 {
        match self {
            Self::Half => 1.0,
            Self::ThreeHalves => 3.0,
            Self::FiveHalves => 5.0,
        }
    }

    /// √(2ν)
    pub fn factor(self) -> f64 {
        self.twice_nu().sqrt()
    }
}

/// γ, or the rule that finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gamma {
    /// The number itself.
    Value(f64),
    /// 1/(d Var X), over all entries of the features that are not constant.
    Scale,
    /// One over the median of the squared distances of 1000 seeded pairs of rows (of the distances, in the kernel's own
    /// norm, for Laplacian and Matérn kernels). Pairs of equal rows do not count.
    Median,
}

impl<G> Kernel<G> {
    /// The same kernel with every γ replaced; `f` sees the kernel that γ belongs to.
    fn map_gamma<H, E>(
        &self,
        f: &mut impl FnMut(&Self, &G) -> std::result::Result<H, E>,
    ) -> std::result::Result<Kernel<H>, E> {
        Ok(match self {
            Self::Linear => Kernel::Linear,
            Self::Polynomial {
                degree,
                gamma,
                coef0,
            } => Kernel::Polynomial {
                degree: *degree,
                gamma: f(self, gamma)?,
                coef0: *coef0,
            },
            Self::Gaussian { gamma } => Kernel::Gaussian {
                gamma: f(self, gamma)?,
            },
            Self::Laplacian { gamma } => Kernel::Laplacian {
                gamma: f(self, gamma)?,
            },
            Self::Matern { smoothness, gamma } => Kernel::Matern {
                smoothness: *smoothness,
                gamma: f(self, gamma)?,
            },
            Self::Sum(kernels) => Kernel::Sum(
                kernels
                    .iter()
                    .map(|k| k.map_gamma(f))
                    .collect::<std::result::Result<_, _>>()?,
            ),
            Self::Product(kernels) => Kernel::Product(
                kernels
                    .iter()
                    .map(|k| k.map_gamma(f))
                    .collect::<std::result::Result<_, _>>()?,
            ),
            Self::Scaled(factor, kernel) => Kernel::Scaled(*factor, Box::new(kernel.map_gamma(f)?)),
            Self::Table(table) => Kernel::Table(Arc::clone(table)),
        })
    }

    /// Whether values come from a table, in this kernel or inside it.
    pub fn is_table(&self) -> bool {
        self.any(&|kernel| matches!(kernel, Self::Table(_)))
    }

    /// Refuses a kernel of a table where kernels must be formulas: `what` is what asks for one.
    pub fn check_formula(&self, what: &'static str) -> Result<()> {
        if self.is_table() {
            return Err(Error::InvalidParameter {
                name: what,
                expected: "of a kernel that is a formula, since a precomputed kernel or a callable is known between rows of the fit and new ones only",
                value: "a precomputed kernel".into(),
            });
        }
        Ok(())
    }

    /// This kernel and all inside it.
    fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        test(self)
            || match self {
                Self::Sum(kernels) | Self::Product(kernels) => kernels.iter().any(|k| k.any(test)),
                Self::Scaled(_, kernel) => kernel.any(test),
                _ => false,
            }
    }
}

impl Kernel<Gamma> {
    /// Sets parameters that were given apart from the kernel's name; a sum, product or kernel without them refuses.
    pub fn set(
        &mut self,
        new_gamma: Option<Gamma>,
        new_degree: Option<u32>,
        new_coef0: Option<f64>,
    ) -> Result<()> {
        let none = |name, given: Option<String>| match given {
            None => Ok(()),
            Some(value) => Err(Error::InvalidParameter {
                name,
                expected: "written inside the kernel, as in `rbf(gamma=2)`, where the kernel has it",
                value,
            }),
        };
        let text = |value: Option<f64>| value.map(|v| v.to_string());
        if let Self::Polynomial { degree, coef0, .. } = self {
            *degree = new_degree.unwrap_or(*degree);
            *coef0 = new_coef0.unwrap_or(*coef0);
        } else {
            none("degree", text(new_degree.map(f64::from)))?;
            none("coef0", text(new_coef0))?;
        }
        match self {
            Self::Polynomial { gamma, .. }
            | Self::Gaussian { gamma }
            | Self::Laplacian { gamma }
            | Self::Matern { gamma, .. } => *gamma = new_gamma.unwrap_or(*gamma),
            _ => none("gamma", new_gamma.map(|gamma| gamma.to_string()))?,
        }
        self.check()
    }

    /// The kernel with every rule turned into a number for these points, `weights` saying how often each row counts.
    ///
    /// The pairs of the `median` rule come from `seed`.
    pub fn resolve(&self, points: &Points, weights: &[f64], seed: u64) -> Result<Kernel> {
        let Ok(kernel) = self.map_gamma(&mut |kernel, gamma| {
            Ok::<_, Infallible>(match gamma {
                Gamma::Value(value) => *value,
                Gamma::Scale => scale(points, weights),
                Gamma::Median => {
                    let norm = match kernel {
                        Kernel::Laplacian { .. } => manhattan,
                        Kernel::Matern { .. } => euclidean,
                        _ => squared_euclidean,
                    };
                    1.0 / median_distance(points, weights, seed, norm)
                }
            })
        });
        kernel.check()?;
        Ok(kernel)
    }

    /// Refuses numbers no kernel can have; rules pass.
    pub fn check(&self) -> Result<()> {
        let Ok(kernel) = self.map_gamma(&mut |_, gamma| {
            Ok::<_, Infallible>(match gamma {
                Gamma::Value(value) => *value,
                Gamma::Scale | Gamma::Median => 1.0,
            })
        });
        kernel.check()
    }
}

impl Kernel {
    /// Every γ times a positive factor.
    pub fn narrowed(&self, factor: f64) -> Result<Self> {
        let Ok(kernel) = self.map_gamma(&mut |_, gamma| Ok::<_, Infallible>(gamma * factor));
        kernel.check()?;
        Ok(kernel)
    }

    /// The γ of a single kernel that has one.
    pub fn gamma(&self) -> Option<f64> {
        match self {
            Self::Polynomial { gamma, .. }
            | Self::Gaussian { gamma }
            | Self::Laplacian { gamma }
            | Self::Matern { gamma, .. } => Some(*gamma),
            Self::Scaled(_, kernel) => kernel.gamma(),
            Self::Linear | Self::Sum(_) | Self::Product(_) | Self::Table(_) => None,
        }
    }

    /// The kernel as one whose γ could also be rules.
    pub fn to_spec(&self) -> Kernel<Gamma> {
        let Ok(kernel) = self.map_gamma(&mut |_, gamma| Ok::<_, Infallible>(Gamma::Value(*gamma)));
        kernel
    }

    /// Refuses numbers for which this is not a positive-definite kernel.
    pub fn check(&self) -> Result<()> {
        let refuse = |name, expected, value: f64| {
            Err(Error::InvalidParameter {
                name,
                expected,
                value: value.to_string(),
            })
        };
        let positive = |v: f64| v > 0.0 && v.is_finite();
        match self {
            Self::Polynomial { degree: 0, .. } => refuse("degree", "at least 1", 0.0),
            Self::Polynomial { degree, .. } if *degree > 64 => {
                refuse("degree", "at most 64", f64::from(*degree))
            }
            Self::Polynomial { coef0, .. } if !(*coef0 >= 0.0 && coef0.is_finite()) => refuse(
                "coef0",
                "zero or a positive finite number (a negative one is not positive definite)",
                *coef0,
            ),
            Self::Polynomial { gamma, .. }
            | Self::Gaussian { gamma }
            | Self::Laplacian { gamma }
            | Self::Matern { gamma, .. }
                if !positive(*gamma) =>
            {
                refuse("gamma", "a positive finite number", *gamma)
            }
            Self::Sum(kernels) | Self::Product(kernels) if kernels.is_empty() => {
                refuse("number of kernels in a sum or product", "at least 1", 0.0)
            }
            Self::Sum(kernels) | Self::Product(kernels) => kernels.iter().try_for_each(Self::check),
            Self::Scaled(factor, _) if !positive(*factor) => {
                refuse("a kernel's factor", "a positive finite number", *factor)
            }
            Self::Scaled(_, kernel) => kernel.check(),
            Self::Linear
            | Self::Polynomial { .. }
            | Self::Gaussian { .. }
            | Self::Laplacian { .. }
            | Self::Matern { .. }
            | Self::Table(_) => Ok(()),
        }
    }

    /// k(x, x')
    ///
    /// One pair at a time: the definition that [`KernelMatrix`] is tested against, too slow for more.
    pub fn at(&self, x: &[f64], y: &[f64]) -> f64 {
        let dot = || x.iter().zip(y).map(|(a, b)| a * b).sum::<f64>();
        match self {
            Self::Linear => dot(),
            Self::Polynomial {
                degree,
                gamma,
                coef0,
            } => (gamma * dot() + coef0).powi(degree.cast_signed()),
            Self::Gaussian { gamma } => (-gamma * squared_euclidean(x, y)).exp(),
            Self::Laplacian { gamma } => (-gamma * manhattan(x, y)).exp(),
            Self::Matern { smoothness, gamma } => {
                let u = smoothness.factor() * gamma * euclidean(x, y);
                let polynomial = match smoothness {
                    Smoothness::Half => 1.0,
                    Smoothness::ThreeHalves => 1.0 + u,
                    Smoothness::FiveHalves => 1.0 + u + u * u / 3.0,
                };
                polynomial * (-u).exp()
            }
            Self::Sum(kernels) => kernels.iter().map(|k| k.at(x, y)).sum(),
            Self::Product(kernels) => kernels.iter().map(|k| k.at(x, y)).product(),
            Self::Scaled(factor, kernel) => factor * kernel.at(x, y),
            Self::Table(table) => table.value(x[0], y[0]),
        }
    }

    /// The same kernel with the values of new objects in its table, whose points follow the ones of the fit: see [`KernelTable::with_new`].
    pub fn with_new_objects(&self, values: Vec<f64>, rows: usize) -> Result<Self> {
        match self {
            Self::Table(table) => Ok(Self::Table(Arc::new(table.with_new(values, rows)?))),
            other => Err(Error::InvalidParameter {
                name: "the kernel of new objects",
                expected: "precomputed",
                value: other.to_string(),
            }),
        }
    }
}

fn squared_euclidean(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn euclidean(x: &[f64], y: &[f64]) -> f64 {
    squared_euclidean(x, y).sqrt()
}

fn manhattan(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b).abs()).sum()
}

/// 1/(d Var X) over the features that are not constant; 1 if all are.
fn scale(points: &Points, weights: &[f64]) -> f64 {
    let constant = points.constant_features();
    let varying: Vec<usize> = (0..points.dim())
        .filter(|k| !constant.contains(k))
        .collect();
    let entries = |f: &dyn Fn(f64) -> f64| -> f64 {
        (0..points.len())
            .map(|i| weights[i] * varying.iter().map(|&k| f(points.row(i)[k])).sum::<f64>())
            .sum()
    };
    let count = entries(&|_| 1.0);
    let mean = entries(&|v| v) / count;
    let variance = entries(&|v| (v - mean) * (v - mean)) / count;
    if variance > 0.0 {
        1.0 / (varying.len() as f64 * variance)
    } else {
        1.0
    }
}

/// The median of the non-zero distances of 1000 seeded pairs, rows drawn by weight; 1 if there is none.
fn median_distance(
    points: &Points,
    weights: &[f64],
    seed: u64,
    distance: fn(&[f64], &[f64]) -> f64,
) -> f64 {
    const PAIRS: usize = 1000;
    if points.is_empty() {
        return 1.0;
    }
    let mut generator = random::generator(seed, random::Stream::Bandwidth);
    let cumulative: Vec<f64> = weights
        .iter()
        .scan(0.0, |sum, w| {
            *sum += w;
            Some(*sum)
        })
        .collect();
    let total = cumulative.last().copied().unwrap_or(0.0);
    let mut draw = || {
        let u = generator.random::<f64>() * total;
        cumulative
            .partition_point(|&c| c <= u)
            .min(points.len() - 1)
    };
    let mut distances: Vec<f64> = (0..PAIRS)
        .map(|_| distance(points.row(draw()), points.row(draw())))
        .filter(|&d| d > 0.0)
        .collect();
    if distances.is_empty() {
        return 1.0;
    }
    distances.sort_unstable_by(f64::total_cmp);
    let middle = distances.len() / 2;
    if distances.len().is_multiple_of(2) {
        0.5 * (distances[middle - 1] + distances[middle])
    } else {
        distances[middle]
    }
}
