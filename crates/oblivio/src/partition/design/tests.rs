//! One suite for every encoder: the operations of its designs agree with D written out.

use oblivio_base::{Column, UnseenCategory, Value, Values, Watch};
use oblivio_kernels::kernel::Span;

use super::*;
use crate::conditioning::{Observed, Of};
use crate::partition::{
    EmptyCell, Estimator, Missing, Partition, PartitionRow, PartitionRule, Policies,
};
use crate::sensitive::Sensitive;

/// Sums of a few dozen terms of size 1 differ by some units of the last place, and no more by far than this.
const ROUNDING: f64 = 1e-12;

/// Groups of the reference rows; `None` is a missing value.
const GROUPS: [Option<&str>; 3] = [Some("a"), Some("b"), Some("c")];

/// Numbers between −1 and 1 without a pattern.
fn number(i: usize, seed: usize) -> f64 {
    (12.9898 * i as f64 + 78.233 * seed as f64).sin()
}

fn table(groups: &[Option<&str>], ages: Vec<f64>, towns: &[Option<&str>]) -> Sensitive {
    let rows = ages.len();
    let columns = vec![
        Column::texts("group", groups.iter().copied()),
        Column::numbers("age", ages),
        Column::texts("town", towns.iter().copied()),
    ];
    Sensitive::new(columns, rows).unwrap()
}

/// Rows without two combinations of group and town.
fn reference() -> Sensitive {
    let rows = 60;
    let groups: Vec<Option<&str>> = (0..rows).map(|i| GROUPS[i % 3]).collect();
    let ages = (0..rows)
        .map(|i| 40.0 + 15.0 * number(i, 1) + i as f64 % 3.0)
        .collect();
    let town = |i: usize| {
        Some(if i % 3 == 2 || i.is_multiple_of(2) {
            "u"
        } else {
            "v"
        })
    };
    let towns: Vec<Option<&str>> = (0..rows).map(town).collect();
    table(&groups, ages, &towns)
}

/// Known rows, one of an absent combination, one of an unknown group, one that misses its group.
fn others() -> Sensitive {
    let groups = [Some("a"), Some("c"), Some("x"), None, Some("b"), Some("b")];
    let towns = ["u", "v", "u", "u", "v", "u"].map(Some);
    table(&groups, vec![30.0, 41.0, 50.0, 44.0, 52.5, 38.0], &towns)
}

/// Every encoder with its name.
fn encoders() -> Vec<(String, Partition)> {
    let lenient = Policies {
        empty: EmptyCell::Population,
        category: UnseenCategory::Population,
        missing: Missing::SensitiveFree,
        ..Policies::default()
    };
    let rule = |estimator, control: &[&str]| PartitionRule {
        estimator,
        control: control.iter().map(|name| (*name).to_owned()).collect(),
        policies: lenient,
        ..PartitionRule::default()
    };
    let mut rules: Vec<(String, PartitionRule)> = Vec::new();
    for estimator in [Estimator::Cells, Estimator::Smooth, Estimator::Linear] {
        for control in [&[][..], &["town"][..]] {
            let name = format!("{estimator:?} {control:?}");
            rules.push((name, rule(estimator, control)));
        }
    }
    let shrunk = PartitionRule {
        shrink: true,
        ..rule(Estimator::Cells, &[])
    };
    rules.push(("shrunk cells".into(), shrunk));
    for empty in [EmptyCell::Enclosing, EmptyCell::Zero] {
        let category = match empty {
            EmptyCell::Zero => UnseenCategory::Zero,
            _ => UnseenCategory::Population,
        };
        let policies = Policies {
            empty,
            category,
            ..lenient
        };
        let rule = PartitionRule {
            policies,
            ..rule(Estimator::Cells, &[])
        };
        rules.push((format!("{empty:?}"), rule));
    }
    let fit = |(name, rule)| (name, fitted(&rule));
    rules.into_iter().map(fit).collect()
}

/// Fitted to the reference rows and scores of them.
fn fitted(rule: &PartitionRule) -> Partition {
    let reference = reference();
    let weights: Vec<f64> = (0..reference.len()).map(|i| 1.0 + (i % 4) as f64).collect();
    let scores: Vec<f64> = (0..reference.len())
        .map(|i| number(i, 2) + (i % 3) as f64)
        .collect();
    let table = Observed::new(&reference, &weights, Of::Scores(&scores), 0);
    let (encoder, _) = Partition::conditioned(rule, table, &Watch::default()).unwrap();
    encoder
}

/// Every encoder with a design of known rows and one of others.
fn designs() -> Vec<(String, Partition, [SensitiveDesign; 2])> {
    let with_designs = |(name, encoder): (String, Partition)| {
        let known = encoder.assign_all(&reference()).unwrap();
        let others = encoder.assign_all(&others()).unwrap();
        (name, encoder, [known, others])
    };
    encoders().into_iter().map(with_designs).collect()
}

