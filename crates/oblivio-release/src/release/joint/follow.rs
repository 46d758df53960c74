//! Columns whose value another column determines: they are released as what goes with its released value.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::super::form::{ColumnForm, Form};

/// A column with more values than this determines nothing.
const MOST_VALUES: usize = 256;
/// The fewest rows for each of its values, on average: of few rows, anything determines anything.
const ROWS_PER_VALUE: usize = 10;

/// The value of a column that goes with each value of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in super::super) struct Follow {
    /// The column that determines it.
    pub(in super::super) column: usize,
    /// Its values, ascending.
    from: Vec<f64>,
    to: Vec<f64>,
}

impl Follow {
    /// For each column, the one that determines it, if one does. No column that is determined determines another, and of two that
    /// determine each other, numbers determine categories.
    pub(super) fn detect(forms: &[ColumnForm], values: &[&[f64]]) -> Vec<Option<Self>> {
        let mut found: Vec<Option<Self>> = forms.iter().map(|_| None).collect();
        let mut columns: Vec<(usize, usize)> = Vec::new();
        for (k, own) in values.iter().enumerate() {
            let count = distinct(own);
            if (2..=MOST_VALUES).contains(&count) && own.len() >= ROWS_PER_VALUE * count {
                columns.push((k, count));
            }
        }
        let is_number = |k: usize| matches!(forms[k].form, Form::Numbers(_));
        columns.sort_by_key(|&(k, count)| (std::cmp::Reverse(count), !is_number(k), k));
        for (place, &(k, _)) in columns.iter().enumerate() {
            let free = columns[..place].iter().rev().map(|(a, _)| *a);
            let mut free = free.filter(|&a| found[a].is_none());
            found[k] = free.find_map(|a| Self::between(a, values[a], values[k]));
        }
        found
    }

    /// What goes with each value of a column, if it determines the other.
    fn between(column: usize, values: &[f64], own: &[f64]) -> Option<Self> {
        let mut pairs: HashMap<u64, f64> = HashMap::new();
        for (value, own) in values.iter().zip(own) {
            if *pairs.entry((value + 0.0).to_bits()).or_insert(*own) != *own {
                return None;
            }
        }
        let mut pairs: Vec<(f64, f64)> = pairs
            .into_iter()
            .map(|(value, own)| (f64::from_bits(value), own))
            .collect();
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (from, to) = pairs.into_iter().unzip();
        Some(Self { column, from, to })
    }

    /// What goes with a value of the other column; `own` where no reference row has that value.
    pub(super) fn value(&self, other: f64, own: f64) -> f64 {
        let place = self.from.partition_point(|value| *value < other);
        match self.from.get(place) {
            _ if other.is_nan() => other,
            Some(value) if *value == other => self.to[place],
            _ => own,
        }
    }

    pub(super) fn fits(&self, forms: &[ColumnForm], own: &ColumnForm) -> bool {
        let fits = |value: &f64| match &own.form {
            Form::Numbers(format) => format.holds(*value),
            Form::Categories(levels) => {
                value.fract() == 0.0 && (0.0..levels.len() as f64).contains(value)
            }
        };
        self.column < forms.len()
            && self.from.len() == self.to.len()
            && self.from.iter().all(|value| value.is_finite())
            && self.from.is_sorted_by(|a, b| a < b)
            && self.to.iter().all(fits)
    }

    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        vec![&mut self.from, &mut self.to]
    }
}

/// The number of different values; 0 if one is missing.
fn distinct(values: &[f64]) -> usize {
    if values.iter().any(|value| value.is_nan()) {
        return 0;
    }
    let mut sorted: Vec<f64> = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    sorted.len()
}
