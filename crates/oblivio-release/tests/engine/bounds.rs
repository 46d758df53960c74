//! The bounds hold: on finite distributions where everything is exact, on samples, and with the confidence they claim.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use faer::Mat;
use oblivio::partition::{CellCount, Estimator, PartitionRule};
use oblivio::{Column, Error, Kernel, Mode, Model, Roles, Settings};
use oblivio_base::Scaling;
use oblivio_kernels::{Components, Selection};
use oblivio_release::{BoundSettings, Bounds, Constant, Price, Spectrum, trivial, trivial_for};
use oblivio_simulate::{RidgeParameters, Simulation};
use oblivio_testing::{KERNELS, generator, kernel, watch};
use rand::RngExt;

/// A distribution of (X, S) with few values, and a map W of it.
struct Finite {
    kernel: Mat<f64>,
    /// The point and the value of S of every outcome, and its probability.
    outcomes: Vec<(usize, usize, f64)>,
    values: usize,
    /// The number of the point that W is at each outcome.
    w: Vec<usize>,
}

impl Finite {
    fn new(number: u64) -> Self {
        let mut random = generator(number);
        let (points, values) = (
            random.random_range(2..6usize),
            random.random_range(2..5usize),
        );
        let dim = random.random_range(1..3usize);
        let at: Vec<Vec<f64>> = (0..points)
            .map(|_| (0..dim).map(|_| random.random_range(-1.5..1.5)).collect())
            .collect();
        let k: Kernel = kernel(KERNELS[number as usize % KERNELS.len()]);
        let kernel = Mat::from_fn(points, points, |i, j| k.at(&at[i], &at[j]));
        let raw: Vec<f64> = (0..points * values)
            .map(|_| random.random::<f64>().powi(3) + 1e-3)
            .collect();
        let total: f64 = raw.iter().sum();
        let outcomes: Vec<(usize, usize, f64)> = (0..points * values)
            .map(|o| (o / values, o % values, raw[o] / total))
            .collect();
        let mut finite = Self {
            kernel,
            outcomes,
            values,
            w: Vec::new(),
        };
        finite.w = (0..points * values)
            .map(|o| {
                // The nearest of the points, or any: the bound is for every map.
                if number.is_multiple_of(3) {
                    random.random_range(0..points)
                } else {
                    let far = |w: &usize| finite.square(o, *w, 1.0);
                    (0..points)
                        .min_by(|a, b| far(a).total_cmp(&far(b)))
                        .unwrap()
                }
            })
            .collect();
        finite
    }

    fn points(&self) -> usize {
        self.kernel.nrows()
    }

    /// The coefficients on the points of Z at an outcome, with strength t.
    fn z(&self, outcome: usize, strength: f64) -> Vec<f64> {
        let (x, s, _) = self.outcomes[outcome];
        let of_s: f64 = self.outcomes.iter().filter(|o| o.1 == s).map(|o| o.2).sum();
        let mut z = vec![0.0; self.points()];
        z[x] += 1.0;
        for (point, value, p) in &self.outcomes {
            if *value == s {
                z[*point] -= strength * p / of_s;
            }
            z[*point] += strength * p;
        }
        z
    }

