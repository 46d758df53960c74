//! The conditional mean, and how S is read.

use oblivio_base::UnseenCategory;

use super::super::{Fitter, Group, Literal, Setting, SettingKind};
use super::{ALL, PLAIN, reads, words};
use crate::partition::{Binning, CellCount, EmptyCell, Estimator, Missing, OutOfRange};

pub(super) static SETTINGS: &[Setting] = &[
    Setting {
        name: "conditional_mean",
        python: Some("conditional_mean"),
        flag: Some("conditional-mean"),
        kind: SettingKind::Word(words::<Estimator>),
        default: Literal::Text("auto"),
        group: Group::ConditionalMean,
        help: &[
            "Estimator of the mean of the features given S.",
            "cells: the mean of each cell. smooth: ridge regression on kernel features of S, whose bandwidth and ridge have the least \
             leave-one-out error. linear: least squares on S. auto takes cells if all sensitive columns are categorical or if cells or \
             binning is set, else cells or smooth, whichever has the smaller leave-one-out error. The error of predictions never \
             chooses it.",
        ],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "shrink",
        python: Some("shrinkage"),
        flag: Some("shrink"),
        kind: SettingKind::Switch,
        default: Literal::Switch(false),
        group: Group::ConditionalMean,
        help: &[
            "Draw the means of cells towards the overall mean.",
            "Their scatter says by how much. Leaves some dependence.",
        ],
        used_by: &[
            Fitter::Ridge,
            Fitter::RidgeCv,
            Fitter::Svc,
            Fitter::Logistic,
            Fitter::Transformer,
            Fitter::Kernel,
            Fitter::Moments,
            Fitter::Offset,
            Fitter::Frontier,
        ],
        ..PLAIN
    },
    Setting {
        name: "cells",
        python: Some("cells"),
        flag: Some("cells"),
        kind: SettingKind::Text("int, \"auto\", \"loo\" or \"paper\"", reads::<CellCount>),
        default: Literal::Text("auto"),
        group: Group::ConditionalMean,
        help: &[
            "Cells of each continuous sensitive column.",
            "A number, auto, loo (the number with the least leave-one-out error) or paper.",
        ],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "binning",
        python: Some("binning"),
        flag: Some("binning"),
        kind: SettingKind::Word(words::<Binning>),
        default: Literal::Text("quantile"),
        group: Group::ConditionalMean,
        help: &[
            "Ends of the cells of a continuous sensitive column.",
            "quantile: the same number of reference rows in each. uniform: the same width. dyadic: the same width, and a power of two of \
             them.",
        ],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "min_cell_rows",
        python: Some("min_rows"),
        flag: Some("min-cell-rows"),
        kind: SettingKind::Count(1),
        group: Group::ConditionalMean,
        help: &[
            "Join cells with fewer reference rows with their neighbours.",
            "By default 5 (fewer in small tables) where the number of cells is auto, else none is joined.",
        ],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "reference",
        python: Some("reference"),
        flag: Some("reference"),
        kind: SettingKind::Word(|| vec!["all", "half"]),
        default: Literal::Text("all"),
        group: Group::ConditionalMean,
        help: &[
            "Rows that estimate the conditional means.",
            "all: the rows that also train. half: one half estimates and the other half trains, as in the paper.",
        ],
        used_by: &[
            Fitter::Ridge,
            Fitter::RidgeCv,
            Fitter::Svc,
            Fitter::Logistic,
            Fitter::Transformer,
            Fitter::Frontier,
        ],
        ..PLAIN
    },
    Setting {
        name: "sensitive_bounds",
        python: Some("sensitive_bounds"),
        kind: SettingKind::Object("pair or dict of pairs by column"),
        group: Group::ConditionalMean,
        help: &["Bounds of continuous sensitive features, for uniform and dyadic cells."],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "handle_unknown",
        python: Some("handle_unknown"),
        flag: Some("handle-unknown"),
        kind: SettingKind::Word(words::<UnseenCategory>),
        default: Literal::Text("error"),
        group: Group::ConditionalMean,
        help: &[
            "Sensitive categories without reference rows.",
            "error refuses them. population removes nothing from their rows. zero takes the mean 0, as the paper does.",
        ],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "handle_empty",
        flag: Some("handle-empty"),
        kind: SettingKind::Word(words::<EmptyCell>),
        group: Group::ConditionalMean,
        help: &[
            "Cells without reference rows.",
            "By default enclosing, or the answer for sensitive categories without reference rows.",
        ],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "handle_range",
        flag: Some("handle-range"),
        kind: SettingKind::Word(words::<OutOfRange>),
        default: Literal::Text("error"),
        group: Group::ConditionalMean,
        help: &["Values outside the bounds given for dyadic cells."],
        used_by: ALL,
        ..PLAIN
    },
    Setting {
        name: "handle_missing",
        python: Some("handle_missing"),
        flag: Some("handle-missing"),
        kind: SettingKind::Word(words::<Missing>),
        default: Literal::Text("error"),
        group: Group::ConditionalMean,
        help: &[
            "Missing sensitive values.",
            "error refuses them. category takes them as a category of their own. sensitive-free leaves their rows out of the fit and \
             scores them (and tables without sensitive columns) by a second model, which needs none.",
        ],
        used_by: &[
            Fitter::Ridge,
            Fitter::RidgeCv,
            Fitter::Svc,
            Fitter::Logistic,
            Fitter::Release,
            Fitter::Frontier,
        ],
        ..PLAIN
    },
];
