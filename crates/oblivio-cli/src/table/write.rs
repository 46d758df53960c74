//! Files appear whole or not at all: written beside their place, then moved into it.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Result, anyhow};
use oblivio::Column;
use tempfile::NamedTempFile;

use super::{check, csv, parquet};

/// Writes columns as Parquet if the path says so, and as CSV otherwise; `-` is CSV on standard output.
pub fn write(path: &Path, columns: &[Column]) -> Result<()> {
    check(columns)?;
    let extension = path.extension();
    let bytes = if extension.is_some_and(parquet::is_extension) {
        parquet::encode(columns)
    } else {
        csv::encode(columns, csv::usual_delimiter(extension))
    };
    write_bytes(path, &bytes?)
}

/// Writes bytes to a file, or to standard output if the path is `-`.
///
/// A failure leaves an earlier file as it was. A reader that stops listening is no failure.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = if path.as_os_str() == "-" {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush())
    } else {
        store(path, bytes)
    };
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(explain(path, &error)),
        _ => Ok(()),
    }
}

/// Refuses an output that would replace one of the inputs.
pub fn keep_apart(output: &Path, inputs: &[&Path]) -> Result<()> {
    let Ok(output) = fs::canonicalize(output) else {
        return Ok(());
    };
    let same = |input: &&&Path| fs::canonicalize(input).is_ok_and(|input| input == output);
    // A pipe or a device can be both.
    match inputs.iter().find(same) {
        Some(input) if output.is_file() => Err(anyhow!(
            "{}: the output would replace the input; give it another name",
            input.display()
        )),
        _ => Ok(()),
    }
}

fn store(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let existing = fs::metadata(path).ok();
    if let Some(metadata) = &existing {
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if metadata.permissions().readonly() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        if !metadata.is_file() {
            // A pipe or a device: nothing to replace.
            return OpenOptions::new().write(true).open(path)?.write_all(bytes);
        }
    }
    // A link stays a link, and the file it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = beside(&target)?;
    set_unfinished(Some(file.path().to_owned()));
    let stored = file.write_all(bytes).and_then(|()| {
        if let Some(metadata) = existing {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        file.persist(target)?;
        Ok(())
    });
    set_unfinished(None);
    stored
}

/// The temporary file being written, for whoever has to end the program in the midst of it.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn set_unfinished(path: Option<PathBuf>) {
    if let Ok(mut unfinished) = UNFINISHED.lock() {
        *unfinished = path;
    }
}

/// Removes what an interrupted write would leave behind.
pub fn remove_unfinished() {
    if let Ok(Some(path)) = UNFINISHED.lock().as_deref() {
        let _ = fs::remove_file(path);
    }
}

/// A temporary file on the same file system, with the permissions of an ordinary new file.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".oblivio-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(parent(target))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn explain(path: &Path, error: &io::Error) -> anyhow::Error {
    let directory = parent(path);
    let problem = match error.kind() {
        ErrorKind::NotFound if !directory.exists() => format!(
            "the directory {} does not exist; create it first",
            directory.display()
        ),
        ErrorKind::NotADirectory => format!(
            "{} is not a directory; choose another path",
            directory.display()
        ),
        ErrorKind::IsADirectory => "this is a directory; give the name of a file".into(),
        ErrorKind::PermissionDenied => {
            "the file may not be written (permission denied); change the permissions or the path"
                .into()
        }
        _ => format!("the file cannot be written ({error}); choose another path"),
    };
    if path.as_os_str() == "-" {
        anyhow!("standard output: {problem}")
    } else {
        anyhow!("{}: {problem}", path.display())
    }
}
