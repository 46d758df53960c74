//! Tables larger than memory go out here, batch by batch.

use std::path::Path;

use anyhow::{Result, bail};
use oblivio::{Column, Values};

use super::form::Form;
use super::write::Output;
use super::{check, csv, parquet};

/// A table written batch by batch; it appears whole or not at all.
pub struct Sink {
    output: Output,
    encoder: Encoder,
    /// The names of the columns, and whether they hold numbers.
    layout: Vec<(String, bool)>,
    /// What columns are to look like.
    form: Form,
    lost: Vec<String>,
}

enum Encoder {
    Csv(csv::Encoder),
    Parquet(Box<parquet::Encoder>),
}

impl Sink {
    /// A table that will be Parquet if the path says so, and CSV otherwise; `-` is CSV on standard output.
    ///
    /// A place that cannot be written is refused here, before there is anything to write.
    pub fn create(path: &Path) -> Result<Self> {
        let extension = path.extension();
        let encoder = if extension.is_some_and(parquet::is_extension) {
            Encoder::Parquet(Box::default())
        } else {
            Encoder::Csv(csv::Encoder::new(csv::usual_delimiter(extension)))
        };
        Ok(Self {
            output: Output::create(path)?,
            encoder,
            layout: Vec::new(),
            form: Form::default(),
            lost: Vec::new(),
        })
    }

    /// The same with columns of this form: as they are spelt in CSV, and of these types in Parquet, where the first rows fit.
    #[must_use]
    pub fn of_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// The columns that could not keep their type.
    pub fn lost_types(&self) -> &[String] {
        &self.lost
    }

    /// Adds rows. Every batch must have the names and types of the first.
    pub fn write(&mut self, columns: &[Column]) -> Result<()> {
        const ROWS: usize = 8192;
        let rows = check(columns)?;
        self.check_layout(columns)?;
        if let Encoder::Parquet(encoder) = &mut self.encoder {
            let types = std::mem::take(&mut self.form.types);
            let lost = encoder.settle(columns, types);
            self.lost
                .extend(lost.into_iter().filter(|_| self.form.typed));
        }
        // A table without rows still has its header.
        for start in (0..rows.max(1)).step_by(ROWS) {
            let range = start..rows.min(start + ROWS);
            let bytes = match &mut self.encoder {
                Encoder::Csv(encoder) => encoder.encode(columns, range, &self.form.spellings),
                Encoder::Parquet(encoder) => encoder.encode(columns, range),
            };
            self.output.write(&bytes?)?;
        }
        Ok(())
    }

    /// Puts the table in its place. Without this, nothing is there.
    pub fn finish(mut self) -> Result<()> {
        if let Encoder::Parquet(encoder) = self.encoder {
            self.output.write(&encoder.finish()?)?;
        }
        self.output.finish()
    }

    /// False once the reader of a pipe is gone: then more rows are of no use.
    pub fn is_heard(&self) -> bool {
        self.output.is_heard()
    }

    /// Whether a person watches the rows arrive.
    pub fn is_terminal(&self) -> bool {
        self.output.is_terminal()
    }

    fn check_layout(&mut self, columns: &[Column]) -> Result<()> {
        let kinds = columns
            .iter()
            .map(|column| (&column.name, matches!(column.values, Values::Numbers(_))));
        if self.layout.is_empty() {
            self.layout = kinds.map(|(name, kind)| (name.clone(), kind)).collect();
            return Ok(());
        }
        if columns.len() != self.layout.len() {
            bail!(
                "a batch has {} columns after one of {}; give every batch the same columns",
                columns.len(),
                self.layout.len()
            );
        }
        for ((name, is_number), (first, was_number)) in kinds.zip(&self.layout) {
            if name != first {
                bail!(
                    "a batch has column `{name}` in the place of `{first}`; give every batch the same columns"
                );
            }
            if is_number != *was_number {
                bail!(
                    "column `{name}` holds numbers in one batch and text in another; give it one type"
                );
            }
        }
        Ok(())
    }
}
