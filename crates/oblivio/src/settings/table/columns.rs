//! Columns, the seed, and reports of progress.

use oblivio_base::MissingFeatures;

use super::super::{Fitter, Group, Level, Literal, Setting, SettingKind};
use super::{ALL, PLAIN, words};

pub(super) static SETTINGS: &[Setting] = &[
    Setting {
        name: "sensitive_feature_ids",
        python: Some("sensitive_feature_ids"),
        kind: SettingKind::Object("names or positions"),
        group: Group::Columns,
        level: Level::Common,
        help: &["Columns of X that are sensitive. They are not features."],
        used_by: ESTIMATORS,
        ..PLAIN
    },
    Setting {
        name: "control_feature_ids",
        python: Some("control_feature_ids"),
        kind: SettingKind::Object("names or positions"),
        group: Group::Columns,
        help: &[
            "Columns of X that are legitimate factors.",
            "Only the part of the sensitive features beyond them is removed. They stay features.",
        ],
        used_by: &[
            Fitter::Ridge,
            Fitter::RidgeCv,
            Fitter::Svc,
            Fitter::Logistic,
            Fitter::Transformer,
            Fitter::Kernel,
            Fitter::Offset,
        ],
        ..PLAIN
    },
    Setting {
        name: "categorical_features",
        python: Some("categorical_features"),
        kind: SettingKind::Object("\"auto\" or names or positions"),
        default: Literal::Text("auto"),
        group: Group::Columns,
        help: &[
            "Columns of X to read as categories.",
            "By default text, booleans and categorical dtypes.",
        ],
        used_by: &[
            Fitter::Ridge,
            Fitter::RidgeCv,
            Fitter::Svc,
            Fitter::Logistic,
            Fitter::Transformer,
            Fitter::Kernel,
            Fitter::Release,
        ],
        ..PLAIN
    },
    Setting {
        name: "categorical_sensitive",
        python: Some("categorical_sensitive"),
        kind: SettingKind::Object("\"auto\" or names or positions"),
        default: Literal::Text("auto"),
        group: Group::Columns,
        help: &[
            "Sensitive features to read as categories; all others are then continuous.",
            "By default text, booleans, and whole numbers with at most 5 distinct values.",
        ],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "standardize",
        python: Some("standardize"),
        flag: Some("no-standardize"),
        kind: SettingKind::Switch,
        default: Literal::Switch(true),
        group: Group::Columns,
        help: &["Scale number columns of X to mean 0 and standard deviation 1."],
        used_by: ENCODERS,
        ..PLAIN
    },
    Setting {
        name: "missing_features",
        python: Some("missing_features"),
        flag: Some("missing-features"),
        kind: SettingKind::Word(words::<MissingFeatures>),
        default: Literal::Text("indicate"),
        group: Group::Columns,
        help: &[
            "Missing values of features: fill them in and mark them, or refuse them.",
            "indicate: a missing number is the mean of its column, with an indicator column; a missing category is a level \
             of its own. error refuses them.",
        ],
        used_by: ENCODERS,
        ..PLAIN
    },
    Setting {
        name: "seed",
        flag: Some("seed"),
        kind: SettingKind::Count(0),
        default: Literal::Count(0),
        group: Group::Other,
        level: Level::Common,
        help: &["Seed of everything random."],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "random_state",
        python: Some("random_state"),
        kind: SettingKind::Object("int, RandomState or None"),
        group: Group::Other,
        level: Level::Common,
        help: &["Seed of everything random. None is the seed 0."],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "verbose",
        python: Some("verbose"),
        kind: SettingKind::Switch,
        default: Literal::Switch(false),
        group: Group::Other,
        help: &["Show a progress bar, if tqdm is installed."],
        used_by: &[
            Fitter::Ridge,
            Fitter::RidgeCv,
            Fitter::Svc,
            Fitter::Logistic,
            Fitter::Transformer,
            Fitter::Kernel,
            Fitter::Release,
        ],
        ..PLAIN
    },
];

/// Estimators that read columns of X as sensitive ones.
const ESTIMATORS: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
    Fitter::Transformer,
    Fitter::Kernel,
    Fitter::Offset,
    Fitter::Release,
];

/// Who encodes columns of X.
const ENCODERS: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
    Fitter::Transformer,
    Fitter::Kernel,
    Fitter::Frontier,
];
