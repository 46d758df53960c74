//! The kernel, and landmarks.

use oblivio_kernels::{Gamma, Kernel, Selection};

use super::super::{Extra, Fitter, Group, Level, Literal, Range, Setting, SettingKind};
use super::{PLAIN, WITH_KERNEL, WITH_OBJECTS, reads, words};

pub(super) static SETTINGS: &[Setting] = &[
    Setting {
        name: "kernel",
        python: Some("kernel"),
        flag: Some("kernel"),
        extra: Some(Extra {
            form: "str, Kernel or callable",
            help: "On the exact path also 'precomputed', where X is the matrix of its values, or a callable of two objects, where X holds objects.",
            used_by: WITH_OBJECTS,
        }),
        kind: SettingKind::Text("str or Kernel", reads::<Kernel<Gamma>>),
        default: Literal::Text("rbf"),
        // Linear moments that were made apart go together.
        exceptions: &[(Fitter::Moments, Literal::Text("linear"))],
        group: Group::Kernel,
        level: Level::Common,
        help: &[
            "Kernel, or an expression such as 'rbf(gamma=2) + linear'.",
            "linear, poly, rbf, laplacian, matern12, matern32 or matern52, or sums and products of them.",
        ],
        used_by: WITH_KERNEL,
        ..PLAIN
    },
    Setting {
        name: "gamma",
        python: Some("gamma"),
        flag: Some("gamma"),
        kind: SettingKind::Text("float, \"scale\" or \"median\"", reads::<Gamma>),
        default: Literal::Text("scale"),
        group: Group::Kernel,
        help: &[
            "Gamma of a single kernel: a number, scale or median.",
            "scale is 1/(d·Var X) over all entries of the training X, median one over the median (squared) distance.",
        ],
        used_by: WITH_KERNEL,
        ..PLAIN
    },
    Setting {
        name: "degree",
        python: Some("degree"),
        flag: Some("degree"),
        kind: SettingKind::Count(1),
        default: Literal::Count(3),
        group: Group::Kernel,
        help: &["Degree of a single poly kernel."],
        used_by: WITH_KERNEL,
        ..PLAIN
    },
    Setting {
        name: "coef0",
        python: Some("coef0"),
        flag: Some("coef0"),
        kind: SettingKind::Number(Range::NotNegative),
        default: Literal::Number(1.0),
        group: Group::Kernel,
        help: &["Constant of a single poly kernel."],
        used_by: WITH_KERNEL,
        ..PLAIN
    },
    Setting {
        name: "components",
        python: Some("n_components"),
        flag: Some("components"),
        kind: SettingKind::Count(1),
        // Features need landmarks, and so do sums over them.
        exceptions: &[
            (Fitter::Transformer, Literal::Count(256)),
            (Fitter::Moments, Literal::Count(256)),
        ],
        group: Group::Landmarks,
        level: Level::Common,
        help: &[
            "Learn on this number of landmarks, for tables of any length.",
            "Memory does not grow with the rows. Without it a fit is exact, and its cost grows with the square of the rows. With it the kernel has Nyström features of at \
             most this number of landmarks, and the cost grows with the rows.",
        ],
        used_by: COMPONENTS,
        ..PLAIN
    },
    Setting {
        name: "landmarks",
        python: Some("landmarks"),
        flag: Some("landmarks"),
        kind: SettingKind::Word(words::<Selection>),
        default: Literal::Text("cholesky"),
        group: Group::Landmarks,
        help: &[
            "Method that chooses landmarks among the distinct rows.",
            "cholesky draws each in proportion to the part of k(x, x) that the earlier ones leave, k-means++ in proportion to the \
             squared distance from the nearest earlier one, uniform draws all alike. fourier takes random waves instead, which depend \
             on the kernel and the seed alone; they need a single rbf, laplacian or Matérn kernel and come less near to it.",
        ],
        used_by: LANDMARKS,
        ..PLAIN
    },
    Setting {
        name: "tolerance",
        python: Some("tolerance"),
        flag: Some("tolerance"),
        kind: SettingKind::Number(Range::BelowOne),
        default: Literal::Number(0.0),
        group: Group::Landmarks,
        help: &[
            "Share of the kernel's trace that landmarks may leave out.",
            "No more landmarks are added from there on. For the method cholesky only: the others cannot tell.",
        ],
        used_by: LANDMARKS,
        ..PLAIN
    },
];

/// Who chooses landmarks by a method.
const LANDMARKS: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
    Fitter::Transformer,
    Fitter::Moments,
    Fitter::Frontier,
];

/// Who can learn on landmarks.
const COMPONENTS: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
    Fitter::Transformer,
    Fitter::Moments,
    Fitter::Release,
    Fitter::Frontier,
];
