//! The file of a release.

use oblivio::model::file::Codec;
use oblivio::sibling::{Tensor, read, write};
use oblivio_base::Result;
use oblivio_base::error::require;
use serde::{Deserialize, Serialize};

use super::apply::Release;

const KIND: &str = "release";
/// The damaged part, if a check of the maps fails.
pub(super) const DAMAGED: &str = "what it makes of its columns";

/// A release.
struct ReleaseFile {
    header: Header,
    /// Its long vectors, one after the other.
    numbers: Tensor<'static>,
}

/// The release without its long vectors, and how long each of them is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Header {
    release: Release,
    lengths: Vec<usize>,
}

impl Release {
    /// The bytes of the file. The same release gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        ReleaseFile::new(self).write()
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        ReleaseFile::decode(bytes, ())
    }
}

impl ReleaseFile {
    fn new(release: &Release) -> Self {
        let mut release = release.clone();
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        for vector in release.numbers() {
            lengths.push(vector.len());
            values.append(vector);
        }
        Self {
            header: Header { release, lengths },
            numbers: Tensor::vector("numbers", values),
        }
    }
}

impl Codec for ReleaseFile {
    type Value = Release;
    type Context<'c> = ();

    fn write(&self) -> Result<Vec<u8>> {
        write(KIND, &self.header, [&self.numbers])
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (header, tensors) = read(bytes, KIND)?;
        Ok(Self {
            header,
            numbers: Tensor::read_vector(&tensors, "numbers")?,
        })
    }

    fn check(self, (): ()) -> Result<Release> {
        let Header {
            mut release,
            lengths,
        } = self.header;
        let mut rest = &self.numbers.values[..];
        let vectors = release.numbers();
        require(vectors.len() == lengths.len(), "the length of its vectors")?;
        for (vector, length) in vectors.into_iter().zip(lengths) {
            require(length <= rest.len(), "the length of its vectors")?;
            let (own, after) = rest.split_at(length);
            *vector = own.to_vec();
            rest = after;
        }
        require(rest.is_empty(), "the length of its vectors")?;
        release.check_read()?;
        Ok(release)
    }
}
