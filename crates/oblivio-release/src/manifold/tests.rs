use oblivio::features::FeatureSettings;
use oblivio::partition::{Estimator, PartitionRule};
use oblivio::reference::Reference;
use oblivio::{Sensitive, Training};
use oblivio_base::Column;
use oblivio_kernels::{Components, Kernel, Selection};

use super::objective::tests::scattered;
use super::*;

/// A problem with two cells that differ: rows, their cells, and the manifold.
fn problem(
    kernel: &str,
    dim: usize,
    rows: usize,
    seed: f64,
) -> (Manifold, Points<'static>, SensitiveDesign) {
    let kernel: Kernel = kernel.parse().unwrap();
    let base = scattered(rows, dim, seed);
    let cells: Vec<u32> = (0..rows)
        .map(|i| u32::from(base.row(i)[0] + 0.3 * (i as f64 + seed).sin() > 0.1))
        .collect();
    let mass: Vec<f64> = (0..2)
        .map(|c| cells.iter().filter(|cell| **cell == c).count() as f64)
        .collect();
    let watch = Watch::default();
    let mean = ConditionalMean::estimate(
        kernel,
        base.clone(),
        cells.clone(),
        &vec![1.0; rows],
        &mass,
        &watch,
    );
    let region = Region::of(&base);
    let manifold = Manifold::of(&mean.unwrap(), region).unwrap();
    let assignment = SensitiveDesign::from_cells(cells);
    (manifold, base, assignment)
}

/// ‖Z − φ(x)‖² as a literal sum over all pairs.
fn literal(manifold: &Manifold, points: &Points, cells: &[u32], row: usize, x: &[f64]) -> f64 {
    let kernel = &manifold.space.kernel;
    let count = cells.iter().filter(|cell| **cell == cells[row]).count() as f64;
    let mut parts: Vec<(&[f64], f64)> = vec![(points.row(row), 1.0), (x, -1.0)];
    for (j, cell) in cells.iter().enumerate() {
        let own = if *cell == cells[row] {
            1.0 / count
        } else {
            0.0
        };
        parts.push((points.row(j), 1.0 / cells.len() as f64 - own));
    }
    let mut square = 0.0;
    for (x, a) in &parts {
        for (y, b) in &parts {
            square += a * b * kernel.at(x, y);
        }
    }
    square
}

const SMOOTH: [&str; 6] = [
    "rbf(gamma=1)",
    "rbf(gamma=8)",
    "matern52(gamma=1)",
    "matern32(gamma=1)",
    "poly(degree=3, gamma=0.7, coef0=1)",
    "0.5 * rbf(gamma=2) + linear",
];

#[test]
fn distances_are_those_of_the_definition() {
    for kernel in SMOOTH.iter().chain(&["laplacian(gamma=1)"]) {
        let (manifold, points, assignment) = problem(kernel, 2, 30, 0.3);
        let search = Search::default();
        let watch = Watch::default();
        let found = manifold
            .project(&points, &assignment, 1.0, &search, &watch)
            .unwrap();
        for row in 0..5 {
            let square = literal(
                &manifold,
                &points,
                assignment.codes(),
                row,
                found.points.row(row),
            );
            let distance = found.distances[row];
            assert!((distance * distance - square).abs() < 1e-12, "{kernel}");
        }
    }
}

/// The least value over a grid of the box.
fn over_grid(manifold: &Manifold, row: &[f64], pattern: &Pattern, steps: usize) -> f64 {
    let objective = Objective {
        space: &manifold.space,
        own: row,
        weights: &pattern.weights,
    };
    let free = manifold.region.moving();
    let mut scratch = Scratch::default();
    let mut least = f64::INFINITY;
    for number in 0..steps.pow(free.len() as u32) {
        let mut x = row.to_vec();
        let mut rest = number;
        for span in &free {
            x[span.feature] = span.at((rest % steps) as f64 / (steps - 1) as f64);
            rest /= steps;
        }
        least = least.min(objective.value(&x, &mut scratch));
    }
    least
}

