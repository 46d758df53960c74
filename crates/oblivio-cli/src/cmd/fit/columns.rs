//! Which columns of a table have which role in a fit, and the rows of a batch by role.

use anyhow::{Context, Result, bail, ensure};
use oblivio::model::Labels;
use oblivio::{Column, Roles, Values};
use oblivio_base::MissingFeatures;

use crate::cmd::columns::ColumnArgs;
use crate::table::{Source, Table};

/// The names of a table's columns by role.
#[derive(Debug)]
pub(in crate::cmd) struct Columns {
    features: Vec<String>,
    sensitive: Vec<String>,
    target: Option<String>,
    weights: Option<String>,
    /// The value of a text target that counts as 1.
    positive: Option<String>,
    drop_missing: bool,
    /// Whether rows that miss a feature are left out with the others.
    drop_features: bool,
    /// Whether the target's values are classes.
    classifies: bool,
}

/// The rows of a batch by role.
pub(in crate::cmd) struct Rows {
    pub(in crate::cmd) features: Vec<Column>,
    pub(in crate::cmd) sensitive: Vec<Column>,
    pub(in crate::cmd) target: Option<Column>,
    pub(in crate::cmd) weights: Option<Vec<f64>>,
    /// Rows left out for missing values.
    pub(in crate::cmd) dropped: usize,
    /// Whether a row has the target's value that counts as 1, if one was named.
    pub(in crate::cmd) has_positive: bool,
}

impl Columns {
    pub(in crate::cmd) fn choose(
        source: &Source,
        args: &ColumnArgs,
        target: Option<&str>,
        classifies: bool,
    ) -> Result<Self> {
        let target = target.map(str::to_owned);
        let taken: Vec<&String> = args
            .sensitive
            .iter()
            .chain(&target)
            .chain(&args.weights)
            .chain(&args.drop)
            .collect();
        for name in taken.iter().copied().chain(&args.control) {
            source.is_number(name)?;
            ensure!(
                taken.iter().filter(|other| **other == name).count()
                    <= usize::from(!args.control.contains(name)),
                "column `{name}` has two roles; give it one of --sensitive, --control, --target, --weights and --drop"
            );
        }
        let features: Vec<String> = if args.features.is_empty() {
            let names = source.names().map(str::to_owned);
            let kept = |name: &String| args.keep_sensitive && args.sensitive.contains(name);
            names
                .filter(|name| !taken.contains(&name) || kept(name))
                .collect()
        } else {
            for name in &args.features {
                ensure!(
                    args.features.iter().filter(|other| *other == name).count() == 1,
                    "--features names `{name}` twice; name it once"
                );
                ensure!(
                    !taken.contains(&name),
                    "column `{name}` is a feature and has another role too; name it once"
                );
                source.is_number(name)?;
            }
            args.features.clone()
        };
        ensure!(!features.is_empty(), "no column is left to be a feature");
        Ok(Self {
            features,
            sensitive: [&args.sensitive[..], &args.control].concat(),
            target: target.clone(),
            weights: args.weights.clone(),
            positive: args.positive.clone(),
            drop_missing: args.drop_missing,
            drop_features: false,
            classifies,
        })
    }

    /// The same columns; rows that miss a feature are left out with the others if missing features are refused.
    pub(in crate::cmd) fn with_missing_features(self, missing: MissingFeatures) -> Self {
        Self {
            drop_features: missing == MissingFeatures::Error,
            ..self
        }
    }

