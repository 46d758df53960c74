//! Removes the influence of sensitive features from predictions, with kernels, in closed form.
//!
//! The engine behind the `oblivio` program: no files, no terminal, every random choice from a seed. It imports `oblivio-base` and
//! `oblivio-kernels`; audits and releases are in crates above it (`oblivio-audit`, `oblivio-release`).
//!
//! | you have | you want | start at |
//! |---|---|---|
//! | points, sensitive columns and targets | a predictor | [`Settings::fit`] |
//! | the same with classes | a decision, or one for each class | [`Settings::fit_classes`] |
//! | the columns of a table | a model that can be saved | [`Model::fit`] |
//! | a model and rows that come one by one | their scores, in microseconds | [`RowModel`] |
//! | points and cells | the paper's matrix | [`ObliviousMap`] |
//! | rows in batches, or in parts | sums that merge | [`survey`], [`moments`], [`share`] |
//! | a fitted model and new rows | new offsets, and drift | [`refresh`] |
//!
//! ```
//! use oblivio::{Column, Points, Sensitive, Settings, Training, Watch};
//!
//! let x = vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
//! let points = Points::new(x.clone(), 1)?;
//! let group = Column::texts("group", ["a", "a", "a", "b", "b", "b"].map(Some));
//! let sensitive = Sensitive::new(vec![group], 6)?;
//! let settings = Settings { kernel: "linear".parse()?, penalty: 1e-6, ..Settings::default() };
//! let training = Training { points: &points, sensitive: &sensitive, targets: &x, weights: None };
//! let fit = settings.fit(training, &Watch::default())?;
//! let scores = fit.predictor.predict(&points, Some(&sensitive), &Watch::default())?.scores;
//! // What is left is the place within the group.
//! assert!((scores[0] - scores[3]).abs() < 1e-3);
//! # Ok::<(), oblivio::Error>(())
//! ```
//!
//! The method: with $\phi$ the kernel's feature map, $\delta_c = E_n(\phi \mid S \in A_c) - E_n\phi$ the *shift* of cell c and t the
//! *strength*, an oblivious feature is $Z = \phi(x) - t\,\delta_{c(s)}$. At t = 1, ⟨h, Z⟩ has the same mean in every cell for every
//! fixed h: not independence, but no difference of means that any function in the kernel's space could use.
#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]

pub mod adjust;
pub mod align;
pub mod classes;
mod conditional_mean;
mod conditioning;
pub mod dependence;
pub mod features;
pub mod fit;
mod gather;
pub mod gram;
pub mod intervals;
pub mod model;
pub mod moments;
pub mod oblivious;
pub mod partition;
mod predictor;
pub mod reference;
pub mod refresh;
pub mod sensitive;
pub mod sensitive_free;
pub mod settings;
pub mod share;
#[doc(hidden)]
pub mod sibling;
pub mod survey;

pub use conditional_mean::ConditionalMean;
pub use fit::{Fit, Mode, Settings, Summary, Training};
pub use model::{Model, Roles, RowModel, Transformer};
pub use oblivio_base::{Column, Encoder, Error, Points, Result, Values, Warning, Watch};
pub use oblivio_kernels::Kernel;
pub use oblivious::ObliviousMap;
pub use partition::Partition;
pub use predictor::{Prediction, Predictor};
pub use sensitive::Sensitive;
