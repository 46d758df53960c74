//! Which columns and rows of the table a fit uses.

use anyhow::{Context, Result, bail, ensure};
use oblivio::{Column, Roles, Values};

use super::Args;
use crate::report;
use crate::table::Table;

/// The table's columns by role.
pub(super) struct Columns {
    features: Vec<Column>,
    sensitive: Vec<Column>,
    target: Column,
    weights: Option<Vec<f64>>,
}

impl Columns {
    pub(super) fn select(table: &Table, args: &Args) -> Result<Self> {
        let taken: Vec<&String> = args
            .sensitive
            .iter()
            .chain([&args.target])
            .chain(&args.weights)
            .chain(&args.drop)
            .collect();
        for name in &taken {
            table.column(name)?;
            ensure!(
                taken.iter().filter(|other| other == &name).count() == 1,
                "column `{name}` has two roles; give it one of --sensitive, --target, --weights and --drop"
            );
        }
        let features: Vec<&Column> = if args.features.is_empty() {
            let free = |c: &&Column| !taken.contains(&&c.name);
            table.columns().iter().filter(free).collect()
        } else {
            let named = args.features.iter().map(|name| {
                ensure!(
                    args.features.iter().filter(|other| *other == name).count() == 1,
                    "--features names `{name}` twice; name it once"
                );
                ensure!(
                    !taken.contains(&name),
                    "column `{name}` is a feature and has another role too; name it once"
                );
                table.column(name)
            });
            named.collect::<Result<_>>()?
        };
        ensure!(!features.is_empty(), "no column is left to be a feature");
        let used: Vec<&Column> = features
            .iter()
            .copied()
            .chain(
                args.sensitive
                    .iter()
                    .map(|name| table.column(name))
                    .collect::<Result<Vec<_>>>()?,
            )
            .chain([table.column(&args.target)?])
            .collect();
        let rows = chosen_rows(table.rows(), &used, args);
        ensure!(
            !rows.is_empty(),
            "no row is left after leaving out those with missing values"
        );
        let select = |columns: &[&Column]| columns.iter().map(|c| c.select(&rows)).collect();
        let sensitive: Vec<&Column> = used[features.len()..used.len() - 1].to_vec();
        Ok(Self {
            features: select(&features),
            sensitive: select(&sensitive),
            target: target(&table.column(&args.target)?.select(&rows), args)?,
            weights: match &args.weights {
                Some(name) => {
                    let column = table.column(name)?.select(&rows);
                    let weights = column.to_numbers().context("--weights needs numbers")?;
                    ensure!(
                        weights.iter().all(|w| !w.is_nan()),
                        "column `{name}` has missing weights; fill them in"
                    );
                    Some(weights)
                }
                None => None,
            },
        })
    }

    pub(super) fn roles(&self) -> Roles<'_> {
        Roles {
            features: &self.features,
            sensitive: &self.sensitive,
            target: &self.target,
            weights: self.weights.as_deref(),
        }
    }

    /// Compares what the fit needs with what is free, before anything is allocated.
    pub(super) fn check_memory(&self) -> Result<()> {
        let rows = self.target.len() as f64;
        // The matrix in double precision and its factor in single.
        let needed = 12.0 * rows * rows;
        // Where the system does not tell, there is nothing to compare with.
        let Ok(mut system) = sysinfo::System::new() else {
            return Ok(());
        };
        system.refresh_memory();
        let free = system.available_memory() as f64;
        let affordable = (0.8 * free / 12.0).sqrt() / 100.0;
        ensure!(
            needed < 0.9 * free || free == 0.0,
            "a fit on {rows} rows needs {:.1} GB of memory and {:.1} GB are free; fit on fewer rows with --sample {:.0}00",
            needed / 1e9,
            free / 1e9,
            affordable.floor(),
        );
        Ok(())
    }
}

/// The rows to use: those without missing values if asked, a sample if asked.
fn chosen_rows(rows: usize, used: &[&Column], args: &Args) -> Vec<usize> {
    let mut complete = vec![true; rows];
    if args.drop_missing {
        used.iter()
            .flat_map(|column| column.missing())
            .for_each(|row| complete[row] = false);
    }
    let kept: Vec<usize> = (0..rows).filter(|&row| complete[row]).collect();
    if kept.len() < rows {
        report::remark(format_args!(
            "note: {} of {rows} rows have missing values and are left out",
            rows - kept.len()
        ));
    }
    match args.sample {
        Some(size) => oblivio::sample(&kept, size, args.seed),
        None => kept,
    }
}

/// The target as numbers; of text, one value can be declared to count as 1.
fn target(column: &Column, args: &Args) -> Result<Column> {
    let Some(positive) = &args.positive else {
        if let (Values::Categories { levels, .. }, Err(_)) = (&column.values, column.to_numbers()) {
            let example = levels.first().map_or("yes", String::as_str);
            bail!(
                "the target `{}` is text; ridge regression needs numbers: name the value that counts as 1, as in --positive '{example}'",
                column.name
            );
        }
        return Ok(Column::numbers(&column.name, column.to_numbers()?));
    };
    let (levels, codes) = column.to_categories();
    let Some(code) = levels.iter().position(|level| level == positive) else {
        bail!(
            "the target `{}` never has the value `{positive}` (values: {}); give --positive one of them",
            column.name,
            levels
                .iter()
                .take(8)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ")
        );
    };
    let number = |c: &u32| match *c {
        oblivio::MISSING => f64::NAN,
        c if c as usize == code => 1.0,
        _ => 0.0,
    };
    Ok(Column::numbers(
        &column.name,
        codes.iter().map(number).collect(),
    ))
}