/// D, one row of the table in each row.
fn written_out(design: &SensitiveDesign) -> Mat<f64> {
    if let Some(features) = design.matrix() {
        return features.transpose().to_owned();
    }
    let Groups {
        cells,
        codes,
        mixtures,
    } = design.groups().unwrap();
    Mat::from_fn(codes.len(), cells, |i, c| {
        match (codes[i] as usize).checked_sub(cells) {
            None => f64::from(u8::from(codes[i] as usize == c)),
            Some(k) => mixtures[k][c],
        }
    })
}

/// How many directions `subtract` and `product` take: the cells, then the mixtures; or the features of S.
fn codes(design: &SensitiveDesign) -> usize {
    design.width() + design.mixtures().len()
}

/// A value for each cell or feature, then what it amounts to for each mixture.
fn with_mixtures(design: &SensitiveDesign, values: &[f64]) -> Vec<f64> {
    let of_mixture = |weights: &Vec<f64>| dot(weights, values);
    let mixed = design.mixtures().iter().map(of_mixture);
    values.iter().copied().chain(mixed).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn row(matrix: &Mat<f64>, i: usize) -> Vec<f64> {
    (0..matrix.ncols()).map(|a| matrix[(i, a)]).collect()
}

fn value(column: &Column, row: usize) -> Value<'_> {
    match &column.values {
        Values::Numbers(values) => Value::Number(values[row]),
        Values::Categories { levels, codes } => levels
            .get(codes[row] as usize)
            .map_or(Value::Missing, |level| Value::Text(level)),
    }
}

#[track_caller]
fn same(name: &str, found: f64, expected: f64) {
    let size = expected.abs().max(1.0);
    assert!(
        (found - expected).abs() <= ROUNDING * size,
        "{name}: {found} {expected}"
    );
}

#[test]
fn offsets_and_sums_are_products_with_the_design() {
    for (name, _, designs) in designs() {
        for design in designs {
            let d = written_out(&design);
            let values: Vec<f64> = (0..design.width()).map(|a| number(a, 3)).collect();
            let overall = 1.75;
            let by_code = with_mixtures(&design, &values);
            for i in 0..design.len() {
                let own = row(&d, i);
                let inside = dot(&own, &values);
                // The values of cells are means less the overall mean, and the weights may sum to 0.
                let rest = if design.is_projection() {
                    (own.iter().sum::<f64>() - 1.0) * overall
                } else {
                    0.0
                };
                same(&name, design.offset(i, &values, overall), inside + rest);
                same(&name, design.product(i, |p| by_code[p]), inside);
                let entries = (0..codes(&design)).map(|p| design.entry(i, p) * by_code[p]);
                same(&name, entries.sum(), inside);
            }
            let alpha: Vec<f64> = (0..design.len()).map(|i| number(i, 4)).collect();
            let DesignSums { values, total } = design.sum(&alpha);
            assert_eq!(values.len(), d.ncols(), "{name}");
            for (a, sum) in values.iter().enumerate() {
                let column: Vec<f64> = (0..d.nrows()).map(|i| d[(i, a)]).collect();
                same(&name, *sum, dot(&column, &alpha));
            }
            same(&name, total, alpha.iter().sum());
        }
    }
}

#[test]
fn shifts_are_subtracted_from_features() {
    let features = 5;
    for (name, _, designs) in designs() {
        for design in designs {
            let d = written_out(&design);
            let directions = Mat::from_fn(features, design.width(), |k, a| number(7 * a + k, 5));
            let each: Vec<Vec<f64>> = (0..features)
                .map(|k| with_mixtures(&design, &row(&directions, k)))
                .collect();
            let by_code = Mat::from_fn(features, codes(&design), |k, p| each[k][p]);
            let before: Vec<f64> = (0..features * design.len()).map(|i| number(i, 6)).collect();
            let mut after = before.clone();
            design.subtract(0.6, by_code.as_ref(), &mut after);
            for i in 0..design.len() {
                for k in 0..features {
                    let place = i * features + k;
                    let shift = dot(&row(&d, i), &row(&directions, k));
                    same(&name, after[place], before[place] - 0.6 * shift);
                }
            }
        }
    }
}

/// Directions b with inner products $BB^\top$, and points with inner products with them: all in a small space.
struct Space {
    directions: Mat<f64>,
    points: Mat<f64>,
}

impl Space {
    fn new(design: &SensitiveDesign, dim: usize) -> Self {
        let each: Vec<Vec<f64>> = (0..dim)
            .map(|k| {
                let values: Vec<f64> = (0..design.width()).map(|a| number(5 * a + k, 8)).collect();
                with_mixtures(design, &values)
            })
            .collect();
        Self {
            directions: Mat::from_fn(codes(design), dim, |p, k| each[k][p]),
            points: Mat::from_fn(design.len(), dim, |i, k| number(9 * i + k, 9)),
        }
    }

