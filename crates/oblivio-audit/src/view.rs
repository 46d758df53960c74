//! The sensitive columns that subjects are held against: one by one, and all together.

use oblivio::partition::PartitionRule;
use oblivio::sensitive::Kind;
use oblivio::{Partition, Sensitive};
use oblivio_base::{Column, Result};

/// Sensitive columns with their cells.
pub(super) struct View {
    pub(super) columns: Vec<Column>,
    pub(super) kinds: Vec<Kind>,
    /// The cell of each row.
    pub(super) cells: Vec<u32>,
    /// The cells in words; every one has rows.
    pub(super) labels: Vec<String>,
    /// The same without the names of the columns.
    pub(super) briefs: Vec<String>,
}

impl View {
    /// Every column by itself and, if there are several, all of them together, last.
    pub(super) fn all(
        rule: &PartitionRule,
        sensitive: &Sensitive,
        weights: Option<&[f64]>,
    ) -> Result<Vec<Self>> {
        let columns = sensitive.columns();
        let ones = vec![1.0; sensitive.len()];
        let weights = weights.unwrap_or(&ones);
        // First of all, so that a rule that speaks of other columns is refused.
        let together = Self::new(rule, columns.to_vec(), weights)?;
        if columns.len() < 2 {
            return Ok(vec![together]);
        }
        let alone = columns
            .iter()
            .map(|column| Self::new(&rule.about(&column.name), vec![column.clone()], weights));
        alone.chain([Ok(together)]).collect()
    }

    pub(super) fn new(rule: &PartitionRule, columns: Vec<Column>, weights: &[f64]) -> Result<Self> {
        let sensitive = Sensitive::new(columns.clone(), weights.len())?;
        // What depends on S within joined cells would not be seen; small ones are called so instead.
        let rule = PartitionRule {
            min_rows: Some(1),
            ..rule.clone()
        };
        // Cells are cut on the very rows that are audited, so every row has one and every cell has rows.
        let (partition, _) = Partition::fit(&rule, &sensitive, weights)?;
        Ok(Self {
            kinds: partition.columns().map(|(_, kind)| kind).collect(),
            cells: partition.assign(&sensitive)?.codes().to_vec(),
            labels: (0..partition.len()).map(|c| partition.label(c)).collect(),
            briefs: (0..partition.len()).map(|c| partition.brief(c)).collect(),
            columns,
        })
    }

    /// The names of its columns.
    pub(super) fn name(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        names.join(" × ")
    }
}
