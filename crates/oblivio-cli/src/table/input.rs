//! The bytes of a file, to be read from any place and more than once.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use anyhow::anyhow;
use bytes::Bytes;

/// A file and a place in it. Clones share the file, but each has its own place.
#[derive(Clone)]
pub(super) struct Input {
    file: Arc<Mutex<File>>,
    position: u64,
}

impl Input {
    pub(super) fn new(file: File) -> Self {
        Self {
            file: Arc::new(Mutex::new(file)),
            position: 0,
        }
    }

    /// What can be read only once, in a temporary file that has no name.
    pub(super) fn spooled(from: &mut impl Read) -> anyhow::Result<Self> {
        let copied = tempfile::tempfile().and_then(|mut file| {
            io::copy(from, &mut file)?;
            Ok(Self::new(file))
        });
        copied.map_err(|error| {
            anyhow!(
                "it cannot be copied to a temporary file ({error}); set TMPDIR to a place with room"
            )
        })
    }

    /// The same file from this place on.
    pub(super) fn at(&self, position: u64) -> Self {
        Self {
            file: self.file.clone(),
            position,
        }
    }

    /// The first bytes, at most so many.
    pub(super) fn start(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.at(0).take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.position))?;
        let count = loop {
            match file.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl Length for Input {
    fn len(&self) -> u64 {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.metadata().map_or(0, |metadata| metadata.len())
    }
}

impl ChunkReader for Input {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(self.at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let left = self.len().saturating_sub(start);
        // A damaged file may name any length; room is made for what is there.
        if left < length as u64 {
            return Err(ParquetError::EOF(format!(
                "{length} bytes expected at {start}, found {left}"
            )));
        }
        let mut bytes = vec![0; length];
        self.at(start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
