//! The three numbers.

use oblivio_audit::Measure;

use super::{Figure, LEADING};
use crate::pair::Change;
use crate::text::inline;
use crate::words::{value_in_words, words};

/// One number about means or decisions, one about distributions, one about what an adversary finds; if there are
/// none of a kind, the next measures there are.
pub(crate) fn figures(changes: &[Change]) -> Vec<Figure> {
    const KINDS: &[&[Measure]] = &[
        LEADING,
        &[
            Measure::Beta,
            Measure::KolmogorovSmirnov,
            Measure::Wasserstein,
            Measure::ParityRatio,
            Measure::MeanGap,
        ],
        &[
            Measure::Adversary,
            Measure::AdversaryLinear,
            Measure::Hsic,
            Measure::DistanceCorrelation,
        ],
    ];
    let mut left: Vec<&Change> = changes.iter().collect();
    let mut chosen = Vec::new();
    for kind in KINDS {
        let at = kind.iter().find_map(|measure| {
            left.iter()
                .position(|change| change.now.measure == *measure)
        });
        if let Some(at) = at {
            chosen.push(left.remove(at));
        }
    }
    chosen.extend(left);
    chosen.into_iter().take(3).map(figure).collect()
}

fn figure(change: &Change) -> Figure {
    Figure {
        label: words(change.now.measure).0,
        measure: change.now.measure,
        before: change.before.map(|before| before.measured.value),
        value: change.now.measured.value,
        expected: change.now.measured.expected,
        detectable: change.now.detectable,
        large: change.now.large,
        note: change.now.detail.as_deref().map(inline),
    }
}

impl Figure {
    /// A value of this measure with its unit.
    pub fn text(&self, value: f64) -> String {
        value_in_words(self.measure, value)
    }
}
