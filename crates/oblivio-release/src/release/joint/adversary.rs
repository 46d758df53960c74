//! How much an adversary finds of S in the places of rows that taught nothing.

use oblivio::Sensitive;
use oblivio::sensitive::Kind;
use oblivio_audit::sibling::prepared;
use oblivio_audit::{AdversaryScore, AdversarySettings, Resampling, adversary};
use oblivio_base::{Column, Error, Result, Watch};

/// Landmarks of the adversary.
const COMPONENTS: usize = 100;
/// Chance alone gives a finding in one case of this many, over all sensitive columns.
const CASES: usize = 20;

/// Rows that judge a release while it is fitted.
pub(super) struct Judge<'a> {
    pub(super) sensitive: &'a Sensitive,
    pub(super) kinds: Vec<(&'a str, Kind)>,
    pub(super) weights: &'a [f64],
    pub(super) seed: u64,
}

/// What the adversary found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Finding {
    /// How far its scores are above their level under independence, summed over the sensitive columns as correlations are: twice an AUC, and
    /// the root of an R².
    pub(super) excess: f64,
    /// Whether a score is beyond chance.
    pub(super) beyond_chance: bool,
}

impl Judge<'_> {
    /// Predicts each sensitive column from these columns.
    pub(super) fn find(&self, columns: &[Column], watch: &Watch) -> Result<Finding> {
        let mut finding = Finding::default();
        let cases = CASES * self.kinds.len();
        for (name, kind) in &self.kinds {
            let own = self.sensitive.column(name)?;
            let known: Vec<usize> = match kind {
                Kind::Categorical => (0..own.len()).collect(),
                Kind::Continuous => {
                    let missing = own.missing();
                    let known = |row: &usize| missing.binary_search(row).is_err();
                    (0..own.len()).filter(known).collect()
                }
            };
            let columns: Vec<Column> = columns.iter().map(|c| c.select(&known)).collect();
            let (columns, _) = prepared(&columns)?;
            if columns.is_empty() {
                continue;
            }
            let weights: Vec<f64> = known.iter().map(|&i| self.weights[i]).collect();
            let settings = AdversarySettings {
                components: COMPONENTS,
                seed: self.seed,
                ..AdversarySettings::default()
            };
            let resampling = Resampling {
                permutations: (cases - 1).max(19),
                resamples: 19,
                seed: self.seed,
                ..Resampling::default()
            };
            let own = own.select(&known);
            match adversary(
                &columns,
                &own,
                *kind,
                Some(&weights),
                &settings,
                &resampling,
                watch,
            ) {
                Ok(found) => {
                    let measured = found.measured;
                    let above = (measured.value - measured.expected).max(0.0);
                    finding.beyond_chance |= measured.p_value * cases as f64 <= 1.0 + 1e-9;
                    finding.excess += match found.score {
                        AdversaryScore::Auc => 2.0 * above,
                        AdversaryScore::RSquared => above.sqrt(),
                    };
                }
                Err(Error::TooFewRows { .. }) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(finding)
    }
}