    fn quadratic(&self, a: &[f64]) -> f64 {
        let n = self.points();
        (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| a[i] * self.kernel[(i, j)] * a[j])
                    .sum::<f64>()
            })
            .sum()
    }

    /// $\|Z - \phi(w)\|^2$
    fn square(&self, outcome: usize, w: usize, strength: f64) -> f64 {
        let mut z = self.z(outcome, strength);
        z[w] -= 1.0;
        self.quadratic(&z)
    }

    /// d and r.
    fn parts(&self, strength: f64) -> (f64, f64) {
        let all = self.outcomes.iter().enumerate();
        let d: f64 = all
            .map(|(o, (.., p))| p * self.square(o, self.w[o], strength))
            .sum();
        let mut means = vec![vec![0.0; self.points()]; self.values];
        let mut mass = vec![0.0; self.values];
        let mut overall = vec![0.0; self.points()];
        for (o, (_, s, p)) in self.outcomes.iter().enumerate() {
            mass[*s] += p;
            for (i, z) in self.z(o, strength).iter().enumerate() {
                means[*s][i] += p * z;
                overall[i] += p * z;
            }
        }
        let r: f64 = (0..self.values)
            .map(|s| {
                let apart: Vec<f64> = (0..self.points())
                    .map(|i| means[s][i] / mass[s] - overall[i])
                    .collect();
                mass[s] * self.quadratic(&apart)
            })
            .sum();
        (d.max(0.0).sqrt(), r.max(0.0).sqrt())
    }

    fn probability(&self, holds: impl Fn(usize, usize) -> bool) -> f64 {
        let all = self.outcomes.iter().enumerate();
        all.filter(|(o, (_, s, _))| holds(self.w[*o], *s))
            .map(|(_, (.., p))| p)
            .sum()
    }
}

/// PAPER, section 4, in the sharp form, for all events A of W and B of S of thousands of distributions.
#[test]
fn the_sharp_bound_holds_on_random_finite_distributions() {
    let (mut informative, mut looked) = (0, 0);
    for number in 0..2500 {
        let finite = Finite::new(number);
        let points = finite.points();
        let weights: Vec<f64> = (0..points)
            .map(|w| finite.probability(|at, _| at == w))
            .collect();
        let sharp = Spectrum::of(finite.kernel.as_ref(), &weights, Constant::Any).unwrap();
        let papers = Spectrum::of(finite.kernel.as_ref(), &weights, Constant::None).unwrap();
        let strength = if number % 2 == 0 { 1.0 } else { 0.6 };
        let (d, r) = finite.parts(strength);
        if strength == 1.0 {
            assert!(
                r < 1e-6,
                "{number}: nothing is left of the paper's means, {r}"
            );
        }
        for a in 0..1usize << points {
            let event: Vec<bool> = (0..points).map(|w| a >> w & 1 == 1).collect();
            let price = |approximation, norm| Price {
                approximation,
                norm,
            };
            let found = sharp.trade(&event, price(1.0, d + r));
            let proof = papers.trade(&event, price(2.0, 2.0 * (d + r)));
            let statement = papers.trade(&event, price(2.0, d + r));
            assert!(0.5 * found.value <= 0.25 * proof.value + 1e-9, "{number}");
            assert!(
                0.5 * found.value <= 0.5 * statement.value + 1e-9,
                "{number}"
            );
            let of_a = finite.probability(|w, _| event[w]);
            for b in 0..1usize << finite.values {
                let of_b = finite.probability(|_, s| b >> s & 1 == 1);
                let both = finite.probability(|w, s| event[w] && b >> s & 1 == 1);
                let dependence = (both - of_a * of_b).abs();
                let bound = (of_b * (1.0 - of_b)).max(0.0).sqrt() * found.value;
                assert!(dependence <= bound + 1e-9, "{number}: {dependence} {bound}");
                assert!(bound <= 0.5 * found.value + 1e-9);
                assert!(dependence <= trivial_for(of_a, of_b) + 1e-12);
                assert!(dependence <= trivial(of_a) + 1e-12);
                looked += 1;
            }
            informative += usize::from(0.5 * found.value < trivial(of_a) - 1e-3);
        }
    }
    assert!(looked > 200_000, "{looked}");
    assert!(
        informative > 1000,
        "it is not vacuous everywhere: {informative}"
    );
}

fn table(simulation: Simulation, rows: usize, seed: u64) -> (Vec<Column>, Vec<Column>, Column) {
    let table = simulation.table(rows, seed).unwrap();
    // The Gaussian pair has no target.
    let target = table.targets.first().unwrap_or(&table.features[0]).clone();
    (table.features, table.sensitive, target)
}

fn fitted(
    (features, sensitive, target): &(Vec<Column>, Vec<Column>, Column),
    settings: &Settings,
) -> Model {
    let roles = Roles {
        features,
        sensitive,
        target,
        labels: None,
        weights: None,
    };
    Model::fit(roles, Scaling::Standard, settings, &watch())
        .unwrap()
        .0
}

