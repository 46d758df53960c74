//! A fitted release, and what it makes of a table.

use std::collections::HashSet;

use oblivio::partition::Uses;
use oblivio::sensitive::Kind;
use oblivio::{Partition, Sensitive};
use oblivio_base::choice::check_strength;
use oblivio_base::encoder::find;
use oblivio_base::error::require;
use oblivio_base::{Column, Error, Result, UnseenCategory, Values, Watch};
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::columns::ColumnMap;
use super::draw::Draws;
use super::form::ColumnForm;
use super::joint::JointMap;
use super::projection::ProjectionMap;
use super::report::ReleaseCertificate;
use super::settings::{MissingValues, ReleaseMethod};

/// A fitted release: from the features and the S of any rows to their released features.
///
/// It holds values of the reference rows: keep it as safe as the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Release {
    pub(super) method: ReleaseMethod,
    pub(super) strength: f64,
    pub(super) missing: MissingValues,
    /// A category of a feature that no reference row has.
    pub(super) unseen: UnseenCategory,
    pub(super) seed: u64,
    pub(super) partition: Partition,
    pub(super) forms: Vec<ColumnForm>,
    pub(super) maps: Maps,
}

/// How values are made. A method that looks at all columns together has an arm of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Maps {
    /// One map for each column, in order.
    Columns(Vec<ColumnMap>),
    /// One map for all of them.
    Together(ProjectionMap),
    /// One map for each column, and alignments of all of them together.
    Joint(JointMap),
}

/// A released table.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// The columns of the fit, in their order.
    pub columns: Vec<Column>,
    /// How often a policy was used.
    pub uses: Uses,
    /// Values outside the range of their column, moved to its end.
    pub clipped: usize,
    /// Values of categories that no reference row has, left as they are.
    pub unseen: usize,
}

impl Release {
    /// The released values of the rows of a table, whose columns are found by name; other columns are left out.
    ///
    /// A number outside its column's range is moved to the range's end. A category of a feature that no reference row has is refused, or
    /// left as it is and counted, by the partition's policy for unknown categories. Every released value depends on its own row alone,
    /// but that equal rows are spread evenly over the values that they may have.
    pub fn transform(
        &self,
        features: &[Column],
        sensitive: &Sensitive,
        watch: &Watch,
    ) -> Result<Released> {
        let rows = sensitive.len();
        self.check_columns(features, rows)?;
        let read = self
            .forms
            .iter()
            .map(|form| form.read(features, self.missing, self.unseen));
        let read = read.collect::<Result<Vec<_>>>()?;
        let assignment = self.partition.assign(sensitive)?;
        let mut released = Released {
            columns: Vec::new(),
            uses: assignment.uses,
            clipped: read.iter().map(|column| column.clipped).sum(),
            unseen: read.iter().map(|column| column.unseen).sum(),
        };
        released.uses.unseen_level = released.unseen;
        let strength = self.strength;
        let values = match &self.maps {
            Maps::Columns(maps) => {
                watch.begin("releasing columns", self.forms.len())?;
                let draws = self.draws(features, sensitive)?;
                let all = self.forms.iter().zip(maps).zip(&read);
                all.map(|((form, map), read)| {
                    watch.advance();
                    watch.check()?;
                    let own = (form, &draws);
                    map.apply(&read.values, &assignment, own, strength)
                })
                .collect::<Result<Vec<_>>>()?
            }
            Maps::Together(map) => map.apply((&self.forms, &read), &assignment, strength, watch)?,
            Maps::Joint(map) => {
                let draws = self.draws(features, sensitive)?;
                let known = (&self.partition, &assignment);
                map.apply((&self.forms, &read), known, (&draws, strength), watch)?
            }
        };
        let all = self.forms.iter().zip(&read).zip(&values);
        released.columns = all
            .map(|((form, read), values)| form.written(read, values))
            .collect();
        Ok(released)
    }

