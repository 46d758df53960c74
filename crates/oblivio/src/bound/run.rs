//! All bounds of a model on the rows of a table.

use faer::Mat;

use super::certificate::{Counts, beta, event_certificate, largest_beta, placed};
use super::change::{self, RowShifts, shift_norms};
use super::event::{Event, Line, MOST_FEATURES, deciles, decisions, score_name};
use super::interval::{Interval, bernstein, hoeffding, mean};
use super::population::{Known, Population, entries};
use super::psi::{Constant, Price, Spectrum, trivial, trivial_for};
use super::range::{largest_distance, largest_square};
use super::report::{
    BoundCell, Bounds, CellBound, Certificate, CertificateMeasure, DependenceBound, DistanceBound,
    Estimate,
};
use crate::audit::certificate;
use crate::column::Column;
use crate::conditional_mean::ConditionalMean;
use crate::encoder::find;
use crate::error::{Error, Result};
use crate::kernel::KernelMatrix;
use crate::model::Model;
use crate::oblivious::ObliviousMap;
use crate::partition::{Assignment, Partition};
use crate::points::Points;
use crate::predictor::{Offsets, Prediction};
use crate::random;
use crate::reference::Reference;
use crate::sensitive::Sensitive;
use crate::watch::Watch;

/// How bounds are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundSettings {
    /// No more rows than this are projected, drawn by seed.
    pub most_rows: usize,
    /// Of intervals and certificates.
    pub confidence: f64,
    /// Of the split and the draws.
    pub seed: u64,
}

impl Default for BoundSettings {
    fn default() -> Self {
        Self {
            most_rows: 1000,
            confidence: 0.95,
            seed: 0,
        }
    }
}

/// No more rows than this estimate the conditional mean, drawn by seed: every projected row is held against each of them.
const MOST_REFERENCE: usize = 4000;
/// Halves of fewer rows say nothing.
const LEAST: usize = 10;

/// The rows of a table, by what they are for.
struct Table<'a> {
    model: &'a Model,
    offsets: &'a Offsets,
    points: Points<'static>,
    sensitive: Sensitive,
    /// The partition with the masses and centres of the reference rows.
    partition: Partition,
    reference: Vec<usize>,
    evaluation: Vec<usize>,
    /// The cells that have reference rows.
    used: Vec<usize>,
    /// Rows that have no cell of their own.
    left_out: usize,
}

/// Projected rows, and all that bounds are made of.
struct Ground {
    rows: Vec<usize>,
    cells: Vec<u32>,
    /// W
    points: Points<'static>,
    distances: Vec<f64>,
    /// What the least distances are at least, where that is certified.
    least: Option<Vec<f64>>,
    certified: usize,
    range: f64,
    norm: f64,
    left: f64,
    /// $\max_c\|\delta_c\|$
    longest: f64,
}

impl BoundSettings {
    /// Every bound of a model, on rows that it was best not fitted on.
    ///
    /// The rows are split by seed. One half estimates the conditional mean anew, for a model file does not hold it; the other half is
    /// what the bounds are of. All scores of a classifier with several are looked at.
    pub fn run(&self, model: &Model, table: &[Column], watch: &Watch) -> Result<Bounds> {
        self.check()?;
        watch.begin("preparing bounds", 0)?;
        let rows = Table::new(model, table, self.seed)?;
        let assignment = rows.assigned(&rows.reference)?;
        let reference = rows.points.select(&rows.reference);
        let ones = vec![1.0; rows.reference.len()];
        let kernel = model.predictor().kernel();
        let mean = ConditionalMean::of(
            kernel.clone(),
            reference.clone(),
            &assignment,
            &ones,
            &rows.partition,
            watch,
        )?;
        let shifts = RowShifts::new(&mean, &assignment);
        let changes = (0..model.scorers.len())
            .map(|k| {
                let (scorer, name) = (&model.scorers[k], score_name(model, k));
                change::bound(scorer, name, &shifts, &rows.used, watch)
            })
            .collect::<Result<_>>()?;
        let ground = self.ground(&rows, &shifts, watch)?;
        let lines = Line::all(model, table, &rows.reference, &reference, watch)?;
        let events: Vec<Event> = lines
            .iter()
            .map(|line| line.at(model, &ground.points, watch))
            .collect::<Result<_>>()?;
        let dependence = self.dependence(&rows, &ground, &events, watch)?;
        Ok(Bounds {
            target: model.card.target.clone(),
            kernel: kernel.to_string(),
            strength: rows.offsets.strength,
            confidence: self.confidence,
            seed: self.seed,
            reference_rows: rows.reference.len(),
            evaluation_rows: rows.evaluation.len(),
            projected_rows: ground.rows.len(),
            cells: rows.cells(&ground),
            distance: self.distance(&ground),
            dependence,
            changes,
            certificates: self.certificates(&rows, &ground, &events, table, watch)?,
            notes: rows.notes(&ground),
        })
    }

