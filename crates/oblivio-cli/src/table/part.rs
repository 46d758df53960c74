//! One file of a table: how it is found out, and how its rows come out.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use ::parquet::file::reader::Length;
use anyhow::{Result, bail};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use oblivio::{Column, Values};
use serde::{Deserialize, Serialize};

use super::input::Input;
use super::kind::{Could, Kind};
use super::read::{Format, Look, open};
use super::{Table, check_names, csv, parquet};

pub(super) const CHANGED: &str = "the file changed while it was read; start again";

/// What a later run compares to see that the data is still the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The path as it was given; `-` for standard input.
    pub path: String,
    /// Its rows.
    pub rows: usize,
    /// Its size.
    pub bytes: u64,
    /// When it was modified, in nanoseconds since 1970; zero where that means nothing.
    pub modified: u128,
}

/// One file.
#[derive(Clone)]
pub(super) struct Part {
    /// How messages call it.
    pub(super) name: String,
    place: Place,
    format: Format,
    pub(super) record: FileRecord,
    /// Where in the file each column of the table is.
    pub(super) positions: Vec<usize>,
}

#[derive(Clone)]
pub(super) enum Place {
    Path(PathBuf),
    /// What could be read only once.
    Kept(Input),
}

/// A column of the table.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Settled {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) declared: Declared,
    /// Categories by which the texts of a CSV file are read, where they say more than the kind.
    #[serde(skip)]
    pub(super) levels: Option<Arc<HashSet<String>>>,
}

/// What the user says about a column.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Declared {
    Nothing,
    Categories,
    Numbers,
    /// To be read as the text that it is.
    Verbatim,
}

/// What a file says of itself.
pub(super) struct Found {
    pub(super) part: Part,
    pub(super) names: Vec<String>,
    pub(super) could: Vec<Could>,
}

/// A file that was looked at before.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Known {
    record: FileRecord,
    format: Format,
    positions: Vec<usize>,
}

impl Known {
    pub(super) fn path(&self) -> &Path {
        Path::new(&self.record.path)
    }

    /// The file, if it is as it was.
    pub(super) fn part(self) -> Option<Part> {
        let path = PathBuf::from(&self.record.path);
        let metadata = std::fs::metadata(&path).ok()?;
        let same =
            metadata.len() == self.record.bytes && modified(&metadata) == self.record.modified;
        same.then(|| Part {
            name: self.record.path.clone(),
            place: Place::Path(path),
            format: self.format,
            record: self.record,
            positions: self.positions,
        })
    }
}

impl Part {
    /// Whether its format is that of a file of so many columns, as far as it says.
    pub(super) fn has_columns(&self, count: usize) -> bool {
        match &self.format {
            Format::Csv(layout) => layout.width() == count,
            Format::Parquet => true,
        }
    }

    pub(super) fn is_csv(&self) -> bool {
        matches!(self.format, Format::Csv(_))
    }

    /// What is known of the file, if it can be read again.
    pub(super) fn known(&self) -> Option<Known> {
        matches!(self.place, Place::Path(_)).then(|| Known {
            record: self.record.clone(),
            format: self.format,
            positions: self.positions.clone(),
        })
    }

    /// Hands on the rows from `skip` on, until `send` says that nobody listens.
    pub(super) fn read(
        &self,
        wanted: &[Settled],
        skip: usize,
        size: usize,
        send: &mut dyn FnMut(Table) -> bool,
    ) -> Result<bool> {
        let input = self.place.open()?;
        let read = || {
            let mut rows = skip;
            for batch in self.decode(&input, skip, size)? {
                let batch = batch?;
                rows += batch.num_rows();
                if rows > self.record.rows {
                    bail!(CHANGED);
                }
                if !send(self.table(wanted, &batch)?) {
                    return Ok(false);
                }
            }
            if rows < self.record.rows {
                bail!(CHANGED);
            }
            Ok(true)
        };
        // Rows that end in a panic must not look as if they had ended.
        match self.format {
            Format::Csv(_) => csv::contained(read),
            Format::Parquet => parquet::contained(read),
        }
    }