    /// How near a projection of some of these rows is to its best; none where that cannot be certified.
    pub(super) fn certificate(
        &self,
        features: &[Column],
        sensitive: &Sensitive,
        watch: &Watch,
    ) -> Result<Option<ReleaseCertificate>> {
        let Maps::Together(map) = &self.maps else {
            return Ok(None);
        };
        let read = self
            .forms
            .iter()
            .map(|form| form.read(features, self.missing, self.unseen));
        let read = read.collect::<Result<Vec<_>>>()?;
        let assignment = self.partition.assign(sensitive)?;
        map.certify((&self.forms, &read), &assignment, self.strength, watch)
    }

    /// What is drawn for rows: from their features and sensitive values as the fit read them.
    fn draws(&self, features: &[Column], sensitive: &Sensitive) -> Result<Draws> {
        draws(
            self.seed,
            (&self.forms, features),
            (&self.partition, sensitive),
        )
    }

    fn check_columns(&self, features: &[Column], rows: usize) -> Result<()> {
        for form in &self.forms {
            let own = features.iter().filter(|column| column.name == form.name);
            let count = own.clone().count();
            if count > 1 {
                return Err(Error::DuplicateColumn {
                    name: form.name.clone(),
                    count,
                });
            }
            check_length(own, rows)?;
        }
        Ok(())
    }

    /// How values are made.
    pub fn method(&self) -> ReleaseMethod {
        self.method
    }

    /// t
    pub fn strength(&self) -> f64 {
        self.strength
    }

    /// The names of the columns, in order.
    pub fn columns(&self) -> Vec<&str> {
        self.forms.iter().map(|form| form.name.as_str()).collect()
    }

    /// The names of the sensitive columns, all needed to transform.
    pub fn sensitive_columns(&self) -> Vec<&str> {
        self.partition.needs()
    }

    /// What is known of S.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Refuses a release that no fit gives (of a damaged or hostile file).
    pub(super) fn check_read(&self) -> Result<()> {
        check_strength(self.strength)?;
        self.partition.check_read()?;
        let names: HashSet<_> = self.columns().into_iter().collect();
        let sound = !self.partition.leaves_out()
            && !self.forms.is_empty()
            && names.len() == self.forms.len();
        require(sound, DAMAGED)?;
        self.forms.iter().try_for_each(ColumnForm::check_read)?;
        match &self.maps {
            Maps::Together(map) => map.check_read(&self.forms, &self.partition),
            Maps::Joint(map) => map.check_read(&self.forms, &self.partition),
            Maps::Columns(maps) => {
                require(maps.len() == self.forms.len(), DAMAGED)?;
                let mut pairs = maps.iter().zip(&self.forms);
                pairs.try_for_each(|(map, form)| map.check_read(form, &self.partition))
            }
        }
    }

    /// All numbers of which there may be many, in a fixed order: a file keeps them apart from its header.
    pub(crate) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        match &mut self.maps {
            Maps::Columns(maps) => maps.iter_mut().flat_map(ColumnMap::numbers).collect(),
            Maps::Together(map) => map.numbers(),
            Maps::Joint(map) => map.numbers(),
        }
    }
}

/// The draws of rows, from their features and sensitive values as the fit read them.
pub(super) fn draws(
    seed: u64,
    (forms, features): (&[ColumnForm], &[Column]),
    (partition, sensitive): (&Partition, &Sensitive),
) -> Result<Draws> {
    let mut columns = Vec::new();
    for form in forms {
        columns.push(form.as_given(find(features, &form.name)?)?);
    }
    for name in partition.needs() {
        let mut column = sensitive.column(name)?.clone();
        // A number and its text are one category.
        if partition
            .columns()
            .any(|own| own == (name, Kind::Categorical))
        {
            let (levels, codes) = column.to_categories();
            column.values = Values::Categories { levels, codes };
        }
        columns.push(column);
    }
    Ok(Draws::new(seed, sensitive.len(), columns.iter()))
}

/// Refuses columns of another length.
pub(super) fn check_length<'c>(
    mut columns: impl Iterator<Item = &'c Column>,
    rows: usize,
) -> Result<()> {
    match columns.find(|column| column.len() != rows) {
        None => Ok(()),
        Some(column) => Err(Error::Length {
            what: "a column to release",
            found: column.len(),
            needed: rows,
        }),
    }
}