    /// Points less t times their shifts.
    fn moved(&self, design: &SensitiveDesign, t: f64) -> Mat<f64> {
        let width = design.width();
        let shifts = written_out(design) * self.directions.subrows(0, width);
        &self.points - faer::Scale(t) * shifts
    }
}

#[test]
fn a_correction_makes_inner_products_those_of_moved_points() {
    for (name, _, designs) in designs() {
        let t = 0.7;
        let [a, b] = &designs;
        let (of_a, of_b) = (Space::new(a, 4), Space::new(b, 4));
        for oblivious in [(true, true), (true, false), (false, true), (false, false)] {
            let moved = |oblivious, space: &Space, design| {
                if oblivious {
                    space.moved(design, t)
                } else {
                    space.points.clone()
                }
            };
            let (left, right) = (moved(oblivious.0, &of_a, a), moved(oblivious.1, &of_b, b));
            let expected = left * right.transpose() - &of_a.points * of_b.points.transpose();
            let at_a = &of_a.points * of_b.directions.transpose();
            let at_b = &of_b.points * of_a.directions.transpose();
            let gram = &of_a.directions * of_b.directions.transpose();
            let side = |at, other, own, design| Side {
                at: if other { Some(at) } else { None },
                design: if own { Some(design) } else { None },
            };
            let correction = Correction::between(
                side(&at_a, oblivious.1, oblivious.0, a),
                side(&at_b, oblivious.0, oblivious.1, b),
                Some(&gram).filter(|_| oblivious == (true, true)),
                t,
            );
            let mut product = vec![0.0; a.len()];
            let vector: Vec<f64> = (0..b.len()).map(|j| number(j, 10)).collect();
            if oblivious != (false, false) {
                correction.multiply(&vector, &mut product);
            }
            for (i, found) in product.iter().enumerate() {
                same(&name, *found, dot(&row(&expected, i), &vector));
            }
        }
        symmetric(&name, a, &of_a, t);
    }
}

/// The correction of rows with themselves, entry by entry.
fn symmetric(name: &str, design: &SensitiveDesign, space: &Space, t: f64) {
    let moved = space.moved(design, t);
    let expected = &moved * moved.transpose() - &space.points * space.points.transpose();
    let at = &space.points * space.directions.transpose();
    let gram = &space.directions * space.directions.transpose();
    let side = Side {
        at: Some(&at),
        design: Some(design),
    };
    let correction = Correction::between(side, side, Some(&gram), t);
    for i in 0..design.len() {
        let mut found = vec![0.0; design.len()];
        correction.row(i, &mut found);
        for (j, found) in found.iter().enumerate() {
            same(name, *found, expected[(i, j)]);
        }
        same(name, correction.diagonal(i), expected[(i, i)]);
    }
    let directions = written_out(design) * space.directions.subrows(0, design.width());
    for (i, square) in design.quadratic(gram.as_ref()).iter().enumerate() {
        let own = row(&directions, i);
        same(name, *square, dot(&own, &own));
    }
}

#[test]
fn rows_that_are_selected_and_appended_are_the_same_rows() {
    for (name, _, designs) in designs() {
        let [known, others] = designs;
        let mut both = known.select(&[5, 7, 5]);
        both.append(others.select(&[4, 3, 2, 1]));
        let (d, of_known, of_others) = (
            written_out(&both),
            written_out(&known),
            written_out(&others),
        );
        let places = [5, 7, 5].map(|i| (&known, &of_known, i)).into_iter();
        let more = [4, 3, 2, 1].map(|i| (&others, &of_others, i));
        for (i, (design, written_out, place)) in places.chain(more).enumerate() {
            assert_eq!(row(&d, i), row(written_out, place), "{name} {i}");
            assert_eq!(both.status(i), design.status(place), "{name} {i}");
            assert_eq!(both.cell(i), design.cell(place), "{name} {i}");
            assert_eq!(both.cell_weights(i), design.cell_weights(place));
        }
        let mut first = SensitiveDesign::default();
        first.append(known.clone());
        assert_eq!(first, known, "{name}");
        first.append(SensitiveDesign::default());
        assert_eq!(first, known, "{name}");
    }
}

