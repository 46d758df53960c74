//! Texts that people write: kernels, numbers of cells, thresholds, names of choices.

use oblivio::align::AlignMethod;
use oblivio::classes::Threshold;
use oblivio::partition::{Binning, CellCount, EmptyCell, Estimator, Missing, OutOfRange};
use oblivio::{Kernel, Mode, Points, Watch};
use oblivio_audit::Measure;
use oblivio_base::{Named, UnseenCategory};
use oblivio_fuzz::{Random, Target, fuzz};
use oblivio_kernels::learn::{Learner, Solver};
use oblivio_kernels::{Gamma, KernelMatrix, Selection};
use oblivio_release::ReleaseMethod;

const TEXTS: Target = Target {
    name: "kernel-text",
    usual: 20_000,
    memory: 1 << 20,
    memory_per_byte: 4096,
    share: 1,
};

/// Words of a grammar in any order, then damaged more often than not.
fn spelt(words: &[&str], random: &mut Random) -> Vec<u8> {
    let count = 1 + random.below(12);
    let mut bytes: Vec<u8> = (0..count)
        .flat_map(|_| random.pick(words).bytes())
        .collect();
    if random.once_in(2) {
        random.damage(&mut bytes);
    }
    bytes
}

/// What is read can be written, read again as the same, and used.
#[test]
fn kernel_texts() {
    let whole = [
        "2 * rbf(gamma=0.5) * linear + poly(degree=2, gamma=1, coef0=1)",
        "laplacian",
        "matern52(gamma=median)",
    ];
    let words = [
        "rbf",
        "linear",
        "poly",
        "laplacian",
        "matern12",
        "(",
        ")",
        "gamma=",
        "degree=",
        "coef0=",
        ",",
        " + ",
        " * ",
        "2",
        "0.5",
        "-1",
        "1e308",
        "1e-320",
        "scale",
        "median",
        "1e",
        "64",
        " ",
        "é",
        "((((((((",
    ];
    let points = Points::new(vec![0.0, 1.0, -2.0, 0.5], 2).unwrap();
    fuzz(
        TEXTS,
        &whole.map(|text| text.as_bytes().to_vec()),
        |random| match random.below(3) {
            0 => spelt(&words, random),
            1 => random.pick(&whole).as_bytes().to_vec(),
            _ => {
                let mut bytes = random.pick(&whole).as_bytes().to_vec();
                random.damage(&mut bytes);
                bytes
            }
        },
        |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let Ok(kernel) = text.parse::<Kernel<Gamma>>() else {
                return false;
            };
            assert_eq!(kernel.to_string().parse::<Kernel<Gamma>>().unwrap(), kernel);
            if let Ok(kernel) = kernel.resolve(&points, &[1.0; 2], 0) {
                let _ = KernelMatrix::of(&kernel, &points).entries(&Watch::default());
            }
            true
        },
    );
}

fn is_named<T: Named>(text: &str) -> bool {
    T::named(text).is_ok()
}

#[test]
fn words() {
    let words = [
        "auto",
        "3",
        "0",
        "-1",
        "1e9",
        "18446744073709551615",
        "4294967296",
        "0.5",
        "prevalence",
        "accuracy",
        "cells",
        "smooth",
        "linear",
        "quantile",
        "dyadic",
        "ridge",
        "svm",
        "logistic",
        "oblivious",
        "plain",
        "error",
        "nan",
        "inf",
    ];
    let readers: [fn(&str) -> bool; 16] = [
        |text| {
            text.parse::<CellCount>()
                .is_ok_and(|count| count.resolve(100, 3) > 0)
        },
        |text| text.parse::<Threshold>().is_ok(),
        |text| text.parse::<Gamma>().is_ok(),
        is_named::<Mode>,
        is_named::<Learner>,
        is_named::<Solver>,
        is_named::<Binning>,
        is_named::<Estimator>,
        is_named::<Missing>,
        is_named::<EmptyCell>,
        is_named::<OutOfRange>,
        is_named::<UnseenCategory>,
        is_named::<AlignMethod>,
        is_named::<Selection>,
        is_named::<ReleaseMethod>,
        is_named::<Measure>,
    ];
    let target = Target {
        name: "words",
        ..TEXTS
    };
    fuzz(
        target,
        &[b"auto".to_vec()],
        |random| {
            let mut bytes = random.pick(&words).as_bytes().to_vec();
            if random.once_in(2) {
                random.damage(&mut bytes);
            }
            bytes
        },
        |bytes| {
            let text = String::from_utf8_lossy(bytes);
            readers.iter().filter(|read| read(&text)).count() > 0
        },
    );
}
