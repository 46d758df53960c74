//! Legitimate factors: columns that are held fixed while S is looked at.

use oblivio::Sensitive;
use oblivio::partition::PartitionRule;
use oblivio_base::{Column, Result};

use super::kernels::Target;
use super::strata::Strata;
use super::view::View;

/// Columns that may explain a score.
pub(super) struct Control {
    /// The columns as a regression reads them.
    pub(super) columns: Vec<Column>,
    /// Groups of rows with the same categories, and with numbers in the same bin.
    pub(super) strata: Strata,
}

impl Control {
    /// Reads the columns as the rule reads sensitive ones; none if there are none.
    pub(super) fn new(
        rule: &PartitionRule,
        (columns, rows): (&[Column], usize),
        weights: Option<&[f64]>,
    ) -> Result<Option<Self>> {
        if columns.is_empty() {
            return Ok(None);
        }
        let named = Sensitive::new(columns.to_vec(), rows)?;
        let ones = vec![1.0; rows];
        let weights = weights.unwrap_or(&ones);
        let view = View::new(&rule.of_columns(&named), columns.to_vec(), weights)?;
        Ok(Some(Self {
            columns: Target::new(&view).features(),
            strata: Strata::new(&view.cells),
        }))
    }

    /// What the reader should know.
    pub(super) fn note(&self) -> String {
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|c| format!("`{}`", c.name))
            .collect();
        format!(
            "cells are compared within {} groups by {} and averaged over them; hsic, adversaries and distance correlation \
             would ignore these groups and are left out",
            self.strata.count(),
            names.join(", ")
        )
    }
}

/// Checks that every column has one role, and that the rule names columns that are there.
pub(super) fn check(rule: &PartitionRule, sensitive: &Sensitive, control: &[Column]) -> Result<()> {
    let all = [sensitive.columns(), control].concat();
    let all = Sensitive::new(all, sensitive.len())?;
    let named = rule.categorical.iter().chain(&rule.continuous);
    let bounds = rule.bounds.iter().map(|(name, ..)| name);
    for name in named.chain(bounds.filter(|name| !name.is_empty())) {
        all.column(name)?;
    }
    Ok(())
}
