//! Everything that was bounded, before anyone decides how to show it: aggregates only, no row of the table.

use serde::{Deserialize, Serialize};

use super::interval::Interval;

/// How far Z is from the manifold, what that says about the dependence of W and S, how far predictions were moved, and what held-out
/// rows say directly. Every bound says of itself whether it is vacuous: no more than holds of anything.
///
/// Its JSON form is the schema that `docs/bounds.md` describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Bounds {
    /// What is predicted.
    pub target: String,
    /// The kernel.
    pub kernel: String,
    /// t
    pub strength: f64,
    /// Of every interval and certificate, each by itself.
    pub confidence: f64,
    /// The seed of the split and the draws.
    pub seed: u64,
    /// The rows that estimate the conditional mean anew.
    pub reference_rows: usize,
    /// The other rows, which the certificates of scores are of.
    pub evaluation_rows: usize,
    /// Those of them that were projected.
    pub projected_rows: usize,
    /// The cells that have reference rows.
    pub cells: Vec<BoundCell>,
    /// Of Z to the manifold.
    pub distance: DistanceBound,
    /// h* as a multiple of the mean feature of the reference rows; 0 for none.
    pub translation: f64,
    /// ψ for events of W.
    pub dependence: Vec<DependenceBound>,
    /// ψ for events of Z: scores of oblivious features.
    pub feature_events: Vec<FeatureEventBound>,
    /// How far features of rows move when the rows are projected.
    pub moved: MoveBound,
    /// Of predictions, for every score.
    pub changes: Vec<ChangeBound>,
    /// For decisions and events of W.
    pub certificates: Vec<Certificate>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// A cell and its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BoundCell {
    /// The cell in words.
    pub label: String,
    /// Its reference rows.
    pub rows: usize,
    /// Its share of the projected rows.
    pub share: f64,
}

/// The distance of Z to the manifold φ\[𝕏\], 𝕏 being the box that holds the reference rows, and the row itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DistanceBound {
    /// ρ, the length of the longest feature in the box.
    pub norm: f64,
    /// What a distance is at most: the length of the longest shift, times t. For a regression on S it is of these rows only.
    pub range: f64,
    /// Rows whose distance is known to be the least but for a gap, which lower ends are from; for others it is what was found, at
    /// least the least.
    pub certified_rows: usize,
    /// The mean of the certified rows' gaps: the distance found less the certified lower bound on it. None without certified rows.
    pub mean_gap: Option<f64>,
    /// The largest of these gaps.
    pub largest_gap: Option<f64>,
    /// $E\min\|Z - \phi(x)\|$, which the paper's $d_n$ estimates.
    pub mean: Estimate,
    /// $(E\min\|Z - \phi(x)\|^2)^{1/2}$, the paper's d.
    pub root_mean_square: Estimate,
}

/// A mean or the root of one, with intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Estimate {
    /// On these rows.
    pub value: f64,
    /// By the empirical Bernstein inequality and the range; as the others none where the conditional mean is a regression on S, whose
    /// range is not known beforehand.
    pub bernstein: Option<Interval>,
    /// By Hoeffding's and the range.
    pub hoeffding: Option<Interval>,
    /// By Hoeffding's and the paper's range, 5ρ; the paper has none for the root mean square.
    pub paper: Option<Interval>,
}

/// How much an event A of W can depend on S, by ψ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DependenceBound {
    /// A in words.
    pub event: String,
    /// P(A) on these rows.
    pub share: f64,
    /// The largest $|P(A \cap B) - P(A)P(B)|$ on these rows, over all unions B of cells.
    pub actual: f64,
    /// The sharp bound on it, valid for these rows whatever they are.
    pub value: f64,
    /// Whether that is no less than P(A)(1 − P(A)), which holds of any event.
    pub vacuous: bool,
    /// $\|\chi_A - f(W) - c\|$ of the best f.
    pub approximation: f64,
    /// $\|f\|$
    pub norm: f64,
    /// λ of the best f; none for f = 0.
    pub penalty: Option<f64>,
    /// d, the root mean square distance.
    pub distance: f64,
    /// r, the size of what is left of the means of Z on these rows: by strengths below 1, and by estimation.
    pub left: f64,
    /// The sharp bound with r = 0, as if the conditional mean were known and t = 1.
    pub without_left: f64,
    /// The paper's ψ as it is stated: $\inf_f 2\|\chi_A - f(W)\| + \|f\|d$.
    pub paper_statement: f64,
    /// What the paper's proof gives: $\inf_f 2(\|\chi_A - f(W)\| + \|f\|d)$.
    pub paper_proof: f64,
    /// The bound for each cell, in the order of `cells`.
    pub by_cell: Vec<CellBound>,
    /// A bound on the population that holds with the confidence; none where the conditional mean is a regression on S, or features
    /// can be longer than those of the reference rows.
    pub population: Option<PopulationBound>,
}

