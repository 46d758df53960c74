//! What a release does to rows that it was not fitted on.

use oblivio::Sensitive;
use oblivio::partition::{PartitionRule, Policies};
use oblivio_audit::sibling::{Parts, split};
use oblivio_audit::{Audit, AuditRows, AuditSettings};
use oblivio_base::points::check_weights;
use oblivio_base::{Column, Error, Named, Result, UnseenCategory, Warning, Watch, random};

use super::apply::{Maps, Release, Released};
use super::columns::ColumnMap;
use super::measures::{column_reports, utility};
use super::report::ReleaseReport;
use super::settings::{MissingValues, ReleaseMethod, ReleaseSettings};

/// The rows of a study: columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseRows {
    /// What is released.
    pub features: Vec<Column>,
    /// S
    pub sensitive: Sensitive,
    /// What is not released, but may be learned from what is.
    pub target: Option<Column>,
    /// How much each row counts.
    pub weights: Option<Vec<f64>>,
}

/// How a release is studied.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySettings {
    /// The share of rows held out of the fit; all numbers are theirs.
    pub held_out: f64,
    /// How dependence is measured.
    pub audit: AuditSettings,
    /// The most rows that are looked at; of more, a sample by seed.
    pub most_rows: usize,
}

impl Default for StudySettings {
    fn default() -> Self {
        Self {
            held_out: 0.3,
            audit: AuditSettings::default(),
            most_rows: 100_000,
        }
    }
}

/// Fewer rows cannot fit a release and judge it.
const LEAST_ROWS: usize = 10;

impl StudySettings {
    /// Refuses a share of rows, or numbers of draws, that no study can have.
    pub fn check(&self) -> Result<()> {
        if !(self.held_out > 0.0 && self.held_out < 1.0) {
            return Err(Error::InvalidParameter {
                name: "the share of rows held out",
                expected: "above 0 and below 1",
                value: self.held_out.to_string(),
            });
        }
        self.audit.resampling.check()
    }
}

impl ReleaseRows {
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let weights = self.weights.as_ref();
        Self {
            features: self.features.iter().map(|c| c.select(rows)).collect(),
            sensitive: self.sensitive.select(rows),
            target: self.target.as_ref().map(|c| c.select(rows)),
            weights: weights.map(|weights| rows.iter().map(|&i| weights[i]).collect()),
        }
    }

    fn check(&self) -> Result<()> {
        let needed = self.sensitive.len();
        for column in self.features.iter().chain(&self.target) {
            if column.len() != needed {
                return Err(Error::Length {
                    what: "a column of the study",
                    found: column.len(),
                    needed,
                });
            }
        }
        if let Some(target) = &self.target
            && self.features.iter().any(|c| c.name == target.name)
        {
            return Err(Error::InvalidParameter {
                name: "the target of a study",
                expected: "none of the released columns: leave it out of one of the two",
                value: format!("`{}`", target.name),
            });
        }
        self.weights
            .as_ref()
            .map_or(Ok(()), |weights| check_weights(weights, needed))
    }
}

impl ReleaseSettings {
    /// Fits on some of the rows, releases the others and measures these: how much they depend on S before and after, how far values
    /// moved, and what can still be learned from them. Rows of the fit are never measured.
    ///
    /// A category that only held-out rows have is no mistake of theirs: it is left as it is, or taken as the whole population, whatever
    /// the policy for unknown categories.
    pub fn study(
        &self,
        rows: &ReleaseRows,
        study: &StudySettings,
        watch: &Watch,
    ) -> Result<ReleaseReport> {
        rows.check()?;
        study.check()?;
        let weight = |i: &usize| {
            rows.weights
                .as_ref()
                .is_none_or(|weights| weights[*i] > 0.0)
        };
        let counted: Vec<usize> = (0..rows.sensitive.len()).filter(weight).collect();
        let looked_at = random::sample(&counted, study.most_rows, self.seed);
        if looked_at.len() < LEAST_ROWS {
            return Err(Error::TooFewRows {
                what: "a table whose release is judged on some of its rows",
                found: looked_at.len(),
                needed: LEAST_ROWS,
            });
        }
        let Parts { training, held_out } = split(looked_at.len(), None, study.held_out, self.seed)?;
        let part = |part: &[usize]| {
            let rows_of: Vec<usize> = part.iter().map(|&i| looked_at[i]).collect();
            rows.select(&rows_of)
        };
        let (taught, held) = (part(&training), part(&held_out));
        let settings = self.lenient(&rows.sensitive);
        let weights = taught.weights.as_deref();
        let (release, warnings) =
            settings.fit(&taught.features, &taught.sensitive, weights, watch)?;
        let released = release.transform(&held.features, &held.sensitive, watch)?;
        let audit = AuditSettings {
            rule: study.audit.rule.settled(&rows.sensitive),
            ..study.audit.clone()
        };
        let before = audited(&audit, &held, &held.features, watch)?;
        let after = audited(&audit, &held, &released.columns, watch)?;
        let (utility, remarks) = utility(&held, &released.columns, &audit.resampling, watch)?;
        let certified = release.certificate(&held.features, &held.sensitive, watch)?;
        let mut notes = notes(&release, &released, &warnings);
        if release.method == ReleaseMethod::Projection && certified.is_none() {
            notes.push("uncertified: whether a better place was left out is certified for at most three columns of numbers and few kinds of the others".into());
        }
        notes.extend(remarks);
        Ok(ReleaseReport {
            method: self.method.name().into(),
            rows: looked_at.len(),
            training_rows: training.len(),
            held_out_rows: held_out.len(),
            sensitive: release
                .sensitive_columns()
                .into_iter()
                .map(Into::into)
                .collect(),
            before,
            after,
            columns: column_reports(&release, &held, &released.columns),
            utility,
            path: match &release.maps {
                Maps::Columns(_) | Maps::Joint(_) => Vec::new(),
                Maps::Together(map) => map.path.clone(),
            },
            certified,
            notes,
        })
    }