/// No point of a fine grid is nearer, and no certificate is violated.
#[test]
fn projections_are_global_minima_in_one_and_two_dimensions() {
    for kernel in SMOOTH {
        for (dim, steps, problems) in [(1, 4001, 6), (2, 161, 3)] {
            for k in 0..problems {
                let (manifold, points, assignment) = problem(kernel, dim, 40, f64::from(k));
                let search = Search {
                    certify: Some(Certify {
                        most_boxes: 4000,
                        ..Certify::default()
                    }),
                    ..Search::default()
                };
                let watch = Watch::default();
                let found = manifold
                    .project(&points, &assignment, 1.0, &search, &watch)
                    .unwrap();
                let patterns = Patterns::new(&manifold, &assignment, 1.0);
                for row in (0..40).step_by(7) {
                    let pattern = patterns.of(row);
                    let own = points.row(row);
                    let square = {
                        let objective = Objective {
                            space: &manifold.space,
                            own,
                            weights: &pattern.weights,
                        };
                        let inside = objective.shifted(own, &mut Scratch::default());
                        manifold.space.kernel.at(own, own) + 2.0 * inside + pattern.square
                    };
                    let grid = over_grid(&manifold, own, &pattern, steps) + square;
                    let reached = found.distances[row].powi(2);
                    let gap = found.gaps[row].unwrap();
                    assert!(reached <= grid + 1e-9, "{kernel}, {dim}: {reached} {grid}");
                    assert!(
                        grid >= reached - gap - 1e-12,
                        "{kernel}: the gap is violated"
                    );
                }
            }
        }
    }
}

#[test]
fn certificates_reach_their_tolerance_and_need_fewer_boxes_with_more_knowledge() {
    for (dim, most) in [(1, 200), (2, 2000), (3, 20_000)] {
        let (manifold, points, assignment) = problem("rbf(gamma=0.5)", dim, 40, 0.7);
        let boxes = |bound: LowerBound| {
            let certify = Certify {
                bound,
                ..Certify::default()
            };
            let search = Search {
                certify: Some(certify),
                ..Search::default()
            };
            let some = points.select(&[0, 9, 21]);
            let cells = assignment.select(&[0, 9, 21]);
            let watch = Watch::default();
            let found = manifold
                .project(&some, &cells, 1.0, &search, &watch)
                .unwrap();
            let largest = found
                .gaps
                .iter()
                .map(|gap| gap.unwrap())
                .fold(0.0, f64::max);
            (found.boxes, largest)
        };
        let (second, gap) = boxes(LowerBound::SecondOrder);
        assert!(gap <= 1.001e-3 && second <= 3 * most, "{dim}: {second}");
        if dim < 3 {
            assert!(boxes(LowerBound::Metric).0 >= second);
            assert!(boxes(LowerBound::Holder).0 >= boxes(LowerBound::Metric).0);
        }
    }
}

#[test]
fn every_bound_holds_on_a_grid() {
    for kernel in SMOOTH
        .iter()
        .chain(&["laplacian(gamma=1)", "matern12(gamma=2)", "linear"])
    {
        let (manifold, points, assignment) = problem(kernel, 2, 30, 1.9);
        let patterns = Patterns::new(&manifold, &assignment, 1.0);
        for bound in [
            LowerBound::SecondOrder,
            LowerBound::Metric,
            LowerBound::Holder,
        ] {
            let search = Search {
                certify: Some(Certify {
                    most_boxes: 60,
                    bound,
                    ..Certify::default()
                }),
                ..Search::default()
            };
            let watch = Watch::default();
            let found = manifold
                .project(&points, &assignment, 1.0, &search, &watch)
                .unwrap();
            for row in [3, 17] {
                let own = points.row(row);
                let square = literal(&manifold, &points, assignment.codes(), row, own)
                    - over_value(&manifold, own, &patterns.of(row));
                let grid = over_grid(&manifold, own, &patterns.of(row), 81) + square;
                let least = found.distances[row].powi(2) - found.gaps[row].unwrap();
                assert!(least <= grid + 1e-12, "{kernel}: {bound:?}");
            }
        }
    }
}

fn over_value(manifold: &Manifold, own: &[f64], pattern: &Pattern) -> f64 {
    let objective = Objective {
        space: &manifold.space,
        own,
        weights: &pattern.weights,
    };
    objective.value(own, &mut Scratch::default())
}

#[test]
fn features_of_points_project_onto_them() {
    for kernel in SMOOTH.iter().chain(&["linear", "laplacian(gamma=1)"]) {
        let (manifold, points, assignment) = problem(kernel, 2, 25, 0.1);
        let watch = Watch::default();
        // Nothing is taken off: Z is on the manifold.
        let found = manifold
            .project(&points, &assignment, 0.0, &Search::default(), &watch)
            .unwrap();
        for (found, given) in found.points.values().iter().zip(points.values()) {
            assert!((found - given).abs() < 1e-5, "{kernel}: {found} {given}");
        }
        assert!(found.distances.iter().all(|distance| *distance < 1e-5));
    }
}

