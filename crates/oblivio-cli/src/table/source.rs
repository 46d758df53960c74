//! The rows of files, batch by batch: tables larger than memory come in here.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use arrow_schema::DataType;
use oblivio::model::RowColumn;
use oblivio::{Column, Values};
use oblivio_base::MISSING;
use serde::{Deserialize, Serialize};

use super::csv;
use super::expand::expand;
use super::kind::{Could, Kind};
use super::parquet::Types;
#[cfg(test)]
use super::part::FileRecord;
use super::part::{Declared, Found, Known, Part, Settled, find};
use super::read::{Look, ReadOptions};
use super::{Table, check_names, unknown};

/// Rows of a batch, at most.
pub const BATCH: usize = 8192;
/// Batches decoded before anybody asks for them.
const AHEAD: usize = 2;

/// The rows of one or more files, read batch by batch.
///
/// Names, types and the number of rows are settled over all rows of all files when it is opened.
pub struct Source {
    files: Vec<Part>,
    columns: Vec<Settled>,
}

/// What is known of files whose rows were looked at.
#[derive(Clone, Serialize, Deserialize)]
pub struct KnownSource {
    files: Vec<Known>,
    columns: Vec<Settled>,
}

impl KnownSource {
    /// Whether these are the files, in this order.
    pub fn is_of(&self, paths: &[PathBuf]) -> bool {
        let own = self.files.iter().map(Known::path);
        own.eq(paths.iter().map(PathBuf::as_path))
    }
}