#[test]
fn every_row_of_a_table_has_a_status() {
    for (name, encoder, [known, others]) in designs() {
        assert_eq!(known.len(), reference().len());
        assert!((0..known.len()).all(|i| known.status(i) == RowStatus::Known));
        assert_eq!(others.len(), 6);
        assert_eq!(others.missing(), [3], "{name}");
        assert_eq!(others.uses.sensitive_free, 1, "{name}");
        for i in [0, 4, 5] {
            assert_eq!(others.status(i), RowStatus::Known, "{name} {i}");
        }
        let unknown = if others.is_projection() || name == "shrunk cells" {
            RowStatus::StandIn
        } else {
            RowStatus::Unknown
        };
        assert_eq!(others.status(2), unknown, "{name}");
        let zero = |i: usize| row(&written_out(&others), i).iter().all(|v| *v == 0.0);
        assert_eq!(zero(2), unknown == RowStatus::Unknown || name == "Zero");
        assert_eq!(zero(3), !others.is_projection(), "{name}");
        // For reports a row that misses its group has the shares of the population.
        let shares = encoder.shares();
        assert_eq!(others.cell_weights(3), CellWeights::Mixture(&shares));
        // A policy that refuses such rows names the column.
        let strict = encoder.assign(&self::others());
        assert!(strict.unwrap_err().to_string().contains("group"), "{name}");
    }
}

/// Combinations of known categories that were not in the fit have features of S, whatever the policy for empty cells.
#[test]
fn a_regression_needs_no_cell() {
    for estimator in [Estimator::Smooth, Estimator::Linear] {
        for empty in [EmptyCell::Enclosing, EmptyCell::Error] {
            let mut rule = PartitionRule {
                estimator,
                ..PartitionRule::default()
            };
            rule.policies.empty = empty;
            let encoder = fitted(&rule);
            let row = table(&[Some("c")], vec![41.0], &[Some("v")]);
            let design = encoder.assign(&row).unwrap();
            assert_eq!(design.status(0), RowStatus::Known);
            assert_eq!((design.cell(0), design.uses), (None, Uses::default()));
            let mut alone = PartitionRow::new(&encoder, &["group", "age", "town"]).unwrap();
            let values = [Value::Text("c"), Value::Number(41.0), Value::Text("v")];
            alone.assign(&encoder, &values).unwrap();
            assert_eq!(alone.assignment.matrix(), design.matrix());
        }
    }
}

/// The zero rule of the paper takes the mean of a cell as 0: its weights are none.
#[test]
fn an_unknown_row_is_not_a_row_of_the_zero_rule() {
    let of = |name: &str| {
        let mut all = designs().into_iter().filter(|(of, ..)| of == name);
        let (_, _, [_, others]) = all.next().unwrap();
        others
    };
    let (zero, smooth) = (of("Zero"), of("Smooth []"));
    let overall = 1.75;
    let values = |design: &SensitiveDesign| vec![0.5; design.width()];
    assert_eq!(zero.offset(2, &values(&zero), overall), -overall);
    assert_eq!(smooth.offset(2, &values(&smooth), overall), 0.0);
}

/// A row alone, in memory that is taken once, has the row of the table's design.
#[test]
fn a_row_alone_has_the_row_of_the_design() {
    let table = others();
    let names = ["group", "age", "town"];
    for (name, encoder, [_, others]) in designs() {
        let mut alone = PartitionRow::new(&encoder, &names).unwrap();
        for i in (0..others.len()).filter(|i| *i != 3) {
            let columns = table.columns().iter();
            let values: Vec<Value> = columns.map(|column| value(column, i)).collect();
            alone.assign(&encoder, &values).unwrap();
            let found = &alone.assignment;
            assert_eq!(found.status(0), others.status(i), "{name} {i}");
            assert_eq!(found.cell_weights(0), others.cell_weights(i), "{name} {i}");
            let own = row(&written_out(&others), i);
            assert_eq!(row(&written_out(found), 0), own, "{name} {i}");
        }
    }
}

#[test]
fn a_correction_by_tiles_is_the_correction_by_rows() {
    for (name, _, [design, _]) in designs() {
        let space = Space::new(&design, 3);
        let at = &space.points * space.directions.transpose();
        let gram = &space.directions * space.directions.transpose();
        let side = Side {
            at: Some(&at),
            design: Some(&design),
        };
        let correction = Correction::between(side, side, Some(&gram), 0.4);
        let kernel: oblivio_kernels::Kernel = "linear".parse().unwrap();
        let values: Vec<f64> = (0..design.len())
            .flat_map(|i| row(&space.points, i))
            .collect();
        let points = oblivio_base::Points::new(values, 3).unwrap();
        let matrix = oblivio_kernels::KernelMatrix::between(&kernel, &points, &points).unwrap();
        let add = |span: &Span, tile: &mut oblivio_kernels::kernel::Tile| {
            correction.apply(span, tile);
        };
        let entries = matrix.corrected(&add, &Watch::default()).unwrap();
        for i in 0..design.len() {
            let mut expected: Vec<f64> = (0..design.len())
                .map(|j| dot(points.row(i), points.row(j)))
                .collect();
            correction.row(i, &mut expected);
            for (j, expected) in expected.into_iter().enumerate() {
                same(&name, entries[j * design.len() + i], expected);
            }
        }
    }
}