#[test]
fn projections_stay_in_the_box_and_touch_it() {
    for kernel in ["rbf(gamma=0.05)", "matern52(gamma=0.2)", "linear"] {
        let (manifold, points, assignment) = problem(kernel, 3, 40, 2.5);
        let mut region = Region::of(&points);
        region.free[0] = Span {
            feature: 0,
            low: -0.1,
            high: 0.1,
        };
        let narrow = Manifold {
            region: region.clone(),
            ..manifold
        };
        let watch = Watch::default();
        let found = narrow
            .project(&points, &assignment, 1.0, &Search::default(), &watch)
            .unwrap();
        let mut touches = false;
        for i in 0..40 {
            for span in &region.free {
                let value = found.points.row(i)[span.feature];
                assert!((span.low..=span.high).contains(&value), "{kernel}");
            }
            touches |= found.points.row(i)[0].abs() == 0.1;
        }
        assert!(touches, "{kernel}: the box is no constraint");
    }
}

#[test]
fn a_linear_kernel_centres_the_cells_in_the_box() {
    let (manifold, points, assignment) = problem("linear", 2, 40, 0.4);
    let wide = Manifold {
        region: Region {
            free: (0..2)
                .map(|feature| Span {
                    feature,
                    low: -10.0,
                    high: 10.0,
                })
                .collect(),
            ..Region::default()
        },
        ..manifold
    };
    let watch = Watch::default();
    let found = wide
        .project(&points, &assignment, 1.0, &Search::default(), &watch)
        .unwrap();
    let mean = |k: usize, within: &dyn Fn(usize) -> bool| {
        let rows: Vec<usize> = (0..40).filter(|&i| within(i)).collect();
        rows.iter().map(|&i| points.row(i)[k]).sum::<f64>() / rows.len() as f64
    };
    for i in 0..40 {
        for k in 0..2 {
            let cell = assignment.codes()[i];
            let shift = mean(k, &|j| assignment.codes()[j] == cell) - mean(k, &|_| true);
            let expected = points.row(i)[k] - shift;
            assert!((found.points.row(i)[k] - expected).abs() < 1e-7);
        }
    }
}

#[test]
fn the_row_itself_is_not_beaten_where_nothing_depends_on_s() {
    // Both cells have the same rows: the shift is zero.
    let half = scattered(15, 2, 0.6);
    let values = [half.values(), half.values()].concat();
    let base = Points::new(values, 2).unwrap();
    let cells: Vec<u32> = (0..30).map(|i| u32::from(i >= 15)).collect();
    let watch = Watch::default();
    let mean = ConditionalMean::estimate(
        "rbf(gamma=1)".parse().unwrap(),
        base.clone(),
        cells.clone(),
        &[1.0; 30],
        &[15.0, 15.0],
        &watch,
    );
    let manifold = Manifold::of(&mean.unwrap(), Region::of(&base)).unwrap();
    let assignment = SensitiveDesign::from_cells(cells);
    let found = manifold
        .project(&base, &assignment, 1.0, &Search::default(), &watch)
        .unwrap();
    for (found, given) in found.points.values().iter().zip(base.values()) {
        assert!((found - given).abs() < 1e-7);
    }
}

