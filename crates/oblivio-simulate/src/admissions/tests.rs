use oblivio_base::stats::Spread;

use super::super::Simulation;
use super::super::tests::{assert_mean, products, values};
use super::*;

const ROWS: usize = 40_000;

/// The table of regions, once more.
const PLACES: [(&str, f64, f64, f64, f64); 5] = [
    ("Coast", 0.30, 62_000.0, 0.02, 1.0),
    ("Valley", 0.25, 50_000.0, 0.03, 0.7),
    ("Plains", 0.20, 44_000.0, 0.05, 0.5),
    ("Highlands", 0.15, 36_000.0, 0.10, 0.3),
    ("Islands", 0.10, 40_000.0, 0.12, 0.4),
];

type Of<T> = fn(&Applicant) -> T;

fn applicants(seed: u64) -> Vec<Applicant> {
    let mut generator = Generator::new(seed);
    (0..ROWS).map(|_| Applicant::draw(&mut generator)).collect()
}

/// The share of the variance of values that is between cells.
fn correlation_ratio(values: &[f64], cells: &[u32]) -> f64 {
    let mut all = Spread::default();
    let mut of_cell = [Spread::default(); 64];
    for (value, cell) in values.iter().zip(cells) {
        all.add(*value, 1.0);
        of_cell[*cell as usize].add(*value, 1.0);
    }
    let within: f64 = of_cell.iter().map(|spread| spread.squares).sum();
    1.0 - within / all.squares
}

fn each(applicants: &[Applicant], value: impl Fn(&Applicant) -> f64) -> Vec<f64> {
    applicants.iter().map(value).collect()
}

impl Applicant {
    fn years(&self) -> f64 {
        self.age - 17.0
    }

    fn wealth(&self) -> f64 {
        (self.income / 48_000.0).ln()
    }

    /// Median income, rate of home schooling and access to preparation.
    fn place(&self) -> [f64; 3] {
        let place = PLACES.iter().find(|place| place.0 == self.region).unwrap();
        [place.2, place.3, place.4]
    }

    fn preparation(&self) -> f64 {
        self.place()[2] * logistic(1.5 * self.wealth())
    }
}

#[test]
fn values_are_rounded_and_in_range() {
    let table = Simulation::Admissions.table(ROWS, 1).unwrap();
    for (name, low, high, per_unit) in [
        ("age", 17.0, 60.0, 10.0),
        ("income", 5_000.0, 500_000.0, 0.01),
        ("hours", 0.0, 60.0, 1.0),
        ("gpa", 1.0, 4.0, 100.0),
        ("test", 400.0, 1600.0, 0.1),
        ("essay", 0.0, 10.0, 2.0),
        ("interview", 0.0, 10.0, 2.0),
        ("success", 0.0, 100.0, 10.0),
    ] {
        for &value in values(&table, name) {
            assert!((low..=high).contains(&value), "{name} {value}");
            let steps = value * per_unit;
            assert!((steps - steps.round()).abs() < 1e-9, "{name} {value}");
            assert!(value.to_string().len() <= 6, "{name} {value}");
        }
    }
}

#[test]
fn sensitive_columns_have_their_shares_and_moments() {
    let applicants = applicants(2);
    for (sex, share) in [("F", 0.51), ("M", 0.47), ("X", 0.02)] {
        assert_mean(&each(&applicants, |a| indicator(a.sex == sex)), share);
    }
    for (region, share, ..) in PLACES {
        assert_mean(&each(&applicants, |a| indicator(a.region == region)), share);
    }
    // Beta(1, 6) has mean 1/7 and variance 6/(49 · 8); rounding adds that of a uniform variable.
    let centred = each(&applicants, |a| a.years() - 43.0 / 7.0);
    assert_mean(&centred, 0.0);
    assert_mean(
        &products(&centred, &centred),
        43.0_f64.powi(2) * 6.0 / 392.0 + 0.01 / 12.0,
    );
}

