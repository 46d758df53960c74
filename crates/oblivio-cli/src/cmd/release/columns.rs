//! Which columns of a table have which role in a release.

use anyhow::{Context, Result, ensure};
use oblivio::{Column, Sensitive};
use oblivio_release::ReleaseRows;

use super::Args;
use crate::table::{Source, Table};

/// The names of the columns by role.
pub(super) struct Columns {
    pub(super) features: Vec<String>,
    /// Those of the new table, in order.
    pub(super) written: Vec<String>,
    /// All that are read.
    pub(super) read: Vec<String>,
}

impl Columns {
    pub(super) fn choose(source: &Source, args: &Args) -> Result<Self> {
        let taken: Vec<&String> = args
            .sensitive
            .iter()
            .chain(&args.target)
            .chain(&args.weights)
            .chain(&args.keep)
            .chain(&args.drop)
            .collect();
        for name in &taken {
            source.is_number(name)?;
            ensure!(
                !(args.sensitive.contains(name) && args.drop.contains(name)),
                "column `{name}` is sensitive, and needed; to leave the sensitive columns out of the table, give --drop-sensitive"
            );
            ensure!(
                taken.iter().filter(|other| other == &name).count() == 1,
                "column `{name}` has two roles; give it one of --sensitive, --target, --weights, --keep and --drop"
            );
        }
        let names = || source.names().map(str::to_owned);
        let features: Vec<String> = names().filter(|name| !taken.contains(&name)).collect();
        ensure!(
            !features.is_empty(),
            "no column is left to be released; every one has another role"
        );
        for range in &args.range {
            source.is_number(&range.column)?;
            ensure!(
                features.contains(&range.column),
                "--range names `{}`, which is not released; leave the range out",
                range.column
            );
        }
        let hidden = |name: &String| args.drop_sensitive && args.sensitive.contains(name);
        let read: Vec<String> = names().filter(|name| !args.drop.contains(name)).collect();
        let written = read.iter().filter(|name| !hidden(name)).cloned().collect();
        Ok(Self {
            features,
            written,
            read,
        })
    }

    /// The columns that go into the new table as they are.
    pub(super) fn copied(&self) -> Vec<String> {
        let written = self.written.iter();
        written
            .filter(|name| !self.features.contains(name))
            .cloned()
            .collect()
    }

    pub(super) fn rows(&self, table: &Table, args: &Args) -> Result<ReleaseRows> {
        let find = |names: &[String]| -> Result<Vec<Column>> {
            names.iter().map(|n| table.column(n).cloned()).collect()
        };
        let target = args.target.as_ref().map(|name| table.column(name).cloned());
        let weights = args.weights.as_ref().map(|name| -> Result<Vec<f64>> {
            let numbers = table.column(name)?.to_numbers();
            let weights = numbers.context("--weights needs numbers")?;
            ensure!(
                weights.iter().all(|weight| !weight.is_nan()),
                "column `{name}` has missing weights; fill them in"
            );
            Ok(weights)
        });
        Ok(ReleaseRows {
            features: find(&self.features)?,
            sensitive: Sensitive::new(find(&args.sensitive)?, table.rows())?,
            target: target.transpose()?,
            weights: weights.transpose()?,
        })
    }
}

/// The columns of a table with some of them replaced, by name and in the order of `names`.
pub(super) fn replaced(
    table: &Table,
    names: &[String],
    released: Vec<Column>,
) -> Result<Vec<Column>> {
    let mut released: Vec<Option<Column>> = released.into_iter().map(Some).collect();
    let columns = names.iter().map(|name| {
        let mut own = released.iter_mut();
        let own = own.find(|column| column.as_ref().is_some_and(|c| c.name == *name));
        match own.and_then(Option::take) {
            Some(column) => Ok(column),
            None => table.column(name).cloned(),
        }
    });
    columns.collect()
}
