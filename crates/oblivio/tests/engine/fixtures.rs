//! Golden numbers computed with 60 digits: every quantity of the method, to 1e-12.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use oblivio::oblivious::Features;
use oblivio::partition::{Binning, CellCount, PartitionRule, Policies, SensitiveDesign};
use oblivio::reference::Reference;
use oblivio::{
    Column, ConditionalMean, Kernel, Mode, ObliviousMap, Partition, Points, Sensitive, Settings,
    Training, Watch,
};
use oblivio_base::UnseenCategory;
use oblivio_kernels::learn::Solver;
use serde_json::Value;

const TOLERANCE: f64 = 1e-12;

struct Case {
    json: Value,
    kernel: Kernel,
    rule: PartitionRule,
}

impl Case {
    fn read(name: &str) -> Self {
        let path = format!(
            "{}/tests/fixtures/{name}/case.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let kernel = match &name[..1] {
            "B" => "rbf(gamma=1)",
            "C" => "poly(degree=2, gamma=1, coef0=1)",
            _ => "linear",
        };
        let rule = if name.starts_with('C') {
            PartitionRule {
                cells: CellCount::Given(16),
                binning: Binning::Dyadic,
                bounds: vec![("s".into(), -5.0, 5.0)],
                ..PartitionRule::default()
            }
        } else {
            PartitionRule::default()
        };
        Self {
            json,
            kernel: kernel.parse().unwrap(),
            rule,
        }
    }

    fn number(&self, key: &str) -> f64 {
        self.json[key].as_f64().unwrap()
    }

    fn vector(&self, key: &str) -> Vec<f64> {
        numbers(&self.json[key])
    }

    fn matrix(&self, key: &str) -> Vec<Vec<f64>> {
        self.json[key]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect()
    }

    fn points(&self, key: &str) -> Points<'static> {
        let rows = self.matrix(key);
        let dim = rows[0].len();
        Points::new(rows.concat(), dim).unwrap()
    }

    fn sensitive(&self, key: &str) -> Sensitive {
        let values = self.vector(key);
        let rows = values.len();
        Sensitive::new(vec![Column::numbers("s", values)], rows).unwrap()
    }

    /// The rows of the reference, which follow the training rows.
    fn reference(&self) -> Vec<usize> {
        let n = self.number("n") as usize;
        (n..2 * n).collect()
    }

    fn training(&self) -> Vec<usize> {
        (0..self.number("n") as usize).collect()
    }

    fn map(&self) -> (Partition, ObliviousMap) {
        let reference = self.reference();
        let sensitive = self.sensitive("s").select(&reference);
        let weights = vec![1.0; reference.len()];
        let (partition, _) = Partition::fit(&self.rule, &sensitive, &weights).unwrap();
        let mean = ConditionalMean::estimate(
            self.kernel.clone(),
            self.points("x").select(&reference),
            partition.assign(&sensitive).unwrap().codes().to_vec(),
            &weights,
            partition.mass(),
            &Watch::default(),
        )
        .unwrap();
        (partition, ObliviousMap::new(mean, 1.0).unwrap())
    }

    fn predictions(&self, mode: Mode) -> Vec<f64> {
        let settings = Settings {
            kernel: self.kernel.to_spec(),
            penalty: self.number("lambda"),
            mode,
            partition: self.rule.clone(),
            reference: Reference::Rows(self.reference()),
            solver: Solver::Cholesky,
            ..Settings::default()
        };
        let fit = settings
            .fit(
                Training {
                    points: &self.points("x"),
                    sensitive: &self.sensitive("s"),
                    targets: &self.vector("y"),
                    weights: None,
                },
                &Watch::default(),
            )
            .unwrap();
        fit.predictor
            .predict(
                &self.points("x_test"),
                Some(&self.sensitive("s_test")),
                &Watch::default(),
            )
            .unwrap()
            .scores
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap();
    values.iter().map(|v| v.as_f64().unwrap()).collect()
}

