//! From reference rows to a release.

use oblivio::partition::SensitiveDesign;
use oblivio::sibling::{Observed, Of};
use oblivio::{Partition, Sensitive};
use oblivio_base::points::check_weights;
use oblivio_base::{
    Column, Encoder, Error, MISSING, Points, Result, Scaling, UnseenCategory, Values, Warning,
    Watch,
};
use oblivio_kernels::{Gamma, Kernel};

use super::apply::{Maps, Release, check_length, draws};
use super::columns::{ColumnMap, Why};
use super::form::{ColumnForm, ReadColumn};
use super::joint::JointMap;
use super::projection::{ProjectionMap, ProjectionRows};
use super::settings::{ReleaseMethod, ReleaseSettings};

/// Columns with more categories than this have no say in how S is conditioned on.
const MOST_LEVELS: usize = 100;

impl ReleaseSettings {
    /// Fits a release to reference rows. `weights` say how often each row counts; rows of weight zero teach nothing.
    ///
    /// One partition serves all columns. Where the rule leaves it open, whether S is known by cells or by smooth features follows from the
    /// leave-one-out error of a kernel's features of the columns.
    ///
    /// ```
    /// use oblivio::{Column, Sensitive, Watch};
    /// use oblivio_release::ReleaseSettings;
    /// // Group b has the same marks, three higher.
    /// let group = |i: i32| if i % 2 == 0 { "a" } else { "b" };
    /// let s = Column::texts("group", (0..40).map(|i| Some(group(i))));
    /// let mark = (0..40).map(|i| f64::from(i / 2 + 3 * (i % 2)));
    /// let x = [Column::numbers("mark", mark.collect())];
    /// let s = Sensitive::new(vec![s], 40)?;
    /// let watch = Watch::default();
    /// let (release, _) = ReleaseSettings::default().fit(&x, &s, None, &watch)?;
    /// let released = release.transform(&x, &s, &watch)?.columns[0].to_numbers()?;
    /// // The marks of the two groups are now the same, as whole numbers like before.
    /// let of = |k: usize| released.iter().skip(k).step_by(2).copied();
    /// assert!(of(0).zip(of(1)).all(|(a, b)| (a - b).abs() <= 1.0));
    /// # Ok::<(), oblivio::Error>(())
    /// ```
    pub fn fit(
        &self,
        features: &[Column],
        sensitive: &Sensitive,
        weights: Option<&[f64]>,
        watch: &Watch,
    ) -> Result<(Release, Vec<Warning>)> {
        self.check(features)?;
        check_names(features, sensitive)?;
        check_length(features.iter(), sensitive.len())?;
        let ones = vec![1.0; sensitive.len()];
        let weights = weights.unwrap_or(&ones);
        check_weights(weights, sensitive.len())?;
        let rows: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let features: Vec<Column> = features.iter().map(|c| c.select(&rows)).collect();
        let sensitive = sensitive.select(&rows);
        let weights: Vec<f64> = rows.iter().map(|&i| weights[i]).collect();
        let range = |column: &Column| self.ranges.iter().find(|r| r.column == column.name);
        let mut forms = Vec::new();
        let mut read = Vec::new();
        for column in &features {
            let form = ColumnForm::of(column, range(column))?;
            read.push(form.read(&features, self.missing, UnseenCategory::Error)?);
            forms.push(form);
        }
        let (partition, mut warnings) = self.condition(&features, &sensitive, &weights, watch)?;
        let assignment = partition.assign(&sensitive)?;
        let rows = ProjectionRows {
            forms: &forms,
            read: &read,
            partition: &partition,
            assignment: &assignment,
            sensitive: &sensitive,
            weights: &weights,
        };
        let maps = match self.method {
            ReleaseMethod::Joint => {
                let known = (&partition, &assignment);
                let maps = self.fit_columns((&forms, &read), known, &weights, watch)?;
                let draws = draws(self.seed, (&forms, &features), (&partition, &sensitive))?;
                Maps::Joint(JointMap::fit(&rows, maps, (&draws, self.seed), watch)?)
            }
            ReleaseMethod::Quantile | ReleaseMethod::Residual => {
                let known = (&partition, &assignment);
                let maps = self.fit_columns((&forms, &read), known, &weights, watch)?;
                warnings.extend(left_columns(&forms, &maps));
                Maps::Columns(maps)
            }
            ReleaseMethod::Projection => {
                let knobs = (self.strength, self.seed);
                let (map, remarks) = ProjectionMap::fit(&self.projection, &rows, knobs, watch)?;
                warnings.extend(remarks);
                Maps::Together(map)
            }
        };
        let release = Release {
            method: self.method,
            strength: self.strength,
            missing: self.missing,
            unseen: self.partition.policies.category,
            seed: self.seed,
            partition,
            forms,
            maps,
        };
        Ok((release, warnings))
    }