    /// The same, refusing nothing that only some of the rows have; kinds of sensitive columns are those of all rows.
    fn lenient(&self, sensitive: &Sensitive) -> Self {
        let policies = self.partition.policies;
        let category = match policies.category {
            UnseenCategory::Error => UnseenCategory::Population,
            other => other,
        };
        let policies = Policies {
            category,
            ..policies
        };
        Self {
            partition: PartitionRule {
                policies,
                ..self.partition.settled(sensitive)
            },
            ..self.clone()
        }
    }
}

fn audited(
    settings: &AuditSettings,
    held: &ReleaseRows,
    features: &[Column],
    watch: &Watch,
) -> Result<Audit> {
    let rows = AuditRows {
        subjects: Vec::new(),
        features: features.to_vec(),
        whole_table: true,
        sensitive: held.sensitive.clone(),
        truth: None,
        control: Vec::new(),
        weights: held.weights.clone(),
    };
    settings.run(&rows, watch)
}

/// What the reader should know.
fn notes(release: &Release, released: &Released, warnings: &[Warning]) -> Vec<String> {
    let mut notes = vec![
        "a released table is not anonymised: its rows are still those of people, and some can be found again".into(),
        "all numbers here are of rows that the release was not fitted on".into(),
    ];
    match &release.maps {
        Maps::Together(map) => {
            notes.push("the bandwidth was chosen on a sample of the reference rows, without a target; narrow kernels leave rows where they are".into());
            notes.extend(
                map.landmarks
                    .map(|count| format!("{count} landmarks stand for the reference rows")),
            );
        }
        Maps::Columns(_) => notes.push(
            "each column is repaired by itself: what columns say of S only together is left, and the adversary's score shows how much"
                .into(),
        ),
        Maps::Joint(map) => {
            let (tried, kept) = map.rounds;
            notes.push(format!(
                "after each column by itself, all columns were aligned together: {kept} of {tried} rounds were kept, chosen by an adversary on rows of the fit that were held out for it"
            ));
        }
    }
    if release.strength < 1.0 {
        notes.push(format!(
            "at strength {} some of the dependence is left on purpose",
            release.strength
        ));
    }
    if release.missing == MissingValues::Keep {
        notes.push("missing values stay missing: that they are may itself depend on S".into());
    }
    let maps: Vec<Option<&ColumnMap>> = match &release.maps {
        Maps::Columns(maps) => maps.iter().map(Some).collect(),
        Maps::Together(_) => Vec::new(),
        Maps::Joint(map) => (0..release.forms.len()).map(|k| map.map(k)).collect(),
    };
    for (which, sentence) in [
        (
            ColumnMap::is_drawn as fn(&ColumnMap) -> bool,
            "values are drawn by seed and the row's own contents, so that equal values can come out different, in",
        ),
        (
            ColumnMap::is_placed,
            "only the places of equal or neighbouring values are drawn by seed and the row's own contents in",
        ),
        (
            ColumnMap::is_residual,
            "only whether a value is rounded up or down is drawn by seed and the row's own contents in",
        ),
    ] {
        let own = maps.iter().zip(release.columns());
        let own = own.filter(|(map, _)| map.is_some_and(which));
        let names: Vec<String> = own.map(|(_, name)| format!("`{name}`")).collect();
        if !names.is_empty() {
            notes.push(format!("{sentence} {}", names.join(", ")));
        }
    }
    if released.clipped > 0 {
        notes.push(format!(
            "{} held-out values lay outside the range of their column and were moved to its end",
            released.clipped
        ));
    }
    if released.unseen > 0 {
        notes.push(format!(
            "{} held-out values are of categories that no reference row has, and were left as they are",
            released.unseen
        ));
    }
    notes.extend(warnings.iter().map(ToString::to_string));
    notes
}