fn settings(kernel: &str) -> Settings {
    Settings {
        kernel: kernel.parse().unwrap(),
        partition: PartitionRule {
            cells: CellCount::Given(3),
            ..PartitionRule::default()
        },
        ..Settings::default()
    }
}

fn bounds(model: &Model, simulation: Simulation, settings: &BoundSettings) -> Bounds {
    let (features, sensitive, _) = table(simulation, 400, 99);
    let all: Vec<Column> = features.into_iter().chain(sensitive).collect();
    settings.run(model, &all, &watch()).unwrap()
}

fn ridge(mix: f64) -> Simulation {
    Simulation::Ridge1(RidgeParameters {
        mix,
        ..RidgeParameters::default()
    })
}

const SMALL: BoundSettings = BoundSettings {
    most_rows: 60,
    confidence: 0.9,
    seed: 1,
    gap: 0.01,
    most_boxes: 200,
    translation: 0.0,
};

/// What must hold of every report, whatever the model: ψ on its own rows, the change, and the order of ends.
fn check(found: &Bounds) {
    for bound in &found.dependence {
        assert!(bound.actual <= bound.value + 1e-9, "{bound:?}");
        assert!(bound.without_left <= bound.value + 1e-9);
        assert!(bound.without_left <= bound.paper_proof + 1e-9);
        assert!(bound.paper_statement <= bound.paper_proof + 1e-9);
        let whole = bound.approximation + bound.norm * (bound.distance + bound.left);
        assert!((bound.value - 0.5 * whole).abs() < 1e-9);
        for cell in &bound.by_cell {
            assert!(cell.actual <= cell.value + 1e-9, "{cell:?}");
        }
        if let Some(population) = bound.population {
            assert!(population.value + 1e-12 >= 0.5 * population.approximation);
            assert_eq!(population.vacuous, population.value >= 0.25);
        }
    }
    // c + ψ(C), and never more than the paper's 2c + ψ.
    for bound in &found.feature_events {
        assert!(bound.actual <= bound.value + 1e-9, "{bound:?}");
        assert!((bound.mismatch + bound.projected - bound.value).abs() < 1e-12);
        assert!((0.0..=1.0).contains(&bound.mismatch));
        assert!(bound.paper_statement <= bound.paper_proof + 1e-9);
        assert_eq!(bound.vacuous, bound.value >= trivial(bound.share));
    }
    let moved = &found.moved;
    assert!(moved.mean <= moved.value + 1e-9, "{moved:?}");
    assert!(moved.largest_share <= 1.0 + 1e-6, "{moved:?}");
    for change in &found.changes {
        for cell in &change.by_cell {
            assert!(
                cell.realised <= cell.value * (1.0 + 1e-9) + 1e-12,
                "{cell:?}"
            );
            assert!(cell.mean_shift <= cell.shift + 1e-12);
        }
    }
    let distance = &found.distance;
    assert!(distance.mean.value <= distance.root_mean_square.value + 1e-12);
    assert!(distance.root_mean_square.value <= distance.range + 1e-12);
    for estimate in [distance.mean, distance.root_mean_square] {
        let intervals = [estimate.bernstein, estimate.hoeffding, estimate.paper];
        for interval in intervals.iter().flatten() {
            assert!(interval.upper + 1e-12 >= estimate.value);
            assert!(
                interval
                    .lower
                    .is_none_or(|low| low <= estimate.value + 1e-12)
            );
        }
    }
    assert!(distance.mean_gap <= distance.largest_gap);
    for certificate in &found.certificates {
        assert!(certificate.found <= certificate.value);
    }
}