#[test]
fn talent_and_diligence_do_not_depend_on_sensitive_columns() {
    let applicants = applicants(3);
    let merits: [Of<f64>; 2] = [|a| a.talent, |a| a.diligence];
    for merit in merits {
        assert_mean(&each(&applicants, |a| merit(a).powi(2)), 1.0);
        for sex in SEXES {
            assert_mean(
                &each(&applicants, |a| merit(a) * indicator(a.sex == sex)),
                0.0,
            );
        }
        for region in &REGIONS {
            assert_mean(
                &each(&applicants, |a| {
                    merit(a) * indicator(a.region == region.name)
                }),
                0.0,
            );
        }
        for age in [17.0, 20.0, 25.0] {
            assert_mean(
                &each(&applicants, |a| merit(a) * indicator(a.age >= age)),
                0.0,
            );
        }
    }
}

/// What a column is by its formula: a mean given the others plus normal noise, cut to a range and rounded to steps.
struct Law {
    mean: Of<f64>,
    deviation: f64,
    range: [f64; 2],
    step: f64,
}

impl Law {
    /// Checks what the formula leaves of a column, on the rows whose noise hardly meets the ends of the range.
    #[track_caller]
    fn assert(&self, applicants: &[Applicant], drawn: Of<f64>) {
        let [low, high] = self.range;
        let reach = 4.0 * self.deviation;
        let inner = |a: &&Applicant| (low + reach..high - reach).contains(&(self.mean)(a));
        let (means, rest): (Vec<f64>, Vec<f64>) = applicants
            .iter()
            .filter(inner)
            .map(|a| ((self.mean)(a), drawn(a) - (self.mean)(a)))
            .unzip();
        assert!(rest.len() > ROWS / 4, "{} rows", rest.len());
        assert_mean(&rest, 0.0);
        assert_mean(&products(&rest, &means), 0.0);
        // Rounding adds the variance of a uniform variable as wide as the step.
        let variance = self.deviation.powi(2) + self.step.powi(2) / 12.0;
        assert_mean(&products(&rest, &rest), variance);
    }
}

#[test]
fn income_and_hours_follow_their_formulas() {
    let applicants = applicants(4);
    let income = Law {
        mean: |a| (a.place()[0] / 48_000.0).ln(),
        deviation: 0.5,
        range: [f64::NEG_INFINITY, f64::INFINITY],
        step: 0.0,
    };
    income.assert(&applicants, Applicant::wealth);
    let hours = Law {
        mean: |a| {
            let t = a.years();
            let women = 6.0 * indicator(a.sex == "F") * (1.0 - (-t / 4.0).exp());
            10.0 + 2.2 * t - 0.08 * t.powi(2) + women - 3.0 * a.wealth()
        },
        deviation: 4.0,
        range: [0.0, 60.0],
        step: 1.0,
    };
    hours.assert(&applicants, |a| a.hours);
}

#[test]
fn marks_follow_their_formulas() {
    let applicants = applicants(5);
    let test = Law {
        mean: |a| 980.0 + 110.0 * a.talent + 360.0 * a.preparation(),
        deviation: 50.0,
        range: [400.0, 1600.0],
        step: 10.0,
    };
    test.assert(&applicants, |a| a.test);
    let essay = Law {
        mean: |a| {
            let mature = 2.0 * (1.0 - (-a.years() / 6.0).exp());
            5.5 + 1.1 * a.diligence + mature - 0.8 * indicator(a.region == "Islands")
        },
        deviation: 0.7,
        range: [0.0, 10.0],
        step: 0.5,
    };
    essay.assert(&applicants, |a| a.essay);
    let interview = Law {
        mean: |a| {
            let favoured =
                2.0 * (-((a.age - 22.0) / 5.0).powi(2)).exp() + 0.6 * indicator(a.sex == "M");
            let disliked = 0.5 * indicator(a.region == "Highlands");
            5.5 + 0.5 * a.talent + 0.4 * a.diligence + favoured - disliked
        },
        deviation: 0.8,
        range: [0.0, 10.0],
        step: 0.5,
    };
    interview.assert(&applicants, |a| a.interview);
    let success = Law {
        mean: |a| {
            let merit = 5.0 * a.talent + 4.0 * a.diligence + 1.5 * a.talent * a.diligence;
            62.0 + merit + 12.0 * a.preparation() - 0.03 * (a.hours - 12.0).max(0.0).powi(2)
        },
        deviation: 4.0,
        range: [0.0, 100.0],
        step: 0.1,
    };
    success.assert(&applicants, |a| a.success);
}

