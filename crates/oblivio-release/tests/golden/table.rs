//! Sixty rows to fit to and twenty new ones, from whole numbers alone.

use super::engine::Column;

pub const ROWS: usize = 60;
pub const NEW_ROWS: usize = 20;

/// The columns of a table, by role.
#[derive(Clone, Debug)]
pub struct Table {
    /// Two columns of numbers and one of text.
    pub features: Vec<Column>,
    /// `sex`, `age` and `degree`, the last a legitimate factor where a case controls for it.
    pub sensitive: Vec<Column>,
    /// A number.
    pub target: Column,
    /// Two classes.
    pub decision: Column,
    /// Three classes.
    pub grade: Column,
    /// Mostly 1, also 0.5, 2 and 0.
    pub weights: Vec<f64>,
}

/// A number in [0, 1) that looks random: multiples of an irrational number, mixed.
fn mixed(row: usize, pace: u64) -> f64 {
    let bits = (row as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(pace.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let bits = (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((bits ^ (bits >> 32)) >> 12) as f64 / (1u64 << 52) as f64
}

struct Person {
    man: bool,
    age: f64,
    degree: usize,
    x: f64,
    hours: f64,
    school: usize,
    target: f64,
}

fn person(row: usize) -> Person {
    let man = mixed(row, 1) < 0.45;
    let age = 20.0 + (46.0 * mixed(row, 2)).floor();
    let degree = (3.0 * mixed(row, 3)) as usize;
    let by_sex = f64::from(u8::from(man));
    let x = 0.8 * by_sex + 0.03 * age + 0.2 * degree as f64 + 2.0 * mixed(row, 4);
    let hours = 30.0 + 0.2 * age + 12.0 * mixed(row, 5) * mixed(row, 6);
    let school = (2.0 * mixed(row, 7) + by_sex * mixed(row, 8)) as usize;
    let bend = (x - 2.5) * (x - 2.5);
    let target = x - 0.4 * bend + 0.05 * hours + 0.7 * by_sex + 0.6 * mixed(row, 9);
    Person {
        man,
        age,
        degree,
        x,
        hours,
        school,
        target,
    }
}

/// The rows `start..start + rows`; some miss a sensitive value if `missing`.
fn table(start: usize, rows: usize, missing: bool) -> Table {
    let people: Vec<Person> = (start..start + rows).map(person).collect();
    let number = |name: &str, value: &dyn Fn(&Person) -> f64| {
        Column::numbers(name, people.iter().map(value).collect())
    };
    let text = |name: &str, value: &dyn Fn(usize, &Person) -> Option<&'static str>| {
        let values = people.iter().enumerate();
        Column::texts(name, values.map(|(row, person)| value(row, person)))
    };
    let sex = |row: usize, p: &Person| {
        let there = !missing || row % 11 != 7;
        there.then_some(if p.man { "M" } else { "F" })
    };
    let ages = people.iter().enumerate().map(|(row, p)| {
        if missing && row % 9 == 4 {
            f64::NAN
        } else {
            p.age
        }
    });
    let higher = |row: usize, p: &Person| {
        let line = 5.0 + 0.7 * mixed(start + row, 10);
        Some(if p.target > line { "yes" } else { "no" })
    };
    let grade = |_: usize, p: &Person| {
        Some(["low", "mid", "top"][((p.target - 4.0) / 0.9).clamp(0.0, 2.0) as usize])
    };
    Table {
        features: vec![
            number("x", &|p| p.x),
            number("hours", &|p| p.hours),
            text("school", &|_, p| Some(["home", "public", "7"][p.school])),
        ],
        sensitive: vec![
            text("sex", &sex),
            Column::numbers("age", ages.collect()),
            text("degree", &|_, p| {
                Some(["none", "first", "second"][p.degree])
            }),
        ],
        target: number("y", &|p| p.target),
        decision: text("decision", &higher),
        grade: text("grade", &grade),
        weights: (0..rows)
            .map(|row| [1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 0.0][row % 7])
            .collect(),
    }
}

/// The rows of the fits.
pub fn training_rows(missing: bool) -> Table {
    table(0, ROWS, missing)
}

/// Features and sensitive columns of rows that no fit has seen.
pub fn new_rows(missing: bool) -> Vec<Column> {
    let table = table(5000, NEW_ROWS, missing);
    [table.features, table.sensitive].concat()
}

/// Later rows of the same kind, with targets.
pub fn later_rows(missing: bool) -> Table {
    table(9000, ROWS, missing)
}

impl Table {
    /// The rows of a part.
    pub fn select(&self, rows: &[usize]) -> Self {
        let columns = |columns: &[Column]| columns.iter().map(|c| c.select(rows)).collect();
        Self {
            features: columns(&self.features),
            sensitive: columns(&self.sensitive),
            target: self.target.select(rows),
            decision: self.decision.select(rows),
            grade: self.grade.select(rows),
            weights: rows.iter().map(|&row| self.weights[row]).collect(),
        }
    }

    /// Parts of the table, one after the other.
    pub fn parts(&self, rows: usize) -> Vec<Self> {
        let all: Vec<usize> = (0..self.weights.len()).collect();
        all.chunks(rows).map(|part| self.select(part)).collect()
    }

    /// Features, sensitive columns and target in one table.
    pub fn columns(&self) -> Vec<Column> {
        let mut all = [&self.features[..], &self.sensitive].concat();
        all.push(self.target.clone());
        all
    }
}