/// Experiment 1 at γ = 1, where X has nothing to do with S and distances are small: no tolerance rules the lower end, and a smaller gap
/// raises it.
#[test]
fn the_lower_end_of_a_small_distance_is_near_it() {
    let data = table(ridge(1.0), 300, 1);
    let model = fitted(&data, &settings("rbf(gamma=1)"));
    let (features, sensitive, _) = table(ridge(1.0), 600, 99);
    let all: Vec<Column> = features.into_iter().chain(sensitive).collect();
    let run = |gap: f64, most_boxes: usize| {
        let settings = BoundSettings {
            gap,
            most_boxes,
            most_rows: 300,
            ..SMALL
        };
        let found = settings.run(&model, &all, &watch()).unwrap();
        check(&found);
        let lower = found.distance.mean.bernstein.unwrap().lower.unwrap();
        (found.distance, lower)
    };
    let (found, lower) = run(0.01, 200);
    assert_eq!(found.certified_rows, 300);
    // A share of 0.01 of the square is at most 0.0051 of the distance; boxes end no search of one feature.
    let share = 1.0 - (1.0f64 - 0.01).sqrt();
    assert!(found.mean_gap.unwrap() <= share * found.mean.value + 1e-9);
    let margin = found.mean.bernstein.unwrap().upper - found.mean.value;
    assert!(lower >= found.mean.value - 1.1 * margin - found.mean_gap.unwrap());
    assert!(
        lower > 0.5 * found.mean.value,
        "{lower} of {:?}",
        found.mean
    );
    let (coarse, low) = run(0.5, 200);
    let (fine, high) = run(1e-4, 2000);
    assert!(low < lower && lower < high, "{low} {lower} {high}");
    assert!(fine.largest_gap < found.largest_gap && found.largest_gap < coarse.largest_gap);
    // What was found of the distances hardly moves: only the search for their lower bounds goes on.
    assert!((fine.mean.value - coarse.mean.value).abs() < 1e-3 * fine.mean.value);
}

