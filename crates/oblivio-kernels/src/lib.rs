//! Kernels and learners.
//!
//! Contents: kernels and their matrices ([`Kernel`], [`KernelMatrix`]), explicit features on landmarks ([`FeatureMap`]), and
//! learners ([`learn`]) that see a [`Gram`] matrix, [`FeatureRows`] or the [`NormalEquations`](learn::NormalEquations) of features.
//!
//! It imports `oblivio-base` alone. It has never heard of sensitive features, cells or modes: whether the features that a learner
//! sees were changed, and why, is none of its business, and cargo enforces that.
//!
//! ```
//! use oblivio_base::{Points, Watch};
//! use oblivio_kernels::learn::{Ridge, Solver};
//! use oblivio_kernels::{Kernel, KernelGram};
//!
//! let points = Points::new(vec![0.0, 1.0, 2.0, 3.0], 1)?;
//! let kernel: Kernel = "rbf(gamma=1)".parse()?;
//! let gram = KernelGram::new(&kernel, &points);
//! let ridge = Ridge::new(0.1, Solver::Auto)?;
//! let solution = ridge.solve_gram(&gram, &[0.0, 1.0, 0.0, -1.0], &[1.0; 4], &Watch::default())?;
//! assert_eq!(solution.coefficients.len(), 4);
//! # Ok::<(), oblivio_base::Error>(())
//! ```

pub mod basis;
pub mod gram;
pub mod kernel;
pub mod landmarks;
pub mod learn;

pub use basis::{Basis, Shape};
pub use gram::{FeatureRows, Gram, KernelGram};
pub use kernel::{Gamma, Kernel, KernelMatrix, KernelTable, Lower, Side, Smoothness};
pub use landmarks::{Components, FeatureMap, Selection};
