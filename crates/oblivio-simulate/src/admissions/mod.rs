//! A realistic table: applicants to a university, what the committee decided and how they would have done.
//!
//! Sensitive are `sex`, `region` and `age`. Talent $T$ and diligence $D$, standard normal and independent of all three,
//! are hidden; every $N$ below is a standard normal of its own, $\sigma(z) = 1/(1+e^{-z})$ and $\chi$ is 1 where the
//! condition holds, else 0. Each column is cut to its range and rounded before the next uses it.
//!
//! | column | range and rounding | made from |
//! |---|---|---|
//! | `sex` | | F 0.51, M 0.47, X 0.02 |
//! | `region` | | by the shares below |
//! | `age` | \[17, 60\], one decimal | $17 + 43\,B$ with $B \sim$ Beta(1, 6); write $t$ for `age` − 17 |
//! | `income` | \[5000, 500 000\], hundreds | median of the region $\cdot\, e^{N/2}$; write $w$ for $\ln(\text{income} / 48\,000)$ |
//! | `school` | | home by the rate below, of the others private with probability $\sigma(1.5w - 1.5)$ |
//! | `hours` | \[0, 60\], whole | $10 + 2.2t - 0.08t^2 + 6\,\chi\{\text{F}\}(1 - e^{-t/4}) - 3w + 4N$ |
//! | `gpa` | \[1, 4\], two decimals | $3 + rQ$ with $Q = 0.6T + 0.8D$ and $r = 0.3$ for F, 0.5 for M, 0.4 for X; and $+\,0.15\,\chi\{\text{home}\} - 0.01\max(\text{hours} - 20, 0)$ |
//! | `test` | \[400, 1600\], tens | $980 + 110T + 360P + 50N$ with preparation $P =$ access of the region $\cdot\, \sigma(1.5w)$ |
//! | `essay` | \[0, 10\], halves | $5.5 + 1.1D + 2(1 - e^{-t/6}) - 0.8\,\chi\{\text{Islands}\} + 0.7N$ |
//! | `interview` | \[0, 10\], halves | $5.5 + 0.5T + 0.4D + 2e^{-((\text{age} - 22)/5)^2} + 0.6\,\chi\{\text{M}\} - 0.5\,\chi\{\text{Highlands}\} + 0.8N$ |
//! | `success` | \[0, 100\], one decimal | $62 + 5T + 4D + 1.5\,TD + 12P - 0.03\max(\text{hours} - 12, 0)^2 + 4N$ |
//! | `admitted` | yes, no | yes with probability $\sigma\bigl(\frac{\text{gpa} - 3}{0.4} + \frac{\text{test} - 1100}{150} + \frac{\text{essay} - 6}{1.3} + \frac{\text{interview} - 6.3}{1.2} + 0.5\,\chi\{\text{private}\} - 2\bigr)$ |
//!
//! | region | share | median income | home | access |
//! |---|---|---|---|---|
//! | Coast | 0.30 | 62 000 | 0.02 | 1.0 |
//! | Valley | 0.25 | 50 000 | 0.03 | 0.7 |
//! | Plains | 0.20 | 44 000 | 0.05 | 0.5 |
//! | Highlands | 0.15 | 36 000 | 0.10 | 0.3 |
//! | Islands | 0.10 | 40 000 | 0.12 | 0.4 |
//!
//! `success`, the first-year average, is there for everyone, admitted or not. Talent and diligence owe nothing to S,
//! but their traces in the features are mixed with it: in the mean (test, essay, interview), along a curve (hours and
//! interview over age), by two sensitive columns together (hours over age differ by sex) or mainly in the spread (gpa).
//! Preparation and hours matter for success itself, so a good predictor of it depends on S.

use oblivio_base::{Column, Result};

use super::{Generator, Sampler, SimulatedTable, indicator, numbers};

const SEXES: [&str; 3] = ["F", "M", "X"];
const SEX_SHARES: [f64; 3] = [0.51, 0.47, 0.02];

struct Region {
    name: &'static str,
    share: f64,
    median_income: f64,
    home: f64,
    access: f64,
}

const REGIONS: [Region; 5] = [
    Region {
        name: "Coast",
        share: 0.30,
        median_income: 62_000.0,
        home: 0.02,
        access: 1.0,
    },
    Region {
        name: "Valley",
        share: 0.25,
        median_income: 50_000.0,
        home: 0.03,
        access: 0.7,
    },
    Region {
        name: "Plains",
        share: 0.20,
        median_income: 44_000.0,
        home: 0.05,
        access: 0.5,
    },
    Region {
        name: "Highlands",
        share: 0.15,
        median_income: 36_000.0,
        home: 0.10,
        access: 0.3,
    },
    Region {
        name: "Islands",
        share: 0.10,
        median_income: 40_000.0,
        home: 0.12,
        access: 0.4,
    },
];

struct Applicant {
    sex: &'static str,
    region: &'static str,
    age: f64,
    income: f64,
    school: &'static str,
    hours: f64,
    gpa: f64,
    test: f64,
    essay: f64,
    interview: f64,
    success: f64,
    admitted: &'static str,
    talent: f64,
    diligence: f64,
}

