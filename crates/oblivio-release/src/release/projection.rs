//! All columns together: the row whose features are nearest to oblivious ones.

use faer::MatRef;
use oblivio::model::file::Smooth;
use oblivio::partition::SensitiveDesign;
use oblivio::sensitive::Kind;
use oblivio::{ConditionalMean, Partition, Sensitive};
use oblivio_audit::sibling::prepared;
use oblivio_audit::{HsicSettings, HsicSide, Resampling, hsic};
use oblivio_base::error::require;
use oblivio_base::stats::Spread;
use oblivio_base::{Column, Error, Points, Result, Warning, Watch, random};
use oblivio_kernels::{Components, FeatureMap, Kernel};
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::form::{ColumnForm, Form, ReadColumn};
use super::report::{ReleaseCertificate, ReleasePathPoint};
use super::settings::{Discrete, ProjectionRule};
use crate::manifold::{Certify, Manifold, ManifoldParts, Projected, Region, Search, Span, Stepped};

/// More reference rows than this are stood for by landmarks, unless their number is given.
const MOST_EXACT: usize = 5000;
const LANDMARKS: usize = 1000;
/// Rows on which bandwidths are compared.
const PATH_ROWS: usize = 500;
/// Rows that are certified, and boxes for each of them.
const CERTIFIED_ROWS: usize = 100;
const MOST_BOXES: f64 = 2000.0;
/// Kernel values that certificates may take, of the Gaussian kernel and of others.
const CERTIFIED_VALUES: (f64, f64) = (1e9, 5e7);
/// Whole numbers of a wider range are taken as numbers, and rounded.
const MOST_STEPS: f64 = 10_000.0;
/// The share of the dependence that is there with the narrowest kernel, and may be left with the one chosen.
const LEFT: f64 = 0.1;

/// A projection of standardised rows onto the manifold of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ProjectionMap {
    manifold: ManifoldParts,
    /// The mean and standard deviation of each column of numbers; 0 and 1 of categories.
    scales: Vec<(f64, f64)>,
    discrete: Discrete,
    /// The landmarks that stand for the reference rows, if they do.
    pub(super) landmarks: Option<usize>,
    /// The bandwidths that were tried.
    pub(super) path: Vec<ReleasePathPoint>,
}

/// Reference rows as a projection sees them.
pub(super) struct ProjectionRows<'a> {
    pub(super) forms: &'a [ColumnForm],
    pub(super) read: &'a [ReadColumn],
    pub(super) partition: &'a Partition,
    pub(super) assignment: &'a SensitiveDesign,
    pub(super) sensitive: &'a Sensitive,
    pub(super) weights: &'a [f64],
}

impl ProjectionMap {
    /// Tries every bandwidth on a sample of the reference rows and keeps the projection that moves rows least among those that leave at
    /// most a tenth of the dependence on S; if there is none, the one that leaves least.
    ///
    /// Dependence is HSIC beyond its level under independence, as a share of the same of the rows as they are. Distance is the root of the
    /// mean squared change of a standardised column. No target has a say.
    pub(super) fn fit(
        rule: &ProjectionRule,
        rows: &ProjectionRows,
        (strength, seed): (f64, u64),
        watch: &Watch,
    ) -> Result<(Self, Vec<Warning>)> {
        let scales = scales(rows);
        let points = encode(rows.forms, rows.read, &scales)?;
        let region = region(rows.forms, &scales, rule.discrete);
        let kernel = rule.kernel.resolve(&points, rows.weights, seed)?;
        let many = points.len() > MOST_EXACT;
        let components = rule
            .components
            .or(many.then(|| Components::new(LANDMARKS.min(points.len()))));
        let sample = random::sample(&(0..points.len()).collect::<Vec<_>>(), PATH_ROWS, seed);
        let compared = Compared::new(rows, &sample, seed, watch)?;
        let start = compared.dependence(rows.read, rows.forms, &sample, watch)?;
        let excess = |(value, expected): (f64, f64)| (value - expected).max(0.0);
        let mut best: Option<(bool, f64, usize)> = None;
        let mut made = Vec::new();
        let mut path = Vec::new();
        for (k, factor) in rule.bandwidths.iter().enumerate() {
            let narrowed = kernel.narrowed(*factor)?;
            let words = narrowed.to_string();
            let (manifold, remark) =
                manifold(narrowed, &points, components, rows, (&region, seed), watch)?;
            let map = Self {
                manifold: manifold.parts(),
                scales: scales.clone(),
                discrete: rule.discrete,
                landmarks: components.map(|_| manifold.base().len()),
                path: Vec::new(),
            };
            let (own, cells) = (points.select(&sample), rows.assignment.select(&sample));
            let search = Search::default();
            let found = manifold.project(&own, &cells, strength, &search, watch)?;
            let dependence = compared.of(rows, &found, (&own, &sample), &scales, watch)?;
            let distance = root_mean_square(&own, &found.points, rows.forms.len());
            path.push(ReleasePathPoint {
                factor: *factor,
                kernel: words,
                hsic: dependence.0,
                expected: dependence.1,
                distance,
                chosen: false,
            });
            let left = excess(dependence);
            let enough = left <= LEFT * excess(start);
            let rank = (enough, if enough { distance } else { left }, k);
            let better = |best: &(bool, f64, usize)| {
                (rank.0 && !best.0) || (rank.0 == best.0 && rank.1 < best.1)
            };
            if best.as_ref().is_none_or(better) {
                best = Some(rank);
                made = vec![(map, remark)];
            }
        }
        let (Some((_, _, chosen)), Some((mut map, remark))) = (best, made.pop()) else {
            return Err(Error::InvalidParameter {
                name: "the number of bandwidths",
                expected: "at least 1",
                value: "0".into(),
            });
        };
        path[chosen].chosen = true;
        map.path = path;
        Ok((map, remark.into_iter().collect()))
    }

