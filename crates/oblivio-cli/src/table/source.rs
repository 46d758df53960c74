//! The rows of files, batch by batch: tables larger than memory come in here.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, anyhow, bail};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use oblivio::{Column, MISSING, Values};
use serde::{Deserialize, Serialize};

use super::input::Input;
use super::kind::{Could, Kind};
use super::read::{Format, ReadOptions, open};
use super::{Table, check_names, csv, parquet, unknown};

/// Rows of a batch, at most.
const BATCH: usize = 8192;
/// Batches decoded before anybody asks for them.
const AHEAD: usize = 2;

pub(super) const CHANGED: &str = "the file changed while it was read; start again";

/// The rows of one or more files, read batch by batch.
///
/// Names, types and the number of rows are settled over all rows of all files when it is opened.
pub struct Source {
    files: Vec<Part>,
    columns: Vec<Settled>,
}

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
struct Part {
    /// How messages call it.
    name: String,
    place: Place,
    format: Format,
    record: FileRecord,
    /// Where in the file each column of the table is.
    positions: Vec<usize>,
}

#[derive(Clone)]
enum Place {
    Path(PathBuf),
    /// What could be read only once.
    Kept(Input),
}

/// A column of the table.
#[derive(Clone)]
struct Settled {
    name: String,
    kind: Kind,
    declared: Declared,
}

/// What the user says about a column.
#[derive(Clone, Copy, PartialEq)]
enum Declared {
    Nothing,
    Categories,
    Numbers,
}

/// What a file says of itself.
struct Found {
    part: Part,
    names: Vec<String>,
    could: Vec<Could>,
}

impl Source {
    /// Opens files, or patterns with `*`, `?` and `[…]` that stand for several; `-` is standard input.
    ///
    /// All must have the same columns, in any order. CSV files are read once from end to end.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        let paths = expand(paths)?;
        let found = paths.iter().map(|path| {
            let name = if path.as_os_str() == "-" {
                "standard input".into()
            } else {
                path.display().to_string()
            };
            find(path, &name, options).map_err(|problem| anyhow!("{name}: {problem:#}"))
        });
        Self::join(found.collect::<Result<_>>()?, options)
    }

    /// The source of one file that is open already.
    #[cfg(test)]
    pub(super) fn of(
        input: &Input,
        extension: Option<&OsStr>,
        options: &ReadOptions,
    ) -> Result<Self> {
        let found = survey(
            "table",
            Place::Kept(input.clone()),
            input,
            extension,
            options,
        )?;
        Self::join(vec![found], options)
    }

    fn join(found: Vec<Found>, options: &ReadOptions) -> Result<Self> {
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

    /// All rows of all files.
    pub fn rows(&self) -> usize {
        self.files.iter().map(|file| file.record.rows).sum()
    }

    /// The names of the columns, in the order of the first file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Whether the column of this name holds numbers, and not categories.
    pub fn is_number(&self, name: &str) -> Result<bool> {
        let column = &self.columns[self.position(name)?];
        Ok(match column.declared {
            Declared::Nothing => column.kind == Kind::Numbers,
            Declared::Categories => false,
            Declared::Numbers => true,
        })
    }

    /// The files, as they were when they were opened.
    #[allow(dead_code, reason = "for fits larger than memory")]
    pub fn files(&self) -> Vec<FileRecord> {
        self.files.iter().map(|file| file.record.clone()).collect()
    }

    /// The rows from `start` on in tables of at most 8192 rows, with these columns in this order.
    ///
    /// They are decoded on a thread of their own. Nothing follows an error.
    pub fn batches(&self, columns: &[String], start: usize) -> Result<Batches> {
        self.batches_of(BATCH, columns, start)
    }

    pub(super) fn batches_of(
        &self,
        size: usize,
        columns: &[String],
        start: usize,
    ) -> Result<Batches> {
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
    pub fn table(&self) -> Result<Table> {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        let mut whole: Vec<Joined> = Vec::new();
        for table in self.batches(&names, 0)? {
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

impl Part {
    /// Hands on the rows from `skip` on, until `send` says that nobody listens.
    fn read(
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
                Format::Csv(_) => csv::column(name, *kind, chunk.as_string_view())?,
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
            (Declared::Categories, _) | (Declared::Nothing, Kind::Booleans | Kind::Texts)
                if is_number =>
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

/// The files that these paths and patterns stand for: a pattern's in the order of their names.
///
/// A path that exists is no pattern, whatever it is called.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
        match pattern {
            Some(pattern) if fs::symlink_metadata(path).is_err() => files.extend(matches(pattern)?),
            _ => files.push(path.clone()),
        }
    }
    Ok(files)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    let options = glob::MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let found = glob::glob_with(pattern, options)
        .map_err(|error| anyhow!("{pattern}: this is no pattern ({error}); correct it"))?;
    let found = found.collect::<Result<Vec<PathBuf>, _>>();
    let mut files = found.map_err(|error| anyhow!("{pattern}: {error}; change the pattern"))?;
    files.retain(|file| !file.is_dir());
    files.sort();
    if files.is_empty() {
        bail!("{pattern}: no file matches; check the pattern");
    }
    Ok(files)
}

/// Opens a file and looks at it.
fn find(path: &Path, name: &str, options: &ReadOptions) -> Result<Found> {
    if path.as_os_str() == "-" {
        let input = Input::spooled(&mut io::stdin().lock())?;
        let mut found = survey(name, Place::Kept(input.clone()), &input, None, options)?;
        "-".clone_into(&mut found.part.record.path);
        return Ok(found);
    }
    let mut file = open(path)?;
    let metadata = file.metadata()?;
    let extension = path.extension();
    if !metadata.is_file() {
        // A pipe cannot be read twice.
        let input = Input::spooled(&mut file)?;
        return survey(name, Place::Kept(input.clone()), &input, extension, options);
    }
    let place = Place::Path(path.to_owned());
    let mut found = survey(name, place, &Input::new(file), extension, options)?;
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    found.part.record.modified = modified.map_or(0, |time| time.as_nanos());
    Ok(found)
}

fn survey(
    name: &str,
    place: Place,
    input: &Input,
    extension: Option<&OsStr>,
    options: &ReadOptions,
) -> Result<Found> {
    use ::parquet::file::reader::Length;
    let (format, names, rows, could) = Format::survey(input, extension, options)?;
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

/// Where each of `names` is among `own`, which must be the same.
fn align(names: &[String], own: &[String]) -> Result<Vec<usize>, String> {
    let known: HashMap<&str, usize> = own.iter().map(String::as_str).zip(0..).collect();
    if let Some(extra) = own.iter().find(|name| !names.contains(name)) {
        return Err(format!("it has the column `{extra}`, unlike"));
    }
    let place = |name: &String| known.get(name.as_str()).copied();
    let places = names
        .iter()
        .map(|name| place(name).ok_or_else(|| format!("it lacks the column `{name}` of")));
    places.collect()
}
