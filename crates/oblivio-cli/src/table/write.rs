//! Files appear whole or not at all: written beside their place, then moved into it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Result, anyhow};
use tempfile::NamedTempFile;

/// Writes bytes to a file, or to standard output if the path is `-`.
///
/// A failure leaves an earlier file as it was. A reader that stops listening is no failure.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(path)?;
    output.write(bytes)?;
    output.finish()
}

/// Refuses a place that cannot be written, before the work is done that is to go there.
pub fn check_place(path: &Path) -> Result<()> {
    let writable =
        fs::metadata(path).map_or(true, |metadata| metadata.is_file() || metadata.is_dir());
    if writable {
        drop(Output::create(path)?);
    }
    Ok(())
}

/// A file that is being written, a pipe, or standard output.
pub(super) struct Output {
    path: PathBuf,
    to: To,
    /// Whether somebody still listens.
    heard: bool,
}

enum To {
    Standard,
    /// A pipe or a device: nothing to replace.
    Device(File),
    /// Beside the place where it will be.
    Draft {
        file: NamedTempFile,
        target: PathBuf,
        permissions: Option<Permissions>,
        unfinished: Unfinished,
    },
}

impl Output {
    /// Refuses a place that cannot be written, before there is anything to write.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let to = if path.as_os_str() == "-" {
            To::Standard
        } else {
            begin(path).map_err(|error| explain(path, &error))?
        };
        Ok(Self {
            path: path.to_owned(),
            to,
            heard: true,
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.to {
            _ if !self.heard => Ok(()),
            To::Standard => io::stdout().lock().write_all(bytes),
            To::Device(file) => file.write_all(bytes),
            To::Draft { file, .. } => file.write_all(bytes),
        };
        self.settle(written)
    }

    /// Moves a file into its place.
    pub(super) fn finish(mut self) -> Result<()> {
        let to = std::mem::replace(&mut self.to, To::Standard);
        let finished = match to {
            _ if !self.heard => Ok(()),
            To::Standard => io::stdout().lock().flush(),
            To::Device(_) => Ok(()),
            To::Draft {
                file,
                target,
                permissions,
                unfinished,
            } => {
                // On the disk before it has its name: a machine that loses power has one of the two files, too.
                let stored = permissions
                    .map_or(Ok(()), |same| file.as_file().set_permissions(same))
                    .and_then(|()| file.as_file().sync_all())
                    .and_then(|()| Ok(file.persist(target).map(drop)?));
                drop(unfinished);
                stored
            }
        };
        self.settle(finished)
    }

    /// False once the reader of a pipe is gone; what is written then is lost.
    pub(super) fn is_heard(&self) -> bool {
        self.heard
    }

    /// Whether a person watches the bytes arrive.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self.to, To::Standard) && io::stdout().is_terminal()
    }

    fn settle(&mut self, result: io::Result<()>) -> Result<()> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.heard = false;
                Ok(())
            }
            other => other.map_err(|error| explain(&self.path, &error)),
        }
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

fn begin(path: &Path) -> io::Result<To> {
    let existing = fs::metadata(path).ok();
    if let Some(metadata) = &existing {
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if metadata.permissions().readonly() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        if !metadata.is_file() {
            return Ok(To::Device(OpenOptions::new().write(true).open(path)?));
        }
    }
    // A link stays a link, and the file it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let file = beside(&target)?;
    let unfinished = Unfinished::new(file.path());
    Ok(To::Draft {
        file,
        target,
        permissions: existing.map(|metadata| metadata.permissions()),
        unfinished,
    })
}

/// The temporary files being written, for whoever has to end the program in the midst of it.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An entry there, until it is dropped.
struct Unfinished(PathBuf);

impl Unfinished {
    fn new(path: &Path) -> Self {
        if let Ok(mut unfinished) = UNFINISHED.lock() {
            unfinished.push(path.to_owned());
        }
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Ok(mut unfinished) = UNFINISHED.lock() {
            unfinished.retain(|path| *path != self.0);
        }
    }
}

/// Removes what an interrupted write would leave behind.
pub fn remove_unfinished() {
    if let Ok(unfinished) = UNFINISHED.lock() {
        for path in unfinished.iter() {
            let _ = fs::remove_file(path);
        }
    }
}

/// A temporary file on the same file system, with the permissions of an ordinary new file.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".oblivio-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666));
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
