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

mod align;
mod audit;
mod bound;
mod classes;
mod conditional_mean;
mod conditioning;
mod dependence;
mod features;
mod fit;
mod frontier;
mod gather;
mod gram;
mod intervals;
mod manifold;
mod model;
mod moments;
mod oblivious;
mod onnx;
mod partition;
mod predictor;
mod reference;
mod refresh;
mod release;
mod sensitive;
mod sensitive_free;
mod share;
mod survey;

pub use align::{AlignMethod, AlignRule, Alignment, Given};
pub use audit::*;
pub use bound::*;
pub use classes::{ClassWeights, Classes, Threshold};
pub use conditional_mean::ConditionalMean;
pub use dependence::Dependence;
pub use features::{FeatureFit, FeatureSettings, ObliviousFeatures};
pub use fit::{
    Bandwidths, CellSummary, ClassProblem, Fit, GridPoint, Labelled, Mode, Path, PathGrid, Problem,
    Settings, Solved, StreamFit, Summary, Training, Turned,
};
pub use frontier::*;
pub use gram::FeatureGram;
pub use intervals::{
    CellCoverage, Coverage, IntervalSource, Intervals, PredictionInterval, USUAL_COVERAGE,
};
pub use manifold::{Certify, LowerBound, Manifold, Projected, Region, Search, Span, Stepped};
pub use model::{
    Card, Change, Checkpoint, Held, Holdings, KernelModel, KernelSettings, Labels, Loss, Model,
    ModelRefresh, Reduce, Reduction, Refreshed, Renewed, Roles, RowColumn, RowModel, RowPrediction,
    Step, Transformer, kind_of, version_of,
};
pub use moments::{Batch, Moments, Plan, SensitiveRows};
pub use oblivio_base::column::category;
pub use oblivio_base::random::{drawn, sample};
pub use oblivio_base::{
    Column, Encoder, Error, MISSING, Named, Points, Result, Scaling, UnseenCategory, Value, Values,
    Warning, Watch, nearest,
};
pub use oblivio_kernels::gram::ROWS;
pub use oblivio_kernels::learn::NormalEquations;
pub use oblivio_kernels::{
    Basis, Components, FeatureMap, FeatureRows, Gamma, Gram, Kernel, KernelMatrix, Lower,
    Selection, Shape, Side, Smoothness, learn,
};
pub use oblivious::{Features, ObliviousMap, Shifts};
pub use onnx::{OnnxForm, OnnxSettings, Precision};
pub use partition::*;
pub use predictor::{Offsets, Prediction, Predictor, SmoothOffsets};
pub use reference::{Reference, Split};
pub use refresh::{Drift, Refresh, Renewal, SinceFit, SmallCells};
pub use release::*;
pub use sensitive::{Kind, Sensitive};
pub use sensitive_free::{Parity, Restraint};
pub use share::Share;
pub use survey::Survey;
