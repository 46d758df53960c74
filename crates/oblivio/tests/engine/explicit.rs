//! The explicit path: with every row a landmark it is the exact path, and its moments add up.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::moments::{Batch, Moments, Plan, SensitiveRows};
use oblivio::reference::Reference;
use oblivio::refresh::Renewal;
use oblivio::{Error, Mode, Points, Sensitive, Settings, Training};
use oblivio_audit::correlation_ratio;
use oblivio_kernels::learn::{Intercept, Ridge, Solver};
use oblivio_kernels::{Components, FeatureMap, Selection};

use std::sync::Arc;

use oblivio_testing::{CUTS, Cut, Table, apart, rounding, settings, size, watch};
use proptest::prelude::*;

const MODES: [Mode; 3] = [Mode::Plain, Mode::Oblivious, Mode::MOblivious];

fn explicit(settings: &Settings, count: usize) -> Settings {
    Settings {
        components: Some(Components::new(count)),
        ..settings.clone()
    }
}

/// Relative to the size of the scores.
fn differ(table: &Table, a: &Settings, b: &Settings, cut: Cut) -> f64 {
    let a = table.scores(&table.fit(a, cut), cut);
    let b = table.scores(&table.fit(b, cut), cut);
    apart(&a, &b) / size(&a)
}

