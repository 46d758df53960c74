//! Removes the influence of sensitive features from predictions, with kernels, in closed form.
//!
//! The engine behind the `oblivio` program: no files, no terminal, every random choice from a seed.
//!
//! | you have | you want | start at |
//! |---|---|---|
//! | points, sensitive columns and targets | a predictor | [`Settings::fit`] |
//! | the same with classes | a decision, or one for each class | [`Settings::fit_classes`] |
//! | the columns of a table | a model that can be saved | [`Model::fit`] |
//! | a model and rows that come one by one | their scores, in microseconds | [`RowModel`] |
//! | points and cells | the paper's matrix | [`ObliviousMap`] |
//! | scores and cells | how much they depend | [`correlation_ratio`] |
//!
//! The method: with $\phi$ the kernel's feature map, $\delta_c = E_n(\phi \mid S \in A_c) - E_n\phi$ the *shift* of cell c and t the
//! *strength*, an oblivious feature is $Z = \phi(x) - t\,\delta_{c(s)}$. At t = 1, ⟨h, Z⟩ has the same mean in every cell for every
//! fixed h: not independence, but no difference of means that any function in the kernel's space could use.
#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]

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
pub mod onnx;
pub mod partition;
pub mod predictor;
pub mod reference;
pub mod refresh;
pub mod sensitive;
pub mod sensitive_free;
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