    /// The released values of every column, not yet written as the column's are.
    pub(super) fn apply(
        &self,
        (forms, read): (&[ColumnForm], &[ReadColumn]),
        assignment: &SensitiveDesign,
        strength: f64,
        watch: &Watch,
    ) -> Result<Vec<Vec<f64>>> {
        let points = encode(forms, read, &self.scales)?;
        let manifold = self.manifold(forms, points.dim())?;
        let search = Search::default();
        let found = manifold.project(&points, assignment, strength, &search, watch)?;
        Ok(decode(forms, read, &self.scales, (&points, &found.points)))
    }

    /// How near some of these rows are to their best places.
    pub(super) fn certify(
        &self,
        (forms, read): (&[ColumnForm], &[ReadColumn]),
        assignment: &SensitiveDesign,
        strength: f64,
        watch: &Watch,
    ) -> Result<Option<ReleaseCertificate>> {
        let points = encode(forms, read, &self.scales)?;
        let rows: Vec<usize> = (0..points.len().min(CERTIFIED_ROWS)).collect();
        let (points, cells) = (points.select(&rows), assignment.select(&rows));
        let manifold = self.manifold(forms, points.dim())?;
        let is_gaussian = matches!(manifold.kernel(), Kernel::Gaussian { .. });
        let (quick, slow) = CERTIFIED_VALUES;
        let values = if is_gaussian { quick } else { slow };
        let boxes = values / (rows.len() * manifold.base().len()).max(1) as f64;
        let certify = Certify {
            most_boxes: boxes.clamp(16.0, MOST_BOXES) as usize,
            ..Certify::default()
        };
        // A little more than the search stops at, for rounding.
        let tolerance = 1.001 * manifold.tolerance(&certify);
        let search = Search {
            certify: Some(certify),
            ..Search::default()
        };
        let found = manifold.project(&points, &cells, strength, &search, watch)?;
        let gaps: Vec<f64> = found.gaps.iter().flatten().copied().collect();
        Ok((!gaps.is_empty()).then(|| ReleaseCertificate {
            rows: rows.len(),
            certified: gaps.iter().filter(|gap| **gap <= tolerance).count(),
            largest_gap: gaps.iter().fold(0.0, |a, b| b.max(a)),
        }))
    }

    fn manifold(&self, forms: &[ColumnForm], dim: usize) -> Result<Manifold> {
        let region = region(forms, &self.scales, self.discrete);
        Manifold::of_parts(&self.manifold, dim, region)
    }

    /// What is done with a column, in words.
    pub(super) fn words(&self, form: &ColumnForm) -> &'static str {
        if self.discrete == Discrete::Keep && form.kind() != "numbers" {
            "left as it is: a value of few kinds"
        } else {
            "moved with its row to the nearest feature of a row"
        }
    }

    /// Refuses a map that no fit of these columns gives.
    pub(super) fn check_read(&self, forms: &[ColumnForm], partition: &Partition) -> Result<()> {
        let features = partition.smooth().map(Smooth::len);
        let sound = self.scales.len() == forms.len()
            && self
                .scales
                .iter()
                .all(|(mean, scale)| mean.is_finite() && scale.is_finite() && *scale > 0.0)
            && self.manifold.shares.len() == features.unwrap_or(partition.len());
        let manifold = || self.manifold.check_read(forms.iter().map(width).sum());
        require(sound && manifold().is_ok(), DAMAGED)
    }

    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        let parts = &mut self.manifold;
        vec![
            &mut parts.base,
            &mut parts.directions,
            &mut parts.gram,
            &mut parts.at_base,
        ]
    }
}