impl Source {
    /// [`open_watched`](Self::open_watched) with nobody watching.
    #[cfg(test)]
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        Self::open_watched(paths, options, &|_| ())
    }

    /// Opens files, or patterns with `*`, `?` and `[…]` that stand for several; `-` is standard input.
    ///
    /// All must have the same columns, in any order. CSV files are read once from end to end; `seen` hears how many bytes
    /// more are done with.
    pub fn open_watched(
        paths: &[PathBuf],
        options: &ReadOptions,
        seen: &dyn Fn(u64),
    ) -> Result<Self> {
        let look = Look { options, seen };
        let paths = expand(paths)?;
        let found = paths.iter().map(|path| {
            let name = if path.as_os_str() == "-" {
                "standard input".into()
            } else {
                path.display().to_string()
            };
            find(path, &name, look).map_err(|problem| anyhow!("{name}: {problem:#}"))
        });
        Self::join(found.collect::<Result<_>>()?, options)
    }

    pub(super) fn join(found: Vec<Found>, options: &ReadOptions) -> Result<Self> {
        let Some(first) = found.first() else {
            bail!("there is no file; give at least one");
        };
        let (first_file, names) = (first.part.name.clone(), first.names.clone());
        let mut could = vec![Could::ANYTHING; names.len()];
        let mut files = Vec::new();
        for Found {
            mut part,
            names: own,
            could: may,
        } in found
        {
            part.positions = align(&names, &own).map_err(|problem| {
                anyhow!(
                    "{}: {problem} {first_file}; give files with the same columns",
                    part.name
                )
            })?;
            for (could, &position) in could.iter_mut().zip(&part.positions) {
                *could = could.and(may[position]);
            }
            files.push(part);
        }
        if files.iter().all(|file| file.record.rows == 0) {
            bail!(
                "{first_file}: the table has column names but no rows; at least one row is needed"
            );
        }
        let columns = names.into_iter().zip(could).map(|(name, could)| Settled {
            name,
            kind: could.kind(),
            declared: Declared::Nothing,
            levels: None,
        });
        let mut source = Self {
            files,
            columns: columns.collect(),
        };
        source
            .declare(options)
            .map_err(|problem| anyhow!("{first_file}: {problem}"))?;
        Ok(source)
    }

    fn declare(&mut self, options: &ReadOptions) -> Result<()> {
        for name in &options.categorical {
            if options.numeric.contains(name) {
                bail!("column `{name}` is declared both categorical and numeric; choose one");
            }
            let position = self.position(name)?;
            self.columns[position].declared = Declared::Categories;
        }
        for name in &options.numeric {
            let position = self.position(name)?;
            self.columns[position].declared = Declared::Numbers;
        }
        Ok(())
    }

    /// What is known of the files, for a later run that wants to go on with them; nothing where one can be read only once.
    pub fn known(&self) -> Option<KnownSource> {
        let files = self.files.iter().map(Part::known);
        Some(KnownSource {
            files: files.collect::<Option<_>>()?,
            columns: self.columns.clone(),
        })
    }

    /// The same files without a look at their rows, if they are as they were.
    pub fn of_known(known: KnownSource) -> Option<Self> {
        let files = known.files.into_iter().map(Known::part);
        let files = files.collect::<Option<Vec<Part>>>()?;
        let sound = |file: &Part| {
            let width = known.columns.len();
            file.positions.len() == width
                && file.positions.iter().all(|place| *place < width)
                && file.has_columns(width)
        };
        files.iter().all(sound).then(|| Self {
            files,
            columns: known.columns,
        })
    }

    /// All rows of all files.
    pub fn rows(&self) -> usize {
        let rows = self.files.iter().map(|file| file.record.rows);
        // A hostile file may claim any number.
        rows.fold(0, usize::saturating_add)
    }

    /// Where a row is, for people: its line in a CSV file (if no field has several), its number in a Parquet file.
    pub fn place(&self, row: usize) -> String {
        let mut left = row;
        for file in &self.files {
            if left < file.record.rows {
                let place = if file.is_csv() {
                    format!("line {}", left + 2)
                } else {
                    format!("row {}", left + 1)
                };
                return match self.files.len() {
                    1 => place,
                    _ => format!("{place} of {}", file.name),
                };
            }
            left -= file.record.rows;
        }
        format!("row {}", row + 1)
    }

    /// The names of the columns, in the order of the first file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Whether the column of this name holds numbers, and not categories.
    pub fn is_number(&self, name: &str) -> Result<bool> {
        let column = &self.columns[self.position(name)?];
        Ok(match column.declared {
            Declared::Nothing => column.kind == Kind::Numbers && column.levels.is_none(),
            Declared::Categories | Declared::Verbatim => false,
            Declared::Numbers => true,
        })
    }

    /// The same for a model with these columns: a category is what is spelt as one of the model's, and what it looks like only where there is
    /// none. So `1` and `1.0`, or `True` and `true`, are two categories if they were at the fit.
    #[must_use]
    pub fn knowing(mut self, schema: &[RowColumn]) -> Self {
        for column in &mut self.columns {
            let known = schema.iter().find(|known| known.name == column.name);
            let levels = known.map_or(&[][..], |known| &known.levels);
            if !csv::reads_back(column.kind, levels) {
                column.levels = Some(Arc::new(levels.iter().cloned().collect()));
            }
        }
        self
    }

    /// The same with these columns read as the text that they are, for whoever only copies them: no digit of a long number is lost.
    pub fn verbatim(&self, names: &[String]) -> Self {
        let mut columns = self.columns.clone();
        let own = columns.iter_mut().filter(|own| names.contains(&own.name));
        for column in own {
            (column.kind, column.declared) = (Kind::Texts, Declared::Verbatim);
            column.levels = None;
        }
        Self {
            files: self.files.clone(),
            columns,
        }
    }

    /// The types of the columns, where all files know types and agree.
    pub(super) fn types(&self) -> Result<Types> {
        let mut common: Option<Vec<Option<DataType>>> = None;
        for file in &self.files {
            let Some(own) = file.types()? else {
                return Ok(Types::new());
            };
            let own = own.into_iter().map(Some);
            common = Some(match common {
                None => own.collect(),
                Some(known) => {
                    let pairs = known.into_iter().zip(own);
                    pairs
                        .map(|(a, b)| a.filter(|a| Some(a) == b.as_ref()))
                        .collect()
                }
            });
        }
        let types = self.names().zip(common.unwrap_or_default());
        let known = types.filter_map(|(name, kind)| Some((name.to_owned(), kind?)));
        Ok(known.collect())
    }

    /// The files, as they were when they were opened.
    #[cfg(test)]
    pub fn files(&self) -> Vec<FileRecord> {
        self.files.iter().map(|file| file.record.clone()).collect()
    }

    /// The rows from `start` on in tables of at most [`BATCH`] rows, with these columns in this order.
    ///
    /// They are decoded on a thread of their own. Nothing follows an error.
    pub fn batches(&self, columns: &[String], start: usize) -> Result<Batches> {
        self.batches_of(BATCH, columns, start)
    }

    /// [`batches`](Self::batches) of at most `size` rows, for work that needs much memory per row.
    pub fn batches_of(&self, size: usize, columns: &[String], start: usize) -> Result<Batches> {
        check_names(columns.iter().map(String::as_str))?;
        let places = columns.iter().map(|name| self.position(name));
        let places = places.collect::<Result<Vec<usize>>>()?;
        let wanted: Vec<Settled> = places.iter().map(|&i| self.columns[i].clone()).collect();
        let mut skip = start;
        let mut files = Vec::new();
        for file in &self.files {
            if skip < file.record.rows {
                let mut file = file.clone();
                file.positions = places.iter().map(|&i| file.positions[i]).collect();
                files.push((file, skip));
            }
            skip = skip.saturating_sub(file.record.rows);
        }
        let (sender, receiver) = sync_channel(AHEAD);
        let decode = move || {
            for (file, skip) in files {
                // Whoever does not listen any more wants no error either.
                let listening = file.read(&wanted, skip, size, &mut |table| {
                    sender.send(Ok(table)).is_ok()
                });
                match listening {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(problem) => {
                        let _ = sender.send(Err(anyhow!("{}: {problem:#}", file.name)));
                        return;
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("decode".into()).spawn(decode);
        thread.context("the files cannot be read beside the work")?;
        Ok(Batches { receiver })
    }

    /// All rows at once.
    #[cfg(test)]
    pub fn table(&self) -> Result<Table> {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        self.table_of(&names)
    }

    /// All rows of these columns at once.
    pub fn table_of(&self, names: &[String]) -> Result<Table> {
        let mut whole: Vec<Joined> = Vec::new();
        for table in self.batches(names, 0)? {
            let columns = table?.columns;
            if whole.is_empty() {
                whole = columns.into_iter().map(Joined::new).collect();
            } else {
                let pairs = whole.iter_mut().zip(columns);
                pairs.for_each(|(whole, more)| whole.extend(more));
            }
        }
        Table::new(whole.into_iter().map(|joined| joined.column).collect())
    }

    fn position(&self, name: &str) -> Result<usize> {
        let position = self.names().position(|known| known == name);
        position.ok_or_else(|| unknown(name, self.names()))
    }
}

/// Tables of a few thousand rows, one after the other.
pub struct Batches {
    receiver: Receiver<Result<Table>>,
}

impl Iterator for Batches {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receiver.recv().ok()
    }
}

/// A column that grows; its levels stay in the order of their first row.
struct Joined {
    column: Column,
    known: HashMap<String, u32>,
}

impl Joined {
    fn new(column: Column) -> Self {
        let mut known = HashMap::new();
        if let Values::Categories { levels, .. } = &column.values {
            known.extend(levels.iter().cloned().zip(0..));
        }
        Self { column, known }
    }

    fn extend(&mut self, more: Column) {
        match (&mut self.column.values, more.values) {
            (Values::Numbers(values), Values::Numbers(more)) => values.extend(more),
            (
                Values::Categories { levels, codes },
                Values::Categories {
                    levels: more,
                    codes: rows,
                },
            ) => {
                let renumbered: Vec<u32> = more
                    .into_iter()
                    .map(|level| {
                        *self.known.entry(level).or_insert_with_key(|level| {
                            levels.push(level.clone());
                            levels.len() as u32 - 1
                        })
                    })
                    .collect();
                let code = |code: u32| renumbered.get(code as usize).copied().unwrap_or(MISSING);
                codes.extend(rows.into_iter().map(code));
            }
            // Every batch of a column has the settled type.
            _ => unreachable!("column `{}` changed its type", self.column.name),
        }
    }
}

/// Where each of `names` is among `own`, which must be the same.
fn align(names: &[String], own: &[String]) -> Result<Vec<usize>, String> {
    let known: HashMap<&str, usize> = own.iter().map(String::as_str).zip(0..).collect();
    let expected: HashSet<&String> = names.iter().collect();
    if let Some(extra) = own.iter().find(|name| !expected.contains(name)) {
        return Err(format!("it has the column `{extra}`, unlike"));
    }
    let place = |name: &String| known.get(name.as_str()).copied();
    let places = names
        .iter()
        .map(|name| place(name).ok_or_else(|| format!("it lacks the column `{name}` of")));
    places.collect()
}