/// How much an event A of Z can depend on S: at most $c + \psi(C)$ for any event C of W with $P(A \triangle C) \le c$.
///
/// A is that a score $\langle h, Z\rangle$ is at least its median on the reference rows, and C that h(W) is at least a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FeatureEventBound {
    /// A in words.
    pub event: String,
    /// P(A) on these rows.
    pub share: f64,
    /// The largest $|P(A \cap B) - P(A)P(B)|$ on these rows, over all unions B of cells.
    pub actual: f64,
    /// The sharp bound on it, $c + \psi(C)$ with the best C that was tried, valid for these rows whatever they are.
    pub value: f64,
    /// Whether that is no less than P(A)(1 − P(A)), which holds of any event.
    pub vacuous: bool,
    /// c, the share of rows in one of A and C only.
    pub mismatch: f64,
    /// The sharp ψ(C).
    pub projected: f64,
    /// Where C begins, before any offset.
    pub threshold: f64,
    /// The paper's $2c + \inf\psi$, with its ψ as it is stated.
    pub paper_statement: f64,
    /// The same with ψ as the paper's proof gives it.
    pub paper_proof: f64,
}

/// How far rows move when they are projected: $\|\phi(W) - \phi(X)\| \le 2\|Z + h^* - \phi(X)\|$, since W is no farther from Z + h* than X.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MoveBound {
    /// The mean of $\|\phi(W) - \phi(X)\|$ on these rows.
    pub mean: f64,
    /// The mean of $2\|Z + h^* - \phi(X)\|$, its bound.
    pub value: f64,
    /// The largest share of a row's own bound that it moves: at most 1.
    pub largest_share: f64,
    /// Whether the bound is no less than the distance of any two features of the region.
    pub vacuous: bool,
}

/// ψ for one cell B.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CellBound {
    /// $|P(A \cap B) - P(A)P(B)|$ on these rows.
    pub actual: f64,
    /// The sharp bound on it.
    pub value: f64,
    /// Whether that is no less than what holds of any two events of these probabilities.
    pub vacuous: bool,
}

/// ψ for the population: f, λ and c from half of the projected rows, looked at once on the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PopulationBound {
    /// For all unions of cells.
    pub value: f64,
    /// Whether that is ¼ or more, which holds of any event.
    pub vacuous: bool,
    /// What $\|\chi_A - f(W) - c\|$ is at most.
    pub approximation: f64,
    /// $\|f\|$
    pub norm: f64,
    /// What d is at most.
    pub distance: f64,
    /// What r is at most: the error of the means of the cells, and what a strength below 1 leaves.
    pub left: f64,
}

/// How far the predictions of one score were moved: $t|\langle h, \delta\rangle| \le t\|h\|\|\delta\|$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangeBound {
    /// The score: the target, or the class it is for.
    pub score: String,
    /// $\|h\|$, the intercept apart.
    pub norm: f64,
    /// In the order of `cells`.
    pub by_cell: Vec<CellChange>,
}

/// How far predictions were moved in one cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CellChange {
    /// $\|\delta\|$; the largest of the cell's reference rows, where it differs among them.
    pub shift: f64,
    /// Its mean over them.
    pub mean_shift: f64,
    /// $t\|h\|\|\delta\|$
    pub value: f64,
    /// $t|\langle h, \delta\rangle|$ with the shift estimated on the reference rows; the largest, where it differs.
    pub realised: f64,
    /// Whether the bound is no less than the spread of h on the reference rows, which no difference of two of its means exceeds.
    pub vacuous: bool,
    /// $t\,b_c$, which the model takes off.
    pub offset: f64,
}

/// What the held-out rows say directly about an event and the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Certificate {
    /// What is certified: an event, or the scores as a whole.
    pub event: String,
    /// Where the event begins, if it is one of numbers from some value on: in units of the model, which may differ from the table's.
    pub threshold: Option<f64>,
    /// How dependence is measured.
    pub measure: CertificateMeasure,
    /// The rows.
    pub rows: usize,
    /// On these rows.
    pub found: f64,
    /// What it is at most in the population, with the confidence.
    pub value: f64,
    /// Whether that holds of anything.
    pub vacuous: bool,
}

/// How a certificate measures dependence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateMeasure {
    /// The largest $|P(A \cap B) - P(A)P(B)|$ over all unions B of cells.
    Alpha,
    /// $\beta = \frac12\sum_{cj}|p_{cj} - p_cp_j|$ of cells and ten bins of the scores.
    Beta,
}

impl CertificateMeasure {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
        }
    }
}