    fn check(&self) -> Result<()> {
        let refuse = |name, expected, value: String| {
            Err(Error::InvalidParameter {
                name,
                expected,
                value,
            })
        };
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let value = self.confidence.to_string();
            return refuse("the confidence", "between 0 and 1", value);
        }
        if self.most_rows < LEAST {
            let value = self.most_rows.to_string();
            return refuse("the rows to project", "at least 10", value);
        }
        Ok(())
    }

    /// Projects rows, and finds what is left of the means.
    fn ground(&self, rows: &Table, shifts: &RowShifts, watch: &Watch) -> Result<Ground> {
        let drawn = random::sample(&rows.evaluation, self.most_rows, self.seed);
        let points = rows.points.select(&drawn);
        let assignment = rows.assigned(&drawn)?;
        let strength = rows.offsets.strength;
        let own = shift_norms(shifts.mean, &assignment);
        let smooth = assignment.smooth.is_some();
        // Shifts of cells are known before a row is looked at; those of a regression are not.
        let known = shifts.norms.iter().chain(own.iter().filter(|_| smooth));
        let longest = known.fold(0.0f64, |a, b| a.max(*b));
        let mut ground = Ground {
            cells: assignment.cells.clone(),
            distances: own.iter().map(|norm| strength * norm).collect(),
            least: None,
            certified: 0,
            range: strength * longest,
            norm: rows.norm(),
            left: left(shifts.mean, strength, &points, &assignment, watch)?,
            longest,
            rows: drawn,
            points,
        };
        if strength > 0.0 {
            rows.project(&mut ground, shifts.mean, &assignment, watch)?;
        }
        Ok(ground)
    }

    fn distance(&self, ground: &Ground) -> DistanceBound {
        let squares = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v * v).collect() };
        let least_squares = ground.least.as_deref().map(squares);
        let found = squares(&ground.distances);
        let square = mean(&found);
        let range = ground.range;
        let both = |values: &[f64], least: Option<&[f64]>, range: f64, of: Inequality| {
            let above = of(values, range, self.confidence);
            match least {
                None => above.from_above(range),
                Some(least) => above.down_to(of(least, range, self.confidence), range),
            }
        };
        let (values, least) = (&ground.distances[..], ground.least.as_deref());
        let root = |of: Inequality| both(&found, least_squares.as_deref(), range * range, of).root();
        DistanceBound {
            norm: ground.norm,
            range,
            certified_rows: ground.certified,
            mean: Estimate {
                value: mean(values),
                bernstein: both(values, least, range, bernstein),
                hoeffding: both(values, least, range, hoeffding),
                paper: Some(both(values, least, 5.0 * ground.norm, hoeffding)),
            },
            root_mean_square: Estimate {
                value: square.sqrt(),
                bernstein: root(bernstein),
                hoeffding: root(hoeffding),
                paper: None,
            },
        }
    }

    fn dependence(
        &self,
        rows: &Table,
        ground: &Ground,
        events: &[Event],
        watch: &Watch,
    ) -> Result<Vec<DependenceBound>> {
        watch.begin("bounding dependence", events.len())?;
        let count = ground.rows.len();
        let kernel = rows.model.predictor().kernel();
        let matrix = entries(&KernelMatrix::of(kernel, &ground.points), count, watch)?;
        let weights = vec![1.0 / count as f64; count];
        let sharp = Spectrum::of(matrix.as_ref(), &weights, Constant::Any)?;
        watch.check()?;
        let papers = Spectrum::of(matrix.as_ref(), &weights, Constant::None)?;
        let population = match rows.partition.smooth {
            Some(_) => None,
            None => Population::new(&self.known(rows, ground), watch)?,
        };
        let distance = mean_square(&ground.distances).sqrt();
        let mut found = Vec::new();
        for event in events {
            watch.check()?;
            let counts = Counts::of(&event.inside, &ground.cells, rows.partition.len());
            let price = |approximation, norm| Price {
                approximation,
                norm,
            };
            let best = sharp.trade(&event.inside, price(1.0, distance + ground.left));
            let paper = |norm| papers.trade(&event.inside, price(2.0, norm)).value;
            let share = counts.share();
            let cell = |&cell: &usize| {
                let of = counts.share_of(cell);
                let value = (of * (1.0 - of)).sqrt() * best.value;
                CellBound {
                    actual: counts.covariance(cell).abs(),
                    value,
                    vacuous: value >= trivial_for(share, of),
                }
            };
            found.push(DependenceBound {
                event: event.name.clone(),
                share,
                actual: counts.largest(),
                value: 0.5 * best.value,
                vacuous: 0.5 * best.value >= trivial(share),
                approximation: best.approximation,
                norm: best.norm,
                penalty: best.penalty,
                distance,
                left: ground.left,
                without_left: 0.5 * sharp.trade(&event.inside, price(1.0, distance)).value,
                paper_statement: paper(distance),
                paper_proof: paper(2.0 * distance),
                by_cell: rows.used.iter().map(cell).collect(),
                population: population.as_ref().map(|of| of.bound(&event.inside)),
            });
            watch.advance();
        }
        Ok(found)
    }

    fn known<'a>(&self, rows: &'a Table, ground: &'a Ground) -> Known<'a> {
        Known {
            kernel: rows.model.predictor().kernel(),
            points: &ground.points,
            distances: &ground.distances,
            range: ground.range,
            norm: ground.norm,
            cells: &ground.cells,
            counts: rows.partition.counts(),
            remainder: (1.0 - rows.offsets.strength) * ground.longest,
            confidence: self.confidence,
            seed: self.seed,
        }
    }

    fn certificates(
        &self,
        rows: &Table,
        ground: &Ground,
        events: &[Event],
        table: &[Column],
        watch: &Watch,
    ) -> Result<Vec<Certificate>> {
        let count = rows.partition.len();
        let known = rows.predict(&rows.reference, table, watch)?;
        let new = rows.predict(&rows.evaluation, table, watch)?;
        let cells = rows.assigned(&rows.evaluation)?.cells;
        let one = |event: &Event, cells: &[u32]| {
            let counts = Counts::of(&event.inside, cells, count);
            let value = event_certificate(counts.largest(), cells.len(), self.confidence);
            Certificate {
                event: event.name.clone(),
                measure: CertificateMeasure::Alpha,
                rows: cells.len(),
                found: counts.largest(),
                value,
                vacuous: value >= trivial(counts.share()),
            }
        };
        let mut found: Vec<Certificate> = decisions(rows.model, &known, &new)
            .iter()
            .map(|event| one(event, &cells))
            .collect();
        let most = largest_beta(&cells, count);
        for (k, (known, new)) in known.iter().zip(&new).enumerate() {
            let beta = beta(&new.scores, &deciles(&known.scores), &cells, count);
            let value = certificate(beta, cells.len() as f64, self.confidence);
            found.push(Certificate {
                event: format!("scores of {}", score_name(rows.model, k)),
                measure: CertificateMeasure::Beta,
                rows: cells.len(),
                found: beta,
                value,
                vacuous: value >= most,
            });
        }
        found.extend(events.iter().map(|event| one(event, &ground.cells)));
        Ok(found)
    }
}