/// The least value over all combinations of two stepped features and an indicator block, by brute force.
#[test]
fn stepped_features_and_indicators_are_enumerated() {
    let steps: Vec<f64> = (0..4).map(|i| f64::from(i) / 2.0).collect();
    let mut values = Vec::new();
    for i in 0..30usize {
        let t = i as f64;
        let level = i % 3;
        values.extend([steps[(i * 7) % 4], (t * 1.7).sin()]);
        values.extend((0..3).map(|k| f64::from(u8::from(k == level))));
    }
    let base = Points::new(values, 5).unwrap();
    let cells: Vec<u32> = (0..30)
        .map(|i| u32::from(base.row(i)[0] + base.row(i)[1] > 0.8))
        .collect();
    let mass: Vec<f64> = (0..2)
        .map(|c| cells.iter().filter(|cell| **cell == c).count() as f64)
        .collect();
    let watch = Watch::default();
    let mean = ConditionalMean::estimate(
        "rbf(gamma=0.6)".parse().unwrap(),
        base.clone(),
        cells.clone(),
        &[1.0; 30],
        &mass,
        &watch,
    )
    .unwrap();
    let region = Region {
        free: vec![Span {
            feature: 1,
            low: -1.0,
            high: 1.0,
        }],
        stepped: vec![Stepped {
            feature: 0,
            values: steps.clone(),
        }],
        one_of: std::iter::once(2..5).collect(),
    };
    assert_eq!(region.combinations(), Some(12));
    let manifold = Manifold::of(&mean, region).unwrap();
    let assignment = SensitiveDesign::from_cells(cells);
    let search = Search {
        certify: Some(Certify::default()),
        ..Search::default()
    };
    let found = manifold
        .project(&base, &assignment, 1.0, &search, &watch)
        .unwrap();
    let mut changed = 0;
    for row in 0..30 {
        let w = found.points.row(row);
        assert!(steps.contains(&w[0]) && (-1.0..=1.0).contains(&w[1]));
        assert_eq!(w[2..].iter().filter(|v| **v == 1.0).count(), 1);
        assert_eq!(w[2..].iter().filter(|v| **v == 0.0).count(), 2);
        changed += usize::from(w != base.row(row));
        let mut least = f64::INFINITY;
        for (step, level, at) in (0..4)
            .flat_map(|s| (0..3).map(move |l| (s, l)))
            .flat_map(|(s, l)| (0..=400).map(move |a| (s, l, a)))
        {
            let mut x = [steps[step], f64::from(at) / 200.0 - 1.0, 0.0, 0.0, 0.0];
            x[2 + level] = 1.0;
            least = least.min(literal(&manifold, &base, assignment.codes(), row, &x));
        }
        let reached = found.distances[row].powi(2);
        assert!(reached <= least + 1e-9);
        assert!(found.gaps[row].unwrap() <= 1.001e-3);
        assert!(least >= reached - found.gaps[row].unwrap() - 1e-12);
    }
    assert!(changed > 0);
}

#[test]
fn too_many_combinations_are_searched_one_feature_at_a_time_and_uncertified() {
    let (manifold, points, assignment) = problem("rbf(gamma=0.4)", 3, 50, 0.2);
    let values: Vec<f64> = (-40..=40).map(|i| f64::from(i) / 40.0).collect();
    let stepped = (0..2).map(|feature| Stepped {
        feature,
        values: values.clone(),
    });
    let region = Region {
        free: vec![Region::of(&points).free[2]],
        stepped: stepped.collect(),
        one_of: Vec::new(),
    };
    let free = Manifold {
        region: Region::of(&points),
        ..manifold.clone()
    };
    let manifold = Manifold { region, ..manifold };
    let search = Search {
        certify: Some(Certify::default()),
        ..Search::default()
    };
    let watch = Watch::default();
    let project = |m: &Manifold, search: &Search| {
        m.project(&points, &assignment, 1.0, search, &watch)
            .unwrap()
    };
    let found = project(&manifold, &search);
    assert!(found.gaps.iter().all(Option::is_none));
    let best = project(&free, &Search::default());
    for row in 0..50 {
        assert!(values.contains(&found.points.row(row)[0]));
        // Steps of 1/40 cost little.
        assert!(found.distances[row].powi(2) < best.distances[row].powi(2) + 1e-3);
    }
}

#[test]
fn what_is_not_in_the_region_stays() {
    let (manifold, points, assignment) = problem("rbf(gamma=0.4)", 3, 30, 0.2);
    let region = Region {
        free: vec![Region::of(&points).free[1]],
        ..Region::default()
    };
    let manifold = Manifold { region, ..manifold };
    let watch = Watch::default();
    let found = manifold
        .project(&points, &assignment, 1.0, &Search::default(), &watch)
        .unwrap();
    for i in 0..30 {
        assert_eq!(found.points.row(i)[0], points.row(i)[0]);
        assert_eq!(found.points.row(i)[2], points.row(i)[2]);
    }
    assert_ne!(found.points.values(), points.values());
}

