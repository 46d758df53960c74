//! Every name of the engine that the golden cases use. The only imports that a move of names changes.

pub use oblivio::learn::Learner;
pub use oblivio::{
    AdversaryKind, AdversarySettings, AlignMethod, AlignRule, AuditRows, AuditSettings, Bandwidths,
    Batch, Binning, BoundSettings, CellCount, Checkpoint, ClassWeights, Column, Components,
    Coverage, EmptyCell, Encoder, Estimator, FeatureRows, FeatureSettings, Features, Fit,
    FrontierGrid, FrontierSettings, GridPoint, HsicSettings, HsicSide, IntervalSource, KernelModel,
    KernelSettings, Kind, Labelled, Labels, Missing, Mode, Model, Moments, Named, Offsets,
    OnnxForm, OnnxSettings, OutOfRange, Parity, Partition, PathGrid, PenaltyChoice, Points,
    Policies, Precision, Prediction, PredictionInterval, Reduce, Reference, Release, ReleaseMethod,
    ReleaseRows, ReleaseSettings, Renewal, Resampling, Restraint, Result, Role, Roles, RowModel,
    Scaling, Selection, Sensitive, SensitiveRows, Settings, Share, StreamFit, StudySettings,
    Summary, Survey, Threshold, Training, Transformer, Turned, UnseenCategory, Uses, Value,
    Values as ColumnValues, Watch, adversary, certificate, distance_correlation, hsic,
};