/// Every statement holds for a translation by h*, which only the distances see.
#[test]
fn bounds_hold_with_a_translation() {
    let data = table(ridge(0.5), 150, 1);
    for (text, smooth) in [
        ("rbf(gamma=1)", false),
        ("linear", false),
        ("rbf(gamma=1)", true),
    ] {
        let mut own = settings(text);
        if smooth {
            own.partition.estimator = Estimator::Smooth;
        }
        let model = fitted(&data, &own);
        let plain = bounds(&model, ridge(0.5), &SMALL);
        for translation in [-1.0, -0.2, 0.2, 1.0] {
            let settings = BoundSettings {
                translation,
                ..SMALL
            };
            let found = bounds(&model, ridge(0.5), &settings);
            check(&found);
            assert_eq!(found.translation, translation);
            assert_eq!(found.changes, plain.changes);
            // A linear kernel's manifold is reached either way.
            if text != "linear" {
                assert_ne!(found.distance.mean.value, plain.distance.mean.value);
            }
            // h* has at most length ρ, and every W is as good a choice for one as for the other.
            let norm = found.distance.norm;
            let apart = found.distance.mean.value - plain.distance.mean.value;
            assert!(apart.abs() <= translation.abs() * norm + 1e-9);
            for (translated, plain) in found.dependence.iter().zip(&plain.dependence) {
                assert!((translated.left - plain.left).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn bounds_hold_for_models_of_every_kind() {
    let few = BoundSettings {
        most_rows: 20,
        ..SMALL
    };
    let data = table(ridge(0.5), 150, 1);
    for text in [
        "rbf(gamma=1)",
        "linear",
        "poly(degree=2, gamma=0.5, coef0=1)",
        "laplacian(gamma=1)",
    ] {
        for (mode, strength) in [
            (Mode::Oblivious, 1.0),
            (Mode::Oblivious, 0.5),
            (Mode::MOblivious, 1.0),
            (Mode::SensitiveFree, 1.0),
            (Mode::Plain, 1.0),
        ] {
            let own = Settings {
                mode,
                strength,
                ..settings(text)
            };
            let model = fitted(&data, &own);
            let found = bounds(&model, ridge(0.5), &few);
            check(&found);
            assert_eq!(found.projected_rows, 20);
            assert_eq!(found.cells.len(), 3);
            assert!(found.distance.mean.hoeffding.is_some());
            // Only features that cannot be longer than those of the reference say something of the population.
            let limited = ["rbf", "laplacian"]
                .iter()
                .any(|name| text.starts_with(name));
            let mut dependence = found.dependence.iter();
            assert!(dependence.all(|bound| bound.population.is_some() == limited));
        }
        for estimator in [Estimator::Smooth, Estimator::Linear] {
            let mut own = settings(text);
            own.partition.estimator = estimator;
            let found = bounds(&fitted(&data, &own), ridge(0.5), &few);
            check(&found);
            assert!(
                found
                    .dependence
                    .iter()
                    .all(|bound| bound.population.is_none())
            );
            // The range of their shifts is not known beforehand.
            for estimate in [found.distance.mean, found.distance.root_mean_square] {
                let intervals = [estimate.bernstein, estimate.hoeffding, estimate.paper];
                assert_eq!(intervals, [None; 3]);
            }
            let said = |note: &String| note.contains("no intervals of distances");
            assert!(found.notes.iter().any(said));
        }
    }
    let landmarks = Settings {
        components: Some(Components::new(20)),
        ..settings("rbf(gamma=1)")
    };
    check(&bounds(&fitted(&data, &landmarks), ridge(0.5), &few));
}

#[test]
fn a_seed_decides_and_few_free_features_are_certified() {
    let model = fitted(&table(ridge(0.5), 150, 1), &settings("rbf(gamma=1)"));
    let found = bounds(&model, ridge(0.5), &SMALL);
    assert_eq!(found, bounds(&model, ridge(0.5), &SMALL));
    let other = BoundSettings { seed: 2, ..SMALL };
    assert_ne!(found.distance, bounds(&model, ridge(0.5), &other).distance);
    assert_eq!(found.distance.certified_rows, 60);
    let interval = found.distance.mean.bernstein;
    assert!(
        interval
            .and_then(|interval| interval.lower)
            .is_some_and(|low| low <= found.distance.mean.value)
    );
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Bounds>(&json).unwrap(), found);
    // More features than can be certified have an upper end only.
    let simulation = Simulation::Admissions;
    let mut data = table(simulation, 150, 1);
    data.1.truncate(1);
    let model = fitted(&data, &settings("rbf(gamma=0.2)"));
    let found = bounds(&model, simulation, &SMALL);
    check(&found);
    assert_eq!(found.distance.certified_rows, 0);
    let distance = &found.distance;
    for estimate in [distance.mean, distance.root_mean_square] {
        for interval in [estimate.bernstein, estimate.hoeffding] {
            assert_eq!(interval.unwrap().lower, None);
        }
    }
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("only the upper ends"))
    );
}

/// Rows that are judged have no say in the region, ρ and R; one far outside stays where it is, or nearer.
#[test]
fn the_region_is_that_of_the_reference_rows() {
    for text in ["linear", "rbf(gamma=1)"] {
        let model = fitted(&table(ridge(0.5), 150, 1), &settings(text));
        let (features, sensitive, _) = table(ridge(0.5), 60, 99);
        let all: Vec<Column> = features.into_iter().chain(sensitive).collect();
        let plain = SMALL.run(&model, &all, &watch()).unwrap();
        let inside = plain.notes.iter().all(|note| !note.contains("outside"));
        let numbers = |column: &Column| match &column.values {
            oblivio::Values::Numbers(values) => values.clone(),
            oblivio::Values::Categories { .. } => unreachable!("x is a number"),
        };
        let (mut judged, mut others) = (0, 0);
        for row in 0..60 {
            let mut x = numbers(&all[0]);
            x[row] = 1e3;
            let mut far = all.clone();
            far[0] = Column::numbers("x", x);
            let found = SMALL.run(&model, &far, &watch()).unwrap();
            check(&found);
            let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
            if found.changes == plain.changes {
                let (now, before) = (&found.distance, &plain.distance);
                assert!(same(now.norm, before.norm) && same(now.range, before.range));
                let said = |note: &String| note.contains("outside the box");
                assert!(!inside || found.notes.iter().any(said), "{:?}", found.notes);
                judged += 1;
            } else {
                others += 1;
            }
        }
        assert_eq!((judged, others), (30, 30), "{text}");
    }
}

/// More rows than are certified: the lower ends are from those that are, and W is one map.
#[test]
fn many_rows_of_several_features_are_certified_in_part() {
    let simulation = ridge(0.5);
    let twice = |mut columns: Vec<Column>| -> Vec<Column> {
        let mut second = columns[0].clone();
        second.name = "x2".into();
        columns.push(second);
        columns
    };
    let (features, sensitive, target) = table(simulation, 150, 1);
    let data = (twice(features), sensitive, target);
    let model = fitted(&data, &settings("rbf(gamma=1)"));
    let (features, sensitive, _) = table(simulation, 420, 99);
    let all: Vec<Column> = twice(features).into_iter().chain(sensitive).collect();
    let wide = BoundSettings {
        most_rows: 205,
        ..SMALL
    };
    let found = wide.run(&model, &all, &watch()).unwrap();
    check(&found);
    assert_eq!(found.distance.certified_rows, 200);
    assert!(found.distance.mean.bernstein.unwrap().lower.is_some());
    let said = |note: &String| note.contains("from 200 of 205 rows");
    assert!(found.notes.iter().any(said), "{:?}", found.notes);
}

/// The Gaussian example: a linear kernel's manifold holds Z, so that ψ has nothing to pay for the distance.
#[test]
fn with_a_linear_kernel_the_manifold_is_reached() {
    let simulation = Simulation::from_name("gaussian").unwrap();
    let model = fitted(&table(simulation, 300, 1), &settings("linear"));
    let found = bounds(&model, simulation, &SMALL);
    check(&found);
    let distance = found.distance.root_mean_square.value;
    assert!(distance < 0.1 * found.distance.range, "{distance}");
}

/// Where the truth is known: certificates of decisions cover it as often as they say.
#[test]
fn certificates_cover_the_truth_of_a_finite_population() {
    // x in {0, …, 4}, three groups; the shares of x in each.
    let shares = [[4, 3, 2, 1, 0], [2, 2, 2, 2, 2], [0, 1, 2, 3, 4]];
    let population: Vec<(f64, usize)> = (0..3)
        .flat_map(|s| (0..5).flat_map(move |x| vec![(x as f64, s); shares[s][x]]))
        .collect();
    let columns = |rows: &[(f64, usize)]| {
        let names = ["a", "b", "c"];
        vec![
            Column::numbers("x", rows.iter().map(|row| row.0).collect()),
            Column::texts("group", rows.iter().map(|row| Some(names[row.1]))),
        ]
    };
    let draw = |seed: u64, rows: usize| -> Vec<(f64, usize)> {
        let mut random = generator(seed);
        (0..rows)
            .map(|_| population[random.random_range(0..population.len())])
            .collect()
    };
    let training = draw(7, 120);
    let mut all = columns(&training);
    let labels = training
        .iter()
        .map(|row| Some(if row.0 > 2.0 { "yes" } else { "no" }));
    let target = Column::texts("y", labels);
    let group = all.split_off(1);
    let own = Settings {
        learner: oblivio_kernels::learn::Learner::Logistic,
        strength: 0.5,
        ..settings("rbf(gamma=0.3)")
    };
    let model = fitted(&(all, group, target), &own);
    let scores = &model.predict(&columns(&population), &watch()).unwrap()[0].scores;
    let rate = |s: Option<usize>| {
        let rows = population
            .iter()
            .zip(scores)
            .filter(|(row, _)| s.is_none_or(|s| row.1 == s));
        let chosen: Vec<f64> = rows
            .map(|(_, score)| f64::from(u8::from(*score > 0.0)))
            .collect();
        chosen.iter().sum::<f64>() / chosen.len() as f64
    };
    let truth: f64 = (0..3)
        .map(|s| (rate(Some(s)) - rate(None)).abs() / 6.0)
        .sum();
    assert!(truth > 0.02, "there is something to certify: {truth}");
    let (repetitions, confidence) = (200, 0.6);
    let quick = BoundSettings {
        most_rows: 10,
        confidence,
        seed: 0,
        ..SMALL
    };
    let covered = (0..repetitions)
        .filter(|repetition| {
            let table = columns(&draw(1000 + repetition, 120));
            let found = quick.run(&model, &table, &watch()).unwrap();
            check(&found);
            let own = found
                .certificates
                .iter()
                .find(|c| c.event == "decided `yes`")
                .unwrap();
            own.value >= truth
        })
        .count();
    let share = covered as f64 / repetitions as f64;
    let error = (confidence * (1.0 - confidence) / repetitions as f64).sqrt();
    assert!(share >= confidence - 3.0 * error, "{share}");
}

#[test]
fn what_cannot_be_bounded_is_refused_with_a_reason() {
    let data = table(ridge(0.5), 150, 1);
    let all: Vec<Column> = data.0.iter().chain(&data.1).cloned().collect();
    let refused = |model: &Model, settings: &BoundSettings, rows: usize| -> String {
        let keep: Vec<usize> = (0..rows).collect();
        let table: Vec<Column> = all.iter().map(|column| column.select(&keep)).collect();
        let error: Error = settings.run(model, &table, &watch()).unwrap_err();
        error.to_string()
    };
    let plain = fitted(
        &(data.0.clone(), Vec::new(), data.2.clone()),
        &settings("linear"),
    );
    assert!(refused(&plain, &SMALL, 150).contains("fit it again with some"));
    let waves = Settings {
        components: Some(Components {
            selection: Selection::Fourier,
            ..Components::new(20)
        }),
        ..settings("rbf(gamma=1)")
    };
    let model = fitted(&data, &waves);
    assert!(refused(&model, &SMALL, 150).contains("landmarks in place of Fourier"));
    let model = fitted(&data, &settings("linear"));
    for confidence in [0.0, 1.0, f64::NAN] {
        let wrong = BoundSettings {
            confidence,
            ..SMALL
        };
        assert!(refused(&model, &wrong, 150).contains("between 0 and 1"));
    }
    let few = BoundSettings {
        most_rows: 3,
        ..SMALL
    };
    assert!(refused(&model, &few, 150).contains("at least 10"));
    for gap in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let wrong = BoundSettings { gap, ..SMALL };
        assert!(refused(&model, &wrong, 150).contains("a positive number"));
    }
    let none = BoundSettings {
        most_boxes: 0,
        ..SMALL
    };
    assert!(refused(&model, &none, 150).contains("at least 1"));
    for translation in [1.5, -2.0, f64::NAN] {
        let wrong = BoundSettings {
            translation,
            ..SMALL
        };
        assert!(refused(&model, &wrong, 150).contains("from -1 to 1"));
    }
    assert!(refused(&model, &SMALL, 12).contains("at least 20 are needed"));
    // Cells without reference rows lose theirs: what is asked for is more than there are.
    let names: Vec<String> = (0..150).map(|row| format!("g{}", row % 12)).collect();
    let group = Column::texts("group", names.iter().map(|name| Some(name.as_str())));
    let many = fitted(
        &(data.0.clone(), vec![group.clone()], data.2.clone()),
        &settings("linear"),
    );
    let keep: Vec<usize> = (0..21).collect();
    let few_rows = [data.0[0].select(&keep), group.select(&keep)];
    let error = SMALL.run(&many, &few_rows, &watch()).unwrap_err();
    let Error::TooFewRows { found, needed, .. } = error else {
        panic!("{error}");
    };
    assert!(found == 21 && needed > 21, "{needed}");
    let without = SMALL
        .run(&model, &data.0, &watch())
        .unwrap_err()
        .to_string();
    assert!(
        without.contains("column `s` is not in the table"),
        "{without}"
    );
}