impl Applicant {
    fn draw(random: &mut Generator) -> Self {
        let sex = SEXES[random.position(&SEX_SHARES)];
        let region = &REGIONS[random.position(&REGIONS.map(|region| region.share))];
        let beta = 1.0 - random.uniform(0.0, 1.0).powf(1.0 / 6.0);
        let age = decimals(17.0 + 43.0 * beta, 1);
        let talent = random.normal();
        let diligence = random.normal();

        let income = region.median_income * (0.5 * random.normal()).exp();
        let income = multiple(income.clamp(5_000.0, 500_000.0), 100.0);
        let wealth = (income / 48_000.0).ln();
        let private = (1.0 - region.home) * logistic(1.5 * wealth - 1.5);
        let schools = [region.home, private, 1.0 - region.home - private];
        let school = ["home", "private", "public"][random.position(&schools)];

        let years = age - 17.0;
        let hours = 10.0 + 2.2 * years - 0.08 * years * years
            + 6.0 * indicator(sex == "F") * (1.0 - (-years / 4.0).exp())
            - 3.0 * wealth
            + 4.0 * random.normal();
        let hours = hours.clamp(0.0, 60.0).round();

        let spread = match sex {
            "F" => 0.3,
            "M" => 0.5,
            _ => 0.4,
        };
        let gpa =
            3.0 + spread * (0.6 * talent + 0.8 * diligence) + 0.15 * indicator(school == "home")
                - 0.01 * (hours - 20.0).max(0.0);
        let gpa = decimals(gpa.clamp(1.0, 4.0), 2);

        let preparation = region.access * logistic(1.5 * wealth);
        let test = 980.0 + 110.0 * talent + 360.0 * preparation + 50.0 * random.normal();
        let test = multiple(test.clamp(400.0, 1600.0), 10.0);

        let essay = 5.5 + 1.1 * diligence + 2.0 * (1.0 - (-years / 6.0).exp())
            - 0.8 * indicator(region.name == "Islands")
            + 0.7 * random.normal();
        let essay = multiple(essay.clamp(0.0, 10.0), 0.5);

        let interview = 5.5
            + 0.5 * talent
            + 0.4 * diligence
            + 2.0 * (-((age - 22.0) / 5.0).powi(2)).exp()
            + 0.6 * indicator(sex == "M")
            - 0.5 * indicator(region.name == "Highlands")
            + 0.8 * random.normal();
        let interview = multiple(interview.clamp(0.0, 10.0), 0.5);

        let success =
            62.0 + 5.0 * talent + 4.0 * diligence + 1.5 * talent * diligence + 12.0 * preparation
                - 0.03 * (hours - 12.0).max(0.0).powi(2)
                + 4.0 * random.normal();
        let success = decimals(success.clamp(0.0, 100.0), 1);

        let score = (gpa - 3.0) / 0.4
            + (test - 1100.0) / 150.0
            + (essay - 6.0) / 1.3
            + (interview - 6.3) / 1.2
            + 0.5 * indicator(school == "private")
            - 2.0;
        let admitted = if random.chance(logistic(score)) {
            "yes"
        } else {
            "no"
        };

        Self {
            sex,
            region: region.name,
            age,
            income,
            school,
            hours,
            gpa,
            test,
            essay,
            interview,
            success,
            admitted,
            talent,
            diligence,
        }
    }
}

pub(super) fn table(sampler: &mut Sampler) -> Result<SimulatedTable> {
    let rows = sampler.draw(Applicant::draw)?;
    Ok(SimulatedTable {
        sensitive: vec![
            texts("sex", &rows, |row| row.sex),
            texts("region", &rows, |row| row.region),
            numbers("age", &rows, |row| row.age),
        ],
        features: vec![
            numbers("income", &rows, |row| row.income),
            texts("school", &rows, |row| row.school),
            numbers("hours", &rows, |row| row.hours),
            numbers("gpa", &rows, |row| row.gpa),
            numbers("test", &rows, |row| row.test),
            numbers("essay", &rows, |row| row.essay),
            numbers("interview", &rows, |row| row.interview),
        ],
        targets: vec![
            numbers("success", &rows, |row| row.success),
            texts("admitted", &rows, |row| row.admitted),
        ],
        hidden: vec![
            numbers("talent", &rows, |row| row.talent),
            numbers("diligence", &rows, |row| row.diligence),
        ],
    })
}

fn texts(name: &str, rows: &[Applicant], value: impl Fn(&Applicant) -> &'static str) -> Column {
    Column::texts(name, rows.iter().map(|row| Some(value(row))))
}

fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Rounds so that the shortest text of the result has at most `digits` decimals.
fn decimals(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

/// The nearest multiple of `step`, a whole number or a half.
fn multiple(value: f64, step: f64) -> f64 {
    (value / step).round() * step
}

#[cfg(test)]
mod tests;