/// Given talent, diligence, hours and school, gpa is known up to rounding.
#[test]
fn the_spread_of_gpa_differs_by_sex() {
    let applicants = applicants(6);
    for a in &applicants {
        let spread = [("F", 0.3), ("M", 0.5), ("X", 0.4)]
            .into_iter()
            .find(|known| known.0 == a.sex);
        let merit = spread.unwrap().1 * (0.6 * a.talent + 0.8 * a.diligence);
        let gpa =
            3.0 + merit + 0.15 * indicator(a.school == "home") - 0.01 * (a.hours - 20.0).max(0.0);
        assert!((a.gpa - gpa.clamp(1.0, 4.0)).abs() < 0.005 + 1e-9);
    }
    let sex = groups(&applicants, |a| SEXES.iter().position(|sex| *sex == a.sex));
    let gpa = each(&applicants, |a| a.gpa);
    let distance = each(&applicants, |a| (a.gpa - 3.0).abs());
    let (mean, spread) = (
        correlation_ratio(&gpa, &sex),
        correlation_ratio(&distance, &sex),
    );
    assert!(spread > 0.05 && mean < 0.01, "{spread} {mean}");
}

#[test]
fn schools_and_decisions_have_their_probabilities() {
    let applicants = applicants(7);
    let events: [(Of<bool>, Of<f64>); 3] = [
        (|a| a.school == "home", |a| a.place()[1]),
        (
            |a| a.school == "private",
            |a| (1.0 - a.place()[1]) * logistic(1.5 * a.wealth() - 1.5),
        ),
        (
            |a| a.admitted == "yes",
            |a| {
                let grades = (a.gpa - 3.0) / 0.4 + (a.test - 1100.0) / 150.0;
                let marks = (a.essay - 6.0) / 1.3 + (a.interview - 6.3) / 1.2;
                logistic(grades + marks + 0.5 * indicator(a.school == "private") - 2.0)
            },
        ),
    ];
    for (event, probability) in events {
        let rest = each(&applicants, |a| indicator(event(a)) - probability(a));
        assert_mean(&rest, 0.0);
        assert_mean(&products(&rest, &each(&applicants, probability)), 0.0);
        assert_mean(&products(&rest, &each(&applicants, |a| a.talent)), 0.0);
    }
}

fn groups(applicants: &[Applicant], position: impl Fn(&Applicant) -> Option<usize>) -> Vec<u32> {
    applicants
        .iter()
        .map(|a| position(a).unwrap() as u32)
        .collect()
}

/// The thresholds are far above the ratio expected without dependence, at most 50/40 000.
#[test]
fn features_depend_on_the_sensitive_columns() {
    let applicants = applicants(8);
    let sex = groups(&applicants, |a| SEXES.iter().position(|sex| *sex == a.sex));
    let region = groups(&applicants, |a| {
        REGIONS.iter().position(|region| region.name == a.region)
    });
    let age = groups(&applicants, |a| Some(a.years() as usize));
    let dependences: [(&str, Of<f64>, &[u32], f64); 8] = [
        ("income by region", |a| a.income, &region, 0.05),
        ("test by region", |a| a.test, &region, 0.1),
        ("essay by age", |a| a.essay, &age, 0.05),
        ("hours by age", |a| a.hours, &age, 0.2),
        ("hours by sex", |a| a.hours, &sex, 0.05),
        ("interview by age", |a| a.interview, &age, 0.05),
        ("success by age", |a| a.success, &age, 0.05),
        ("success by region", |a| a.success, &region, 0.05),
    ];
    for (name, value, cells, least) in dependences {
        let found = correlation_ratio(&each(&applicants, value), cells);
        assert!(found > least, "{name}: {found}");
    }
}

/// A straight line sees less than half of the interview's dependence on age.
#[test]
fn the_interview_depends_on_age_along_a_curve() {
    let applicants = applicants(9);
    let (age, interview) = (
        each(&applicants, |a| a.age),
        each(&applicants, |a| a.interview),
    );
    let mean = |v: &[f64]| v.iter().sum::<f64>() / ROWS as f64;
    let covariance = |a: &[f64], b: &[f64]| mean(&products(a, b)) - mean(a) * mean(b);
    let line = covariance(&age, &interview).powi(2)
        / (covariance(&age, &age) * covariance(&interview, &interview));
    let cells = groups(&applicants, |a| Some(a.years() as usize));
    let curve = correlation_ratio(&interview, &cells);
    assert!(line < 0.5 * curve, "{line} {curve}");
}