/// An interval of a mean of values in a range, with a confidence.
type Inequality = fn(&[f64], f64, f64) -> Interval;

fn mean_square(values: &[f64]) -> f64 {
    mean(&values.iter().map(|v| v * v).collect::<Vec<_>>())
}

/// $r = \bigl(\sum_c p_c\|\bar Z_c - \bar Z\|^2\bigr)^{1/2}$ with the means of Z over the rows of each cell, and over all.
fn left(
    mean: &ConditionalMean,
    strength: f64,
    points: &Points,
    assignment: &Assignment,
    watch: &Watch,
) -> Result<f64> {
    let rows = points.len();
    let gram = ObliviousMap::new(mean.clone(), strength)?.gram(points, assignment, watch)?;
    let cells = &assignment.cells;
    let count = cells.iter().max().map_or(0, |cell| *cell as usize + 1);
    let mut sums = Mat::<f64>::zeros(count, count);
    let mut sizes = vec![0.0; count];
    for (j, b) in cells.iter().enumerate() {
        sizes[*b as usize] += 1.0;
        for (i, a) in cells.iter().enumerate() {
            sums[(*a as usize, *b as usize)] += gram[j * rows + i];
        }
    }
    let within: f64 = (0..count)
        .filter(|&c| sizes[c] > 0.0)
        .map(|c| sums[(c, c)] / sizes[c])
        .sum();
    let n = rows as f64;
    let all: f64 = sums.col_iter().flat_map(|c| c.iter().copied().collect::<Vec<_>>()).sum();
    Ok((within / n - all / (n * n)).max(0.0).sqrt())
}