#[test]
fn a_translation_moves_what_is_projected() {
    let (manifold, points, assignment) = problem("rbf(gamma=0.4)", 2, 20, 0.2);
    let watch = Watch::default();
    let zero = manifold.clone().translated(&[0.0; 20], &watch).unwrap();
    let search = Search::default();
    let project =
        |m: &Manifold, t: f64| m.project(&points, &assignment, t, &search, &watch).unwrap();
    let (with, without) = (project(&zero, 1.0), project(&manifold, 1.0));
    assert_eq!(with.points, without.points);
    for (a, b) in with.distances.iter().zip(&without.distances) {
        assert!((a - b).abs() < 1e-12);
    }
    // h* = −φ(x₀) + φ(x₁) takes the feature of row 0 to that of row 1.
    let mut star = [0.0; 20];
    (star[0], star[1]) = (-1.0, 1.0);
    let moved = manifold.translated(&star, &watch).unwrap();
    let found = project(&moved, 0.0);
    for k in 0..2 {
        assert!((found.points.row(0)[k] - points.row(1)[k]).abs() < 1e-6);
    }
    assert!(found.distances[0] < 1e-6);
}

#[test]
fn wrong_regions_are_refused() {
    let (manifold, points, _) = problem("rbf(gamma=0.4)", 2, 20, 0.2);
    let mean = ConditionalMean::estimate(
        manifold.space.kernel.clone(),
        points.clone(),
        vec![0; 20],
        &[1.0; 20],
        &[20.0],
        &Watch::default(),
    )
    .unwrap();
    let span = |feature, low, high| Span { feature, low, high };
    let free = |spans: Vec<Span>| Region {
        free: spans,
        ..Region::default()
    };
    let wrong = [
        free(vec![span(2, 0.0, 1.0)]),
        free(vec![span(0, 1.0, 0.0)]),
        free(vec![span(0, 0.0, f64::NAN)]),
        free(vec![span(0, 0.0, 1.0), span(0, 0.0, 1.0)]),
        Region {
            stepped: vec![Stepped {
                feature: 0,
                values: vec![1.0, 0.0],
            }],
            ..Region::default()
        },
        Region {
            one_of: std::iter::once(0..0).collect(),
            ..Region::default()
        },
    ];
    for region in wrong {
        assert!(matches!(
            Manifold::of(&mean, region),
            Err(Error::InvalidParameter { .. })
        ));
    }
}

/// With every row a landmark the explicit path has the shifts of the exact one.
#[test]
fn both_paths_project_alike() {
    let points = scattered(40, 2, 0.8);
    let numbers = (0..40).map(|i| points.row(i)[0] + 0.5 * (i as f64).sin());
    let groups: Vec<f64> = numbers
        .clone()
        .map(|v| f64::from(u8::from(v > 0.0)))
        .collect();
    for (values, estimator) in [
        (groups, Estimator::Cells),
        (numbers.collect(), Estimator::Smooth),
    ] {
        let sensitive = Sensitive::new(vec![Column::numbers("s", values)], 40).unwrap();
        let rule = PartitionRule {
            estimator,
            ..PartitionRule::default()
        };
        let settings = FeatureSettings {
            kernel: "rbf(gamma=0.8)".parse().unwrap(),
            components: Components {
                selection: Selection::Uniform,
                ..Components::new(40)
            },
            strength: 1.0,
            partition: rule,
            reference: Reference::All,
            seed: 0,
        };
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &[],
            weights: None,
        };
        let watch = Watch::default();
        let (features, _) = settings.fit(training, &watch).unwrap();
        let partition = features.partition().unwrap();
        let assignment = partition.assign(&sensitive).unwrap();
        let kernel = features.map().kernel().clone();
        let mean = ConditionalMean::of(
            kernel,
            points.clone(),
            &assignment,
            &[1.0; 40],
            partition,
            &watch,
        );
        let region = Region::of(&points);
        let exact = Manifold::of(&mean.unwrap(), region.clone()).unwrap();
        let explicit = Manifold::on_landmarks(&features, region, &watch).unwrap();
        let search = Search::default();
        let project = |m: &Manifold| {
            m.project(&points, &assignment, 1.0, &search, &watch)
                .unwrap()
        };
        let (a, b) = (project(&exact), project(&explicit));
        assert_ne!(a.points, points);
        for (a, b) in a.points.values().iter().zip(b.points.values()) {
            assert!((a - b).abs() < 1e-4, "{estimator:?}: {a} {b}");
        }
        for (a, b) in a.distances.iter().zip(&b.distances) {
            assert!((a - b).abs() < 1e-6, "{estimator:?}");
        }
    }
}