    /// The columns at `positions`, in the order of the file and once each.
    fn decode(
        &self,
        input: &Input,
        skip: usize,
        size: usize,
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>>>> {
        let chosen = self.chosen();
        Ok(match self.format {
            Format::Csv(layout) => Box::new(layout.batches(input, &chosen, skip, size)?),
            Format::Parquet => Box::new(parquet::batches(input, &chosen, skip, size)?),
        })
    }

    /// The type of every column, where the file knows types.
    pub(super) fn types(&self) -> Result<Option<Vec<DataType>>> {
        match self.format {
            Format::Csv(_) => Ok(None),
            Format::Parquet => {
                let types = parquet::types(&self.place.open()?)?;
                let own = self.positions.iter().map(|&at| types.get(at).cloned());
                Ok(own.collect())
            }
        }
    }

    fn chosen(&self) -> Vec<usize> {
        let mut chosen = self.positions.clone();
        chosen.sort_unstable();
        chosen
    }

    fn table(&self, wanted: &[Settled], batch: &RecordBatch) -> Result<Table> {
        let chosen = self.chosen();
        let place = |position: &usize| chosen.partition_point(|other| other < position);
        let pairs = wanted.iter().zip(&self.positions);
        let columns = pairs.map(|(settled, position)| {
            let chunk = batch.column(place(position));
            let Settled { name, kind, .. } = settled;
            let column = match self.format {
                Format::Csv(_) => match &settled.levels {
                    None => csv::column(name, *kind, chunk.as_string_view())?,
                    Some(levels) => csv::categories(name, *kind, levels, chunk.as_string_view()),
                },
                Format::Parquet if settled.declared == Declared::Verbatim => {
                    parquet::text(name, chunk)?
                }
                Format::Parquet => parquet::column(name, *kind, chunk)?,
            };
            settled.finish(column)
        });
        Table::new(columns.collect::<Result<_>>()?)
    }
}

impl Settled {
    /// The column as it is to be read, whichever file it comes from.
    fn finish(&self, mut column: Column) -> Result<Column> {
        let is_number = matches!(column.values, Values::Numbers(_));
        match (self.declared, self.kind) {
            (Declared::Numbers, _) if !is_number => {
                column.values = Values::Numbers(column.to_numbers()?);
            }
            (declared, kind)
                if is_number
                    && (declared == Declared::Categories
                        || self.levels.is_some()
                        || (declared == Declared::Nothing && kind != Kind::Numbers)) =>
            {
                let (levels, codes) = column.to_categories();
                column.values = Values::Categories { levels, codes };
            }
            _ => {}
        }
        Ok(column)
    }
}

impl Place {
    fn open(&self) -> Result<Input> {
        Ok(match self {
            Self::Path(path) => Input::new(open(path)?),
            Self::Kept(input) => input.clone(),
        })
    }
}

/// Opens a file and looks at it.
pub(super) fn find(path: &Path, name: &str, look: Look) -> Result<Found> {
    if path.as_os_str() == "-" {
        let input = Input::spooled(&mut io::stdin().lock())?;
        let mut found = survey(name, Place::Kept(input), None, look)?;
        "-".clone_into(&mut found.part.record.path);
        return Ok(found);
    }
    let mut file = open(path)?;
    let metadata = file.metadata()?;
    let extension = path.extension();
    if !metadata.is_file() {
        // A pipe cannot be read twice.
        let input = Input::spooled(&mut file)?;
        return survey(name, Place::Kept(input), extension, look);
    }
    let mut found = survey(name, Place::Path(path.to_owned()), extension, look)?;
    found.part.record.modified = modified(&metadata);
    Ok(found)
}

/// When a file was modified, in nanoseconds since 1970.
fn modified(metadata: &Metadata) -> u128 {
    let time = metadata.modified().ok();
    let time = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    time.map_or(0, |time| time.as_nanos())
}

/// Looks at a file from end to end, if that is needed.
pub(super) fn survey(
    name: &str,
    place: Place,
    extension: Option<&OsStr>,
    look: Look,
) -> Result<Found> {
    let input = place.open()?;
    let (format, names, rows, could) = Format::survey(&input, extension, look)?;
    check_names(names.iter().map(String::as_str))?;
    if names.is_empty() {
        bail!("there are no columns; a table needs at least one");
    }
    let record = FileRecord {
        path: name.to_owned(),
        rows,
        bytes: input.len(),
        modified: 0,
    };
    let part = Part {
        name: name.to_owned(),
        place,
        format,
        record,
        positions: Vec::new(),
    };
    Ok(Found { part, names, could })
}