    /// One map for each column.
    fn fit_columns(
        &self,
        (forms, read): (&[ColumnForm], &[ReadColumn]),
        known: (&Partition, &SensitiveDesign),
        weights: &[f64],
        watch: &Watch,
    ) -> Result<Vec<ColumnMap>> {
        watch.begin("fitting columns", forms.len())?;
        let mut maps = Vec::new();
        for (form, read) in forms.iter().zip(read) {
            maps.push(ColumnMap::fit(
                self.method,
                form,
                &read.values,
                known,
                weights,
            )?);
            watch.advance();
            watch.check()?;
        }
        Ok(maps)
    }

    /// What is known of S, for all columns together.
    fn condition(
        &self,
        features: &[Column],
        sensitive: &Sensitive,
        weights: &[f64],
        watch: &Watch,
    ) -> Result<(Partition, Vec<Warning>)> {
        let points = points(features, weights)?;
        let kernel = Kernel::Gaussian {
            gamma: Gamma::Scale,
        };
        let kernel = kernel.resolve(&points, weights, self.seed)?;
        let of = Of::Features(&kernel, &points);
        let table = Observed::new(sensitive, weights, of, self.seed);
        Partition::conditioned(&self.partition, table, watch)
    }
}

/// A remark on the columns that the method cannot change, if there are any.
fn left_columns(forms: &[ColumnForm], maps: &[ColumnMap]) -> Option<Warning> {
    let left = |(map, form): (&ColumnMap, &ColumnForm)| {
        matches!(map, ColumnMap::Kept(Why::Categories)).then(|| form.name.clone())
    };
    let columns: Vec<String> = maps.iter().zip(forms).filter_map(left).collect();
    (!columns.is_empty()).then_some(Warning::LeftColumns { columns })
}

/// Refuses no columns at all, the same name twice, and the release of what is to be removed.
fn check_names(features: &[Column], sensitive: &Sensitive) -> Result<()> {
    if features.is_empty() {
        return Err(Error::InvalidParameter {
            name: "the number of columns to release",
            expected: "at least 1",
            value: "0".into(),
        });
    }
    for column in features {
        let count = features.iter().filter(|c| c.name == column.name).count();
        if count > 1 {
            return Err(Error::DuplicateColumn {
                name: column.name.clone(),
                count,
            });
        }
        if sensitive.columns().iter().any(|s| s.name == column.name) {
            return Err(Error::InvalidParameter {
                name: "a column to release",
                expected: "none of the sensitive ones: leave it out",
                value: format!("`{}`", column.name),
            });
        }
    }
    Ok(())
}

/// Standardised points of the columns: a missing number is the mean, a missing category one of its own.
fn points(features: &[Column], weights: &[f64]) -> Result<Points<'static>> {
    let columns: Vec<Column> = features.iter().filter_map(filled).collect();
    if columns.is_empty() {
        return Points::new(vec![0.0; weights.len()], 1);
    }
    let encoder = Encoder::fit(&columns, Scaling::Standard, weights, UnseenCategory::Error)?;
    Ok(encoder.encode(&columns)?.0)
}

/// The column without missing values; none if it has too many categories, or no value at all.
fn filled(column: &Column) -> Option<Column> {
    let values = match &column.values {
        Values::Numbers(values) => {
            let known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            let value = |v: &f64| if v.is_nan() { mean } else { *v };
            mean.is_finite()
                .then(|| Values::Numbers(values.iter().map(value).collect()))?
        }
        Values::Categories { levels, codes } => {
            let mut levels = levels.clone();
            let missing = levels.len() as u32;
            levels.push("missing value".into());
            let code = |code: &u32| if *code == MISSING { missing } else { *code };
            let codes = codes.iter().map(code).collect();
            (levels.len() <= MOST_LEVELS).then_some(Values::Categories { levels, codes })?
        }
    };
    Some(Column {
        name: column.name.clone(),
        values,
    })
}