#[test]
fn with_every_row_a_landmark_it_is_the_exact_path() {
    for (seed, kernel) in [
        "rbf(gamma=0.3)",
        "laplacian(gamma=0.3)",
        "matern52(gamma=0.5)",
        "linear",
        "poly(degree=2, gamma=0.3, coef0=1)",
        "0.5 * rbf(gamma=1) + linear",
    ]
    .iter()
    .enumerate()
    {
        for weigh in [false, true] {
            let table = Table::new(60, 2, seed as u64);
            let table = if weigh { table.weighted(7) } else { table };
            for mode in MODES {
                for reference in [Reference::All, Reference::Half] {
                    for intercept in [Intercept::None, Intercept::Fitted] {
                        let exact = Settings {
                            mode,
                            reference: reference.clone(),
                            intercept,
                            strength: 0.8,
                            ..settings(kernel)
                        };
                        for cut in CUTS {
                            let apart = differ(&table, &exact, &explicit(&exact, 60), cut);
                            assert!(
                                apart < 1e-8,
                                "{kernel} {mode:?} {reference:?} {intercept:?} {cut:?}: {apart}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// A batch of the rows of a table.
struct Part {
    table: Table,
    sensitive: Sensitive,
}

impl Part {
    fn of(table: &Table, rows: &[usize], cut: Cut) -> Self {
        let table = table.select(rows);
        let sensitive = table.sensitive(cut);
        Self { table, sensitive }
    }

    fn batch(&self) -> Batch<'_> {
        Batch {
            points: &self.table.points,
            sensitive: SensitiveRows::Columns(&self.sensitive),
            targets: Some(&self.table.targets),
            weights: Some(&self.table.weights),
        }
    }
}

fn plan(table: &Table, settings: &Settings, cut: Cut) -> Arc<Plan> {
    let settings = Settings {
        partition: cut.rule(),
        ..settings.clone()
    };
    let sensitive = table.sensitive(cut);
    let training = Training {
        points: &table.points,
        sensitive: &sensitive,
        targets: &table.targets,
        weights: Some(&table.weights),
    };
    Arc::new(settings.plan(training, table.len(), &watch()).unwrap().0)
}

fn moments(plan: &Arc<Plan>, table: &Table, rows: &[usize], cut: Cut) -> Moments {
    let mut moments = Moments::new(Arc::clone(plan));
    let part = Part::of(table, rows, cut);
    moments.update(part.batch(), &watch()).unwrap();
    moments
}

/// Scores of the table by the model that the moments amount to.
fn scores(moments: &Moments, settings: &Settings, table: &Table, cut: Cut) -> Vec<f64> {
    table.scores(&settings.fit_moments(moments, &watch()).unwrap(), cut)
}

fn all(table: &Table) -> Vec<usize> {
    (0..table.len()).collect()
}

/// A bound on the rounding of scores relative to their size, for kernels of at most 1: that of sums over the rows, times a bound on
/// the condition number of ΦΩΦᵀ + λI, whose trace is at most 4Σω as an oblivious feature is at most twice as long as a plain one.
fn rounding_of_scores(table: &Table, settings: &Settings) -> f64 {
    let trace = 4.0 * table.weights.iter().sum::<f64>();
    rounding(table.len(), 1.0 + trace / settings.penalty)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_sharding_and_any_order_of_merges_is_one_pass(
        table in oblivio_testing::tables(), cut in oblivio_testing::cuts(), owner in prop::collection::vec(0usize..5, 60), seed in any::<u64>(),
    ) {
        let settings = explicit(&settings("rbf(gamma=0.5)"), 12);
        let plan = plan(&table, &settings, cut);
        let whole = moments(&plan, &table, &all(&table), cut);
        let shards: Vec<Moments> = (0..5)
            .map(|k| (0..table.len()).filter(|i| owner[*i] == k).collect::<Vec<_>>())
            .map(|rows| moments(&plan, &table, &rows, cut))
            .collect();
        let mut order: Vec<usize> = (0..5).collect();
        order.rotate_left((seed % 5) as usize);
        if seed.is_multiple_of(2) { order.reverse(); }
        // Two trees: one after the other, and by pairs.
        let mut chain = Moments::new(Arc::clone(&plan));
        for k in &order {
            chain.merge(&shards[*k], &watch()).unwrap();
        }
        let mut left = shards[order[0]].clone();
        left.merge(&shards[order[1]], &watch()).unwrap();
        let mut right = shards[order[2]].clone();
        right.merge(&shards[order[3]], &watch()).unwrap();
        right.merge(&left, &watch()).unwrap();
        right.merge(&shards[order[4]], &watch()).unwrap();
        let expected = scores(&whole, &settings, &table, cut);
        for merged in [chain, right] {
            prop_assert_eq!(merged.rows(), whole.rows());
            let found = scores(&merged, &settings, &table, cut);
            let off = apart(&expected, &found) / size(&expected);
            prop_assert!(off <= rounding_of_scores(&table, &settings), "{off:e}");
        }
    }

    #[test]
    fn what_is_subtracted_was_never_there(table in oblivio_testing::tables(), cut in oblivio_testing::cuts(), split in 10usize..20) {
        let settings = explicit(&settings("rbf(gamma=0.5)"), 12);
        let plan = plan(&table, &settings, cut);
        let (first, rest): (Vec<usize>, Vec<usize>) = all(&table).into_iter().partition(|i| *i < split);
        let kept = moments(&plan, &table, &rest, cut);
        let mut whole = moments(&plan, &table, &all(&table), cut);
        whole.subtract(&moments(&plan, &table, &first, cut), &watch()).unwrap();
        prop_assert_eq!(whole.rows(), kept.rows());
        // Rows of the removed part may have no cell any more.
        let left = table.select(&rest);
        let expected = scores(&kept, &settings, &left, cut);
        let found = scores(&whole, &settings, &left, cut);
        // The rounding of sums over all rows stays in those over the rows that are left.
        let least = left.weights.iter().copied().fold(f64::INFINITY, f64::min);
        let rest = table.weights.iter().sum::<f64>() / least;
        let off = apart(&expected, &found) / size(&expected);
        prop_assert!(off <= rest * rounding_of_scores(&table, &settings), "{off:e}");
        let all = moments(&plan, &table, &all(&table), cut);
        prop_assert!(moments(&plan, &table, &first, cut).subtract(&all, &watch()).is_err());
    }

    #[test]
    fn weights_count_as_repetitions(table in oblivio_testing::tables(), cut in oblivio_testing::cuts(), mode in prop::sample::select(&MODES[..])) {
        let times: Vec<usize> = (0..table.len()).map(|i| 1 + i % 3).collect();
        let repeated: Vec<usize> = (0..table.len()).flat_map(|i| vec![i; times[i]]).collect();
        let mut weighted = table.clone();
        weighted.weights = times.iter().map(|t| *t as f64).collect();
        let mut copies = table.select(&repeated);
        copies.weights = vec![1.0; repeated.len()];
        let settings = Settings { mode, ..explicit(&settings("rbf(gamma=0.5)"), 12) };
        let a = table.scores(&weighted.fit(&settings, cut), cut);
        let b = table.scores(&copies.fit(&settings, cut), cut);
        let off = apart(&a, &b) / size(&a);
        prop_assert!(off <= rounding_of_scores(&weighted, &settings), "{off:e}");
    }

    #[test]
    fn bytes_come_back_as_they_went(table in oblivio_testing::tables(), cut in oblivio_testing::cuts()) {
        let settings = explicit(&settings("laplacian(gamma=0.5)"), 9);
        let plan = plan(&table, &settings, cut);
        let whole = moments(&plan, &table, &all(&table), cut);
        let bytes = whole.to_bytes().unwrap();
        let back = Moments::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&back, &whole);
        prop_assert_eq!(back.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn damaged_bytes_are_refused_or_harmless(at in any::<prop::sample::Index>(), value in any::<u8>(), cut_off in any::<prop::sample::Index>()) {
        let table = Table::new(20, 1, 3);
        let settings = explicit(&settings("rbf(gamma=0.5)"), 4);
        let plan = plan(&table, &settings, Cut::Product);
        let bytes = moments(&plan, &table, &all(&table), Cut::Product).to_bytes().unwrap();
        let short = &bytes[..cut_off.index(bytes.len())];
        prop_assert!(Moments::from_bytes(short).is_err());
        let mut changed = bytes.clone();
        changed[at.index(bytes.len())] = value;
        if let Ok(moments) = Moments::from_bytes(&changed) {
            // What is accepted must be usable without a panic.
            let _ = settings.fit_moments(&moments, &watch());
            let mut merged = moments.clone();
            let _ = merged.merge(&moments, &watch());
        }
    }
}

#[test]
fn batches_and_threads_change_no_bit() {
    let table = Table::new(900, 3, 5);
    for selection in [Selection::Cholesky, Selection::KMeans, Selection::Uniform] {
        let settings = Settings {
            components: Some(Components {
                selection,
                ..Components::new(40)
            }),
            ..settings("rbf(gamma=0.4)")
        };
        let gather = |threads: usize, batch: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let plan = plan(&table, &settings, Cut::Product);
                let mut moments = Moments::new(plan);
                for rows in all(&table).chunks(batch) {
                    moments
                        .update(Part::of(&table, rows, Cut::Product).batch(), &watch())
                        .unwrap();
                }
                moments.to_bytes().unwrap()
            })
        };
        let once = gather(1, 900);
        assert!(once == gather(3, 900) && once == gather(2, 7));
    }
}

#[test]
fn features_of_s_that_are_indicators_are_cells() {
    let table = Table::new(80, 2, 11).weighted(2);
    let base = explicit(&settings("rbf(gamma=0.4)"), 15);
    let cells = plan(&table, &base, Cut::Group);
    let by_cell = moments(&cells, &table, &all(&table), Cut::Group);
    let groups = 1 + table.group.iter().max().unwrap();
    let indicators: Vec<f64> = table
        .group
        .iter()
        .flat_map(|g| (0..groups).map(move |k| f64::from(u8::from(*g == k))))
        .collect();
    let plan = cells
        .as_ref()
        .clone()
        .with_sensitive_features(groups, 0.0)
        .unwrap();
    let mut dense = Moments::new(Arc::new(plan));
    let part = Part::of(&table, &all(&table), Cut::Group);
    dense
        .update(
            Batch {
                sensitive: SensitiveRows::Features(&indicators),
                ..part.batch()
            },
            &watch(),
        )
        .unwrap();
    let back = Moments::from_bytes(&dense.to_bytes().unwrap()).unwrap();
    let ridge = Ridge::new(0.5, Solver::Auto).unwrap();
    let solve = |moments: &Moments, strength| {
        let design = moments.design(strength, &watch()).unwrap();
        ridge.solve_design(&design, &watch()).unwrap().weights
    };
    for strength in [0.0, 0.6, 1.0] {
        let expected = solve(&by_cell, strength);
        assert!(apart(&expected, &solve(&dense, strength)) < 1e-10 * size(&expected));
        assert!(apart(&expected, &solve(&back, strength)) < 1e-10 * size(&expected));
    }
    // A ridge on the conditional mean takes less off.
    let shrunk = cells
        .as_ref()
        .clone()
        .with_sensitive_features(groups, 10.0)
        .unwrap();
    let mut weak = Moments::new(Arc::new(shrunk));
    weak.update(
        Batch {
            sensitive: SensitiveRows::Features(&indicators),
            ..part.batch()
        },
        &watch(),
    )
    .unwrap();
    let (full, none) = (solve(&dense, 1.0), solve(&dense, 0.0));
    let some = solve(&weak, 1.0);
    assert!(apart(&some, &none) < apart(&full, &none) && apart(&some, &none) > 0.0);
}

#[test]
fn large_means_cost_no_digits() {
    let mut table = Table::new(200, 2, 4);
    let settings = Settings {
        intercept: Intercept::Fitted,
        ..explicit(&settings("linear"), 2)
    };
    let near = table.scores(&table.fit(&settings, Cut::Group), Cut::Group);
    let far: Vec<f64> = table.points.values().iter().map(|v| v + 1e6).collect();
    table.points = Points::new(far, 2).unwrap();
    table.targets.iter_mut().for_each(|y| *y += 1e6);
    let moved = table.scores(&table.fit(&settings, Cut::Group), Cut::Group);
    let back: Vec<f64> = moved.iter().map(|y| y - 1e6).collect();
    // The points themselves are rounded to 1e-10.
    assert!(apart(&near, &back) < 1e-7 * size(&near));
}

#[test]
fn the_grid_is_what_single_fits_say() {
    let table = Table::new(150, 2, 6);
    let base = Settings {
        intercept: Intercept::Fitted,
        ..explicit(&settings("rbf(gamma=0.4)"), 20)
    };
    let cut = Cut::Product;
    let gathered = moments(&plan(&table, &base, cut), &table, &all(&table), cut);
    let (strengths, penalties) = ([0.0, 0.5, 1.0], [0.01, 1.0, 30.0]);
    let grid = base
        .grid(&gathered, &strengths, &penalties, &watch())
        .unwrap();
    assert_eq!(grid.len(), 9);
    for point in &grid {
        let single = Settings {
            strength: point.strength,
            penalty: point.penalty,
            ..base.clone()
        };
        let fit = single.fit_moments(&gathered, &watch()).unwrap();
        assert!((fit.summary.error - point.error).abs() < 1e-9 * point.error);
        let scores = table.scores(&fit, cut);
        let sensitive = table.sensitive(cut);
        let offsets = fit.predictor.offsets().unwrap();
        let cells = offsets.partition.assign(&sensitive).unwrap();
        let ratio = correlation_ratio(&scores, cells.codes());
        assert!((ratio.value - point.correlation_ratio).abs() < 1e-9);
        assert!((ratio.expected - point.expected).abs() < 1e-12);
        let means = oblivio_testing::cell_means(&scores, cells.codes(), &table.weights);
        assert!((oblivio_testing::range(&means) - point.gap).abs() < 1e-9);
    }
    let dependence = |t: f64| {
        grid.iter()
            .find(|p| p.strength == t && p.penalty == 1.0)
            .unwrap()
            .correlation_ratio
    };
    assert!(dependence(0.0) > 0.05 && dependence(1.0) < 1e-12);
}

/// GCV is n RSS/(n − tr H)², H being the matrix that maps targets to fitted values: taken column by column.
#[test]
fn generalised_cross_validation_counts_the_degrees_of_freedom() {
    let table = Table::new(40, 2, 8);
    for intercept in [Intercept::None, Intercept::Fitted] {
        let base = Settings {
            intercept,
            strength: 0.7,
            penalty: 0.3,
            ..explicit(&settings("rbf(gamma=0.4)"), 10)
        };
        let cut = Cut::Group;
        let plan = plan(&table, &base, cut);
        let gathered = moments(&plan, &table, &all(&table), cut);
        let point = base.grid(&gathered, &[0.7], &[0.3], &watch()).unwrap()[0];
        let mut freedom = 0.0;
        for i in 0..40 {
            let mut unit = table.clone();
            unit.targets = (0..40).map(|k| f64::from(u8::from(k == i))).collect();
            let fit = base
                .fit_moments(&moments(&plan, &unit, &all(&unit), cut), &watch())
                .unwrap();
            freedom += unit.scores(&fit, cut)[i];
        }
        let rss = 40.0 * point.error * point.error;
        let expected = 40.0 * rss / (40.0 - freedom).powi(2);
        assert!(
            (point.gcv - expected).abs() < 1e-9 * expected,
            "{intercept:?}"
        );
    }
}

#[test]
fn more_landmarks_come_closer_and_pivots_beat_chance() {
    // A small spread-out group, which uniform landmarks miss.
    let mut table = Table::new(600, 4, 12);
    let mut values = table.points.values().to_vec();
    values[..4 * 20].iter_mut().for_each(|v| *v *= 6.0);
    table.points = Points::new(values, 4).unwrap();
    let exact = settings("rbf(gamma=0.15)");
    let error = |selection, count| {
        let near = Settings {
            components: Some(Components {
                selection,
                ..Components::new(count)
            }),
            ..exact.clone()
        };
        differ(&table, &exact, &near, Cut::Group)
    };
    let [pivoted, seeded, drawn] =
        [Selection::Cholesky, Selection::KMeans, Selection::Uniform].map(|s| error(s, 120));
    assert!(
        pivoted < 0.5 * drawn && seeded < drawn,
        "{pivoted} {seeded} {drawn}"
    );
    assert!(error(Selection::Cholesky, 300) < 0.2 * pivoted);
}

#[test]
fn a_tolerance_stops_early_and_a_low_rank_is_noticed() {
    let table = Table::new(300, 1, 1);
    let fit = |tolerance| {
        let components = Components {
            tolerance,
            ..Components::new(200)
        };
        let settings = Settings {
            components: Some(components),
            ..settings("rbf(gamma=0.01)")
        };
        table.fit(&settings, Cut::Group)
    };
    let (loose, full) = (fit(1e-3), fit(0.0));
    let count = |fit: &oblivio::Fit| fit.predictor.points().len();
    assert!(count(&loose) < count(&full) && count(&full) < 60);
    assert!(
        full.summary
            .warnings
            .iter()
            .any(|w| w.to_string().contains("hold all that the kernel sees"))
    );
}

#[test]
fn new_rows_refresh_the_offsets_and_drift_is_seen() {
    let table = Table::new(2000, 2, 20);
    let cut = Cut::Group;
    let settings = explicit(&settings("rbf(gamma=0.4)"), 30);
    let fit = table.fit(&settings, cut);
    // New rows of which one group has moved.
    let mut moved = Table::new(2000, 2, 21);
    let mut values = moved.points.values().to_vec();
    for (i, group) in moved.group.iter().enumerate() {
        if *group == 0 {
            values[2 * i] += 0.8;
        }
    }
    moved.points = Points::new(values, 2).unwrap();
    let sensitive = moved.sensitive(cut);
    let gap = |predictor: &oblivio::Predictor| {
        let prediction = predictor
            .predict(&moved.points, Some(&sensitive), &watch())
            .unwrap();
        let cells = prediction.assignment.unwrap();
        oblivio_testing::range(&oblivio_testing::cell_means(
            &prediction.scores,
            cells.codes(),
            &moved.weights,
        ))
    };
    let mut refresh = fit.predictor.refresh().unwrap();
    for rows in all(&moved).chunks(300) {
        let part = Part::of(&moved, rows, cut);
        refresh
            .update(&part.table.points, &part.sensitive, None, &watch())
            .unwrap();
    }
    let (renewed, drift, _) = refresh.finish(Renewal::keeping(30)).unwrap();
    assert!(gap(&fit.predictor) > 0.1 && gap(&renewed) < 1e-10);
    let z: Vec<f64> = drift.iter().map(|d| d.z.unwrap().abs()).collect();
    assert!(z[0] > 8.0 && z[1..].iter().all(|z| *z < 4.0), "{z:?}");
    // The same from moments alone, but for the pooled deviation.
    let gathered = moments(&plan(&table, &settings, cut), &moved, &all(&moved), cut);
    let (again, by_moments) = fit
        .predictor
        .refresh_from(&gathered, Renewal::keeping(30), &watch())
        .unwrap();
    assert!(
        apart(
            &again.offsets().unwrap().by_cell,
            &renewed.offsets().unwrap().by_cell
        ) < 1e-9
    );
    for (a, b) in drift.iter().zip(&by_moments) {
        assert!((a.after - b.after).abs() < 1e-9 && a.rows == b.rows);
        assert!((a.z.unwrap() / b.z.unwrap() - 1.0).abs() < 0.3);
    }
    // Too few rows leave a cell as it was.
    let mut few = fit.predictor.refresh().unwrap();
    let part = Part::of(&moved, &all(&moved)[..40], cut);
    few.update(&part.table.points, &part.sensitive, None, &watch())
        .unwrap();
    assert!(matches!(
        few.finish(Renewal::keeping(100_000)),
        Err(Error::TooFewRows { .. })
    ));
}

/// Products of waves average to the kernel: with m frequencies the standard deviation is at most √(1/(2m)).
#[test]
fn waves_average_to_the_kernel() {
    let table = Table::new(12, 3, 2);
    for text in [
        "rbf(gamma=0.3)",
        "laplacian(gamma=0.2)",
        "matern12(gamma=0.4)",
        "matern32(gamma=0.4)",
        "matern52(gamma=0.4)",
    ] {
        let kernel = oblivio_testing::kernel(text);
        let components = Components {
            selection: Selection::Fourier,
            ..Components::new(20_000)
        };
        let basis_of = |seed| {
            let choose = FeatureMap::choose(
                kernel.clone(),
                &table.points,
                Components {
                    count: 2000,
                    ..components
                },
                seed,
                &watch(),
            );
            choose.unwrap().0
        };
        let maps: Vec<FeatureMap> = (0..10).map(basis_of).collect();
        let features: Vec<Vec<f64>> = maps
            .iter()
            .map(|map| map.features(&table.points, &watch()).unwrap())
            .collect();
        for i in 0..12 {
            for j in 0..12 {
                let mean: f64 = features
                    .iter()
                    .map(|f| {
                        let rows: Vec<&[f64]> = f.chunks(2000).collect();
                        rows[i].iter().zip(rows[j]).map(|(a, b)| a * b).sum::<f64>()
                    })
                    .sum::<f64>()
                    / 10.0;
                let expected = kernel.at(table.points.row(i), table.points.row(j));
                assert!(
                    (mean - expected).abs() < 5.0 * (0.5f64 / 10_000.0).sqrt(),
                    "{text}: {mean} for {expected}"
                );
            }
        }
    }
}

#[test]
fn waves_need_no_sample_to_agree() {
    let table = Table::new(300, 2, 30);
    let cut = Cut::Group;
    let components = Components {
        selection: Selection::Fourier,
        ..Components::new(61)
    };
    let settings = Settings {
        components: Some(components),
        ..settings("rbf(gamma=0.4)")
    };
    // Each part settles its own plan, and they agree all the same.
    let parts: Vec<Moments> = (0..3)
        .map(|k| {
            let rows: Vec<usize> = (0..300).filter(|i| i % 3 == k).collect();
            let part = table.select(&rows);
            moments(&plan(&part, &settings, cut), &part, &all(&part), cut)
        })
        .collect();
    let mut merged = parts[2].clone();
    merged.merge(&parts[0], &watch()).unwrap();
    merged.merge(&parts[1], &watch()).unwrap();
    let whole = moments(&plan(&table, &settings, cut), &table, &all(&table), cut);
    let expected = scores(&whole, &settings, &table, cut);
    assert!(apart(&expected, &scores(&merged, &settings, &table, cut)) < 1e-10 * size(&expected));
    let back = Moments::from_bytes(&merged.to_bytes().unwrap()).unwrap();
    assert_eq!(back, merged);
    // Many waves come near the exact model, in every mode.
    for mode in MODES {
        let exact = Settings {
            mode,
            components: None,
            ..settings.clone()
        };
        let many = Settings {
            components: Some(Components {
                count: 3000,
                ..components
            }),
            ..exact.clone()
        };
        let off = differ(&table, &exact, &many, cut);
        assert!(off < 0.1, "{mode:?}: {off}");
    }
    let refused = Settings {
        kernel: "linear + rbf(gamma=1)".parse().unwrap(),
        ..settings
    };
    let sensitive = table.sensitive(cut);
    let training = Training {
        points: &table.points,
        sensitive: &sensitive,
        targets: &table.targets,
        weights: None,
    };
    assert!(refused.fit(training, &watch()).is_err());
}

/// Sums of kernel columns, whitened at the end, are those of whitened rows; and moments of both kinds go together.
#[test]
fn sums_may_be_whitened_before_or_after() {
    let table = Table::new(200, 3, 40).weighted(3);
    let cut = Cut::Product;
    for kernel in ["laplacian(gamma=0.3)", "rbf(gamma=0.5)"] {
        let settings = Settings {
            partition: cut.rule(),
            ..explicit(&settings(kernel), 12)
        };
        let sensitive = table.sensitive(cut);
        let training = Training {
            points: &table.points,
            sensitive: &sensitive,
            targets: &table.targets,
            weights: Some(&table.weights),
        };
        // Only a large table is worth the loss of digits.
        let of_rows = |rows| Arc::new(settings.plan(training, rows, &watch()).unwrap().0);
        let (small, large) = (of_rows(200), of_rows(150_000_000));
        assert!(small.is_whitened() && !large.is_whitened(), "{kernel}");
        let before = moments(&small, &table, &all(&table), cut);
        let after = moments(&large, &table, &all(&table), cut);
        let expected = scores(&before, &settings, &table, cut);
        let close = |moments: &Moments| {
            let found = scores(moments, &settings, &table, cut);
            assert!(
                apart(&expected, &found) < 1e-10 * size(&expected),
                "{kernel}"
            );
        };
        close(&after);
        let (odd, even): (Vec<usize>, Vec<usize>) =
            all(&table).into_iter().partition(|i| i % 2 == 1);
        for (first, second) in [(&small, &large), (&large, &small), (&large, &large)] {
            let mut merged = moments(first, &table, &odd, cut);
            merged
                .merge(&moments(second, &table, &even, cut), &watch())
                .unwrap();
            close(&merged);
        }
    }
}