fn assert_close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= TOLERANCE, "{what}[{i}]: {a} is not {b}");
    }
}

/// Entries come column after column, fixtures row after row.
fn assert_matrix(what: &str, found: &[f64], expected: &[Vec<f64>]) {
    let rows = expected.len();
    let columns: Vec<f64> = (0..expected[0].len())
        .flat_map(|j| (0..rows).map(move |i| expected[i][j]))
        .collect();
    assert_close(what, found, &columns);
}

fn check(name: &str, rule: impl Fn(PartitionRule) -> PartitionRule) {
    let mut case = Case::read(name);
    case.rule = rule(case.rule);
    let (partition, map) = case.map();
    let watch = Watch::default();
    let assign =
        |sensitive: &Sensitive| -> SensitiveDesign { partition.assign(sensitive).unwrap() };
    let (x, x_test) = (
        case.points("x").select(&case.training()),
        case.points("x_test"),
    );
    let cells = assign(&case.sensitive("s").select(&case.training()));
    let cells_test = assign(&case.sensitive("s_test"));
    let z = Features::Oblivious(&x, &cells);
    let z_test = Features::Oblivious(&x_test, &cells_test);
    let inner = |a, b| map.inner(a, b, &watch).unwrap();

    assert_matrix(
        "K",
        &inner(Features::Plain(&x), Features::Plain(&x)),
        &case.matrix("K"),
    );
    assert_matrix("O", &inner(z, z), &case.matrix("O"));
    assert_matrix(
        "O",
        &map.gram(&x, &cells, &watch).unwrap(),
        &case.matrix("O"),
    );
    assert_matrix("Ot", &inner(z_test, z), &case.matrix("Ot"));
    assert_matrix("G", &inner(z_test, Features::Plain(&x)), &case.matrix("G"));
    assert_close(
        "orr",
        &case.predictions(Mode::Oblivious),
        &case.vector("pred_orr"),
    );
    assert_close(
        "morr",
        &case.predictions(Mode::MOblivious),
        &case.vector("pred_morr"),
    );
    assert_close(
        "krr",
        &case.predictions(Mode::Plain),
        &case.vector("pred_krr"),
    );
}

#[test]
fn a_linear_kernel_and_a_binary_group() {
    check("A_linear_binary", |rule| rule);
}

#[test]
fn b_gaussian_kernel_and_a_category_without_reference_rows() {
    check("B_rbf_4cat_empty", |rule| PartitionRule {
        policies: Policies::for_unknown(UnseenCategory::Zero),
        ..rule
    });
}

#[test]
fn b_with_the_population_mean_in_place_of_zero() {
    let mut case = Case::read("B_rbf_4cat_empty");
    case.rule.policies = Policies::for_unknown(UnseenCategory::Population);
    let (partition, map) = case.map();
    let x = case.points("x").select(&case.training());
    let cells = partition
        .assign(&case.sensitive("s").select(&case.training()))
        .unwrap();
    assert!(cells.uses.unseen_category > 0);
    case.json = case.json["optional_mean_fallback"].take();
    let gram = map.gram(&x, &cells, &Watch::default()).unwrap();
    assert_matrix("O", &gram, &case.matrix("O"));
    let expected = (case.vector("pred_orr"), case.vector("pred_morr"));
    let mut case = Case::read("B_rbf_4cat_empty");
    case.rule.policies = Policies::for_unknown(UnseenCategory::Population);
    assert_close("orr", &case.predictions(Mode::Oblivious), &expected.0);
    assert_close("morr", &case.predictions(Mode::MOblivious), &expected.1);
}

#[test]
fn c_polynomial_kernel_and_sixteen_dyadic_cells() {
    check("C_poly2_dyadic16", |mut rule| {
        rule.policies.empty = oblivio::partition::EmptyCell::Zero;
        rule
    });
}

#[test]
fn t_small_enough_for_paper_and_pencil() {
    check("T_tiny_hand", |rule| rule);
}
