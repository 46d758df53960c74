//! Which columns of a table an audit looks at, and what a model makes of them.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use oblivio::model::RowColumn;
use oblivio::{Column, Model, Prediction, Sensitive, Watch};
use oblivio_audit::{AuditRows, Role};
use rayon::ThreadPool;

use super::Args;
use crate::stored::read_model;
use crate::table::{Source, Table};

/// The models of an audit.
pub(super) struct Models {
    pub(super) model: Option<Model>,
    pub(super) baseline: Option<Model>,
}

impl Models {
    pub(super) fn read(args: &Args) -> Result<Self> {
        let read = |path: Option<&Path>| path.map(read_model).transpose();
        Ok(Self {
            model: read(args.model.as_deref())?,
            baseline: read(args.baseline.as_deref())?,
        })
    }

    /// The sensitive columns asked for, or those of the model.
    pub(super) fn sensitive(&self, args: &Args) -> Result<Vec<String>> {
        if !args.sensitive.is_empty() {
            return Ok(args.sensitive.clone());
        }
        let of_model = self.model.iter().flat_map(Model::sensitive_columns);
        let names = of_model.map(str::to_owned);
        let names: Vec<String> = names.filter(|name| !args.control.contains(name)).collect();
        ensure!(
            !names.is_empty(),
            "the model knows no sensitive columns; name them with --sensitive"
        );
        Ok(names)
    }

    /// Where classifiers draw the line.
    pub(super) fn threshold(&self) -> Option<f64> {
        let classifies = self.model.as_ref().is_some_and(|m| m.classes.is_some());
        classifies.then_some(0.0)
    }

    /// How the models know their columns.
    pub(super) fn schema(&self) -> Vec<RowColumn> {
        let both = self.model.iter().chain(&self.baseline);
        both.flat_map(Model::schema).collect()
    }

    fn needs(&self) -> Vec<String> {
        let both = self.model.iter().chain(&self.baseline);
        let names = both.flat_map(|model| {
            let sensitive = model.sensitive_columns().into_iter();
            model.encoder.columns().chain(sensitive)
        });
        names.map(str::to_owned).collect()
    }
}

/// The names of the columns by role.
pub(super) struct Columns {
    sensitive: Vec<String>,
    features: Vec<String>,
    all: Vec<String>,
}

impl Columns {
    pub(super) fn choose(
        source: &Source,
        args: &Args,
        models: &Models,
        sensitive: Vec<String>,
    ) -> Result<Self> {
        let taken: Vec<&String> = sensitive
            .iter()
            .chain(&args.score)
            .chain(&args.before)
            .chain(&args.target)
            .chain(&args.control)
            .chain(&args.weights)
            .chain(&args.drop)
            .collect();
        for name in &taken {
            source.is_number(name)?;
            ensure!(
                taken.iter().filter(|other| other == &name).count() == 1,
                "column `{name}` has two roles; give it one of --sensitive, --score, --before, --target, --control, --weights and --drop"
            );
        }
        let features: Vec<String> = if !args.features.is_empty() {
            for name in &args.features {
                source.is_number(name)?;
                ensure!(
                    !taken.contains(&name),
                    "column `{name}` is a feature and has another role too; name it once"
                );
            }
            args.features.clone()
        } else if let Some(model) = &models.model {
            let names = model.encoder.columns().map(str::to_owned);
            names.filter(|name| !taken.contains(&name)).collect()
        } else {
            let names = source.names().map(str::to_owned);
            names.filter(|name| !taken.contains(&name)).collect()
        };
        let dropped = |name: &&String| !args.drop.contains(name);
        let used: Vec<&String> = taken.iter().copied().filter(dropped).collect();
        let needs = models.needs();
        for name in &needs {
            source.is_number(name)?;
        }
        let is_used =
            |name: &String| used.contains(&name) || features.contains(name) || needs.contains(name);
        let all = source.names().map(str::to_owned).filter(is_used).collect();
        Ok(Self {
            sensitive,
            features,
            all,
        })
    }

    /// The columns that are read.
    pub(super) fn names(&self) -> &[String] {
        &self.all
    }

    pub(super) fn rows(
        &self,
        table: &Table,
        args: &Args,
        models: &Models,
        pool: &ThreadPool,
    ) -> Result<AuditRows> {
        let find = |names: &[String]| -> Result<Vec<Column>> {
            names.iter().map(|n| table.column(n).cloned()).collect()
        };
        let target = args.target.as_ref().map(|name| table.column(name).cloned());
        let target = target.transpose()?;
        let mut subjects = scores(table, args)?;
        if let Some(model) = &models.model {
            subjects = pool.install(|| of_model(model, models.baseline.as_ref(), table))?;
        }
        let weights = match &args.weights {
            None => None,
            Some(name) => {
                let column = table.column(name)?;
                Some(column.to_numbers().context("--weights needs numbers")?)
            }
        };
        let whole_table = subjects.is_empty();
        // Without scores the labels are what is audited; with them they are the truth.
        let (labels, truth) = if subjects.is_empty() {
            (target, None)
        } else {
            (None, target)
        };
        subjects.extend(labels.map(|column| (Role::of(&column), column)));
        Ok(AuditRows {
            subjects,
            features: find(&self.features)?,
            whole_table,
            sensitive: Sensitive::new(find(&self.sensitive)?, table.rows())?,
            truth,
            control: find(&args.control)?,
            weights,
        })
    }
}

fn scores(table: &Table, args: &Args) -> Result<Vec<(Role, Column)>> {
    let read = |name: &String| table.column(name).cloned();
    let Some(before) = &args.before else {
        let columns = args.score.iter().map(read).collect::<Result<Vec<_>>>()?;
        return Ok(columns
            .into_iter()
            .map(|c| (Role::of_scores(&c), c))
            .collect());
    };
    let [after] = &args.score[..] else {
        bail!("--before goes with one --score; audit the others in a run of their own");
    };
    Ok(vec![
        (Role::Before, read(before)?),
        (Role::After, read(after)?),
    ])
}

/// The scores of a model, beside those of the baseline or those before its own correction.
fn of_model(model: &Model, baseline: Option<&Model>, table: &Table) -> Result<Vec<(Role, Column)>> {
    let watch = Watch::default();
    let predictions = model.predict(table.columns(), &watch)?;
    let others = match baseline {
        None => None,
        Some(baseline) => {
            let others = baseline.predict(table.columns(), &watch)?;
            ensure!(
                others.len() == predictions.len(),
                "the model gives {} scores and the baseline {}; compare models of the same kind",
                predictions.len(),
                others.len()
            );
            Some(others)
        }
    };
    let mut subjects = Vec::new();
    for (k, prediction) in predictions.iter().enumerate() {
        let name = match &model.classes {
            Some(classes) if classes.labels.len() > 2 => format!("score_{}", classes.labels[k]),
            _ => "score".to_owned(),
        };
        let before: Option<&[f64]> = match &others {
            Some(others) => Some(&others[k].scores),
            None => corrected(prediction).then_some(&prediction.before),
        };
        let role = if before.is_some() {
            Role::After
        } else {
            Role::Score
        };
        if let Some(before) = before {
            let what = if baseline.is_some() {
                "baseline"
            } else {
                "before"
            };
            let column = Column::numbers(format!("{name}_{what}"), before.to_vec());
            subjects.push((Role::Before, column));
        }
        subjects.push((role, Column::numbers(name, prediction.scores.clone())));
    }
    Ok(subjects)
}

/// Whether anything was taken off the scores.
fn corrected(prediction: &Prediction) -> bool {
    prediction.before != prediction.scores
}
