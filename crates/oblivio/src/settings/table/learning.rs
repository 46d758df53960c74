//! The learner, and the removal of the influence of S.

use oblivio_base::{Error, Result};
use oblivio_kernels::learn::{Learner, Solver};

use super::super::{Fitter, Group, Level, Literal, Range, Setting, SettingKind};
use super::{CLASSIFIERS, LEARNERS, PLAIN, SCORES, reads, words};
use crate::align::AlignMethod;
use crate::classes::Threshold;
use crate::fit::Mode;
use crate::intervals::IntervalSource;
use crate::sensitive_free::Parity;

pub(super) static SETTINGS: &[Setting] = &[
    Setting {
        name: "learner",
        flag: Some("learner"),
        kind: SettingKind::Word(words::<Learner>),
        default: Literal::Text("ridge"),
        group: Group::Model,
        level: Level::Common,
        help: &[
            "Number (ridge regression) or classes (svm, logistic).",
            "A support vector machine and logistic regression learn two classes, or each class against the rest.",
        ],
        used_by: LEARNERS,
        ..PLAIN
    },
    Setting {
        name: "mode",
        python: Some("mode"),
        flag: Some("mode"),
        kind: SettingKind::Word(words::<Mode>),
        default: Literal::Text("oblivious"),
        group: Group::Model,
        level: Level::Common,
        help: &[
            "Where the influence of S is removed.",
            "oblivious: from the features, before learning. m-oblivious: from the score of a plain model, for chains S → X → Y; \
             offsets come from folds where the training rows also estimate. plain: nowhere. sensitive-free: learn a score whose \
             mean is the same in every cell; it needs no sensitive values to predict and costs more accuracy.",
        ],
        used_by: SCORES,
        ..PLAIN
    },
    Setting {
        name: "strength",
        python: Some("strength"),
        flag: Some("strength"),
        kind: SettingKind::Number(Range::Share),
        default: Literal::Number(1.0),
        group: Group::Model,
        level: Level::Common,
        help: &[
            "Share of the conditional mean that is removed, 0 to 1.",
            "At 1 the mean score is equal in every cell of the reference rows (conditional mean by cells). At 0 nothing is removed.",
        ],
        used_by: &[
            Fitter::Ridge,
            Fitter::Svc,
            Fitter::Logistic,
            Fitter::Transformer,
            Fitter::Kernel,
            Fitter::Offset,
            Fitter::Release,
        ],
        ..PLAIN
    },
    Setting {
        name: "align",
        python: Some("align"),
        flag: Some("align"),
        kind: SettingKind::Word(words::<AlignMethod>),
        group: Group::Model,
        level: Level::Common,
        requires: Some("target"),
        help: &[
            "Make the distribution of the score equal given S.",
            "A second stage on the score. location-scale makes its mean and spread the same whatever the sensitive values are, \
             quantile its whole distribution. Without it means are equal, which is not independence.",
        ],
        used_by: SCORES,
        ..PLAIN
    },
    Setting {
        name: "align_strength",
        python: Some("align_strength"),
        flag: Some("align-strength"),
        kind: SettingKind::Number(Range::Share),
        default: Literal::Number(1.0),
        group: Group::Model,
        requires: Some("align"),
        help: &[
            "Share of the alignment that is applied, 0 to 1.",
            "0 leaves the score unchanged, 1 makes the distributions equal.",
        ],
        used_by: SCORES,
        ..PLAIN
    },
    Setting {
        name: "alpha",
        python: Some("alpha"),
        flag: Some("alpha"),
        kind: SettingKind::Text("float", penalty),
        default: Literal::Number(1.0),
        group: Group::Model,
        level: Level::Common,
        help: &[
            "Penalty of ridge regression; the program also knows auto.",
            "Larger is smoother. auto takes the penalty with the least leave-one-out error; in Python that is ObliviousRidgeCV.",
        ],
        used_by: &[Fitter::Ridge, Fitter::Moments, Fitter::Frontier],
        ..PLAIN
    },
    Setting {
        name: "alphas",
        python: Some("alphas"),
        kind: SettingKind::Object("sequence of floats or None"),
        group: Group::Model,
        level: Level::Common,
        help: &[
            "Penalties to try.",
            "None is 16 of them from a millionth to a thousand.",
        ],
        used_by: &[Fitter::RidgeCv],
        ..PLAIN
    },
    Setting {
        name: "gammas",
        python: Some("gammas"),
        kind: SettingKind::Object("\"auto\", None or sequence of floats"),
        default: Literal::Text("auto"),
        group: Group::Model,
        level: Level::Common,
        help: &[
            "Values of gamma to try.",
            "\"auto\" tries one sixteenth to sixteen times the gamma of the kernel, None the gamma of the kernel alone.",
        ],
        used_by: &[Fitter::RidgeCv],
        ..PLAIN
    },
    Setting {
        name: "strengths",
        python: Some("strengths"),
        kind: SettingKind::Object("sequence of floats"),
        default: Literal::Numbers(&[1.0]),
        group: Group::Model,
        help: &["Strengths to try: all are in ``path_``, and the largest is fitted."],
        used_by: &[Fitter::RidgeCv],
        ..PLAIN
    },
    Setting {
        name: "cost",
        python: Some("C"),
        flag: Some("cost"),
        kind: SettingKind::Number(Range::Positive),
        default: Literal::Number(1.0),
        group: Group::Model,
        level: Level::Common,
        help: &[
            "Cost of an error of svm or logistic, one over the penalty.",
            "Larger fits the training rows more closely.",
        ],
        used_by: CLASSIFIERS,
        ..PLAIN
    },
    Setting {
        name: "intercept",
        python: Some("fit_intercept"),
        flag: Some("intercept"),
        bare: Some("yes"),
        kind: SettingKind::Word(|| vec!["auto", "yes", "no"]),
        default: Literal::Text("auto"),
        // Python says yes or no, as scikit-learn does.
        exceptions: &[
            (Fitter::Ridge, Literal::Switch(false)),
            (Fitter::RidgeCv, Literal::Switch(false)),
            (Fitter::Svc, Literal::Switch(true)),
            (Fitter::Logistic, Literal::Switch(true)),
        ],
        group: Group::Model,
        help: &[
            "Learn a constant, without a penalty.",
            "By default classifiers learn one and ridge regression does not.",
        ],
        used_by: LEARNERS,
        ..PLAIN
    },
    Setting {
        name: "solver",
        python: Some("solver"),
        flag: Some("solver"),
        kind: SettingKind::Word(words::<Solver>),
        default: Literal::Text("auto"),
        group: Group::Model,
        help: &[
            "Algorithm that solves the problem on the exact path.",
            "For ridge regression: cholesky (a factor in double precision), mixed (a factor in single precision and conjugate \
             gradients in double) or pcg (conjugate gradients that need no matrix in memory). For a support vector machine: smo or \
             interior. Logistic regression has one way. auto chooses by the number of rows and by how fast the algorithm converges.",
        ],
        used_by: &[Fitter::Ridge, Fitter::Svc, Fitter::Frontier],
        ..PLAIN
    },
    Setting {
        name: "intervals",
        python: Some("intervals"),
        flag: Some("intervals"),
        bare: Some("auto"),
        kind: SettingKind::Word(words::<IntervalSource>),
        group: Group::Model,
        requires: Some("target"),
        help: &[
            "Keep residuals of held-out rows, for intervals of predictions.",
            "loo takes them by leave-one-out in closed form (exact with the conditional means held fixed; not on landmarks, nor with an \
             alignment), folds by five fits to four fifths of the rows. auto takes the first where it can. The rows must fit into \
             memory.",
        ],
        used_by: &[Fitter::Ridge, Fitter::RidgeCv],
        ..PLAIN
    },
    Setting {
        name: "class_weight",
        python: Some("class_weight"),
        form: Some("None, \"balanced\" or dict"),
        flag: Some("class-weight"),
        kind: SettingKind::Word(|| vec!["equal", "balanced"]),
        default: Literal::Text("equal"),
        // Python takes a dictionary too, as scikit-learn does, and None is equal.
        exceptions: &[
            (Fitter::Svc, Literal::Absent),
            (Fitter::Logistic, Literal::Absent),
        ],
        group: Group::Classes,
        help: &[
            "Weight of the rows of each class in the loss.",
            "balanced lets both sides of a decision count the same. Python also takes a dictionary with a factor for each class, and None \
             for equal. The conditional means do not depend on it.",
        ],
        used_by: CLASSIFIERS,
        ..PLAIN
    },
    Setting {
        name: "threshold",
        python: Some("threshold"),
        flag: Some("threshold"),
        kind: SettingKind::Text("\"zero\", \"base-rate\" or float", reads::<Threshold>),
        default: Literal::Text("zero"),
        group: Group::Classes,
        help: &[
            "Line between two classes: zero, base-rate or a share.",
            "zero is the score zero. base-rate puts the share of positive training rows above the line, a number such as 0.3 that share \
             of them. The line is the same for all rows, whatever their sensitive values.",
        ],
        used_by: CLASSIFIERS,
        ..PLAIN
    },
    Setting {
        name: "gap",
        python: Some("tol"),
        flag: Some("gap"),
        kind: SettingKind::Number(Range::Inside),
        // The rule of the program, as numbers.
        exceptions: &[
            (Fitter::Svc, Literal::Number(1e-5)),
            (Fitter::Logistic, Literal::Number(1e-12)),
        ],
        group: Group::Classes,
        help: &[
            "Relative duality gap to reach.",
            "By this share the objective may miss its optimum. By default 1e-5 for svm and 1e-12 for logistic.",
        ],
        used_by: CLASSIFIERS,
        ..PLAIN
    },
    Setting {
        name: "max_steps",
        python: Some("max_iter"),
        flag: Some("max-steps"),
        kind: SettingKind::Count(1),
        group: Group::Classes,
        help: &[
            "Largest number of steps of the solver.",
            "By default the solver's own limit. A warning says if it has not converged by then.",
        ],
        used_by: CLASSIFIERS,
        ..PLAIN
    },
    Setting {
        name: "memory",
        flag: Some("memory"),
        kind: SettingKind::Count(0),
        group: Group::Classes,
        help: &[
            "Megabytes for the matrix or the features of a classifier.",
            "By default most of the free memory. Rows beyond it are computed again whenever they are needed.",
        ],
        used_by: CLASSIFIERS,
        ..PLAIN
    },
    Setting {
        name: "parity",
        python: Some("parity"),
        flag: Some("parity"),
        kind: SettingKind::Word(words::<Parity>),
        default: Literal::Text("demographic-parity"),
        group: Group::SensitiveFree,
        help: &[
            "Rows whose mean scores are equal in the mode sensitive-free.",
            "demographic-parity: all rows. equal-opportunity: rows of the positive class.",
        ],
        used_by: CLASSIFIERS,
        ..PLAIN
    },
    Setting {
        name: "eta",
        python: Some("eta"),
        flag: Some("eta"),
        kind: SettingKind::Number(Range::Positive),
        group: Group::SensitiveFree,
        excludes: Some("epsilon"),
        help: &[
            "Penalty on differences of mean scores, instead of none allowed.",
            "For the mode sensitive-free.",
        ],
        used_by: &[
            Fitter::Ridge,
            Fitter::Svc,
            Fitter::Logistic,
            Fitter::Frontier,
        ],
        ..PLAIN
    },
    Setting {
        name: "epsilon",
        python: Some("epsilon"),
        flag: Some("epsilon"),
        kind: SettingKind::Number(Range::NotNegative),
        default: Literal::Number(0.0),
        group: Group::SensitiveFree,
        help: &[
            "Largest allowed difference of a mean score from the overall mean.",
            "For the mode sensitive-free of a support vector machine.",
        ],
        used_by: &[Fitter::Svc, Fitter::Frontier],
        ..PLAIN
    },
];

/// A penalty: a number, or the word `auto`.
fn penalty(text: &str) -> Result<()> {
    if text == "auto" || text.parse::<f64>().is_ok() {
        return Ok(());
    }
    Err(Error::InvalidParameter {
        name: "alpha",
        expected: "a number or `auto`",
        value: format!("`{text}`"),
    })
}