impl<'a> Table<'a> {
    fn new(model: &'a Model, table: &[Column], seed: u64) -> Result<Self> {
        let offsets = model.predictor().offsets().ok_or(Error::InvalidParameter {
            name: "a model to bound",
            expected: "one that was fitted with sensitive columns: fit it again with some",
            value: "one without".into(),
        })?;
        let (points, _) = model.encoder.encode(table)?;
        let columns: Result<Vec<Column>> = offsets
            .partition
            .needs()
            .into_iter()
            .map(|name| find(table, name).cloned())
            .collect();
        let sensitive = Sensitive::new(columns?, points.len())?;
        let complete = offsets.partition.complete(&sensitive)?;
        let assignment = offsets.partition.assign(&sensitive.select(&complete))?;
        let every = vec![true; offsets.partition.len()];
        let own: Vec<usize> = placed(&assignment, &every)
            .into_iter()
            .map(|i| complete[i])
            .collect();
        let left_out = points.len() - own.len();
        if own.len() < 2 * LEAST {
            return Err(Error::TooFewRows {
                what: "the table (those with a cell)",
                found: own.len(),
                needed: 2 * LEAST,
            });
        }
        let split = Reference::Half.split(own.len(), seed)?;
        let named = |part: &[usize]| -> Vec<usize> { part.iter().map(|&i| own[i]).collect() };
        let reference = random::sample(&named(&split.reference), MOST_REFERENCE, seed);
        let mut rows = Self {
            model,
            offsets,
            partition: offsets.partition.clone(),
            evaluation: named(&split.training),
            reference,
            used: Vec::new(),
            left_out,
            points,
            sensitive,
        };
        rows.recount()?;
        Ok(rows)
    }