/// The manifold of a kernel with the conditional means of the reference rows, exact or on landmarks.
fn manifold(
    kernel: Kernel,
    points: &Points<'static>,
    components: Option<Components>,
    rows: &ProjectionRows,
    (region, seed): (&Region, u64),
    watch: &Watch,
) -> Result<(Manifold, Option<Warning>)> {
    let Some(components) = components else {
        let (assignment, partition) = (rows.assignment, rows.partition);
        let points = points.clone();
        let mean = ConditionalMean::of(kernel, points, assignment, rows.weights, partition, watch)?;
        return Ok((Manifold::of(&mean, region.clone())?, None));
    };
    let (map, remark) = FeatureMap::choose(kernel, points, components, seed, watch)?;
    let features = map.features(points, watch)?;
    let features = MatRef::from_column_major_slice(&features, map.len(), points.len());
    let (parts, shares) = ConditionalMean::parts(rows.assignment, rows.weights, rows.partition)?;
    let means = features * &parts;
    let manifold = Manifold::with_means(&map, &means, shares, region.clone(), watch)?;
    Ok((manifold, remark))
}

/// The sensitive side of HSIC on a sample of rows.
struct Compared {
    sensitive: HsicSide,
    weights: Vec<f64>,
    settings: HsicSettings,
    resampling: Resampling,
}

impl Compared {
    fn new(rows: &ProjectionRows, sample: &[usize], seed: u64, watch: &Watch) -> Result<Self> {
        let settings = HsicSettings {
            seed,
            ..HsicSettings::default()
        };
        let weights: Vec<f64> = sample.iter().map(|&i| rows.weights[i]).collect();
        let (mut columns, mut kinds) = (Vec::new(), Vec::new());
        for (name, kind) in rows.partition.columns() {
            let column = rows.sensitive.column(name)?.select(sample);
            if kind == Kind::Continuous {
                // Missing numbers are taken as the mean; a column without any number says nothing.
                let filled = prepared(&[column])?.0;
                kinds.extend(filled.iter().map(|_| kind));
                columns.extend(filled);
            } else {
                columns.push(column);
                kinds.push(kind);
            }
        }
        Ok(Self {
            sensitive: HsicSide::new(&columns, &kinds, Some(&weights), &settings, watch)?,
            weights,
            settings,
            // Formulas for level and interval: there are many kernels to try.
            resampling: Resampling {
                permutations: 0,
                resamples: 0,
                seed,
                ..Resampling::default()
            },
        })
    }

    /// HSIC of the rows as they are with S, and its level under independence.
    fn dependence(
        &self,
        read: &[ReadColumn],
        forms: &[ColumnForm],
        sample: &[usize],
        watch: &Watch,
    ) -> Result<(f64, f64)> {
        let select = |column: &ReadColumn| sample.iter().map(|&i| column.values[i]).collect();
        let values: Vec<Vec<f64>> = read.iter().map(select).collect();
        self.with(forms, read, &values, watch)
    }

    /// HSIC of projected rows with S, and its level under independence.
    fn of(
        &self,
        rows: &ProjectionRows,
        found: &Projected,
        (own, sample): (&Points, &[usize]),
        scales: &[(f64, f64)],
        watch: &Watch,
    ) -> Result<(f64, f64)> {
        let read: Vec<ReadColumn> = rows.read.iter().map(|c| c.select(sample)).collect();
        let values = decode(rows.forms, &read, scales, (own, &found.points));
        self.with(rows.forms, &read, &values, watch)
    }

    fn with(
        &self,
        forms: &[ColumnForm],
        read: &[ReadColumn],
        values: &[Vec<f64>],
        watch: &Watch,
    ) -> Result<(f64, f64)> {
        let all = forms.iter().zip(read).zip(values);
        let columns: Vec<Column> = all
            .map(|((form, read), values)| form.written(read, values))
            .collect();
        let weights = Some(&self.weights[..]);
        let side = HsicSide::table(&prepared(&columns)?.0, weights, &self.settings, watch)?;
        let found = hsic(&side, &self.sensitive, &self.resampling, watch)?;
        Ok((found.measured.value, found.measured.expected))
    }
}

/// The features that a column takes: an indicator for each category.
fn width(form: &ColumnForm) -> usize {
    match &form.form {
        Form::Numbers(_) => 1,
        Form::Categories(levels) => levels.len(),
    }
}