    /// All columns that are read.
    pub(in crate::cmd) fn names(&self) -> Vec<String> {
        let all = self.features.iter().chain(&self.sensitive);
        let mut names: Vec<String> = Vec::new();
        for name in all.chain(&self.target).chain(&self.weights) {
            // Legitimate factors are features, too.
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// The rows of a batch, by role.
    pub(in crate::cmd) fn rows(&self, table: &Table) -> Result<Rows> {
        let find = |names: &[String]| -> Result<Vec<&Column>> {
            names.iter().map(|name| table.column(name)).collect()
        };
        let (features, sensitive) = (find(&self.features)?, find(&self.sensitive)?);
        let target = self.target.as_ref().map(|name| table.column(name));
        let target = target.transpose()?;
        let mut complete = vec![true; table.rows()];
        if self.drop_missing {
            let refused = features.iter().filter(|_| self.drop_features);
            let used = refused.chain(&sensitive).copied().chain(target);
            used.flat_map(Column::missing)
                .for_each(|row| complete[row] = false);
        }
        let rows: Vec<usize> = (0..table.rows()).filter(|&row| complete[row]).collect();
        let select = |columns: &[&Column]| columns.iter().map(|c| c.select(&rows)).collect();
        let target = target.map(|column| self.target(&column.select(&rows)));
        let (target, has_positive) = match target.transpose()? {
            Some((target, has_positive)) => (Some(target), has_positive),
            None => (None, false),
        };
        let weights = match &self.weights {
            None => None,
            Some(name) => {
                let column = table.column(name)?.select(&rows);
                let weights = column.to_numbers().context("--weights needs numbers")?;
                ensure!(
                    weights.iter().all(|w| !w.is_nan()),
                    "column `{name}` has missing weights; fill them in"
                );
                Some(weights)
            }
        };
        Ok(Rows {
            features: select(&features),
            sensitive: select(&sensitive),
            target,
            weights,
            dropped: table.rows() - rows.len(),
            has_positive,
        })
    }

    /// The target as numbers or classes, and whether the value that counts as 1 is among them.
    fn target(&self, column: &Column) -> Result<(Column, bool)> {
        let Some(positive) = &self.positive else {
            if self.classifies {
                return Ok((column.clone(), true));
            }
            if let (Values::Categories { levels, .. }, Err(_)) =
                (&column.values, column.to_numbers())
            {
                let example = levels.first().map_or("yes", String::as_str);
                bail!(
                    "the target `{}` is text; ridge regression needs numbers: name the value that counts as 1, as in --positive '{example}', or learn classes with --learner svm or logistic",
                    column.name
                );
            }
            return Ok((Column::numbers(&column.name, column.to_numbers()?), true));
        };
        let (levels, codes) = column.to_categories();
        let code = levels.iter().position(|level| level == positive);
        let number = |c: &u32| match *c {
            oblivio_base::MISSING => f64::NAN,
            c if Some(c as usize) == code => 1.0,
            _ => 0.0,
        };
        let numbers: Vec<f64> = codes.iter().map(number).collect();
        let found = numbers.contains(&1.0);
        if self.classifies {
            return Ok((column.clone(), found));
        }
        Ok((Column::numbers(&column.name, numbers), found))
    }

    /// The classes in order: a named one is the positive, against all others.
    pub(in crate::cmd) fn labels(&self, seen: Labels) -> Labels {
        match &self.positive {
            None => seen,
            Some(positive) => seen.against_rest(positive),
        }
    }

    /// Refuses a value that should count as 1 and never occurs.
    pub(in crate::cmd) fn check_positive(&self, found: bool, source: &Source) -> Result<()> {
        let (Some(positive), Some(target), false) = (&self.positive, &self.target, found) else {
            return Ok(());
        };
        let mut seen: Vec<String> = Vec::new();
        for batch in source.batches(std::slice::from_ref(target), 0)? {
            for level in batch?.column(target)?.to_categories().0 {
                if !seen.contains(&level) && seen.len() < 8 {
                    seen.push(level);
                }
            }
        }
        bail!(
            "the target `{target}` never has the value `{positive}` (values: {}); give --positive one of them",
            seen.join(", ")
        )
    }
}

impl Rows {
    /// The same rows with some left out.
    pub(in crate::cmd) fn select(&self, rows: &[usize]) -> Self {
        let pick = |columns: &[Column]| columns.iter().map(|c| c.select(rows)).collect();
        Self {
            features: pick(&self.features),
            sensitive: pick(&self.sensitive),
            target: self.target.as_ref().map(|column| column.select(rows)),
            weights: self
                .weights
                .as_ref()
                .map(|weights| rows.iter().map(|&i| weights[i]).collect()),
            ..*self
        }
    }

    pub(in crate::cmd) fn len(&self) -> usize {
        self.features.first().map_or(0, Column::len)
    }

    /// For a fit; there is a target.
    pub(in crate::cmd) fn roles<'a>(
        &'a self,
        target: &'a Column,
        labels: Option<&'a Labels>,
    ) -> Roles<'a> {
        Roles {
            features: &self.features,
            sensitive: &self.sensitive,
            target,
            labels,
            weights: self.weights.as_deref(),
        }
    }
}