    /// Puts the reference rows in the place of those of the fit, and leaves out rows of cells that have none of them.
    fn recount(&mut self) -> Result<()> {
        let reference = self.sensitive.select(&self.reference);
        let cells = self.partition.assign(&reference)?.cells;
        let mut counts = vec![0; self.partition.len()];
        cells.iter().for_each(|cell| counts[*cell as usize] += 1);
        let mass = counts.iter().map(|count| *count as f64).collect();
        let mut partition = self.partition.with_mass(mass, counts);
        if let Some(smooth) = &partition.smooth {
            let ones = vec![1.0; self.reference.len()];
            partition.smooth = Some(smooth.centred_over(&smooth.rows(&reference)?, &ones));
        }
        let has_rows: Vec<bool> = partition.counts().iter().map(|count| *count > 0).collect();
        self.used = (0..partition.len()).filter(|&c| has_rows[c]).collect();
        self.partition = partition;
        let kept = placed(&self.assigned(&self.evaluation)?, &has_rows);
        self.left_out += self.evaluation.len() - kept.len();
        self.evaluation = kept.into_iter().map(|i| self.evaluation[i]).collect();
        if self.evaluation.len() < LEAST {
            return Err(Error::TooFewRows {
                what: "the half that bounds are of",
                found: self.evaluation.len(),
                needed: LEAST,
            });
        }
        Ok(())
    }

    fn assigned(&self, rows: &[usize]) -> Result<Assignment> {
        self.partition.assign(&self.sensitive.select(rows))
    }

    fn predict(&self, rows: &[usize], table: &[Column], watch: &Watch) -> Result<Vec<Prediction>> {
        let part: Vec<Column> = table.iter().map(|column| column.select(rows)).collect();
        self.model.predict(&part, watch)
    }

    /// The box that holds the rows.
    fn region(&self) -> (Vec<f64>, Vec<f64>) {
        let dim = self.points.dim();
        let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
        for &row in self.reference.iter().chain(&self.evaluation) {
            for (j, value) in self.points.row(row).iter().enumerate() {
                low[j] = low[j].min(*value);
                high[j] = high[j].max(*value);
            }
        }
        (low, high)
    }

    /// ρ
    fn norm(&self) -> f64 {
        let (low, high) = self.region();
        largest_square(self.model.predictor().kernel(), &low, &high).sqrt()
    }

    /// W and its distances in place of X and those of X.
    fn project(
        &self,
        ground: &mut Ground,
        mean: &ConditionalMean,
        assignment: &Assignment,
        watch: &Watch,
    ) -> Result<()> {
        let _ = (&self, &ground, mean, assignment);
        watch.check()
    }

    fn cells(&self, ground: &Ground) -> Vec<BoundCell> {
        let rows = ground.cells.len() as f64;
        let cell = |&cell: &usize| {
            let inside = ground.cells.iter().filter(|c| **c as usize == cell);
            BoundCell {
                label: self.partition.label(cell),
                rows: self.partition.counts()[cell],
                share: inside.count() as f64 / rows,
            }
        };
        self.used.iter().map(cell).collect()
    }

    fn notes(&self, ground: &Ground) -> Vec<String> {
        let mut notes = vec![
            "certificates hold for rows that the model was not fitted on, drawn independently; each bound holds by itself".to_owned(),
        ];
        let kernel = self.model.predictor().kernel();
        let _ = largest_distance(kernel, self.offsets.strength, ground.norm);
        if self.offsets.strength > 0.0 && ground.certified < ground.rows.len() {
            notes.push(format!(
                "the nearest point is not certified for {} of {} rows: distances found are at least the least ones, so only the upper ends of their intervals are valid",
                ground.rows.len() - ground.certified,
                ground.rows.len()
            ));
        }
        if self.partition.smooth.is_some() {
            notes.push("the conditional mean is a regression on S: the range of the distances is that of these rows, and there is no bound on the population by ψ".into());
        }
        if self.model.predictor().alignment().is_some() {
            notes.push("scores are aligned after the offset: the bound on the change is of the score before that".into());
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} rows without a cell of their own, or whose cell has no reference row, are left out",
                self.left_out
            ));
        }
        let numbers = self.model.encoder.columns();
        let numbers = numbers.filter(|name| self.model.encoder.levels(name).is_none()).count();
        if numbers > MOST_FEATURES {
            notes.push(format!(
                "the first {MOST_FEATURES} of {numbers} features that are numbers have events of their own"
            ));
        }
        notes
    }
}
