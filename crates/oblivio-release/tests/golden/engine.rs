//! Every name of the engine that the golden cases use. The only imports that a move of names changes.

pub use oblivio::adjust::Offsets;
pub use oblivio::align::{AlignMethod, AlignRule};
pub use oblivio::classes::{ClassWeights, Threshold};
pub use oblivio::features::FeatureSettings;
pub use oblivio::fit::{Bandwidths, GridPoint, Labelled, PathGrid, StreamFit, Turned};
pub use oblivio::intervals::{Coverage, IntervalSource, PredictionInterval};
pub use oblivio::model::{Checkpoint, KernelModel, KernelSettings, Labels, Reduce};
pub use oblivio::moments::{Batch, Moments, SensitiveRows};
pub use oblivio::oblivious::Features;
pub use oblivio::partition::{
    Binning, CellCount, EmptyCell, Estimator, Missing, OutOfRange, Policies, Uses,
};
pub use oblivio::reference::Reference;
pub use oblivio::refresh::Renewal;
pub use oblivio::sensitive::Kind;
pub use oblivio::sensitive_free::{Parity, Restraint};
pub use oblivio::share::Share;
pub use oblivio::survey::Survey;
pub use oblivio::{
    Column, Encoder, Fit, Mode, Model, Partition, Points, Prediction, Result, Roles, RowModel,
    Sensitive, Settings, Summary, Training, Transformer, Values as ColumnValues, Watch,
};
pub use oblivio_audit::{
    AdversaryKind, AdversarySettings, AuditRows, AuditSettings, FrontierGrid, FrontierSettings,
    HsicSettings, HsicSide, PenaltyChoice, Resampling, Role, adversary, certificate,
    distance_correlation, hsic,
};
pub use oblivio_base::{Named, Scaling, UnseenCategory, Value};
pub use oblivio_kernels::learn::Learner;
pub use oblivio_kernels::{Components, FeatureRows, Selection};
pub use oblivio_onnx::{OnnxForm, OnnxSettings, Precision, export, export_transformer};
pub use oblivio_release::{
    BoundSettings, Release, ReleaseMethod, ReleaseRows, ReleaseSettings, StudySettings,
};
