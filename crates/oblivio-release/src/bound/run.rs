//! All bounds of a model on the rows of a table.

use oblivio::{ConditionalMean, Model};
use oblivio_audit::certificate;
use oblivio_base::{Column, Error, Result, Watch, random};
use oblivio_kernels::{Kernel, KernelMatrix};

use super::certificate::{Counts, beta, event_certificate, largest_beta};
use super::change::{self, RowShifts};
use super::event::{Event, Line, deciles, decisions, score_name};
use super::feature::{self, Spectra};
use super::ground::Ground;
use super::interval::{Interval, bernstein, hoeffding, mean};
use super::population::{Known, Population, entries};
use super::psi::{Constant, Price, Spectrum, trivial, trivial_for};
use super::report::{
    Bounds, CellBound, Certificate, CertificateMeasure, ChangeBound, DependenceBound,
    DistanceBound, Estimate,
};
use super::rows::{LEAST, Table};

/// How bounds are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundSettings {
    /// No more rows than this are projected, drawn by seed.
    pub most_rows: usize,
    /// Of intervals and certificates.
    pub confidence: f64,
    /// Of the split and the draws.
    pub seed: u64,
    /// Nearest points are certified until the gap is at most this share of the squared distance, above 0. Lower ends of intervals come
    /// from distances less their gaps.
    pub gap: f64,
    /// No more boxes than this certify a row; a larger gap holds all the same.
    pub most_boxes: usize,
    /// h* as a multiple of the mean feature of the reference rows, from −1 to 1. The paper's theory asks for 0 with the Z that is used here.
    pub translation: f64,
}

impl Default for BoundSettings {
    fn default() -> Self {
        Self {
            most_rows: 1000,
            confidence: 0.95,
            seed: 0,
            gap: 0.01,
            most_boxes: 200,
            translation: 0.0,
        }
    }
}

impl BoundSettings {
    /// Every bound of a model, on rows that it was best not fitted on.
    ///
    /// The rows are split by seed. One half estimates the conditional mean anew, for a model file does not hold it; the other half is
    /// what the bounds are of. All scores of a classifier with several are looked at.
    pub fn run(&self, model: &Model, table: &[Column], watch: &Watch) -> Result<Bounds> {
        self.check()?;
        model
            .predictor()
            .kernel()
            .check_formula("a model to bound")?;
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
        let scorers = model.scorers.iter();
        let products: Vec<Vec<f64>> = scorers
            .map(|scorer| change::products(scorer, &mean, watch))
            .collect::<Result<_>>()?;
        let changes = changes(&rows, &shifts, &products, watch)?;
        let drawn = random::sample(&rows.evaluation, self.most_rows, self.seed);
        let ground = Ground::new(&rows, drawn, &shifts, self, watch)?;
        let original = rows.points.select(&ground.rows);
        let lines = Line::all(model, table, &rows.reference, &reference, watch)?;
        let events: Vec<Event> = lines
            .iter()
            .map(|line| line.at(model, &ground.points, watch))
            .collect::<Result<_>>()?;
        let spectra = spectra(kernel, &ground, watch)?;
        let dependence = self.dependence((&rows, &ground), &spectra, &events, watch)?;
        let shown = (&ground, &original);
        let feature_events = feature::bounds(model, shown, &shifts, &products, &spectra, watch)?;
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
            translation: self.translation,
            feature_events,
            moved: ground.moved(kernel, &original),
            distance: self.distance(&ground, rows.partition.smooth().is_some()),
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
        if !(self.gap > 0.0 && self.gap.is_finite()) {
            let value = self.gap.to_string();
            return refuse("the gap of a certificate", "a positive number", value);
        }
        if self.most_boxes == 0 {
            return refuse("the boxes of a certificate", "at least 1", "0".into());
        }
        if !(-1.0..=1.0).contains(&self.translation) {
            let value = self.translation.to_string();
            return refuse("the translation", "from -1 to 1", value);
        }
        if self.most_rows < LEAST {
            let value = self.most_rows.to_string();
            return refuse("the rows to project", "at least 10", value);
        }
        Ok(())
    }

    /// Inequalities need a range that is known before a row is looked at, which regressions on S do not have.
    fn distance(&self, ground: &Ground, smooth: bool) -> DistanceBound {
        let squares = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| v * v).collect() };
        let least_squares = ground.least.as_deref().map(squares);
        let found = squares(&ground.distances);
        let square = mean(&found);
        let range = ground.range;
        // Whatever range an inequality is given, values are known to lie below ours.
        let both = |values: &[f64], least: Option<&[f64]>, (given, known), of: Inequality| {
            let above = of(values, given, self.confidence);
            let interval = match least {
                None => above.from_above(known),
                Some(least) => above.down_to(of(least, given, self.confidence), known),
            };
            (!smooth).then_some(interval)
        };
        let (values, least) = (&ground.distances[..], ground.least.as_deref());
        let squared = (range * range, range * range);
        let root = |of: Inequality| {
            both(&found, least_squares.as_deref(), squared, of).map(Interval::root)
        };
        DistanceBound {
            norm: ground.norm,
            range,
            certified_rows: ground.certified,
            mean_gap: (!ground.gaps.is_empty()).then(|| mean(&ground.gaps)),
            largest_gap: ground.gaps.iter().copied().reduce(f64::max),
            mean: Estimate {
                value: mean(values),
                bernstein: both(values, least, (range, range), bernstein),
                hoeffding: both(values, least, (range, range), hoeffding),
                paper: both(values, least, (5.0 * ground.norm, range), hoeffding),
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
        (rows, ground): (&Table, &Ground),
        Spectra { sharp, papers }: &Spectra,
        events: &[Event],
        watch: &Watch,
    ) -> Result<Vec<DependenceBound>> {
        watch.begin("bounding dependence", events.len())?;
        let population = if rows.partition.smooth().is_none() && ground.limited {
            Population::new(&self.known(rows, ground), watch)?
        } else {
            None
        };
        let distance = ground.root_mean_square();
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
        let cells = rows.assigned(&rows.evaluation)?.codes().to_vec();
        let one = |event: &Event, cells: &[u32]| {
            let counts = Counts::of(&event.inside, cells, count);
            let value = event_certificate(counts.largest(), cells.len(), self.confidence);
            Certificate {
                event: event.name.clone(),
                threshold: event.threshold,
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
                threshold: None,
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

/// How far the predictions of every score were moved.
fn changes(
    rows: &Table,
    shifts: &RowShifts,
    products: &[Vec<f64>],
    watch: &Watch,
) -> Result<Vec<ChangeBound>> {
    let of_score = |(k, products): (usize, &Vec<f64>)| {
        let (scorer, name) = (&rows.model.scorers[k], score_name(rows.model, k));
        change::bound(scorer, name, shifts, (products, &rows.used), watch)
    };
    products.iter().enumerate().map(of_score).collect()
}

/// Of the kernel of the projected rows.
fn spectra(kernel: &Kernel, ground: &Ground, watch: &Watch) -> Result<Spectra> {
    let count = ground.rows.len();
    let matrix = entries(&KernelMatrix::of(kernel, &ground.points), count, watch)?;
    let weights = vec![1.0 / count as f64; count];
    let sharp = Spectrum::of(matrix.as_ref(), &weights, Constant::Any)?;
    watch.check()?;
    let papers = Spectrum::of(matrix.as_ref(), &weights, Constant::None)?;
    Ok(Spectra { sharp, papers })
}