fn scales(rows: &ProjectionRows) -> Vec<(f64, f64)> {
    let scale = |(form, read): (&ColumnForm, &ReadColumn)| match form.form {
        Form::Categories(_) => (0.0, 1.0),
        Form::Numbers(_) => {
            let mut spread = Spread::default();
            for (value, weight) in read.values.iter().zip(rows.weights) {
                spread.add(*value, *weight);
            }
            let deviation = spread.variance().sqrt();
            let scale = if deviation > 0.0 { deviation } else { 1.0 };
            (spread.mean, scale)
        }
    };
    rows.forms.iter().zip(rows.read).map(scale).collect()
}

/// The standardised points of rows; a category that no reference row has gets no indicator.
fn encode(
    forms: &[ColumnForm],
    read: &[ReadColumn],
    scales: &[(f64, f64)],
) -> Result<Points<'static>> {
    let dim: usize = forms.iter().map(width).sum();
    let rows = read.first().map_or(0, |column| column.values.len());
    let mut values = vec![0.0; rows * dim];
    let mut start = 0;
    for ((form, read), (mean, scale)) in forms.iter().zip(read).zip(scales) {
        let missing = || read.values.iter().enumerate().filter(|(_, v)| v.is_nan());
        if let Some((row, _)) = missing().next() {
            return Err(Error::MissingValues {
                column: form.name.clone(),
                count: missing().count(),
                row,
            });
        }
        for (row, value) in read.values.iter().enumerate() {
            let place = row * dim + start;
            match form.form {
                Form::Numbers(_) => values[place] = (value - mean) / scale,
                Form::Categories(_) => {
                    let level = *value as usize;
                    if level < width(form) {
                        values[place + level] = 1.0;
                    }
                }
            }
        }
        start += width(form);
    }
    Points::new(values, dim)
}

/// What rows can become: the columns' ranges, whole numbers, categories.
fn region(forms: &[ColumnForm], scales: &[(f64, f64)], discrete: Discrete) -> Region {
    let mut region = Region::default();
    let mut start = 0;
    for (form, (mean, scale)) in forms.iter().zip(scales) {
        let moves = discrete == Discrete::Enumerate;
        match &form.form {
            Form::Categories(levels) if moves && !levels.is_empty() => {
                region.one_of.push(start..start + levels.len());
            }
            Form::Categories(_) => (),
            Form::Numbers(format) => {
                let few = format.is_whole() && format.high - format.low <= MOST_STEPS;
                let at = |value: f64| (value - mean) / scale;
                if few && moves {
                    let count = (format.high - format.low).round() as usize;
                    let values = (0..=count).map(|i| at(format.low + i as f64));
                    region.stepped.push(Stepped {
                        feature: start,
                        values: values.collect(),
                    });
                } else if moves || !format.is_whole() {
                    region.free.push(Span {
                        feature: start,
                        low: at(format.low),
                        high: at(format.high),
                    });
                }
            }
        }
        start += width(form);
    }
    region
}

/// The values of projected rows, column by column. What did not move is exactly what it was, and so are categories that no reference
/// row has.
fn decode(
    forms: &[ColumnForm],
    read: &[ReadColumn],
    scales: &[(f64, f64)],
    (own, found): (&Points, &Points),
) -> Vec<Vec<f64>> {
    let mut start = 0;
    let mut columns = Vec::with_capacity(forms.len());
    for ((form, read), (mean, scale)) in forms.iter().zip(read).zip(scales) {
        let width = width(form);
        let value = |(row, before): (usize, &f64)| {
            let after = &found.row(row)[start..start + width];
            let unknown = matches!(form.form, Form::Categories(_)) && *before >= width as f64;
            if unknown || *after == own.row(row)[start..start + width] {
                return *before;
            }
            match form.form {
                Form::Numbers(_) => after[0] * scale + mean,
                Form::Categories(_) => {
                    let chosen = after.iter().position(|v| *v == 1.0);
                    chosen.map_or(*before, |level| level as f64)
                }
            }
        };
        columns.push(read.values.iter().enumerate().map(value).collect());
        start += width;
    }
    columns
}

/// The root of the mean squared change of a column of standardised points; a change of category counts as two indicators.
fn root_mean_square(own: &Points, found: &Points, columns: usize) -> f64 {
    let pairs = own.values().iter().zip(found.values());
    let square: f64 = pairs.map(|(a, b)| (a - b).powi(2)).sum();
    (square / (own.len() * columns).max(1) as f64).sqrt()
}
